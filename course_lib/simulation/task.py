"""A rank's code as a greenlet, which can stop in the middle of a call and go on later."""

import contextvars
import sys
from contextlib import contextmanager

import greenlet


class Task:
    """A greenlet that works for a rank: its worker, or a collective in the background."""

    def __init__(self, simulation, rank, number, function):
        self.simulation = simulation
        self.rank = rank
        self.number = number
        self.function = function
        self.greenlet = greenlet.greenlet(self._run, parent=simulation.hub)
        self.greenlet.gr_context = contextvars.copy_context()
        self.waits_for = None  # a mailbox or a task, for the report of a deadlock
        self.value = None
        self.done = False
        self.waiters = []  # the tasks that wait for this one's end

    def _run(self):
        """What the greenlet runs; an exception goes on to its parent, the hub."""
        try:
            self.value = self.function()
        finally:
            _reset_grad_mode(self.simulation.torch_modes)  # a plain set_grad_enabled(False) would stay
        self.done = True
        self.function = None  # with what it refers to; a handle may live on
        del self.simulation.tasks[self.number]
        for waiter in self.waiters:
            self.simulation.resume(waiter, self.simulation.now)


def torch_modes():
    """torch's inference and grad mode, which belong to the thread; the usual ones if it is not imported."""
    torch = sys.modules.get("torch")
    return (torch.is_inference_mode_enabled(), torch.is_grad_enabled()) if torch else (False, True)


@contextmanager
def in_torch_modes(modes):
    torch = sys.modules["torch"]
    inference, grad = modes
    with torch.inference_mode(inference), torch.set_grad_enabled(grad):
        yield


def _reset_grad_mode(modes):
    if torch_modes() != modes:
        _, grad = modes
        sys.modules["torch"].set_grad_enabled(grad)
