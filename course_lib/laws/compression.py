"""What compressed gradients save on the wire."""

import numpy as np

from course_lib.laws.checks import Numbers, Result, count, not_negative, plain, positive

_COMPRESSED = {"ring": lambda k: 2 * (k - 1) / k, "all_gather": lambda k: k - 1}


def compressed_wire_bytes(payload: Numbers, ranks: Numbers, collective: str = "ring") -> Result:
    """Bytes that each rank sends so that all know the sum of everybody's `payload` (bytes of one rank's).

    "ring": payloads that can be added up on the way, or are decoded and encoded again at each hop (then with
    a scale a chunk): 2(K-1)/K payload. "all_gather": those that cannot; each one goes to all: (K-1) payload.
    """
    payload, ranks = not_negative("payload", payload), count("ranks", ranks)
    if collective not in _COMPRESSED:
        raise ValueError(f"collective must be one of {', '.join(_COMPRESSED)}; got {collective!r}")
    return plain(_COMPRESSED[collective](ranks) * payload)


def wire_saving(share: Numbers, ranks: Numbers, collective: str = "ring") -> Result:
    """Share saved on the wire, against the ring, by a payload that is `share` of the array; ranks >= 2.

    "ring": 1 - share, for every K. "all_gather": 1 - share K/2; below 0 it sends more than the ring.
    """
    ranks = count("ranks", ranks, low=2)
    sent = np.asarray(compressed_wire_bytes(not_negative("share", share), ranks, collective))
    return plain(1 - sent / compressed_wire_bytes(1, ranks))


def break_even_density(ranks: Numbers, entry_bytes: Numbers = 8, number_bytes: Numbers = 4) -> Result:
    """The density below which top-k by all-gather sends less than the ring; ranks >= 2.

    (K-1) density n entry_bytes < 2(K-1)/K n number_bytes  <=>  density < 2 number_bytes / (K entry_bytes):
    1/K for 8 bytes an entry against float32.
    """
    entry_bytes, number_bytes = positive("entry_bytes", entry_bytes), positive("number_bytes", number_bytes)
    return plain(np.minimum(1, 2 * number_bytes / (count("ranks", ranks, low=2) * entry_bytes)))
