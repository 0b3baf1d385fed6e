"""The simulator's model of ports, once more and as naively as can be: a clock that ticks, no event queue.

Time is a whole number of ticks. At each tick every port, message and rank is looked at, again and again until
nothing happens any more; then every countdown goes down by one. Slow, but there is little to get wrong.

A program is a list of steps for each rank: ("compute", ticks), ("send", to, nbytes), ("recv", source),
("recv_any",). `links` is {(source, target): (latency, bandwidth)}, in ticks and bytes a tick.
"""

from dataclasses import dataclass, field


@dataclass(eq=False)
class Parcel:
    number: int  # in order of sending
    source: int
    target: int
    nbytes: int
    flight: int  # ticks until its head is at the receiver's port, counted from when it leaves
    duration: int  # ticks that it keeps a port busy
    start: int = None
    stop: int = None
    received: bool = False


@dataclass(eq=False)
class Port:
    """Lets parcels through, one at a time, in the order in which they came."""

    queue: list = field(default_factory=list)
    parcel: Parcel = None  # the one that is going through
    left: int = 0  # ticks until it is through


@dataclass(eq=False)
class Rank:
    number: int
    steps: list
    computing: int = None  # ticks left
    inbox: list = field(default_factory=list)  # parcels that have arrived, in order
    sources: list = field(default_factory=list)  # of what it received
    finish: int = None


class BruteForce:
    """Runs a program; afterwards `parcels` are in order of sending, `ranks` hold what became of each."""

    def __init__(self, program, links):
        self.links = links
        self.now = 0
        self.ranks = [Rank(number, list(steps)) for number, steps in enumerate(program)]
        self.send_ports = [Port() for _ in program]
        self.recv_ports = [Port() for _ in program]
        self.parcels = []
        self.flying = []
        self.instant()
        while self.is_counting_down():
            self.tick()
            self.instant()

    def stuck(self):
        """The ranks that wait for ever."""
        return [rank.number for rank in self.ranks if rank.finish is None]

    def is_counting_down(self):
        """False if no later tick can differ from this one."""
        return (
            bool(self.flying)
            or any(port.parcel is not None for port in self.send_ports + self.recv_ports)
            or any(rank.computing is not None for rank in self.ranks)
        )

    def tick(self):
        self.now += 1
        for port in self.send_ports + self.recv_ports:
            port.left -= 1
        for parcel in self.flying:
            parcel.flight -= 1
        for rank in self.ranks:
            if rank.computing is not None:
                rank.computing -= 1

    def instant(self):
        """All that happens now: messages as far as they get, then one rank, then messages again."""
        self.move_messages()
        while ready := [rank for rank in self.ranks if self.can_go_on(rank)]:
            self.run_until_it_waits(ready[0])
            self.move_messages()

    def move_messages(self):
        for port in self.send_ports:
            self.let_through(port)
        while heads := [parcel for parcel in self.flying if parcel.flight == 0]:
            first = min(heads, key=lambda parcel: (parcel.target, parcel.number))
            self.flying.remove(first)
            self.recv_ports[first.target].queue.append(first)
        for rank, port in zip(self.ranks, self.recv_ports, strict=True):
            for parcel in self.let_through(port):
                parcel.stop = self.now
                rank.inbox.append(parcel)

    def let_through(self, port):
        """The parcels that are through the port now; it takes the next one whenever it is free."""
        through = []
        while True:
            if port.parcel is not None and port.left == 0:
                through.append(port.parcel)
                port.parcel = None
            if port.parcel is not None or not port.queue:
                return through
            port.parcel = port.queue.pop(0)
            port.left = port.parcel.duration
            if port in self.send_ports:
                port.parcel.start = self.now
                self.flying.append(port.parcel)

    def can_go_on(self, rank):
        if rank.finish is not None:
            return False
        if rank.computing is not None:
            return rank.computing == 0
        return not rank.steps or self.is_possible(rank, rank.steps[0])

    def is_possible(self, rank, step):
        if step[0] == "recv":
            return any(parcel.source == step[1] for parcel in rank.inbox)
        if step[0] == "recv_any":
            return len(rank.inbox) > 0
        return True

    def run_until_it_waits(self, rank):
        rank.computing = None
        while rank.steps and self.is_possible(rank, rank.steps[0]):
            kind, *details = rank.steps.pop(0)
            if kind == "compute":
                (rank.computing,) = details
                return
            if kind == "send":
                self.send(rank, *details)
            else:
                self.receive(rank, *details)
        if not rank.steps:
            rank.finish = self.now

    def send(self, rank, to, nbytes):
        latency, bandwidth = self.links[rank.number, to]
        parcel = Parcel(len(self.parcels), rank.number, to, nbytes, latency, nbytes // bandwidth)
        self.parcels.append(parcel)
        self.send_ports[rank.number].queue.append(parcel)

    def receive(self, rank, source=None):
        fitting = [parcel for parcel in rank.inbox if source in (None, parcel.source)]
        rank.inbox.remove(fitting[0])
        fitting[0].received = True
        rank.sources.append(fitting[0].source)
