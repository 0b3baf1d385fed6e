"""The network lab of chapter 5: K hosts, each behind a link of limited rate, on one Linux machine.

    make lab-network        (or: python tests/lab_network.py [--rate 100] [--repeat 5] [--show])

Each host is a network namespace; a pair of virtual cables joins it to a bridge; `tc tbf` limits both ends.
Every rank is a process in a namespace of its own. The library's ring and parameter server, and gloo's own
all-reduce, run there on several sizes; what was measured is printed beside the law, and recorded in
data/recorded/network_lab.json, which chapter 5 draws.

Nothing of this machine's own network is touched: bridge, cables and limits are made inside new namespaces,
which the kernel removes when the last of their processes ends, however it ends.

It needs Linux, `ip` and `tc` (package iproute2), `unshare` (util-linux), and root or user namespaces.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDING = ROOT / "data" / "recorded" / "network_lab.json"
INSIDE = "--inside"
CLONE_NEWNET = 0x40000000
RANKS = (2, 4)
ALGORITHMS = {"ring": "ring", "parameter_server": "parameter_server", "gloo": "ring"}  # and their laws
SIZES = (400_000, 1_600_000, 6_400_000)  # bytes
NOTHING = 64  # bytes: what such an all-reduce takes is latency
OF_NOTHING = 25  # runs of it, for they are short
MOST_SECONDS = 120  # of one launch
BURST = "16kb"  # what may pass at once after a pause; more would flatter small messages


def main(arguments=None):
    options = parsed(arguments)
    if options.show:
        print(table(json.loads(RECORDING.read_text(encoding="utf-8"))))
        return 0
    if not options.inside:
        return enter_own_network(sys.argv[1:] if arguments is None else arguments)
    recording = measure(options.rate * 1e6 / 8, options.repeat)
    print(table(recording))
    text = json.dumps(recording, indent=1, sort_keys=True)
    Path(options.output).write_text(text + "\n", encoding="utf-8")
    return 0


def parsed(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=100, help="of each link and direction, in Mbit/s (100)")
    parser.add_argument("--repeat", type=int, default=5, help="the quickest of so many runs counts (5)")
    parser.add_argument("--output", default=str(RECORDING), help="the file to record in")
    parser.add_argument("--show", action="store_true", help="print the recording, measure nothing")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not 10 <= options.rate <= 1000 or not 1 <= options.repeat <= 10:
        parser.error("--rate must be from 10 to 1000, --repeat from 1 to 10")
    return options


# --- a network of its own


def enter_own_network(arguments):
    """Run this script again in a new network namespace, or say what is missing."""
    lacking = missing()
    if lacking:
        return lacking
    command = [*new_network(), sys.executable, str(Path(__file__).resolve()), *arguments, INSIDE]
    sys.stdout.flush()
    os.execvp(command[0], command)  # this process goes on there: whoever ends it ends the lab


def new_network():
    """The command that runs another in a new network namespace: as root, or as root of a user namespace."""
    return ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-Urn"]


def missing():
    """Why the lab cannot run here, or None."""
    see = "Chapter 5 draws the recorded results instead (print them: python tests/lab_network.py --show)."
    if not sys.platform.startswith("linux"):
        return f"The network lab needs Linux, for its network namespaces. {see}"
    tools = [tool for tool in ("ip", "tc", "unshare") if tool_path(tool) is None]
    if tools:
        return (
            f"The network lab needs {', '.join(tools)}: install iproute2 (ip, tc) and util-linux "
            f"(unshare). {see}"
        )
    # One dry run of all that is special: a namespace, a virtual cable, a rate limit.
    script = "ip link add lab type veth && tc qdisc add dev lab root tbf rate 10mbit burst 16kb latency 50ms"
    tried = subprocess.run([*new_network(), "sh", "-c", script], capture_output=True, text=True, check=False)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["no message"])[0]
        way = (
            "This container or kernel forbids it even to root"
            if os.geteuid() == 0
            else "Run it as root (sudo), or allow user namespaces"
        )
        return (
            "The network lab may not make network namespaces with virtual cables and rate limits here "
            f"({said}). {way}. {see}"
        )
    return None


def tool_path(tool):
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def hosts(count, rate):
    """`count` hosts on a bridge; yields the process that keeps each one's network alive.

    They read from a pipe that we hold, so they end when we do, for whatever reason, and their networks with
    them.
    """
    with ExitStack() as stack:
        run("ip", "link", "set", "lo", "up")  # where launch lets the ranks meet first
        run("ip", "link", "add", "bridge", "type", "bridge")
        stack.callback(run, "ip", "link", "delete", "bridge")
        run("ip", "link", "set", "bridge", "up")
        pids = []
        for number in range(count):
            keeper = stack.enter_context(keep_network())
            cable, pid = f"cable{number}", str(keeper.pid)
            run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", pid)
            stack.callback(run, "ip", "link", "delete", cable)
            run("ip", "link", "set", cable, "master", "bridge", "up")
            inside = ["nsenter", f"--net=/proc/{pid}/ns/net"]
            run(*inside, "ip", "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")
            run(*inside, "ip", "link", "set", "eth0", "up")
            run(*inside, "ip", "link", "set", "lo", "up")
            limit = ["root", "tbf", "rate", f"{rate * 8:.0f}bit", "burst", BURST, "latency", "50ms"]
            run(*inside, "tc", "qdisc", "add", "dev", "eth0", *limit)  # what leaves the host
            run("tc", "qdisc", "add", "dev", cable, *limit)  # what reaches it
            pids.append(keeper.pid)
        yield pids


@contextmanager
def keep_network():
    """A process that does nothing but hold a new network namespace."""
    command = ["unshare", "-n", "sh", "-c", "echo here; exec cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        keeper.stdout.readline()
        try:
            yield keeper
        finally:
            keeper.stdin.close()


def wire_bytes(pid):
    """What the limiter of one host has counted on its way out, headers included."""
    shown = run("nsenter", f"--net=/proc/{pid}/ns/net", "tc", "-s", "-j", "qdisc", "show", "dev", "eth0")
    return sum(limiter["bytes"] for limiter in json.loads(shown))


# --- what runs on them


def measure(rate, repeat):
    """The recording: where and when, the link, every time measured, and the bytes on the wire."""
    sys.path.insert(0, str(ROOT / "notebooks" / "source"))
    from machine import this_machine

    from course_lib import laws

    times, latencies, wire = [], {}, []
    for ranks in RANKS:
        with hosts(ranks, rate) as pids:
            for algorithm, law in ALGORITHMS.items():
                before = wire_bytes(pids[-1])
                seconds = all_times(algorithm, ranks, pids, repeat)
                sent = wire_bytes(pids[-1]) - before
                if law == "ring":
                    latency = seconds.pop(NOTHING) / (2 * (ranks - 1))
                if algorithm == "ring":
                    latencies[ranks] = latency
                    payload = repeat * sum(2 * (ranks - 1) / ranks * size for size in SIZES)
                    wire.append({"ranks": ranks, "wire_bytes": sent, "payload_bytes": round(payload)})
                for size, measured in seconds.items():
                    predicted = laws.all_reduce_time(size, ranks, rate, latency, law)
                    row = {"algorithm": algorithm, "ranks": ranks, "nbytes": size}
                    times.append({**row, "seconds": round(measured, 5), "predicted": round(predicted, 5)})
                    print(f"{algorithm}, {ranks} hosts, {size:,} B: {measured / predicted:.3f}", flush=True)
    return {
        "machine": this_machine(),
        "date": date.today().isoformat(),
        "load": round(os.getloadavg()[0], 1),  # a busy machine waits for its cores, too
        "bandwidth": rate,
        "latency": {str(ranks): round(latency, 7) for ranks, latency in latencies.items()},
        "repeat": repeat,
        "times": times,
        "wire": wire,
    }


def all_times(algorithm, ranks, pids, repeat):
    """{bytes: seconds of the quickest run} of one all-reduce on these hosts."""
    from course_lib import launch

    sizes = [NOTHING] * (ALGORITHMS[algorithm] == "ring") + list(SIZES)
    with tempfile.TemporaryDirectory(prefix="network-lab-") as folder:
        repeats = {size: OF_NOTHING if size == NOTHING else repeat for size in sizes}
        worker = on_hosts(pids, folder, algorithm, repeats)
        clocks = launch(worker, ranks, timeout=MOST_SECONDS, threads=1).values
    taken = {}
    for number, size in enumerate(sizes):
        rounds = zip(*(clock[number] for clock in clocks), strict=True)  # each run, on all ranks
        spans = [
            max(stop for _, stop in each) - max(start for start, _ in each) for each in map(list, rounds)
        ]
        taken[size] = min(spans)
    return taken


def on_hosts(pids, folder, algorithm, repeats):
    """A worker that moves to its host, joins the others there, and times all-reduces: {bytes: how often}."""

    def worker(comm):
        import time

        import numpy as np
        import torch
        import torch.distributed as dist

        from course_lib import collectives

        move_to(pids[comm.rank], folder, comm.rank, comm.size)
        lines = HostComm()

        def all_reduce(array):
            if algorithm != "gloo":
                return getattr(collectives, f"{algorithm}_all_reduce")(lines, array)
            total = torch.from_numpy(array.copy())
            dist.all_reduce(total)
            return total.numpy()

        clocks = []
        for size, often in repeats.items():
            mine, clock = np.full(size // 8, comm.rank + 1.0), []
            for _ in range(often):
                lines.flush()
                dist.barrier()
                start = time.monotonic()
                total = all_reduce(mine)
                clock.append((start, time.monotonic()))
                assert (total == comm.size * (comm.size + 1) / 2).all()
            clocks.append(clock)
        lines.flush()
        dist.barrier()
        return clocks

    return worker


def move_to(pid, folder, rank, size):
    """Leave the group that launch made, on this machine's loopback, and meet the others on the hosts."""
    import ctypes
    from datetime import timedelta

    import torch.distributed as dist

    store = dist.FileStore(str(Path(folder) / "store"), size)
    store.set(f"here {rank}", "yes")
    store.wait([f"here {other}" for other in range(size)])  # nobody needs the old group any more
    dist.destroy_process_group()
    with open(f"/proc/{pid}/ns/net") as network:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(network.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "the rank may not enter its host")
    os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    limit = timedelta(seconds=MOST_SECONDS)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=limit)


class HostComm:
    """As much of `comm` as the library's algorithms need, on the group of the hosts; sizes are known."""

    def __init__(self):
        import torch
        import torch.distributed as dist

        self._dist, self._as_tensor, self._sent = dist, torch.from_numpy, []
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def send(self, array, to):
        copy = self._as_tensor(array.copy())
        self._sent.append((self._dist.isend(copy, to), copy))

    def recv(self, source, out):
        self._dist.irecv(self._as_tensor(out), source).wait()
        return out

    def sendrecv(self, array, to, source, out):
        arriving = self._dist.irecv(self._as_tensor(out), source)  # before the send
        self.send(array, to)
        arriving.wait()
        return out

    def flush(self):
        """Wait until what was sent has left."""
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()


# --- what it shows


def table(recording):
    """The recording as lines of text."""
    lines = [
        f"Links of {recording['bandwidth'] * 8 / 1e6:g} Mbit/s, recorded on {recording['date']}",
        f"{'algorithm':<18}{'hosts':>6}{'MB':>7}{'measured':>11}{'law':>9}{'measured / law':>16}",
    ]
    for row in recording["times"]:
        ratio = row["seconds"] / row["predicted"]
        lines.append(
            f"{row['algorithm']:<18}{row['ranks']:>6}{row['nbytes'] / 1e6:>7.1f}"
            f"{row['seconds']:>9.3f} s{row['predicted']:>7.3f} s{ratio:>16.3f}"
        )
    for row in recording["wire"]:
        share = row["wire_bytes"] / row["payload_bytes"] - 1
        lines.append(f"ring, {row['ranks']} hosts: {share:.1%} more bytes on the wire than payload")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
