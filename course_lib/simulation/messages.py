"""What travels, and where it waits for its receiver."""

from collections import defaultdict, deque

from course_lib.arrays import alike, as_array, describe, fill
from course_lib.comm import check_out

ANY = -1  # the source that recv_any waits for


class Packet:
    """A message on its way. `head`: when its head reaches the port; `arrival`: known from then on."""

    __slots__ = ("array", "source", "mailbox", "number", "head", "duration", "arrival")

    def __init__(self, array, source, mailbox, number, head, duration):
        self.array = array
        self.source = source
        self.mailbox = mailbox
        self.number = number
        self.head = head
        self.duration = duration


class Mailbox:
    """What has reached one rank's port: for the worker itself, or for one collective.

    A packet is put here when its head reaches the port. When it will have arrived is known then, for nothing
    overtakes it any more; so its receiver can be woken at that time without an event for the arrival.
    """

    __slots__ = ("name", "packets", "waiter", "wanted")

    def __init__(self, name):
        self.name = name  # of the collective; None for the worker's own
        self.packets = defaultdict(deque)  # source -> packets in order
        self.waiter = None  # the task that waits for one
        self.wanted = None  # and from whom

    def first_source(self):
        """The source of the packet that came first, or None."""
        fronts = [packets[0] for packets in self.packets.values() if packets]
        if not fronts:
            return None
        return min(fronts, key=lambda packet: (packet.head, packet.number)).source


def unpack(array, out):
    """A received array, in `out` if given."""
    if out is None:
        return array
    if not alike(out, array):  # nearly never: the rest takes its time
        check_out(as_array(out), describe(array))
    fill(out, array)
    return out
