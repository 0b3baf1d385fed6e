"""Keeps what has been sent until it has left: gloo reads a message's memory when its receiver is ready.

A rank stays alive until all have finished, so nothing has to be flushed; but memory must not pile up.
gloo tells that a send is over only to somebody who waits for it, so a thread does, a batch at a time.
"""

import threading

BATCH_BYTES = 64 << 20
BATCH_MESSAGES = 512


class Outbox:
    """Sends that may still be under way."""

    def __init__(self):
        self._batch, self._bytes = [], 0

    def add(self, work, tensor):
        """Keep `tensor` until `work`, its isend, is over."""
        self._batch.append((work, tensor))
        self._bytes += tensor.numel()
        if self._bytes > BATCH_BYTES or len(self._batch) > BATCH_MESSAGES:
            threading.Thread(target=_drain, args=(self._batch,), daemon=True).start()
            self._batch, self._bytes = [], 0


def _drain(batch):
    """Wait for each send of the batch and let go of its memory."""
    while batch:
        work, _ = batch.pop(0)
        try:
            work.wait()
        except RuntimeError:
            return  # the receiver is gone; the launcher has heard
