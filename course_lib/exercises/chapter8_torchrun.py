"""Checker of chapter 8: what to type on each of three machines."""

import re
import shlex

from course_lib.exercises.asking import ask
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import Report, checked, expect, not_attempted
from course_lib.labels import label

MACHINES, GPUS = ("node-a", "node-b", "node-c"), 4
TOGETHER = ", ".join(MACHINES)  # the case of what is wrong with no line alone
SCRIPT = "train.py"
LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
FLAGS = ("standalone", "no-python", "m", "module", "run-path")  # options that take no value


@exercise("8.3")
def check_commands(command):
    """Exercise 8.3: command(number) → what to type on machine `number` of MACHINES, as a string.

    It runs SCRIPT under torchrun with GPUS ranks on each; by --master-addr or by --rdzv-endpoint.
    """
    if command is None or command is Ellipsis:
        return Report(None, label("not_attempted"))
    return checked(lambda: _commands(command), label("ch8_torchrun_passed", ranks=len(MACHINES) * GPUS))


def _commands(command):
    typed = [ask(name, command, number) for number, name in enumerate(MACHINES)]
    if all(each is None or each is Ellipsis for each in typed):
        not_attempted()
    parsed = []
    for name, text in zip(MACHINES, typed, strict=True):
        expect(isinstance(text, str), name, label("ch8_torchrun_kind", kind=type(text).__name__))
        parsed.append(_parse(name, text))
    for name, options in zip(MACHINES, parsed, strict=True):
        _expect_counts(name, options)
    backends = [options.get("rdzv-backend", "static") for options in parsed]
    for name, backend in zip(MACHINES, backends, strict=True):
        expect(backend in ("static", "c10d"), name, label("ch8_torchrun_backend", backend=backend))
    expect(len({*backends}) == 1, TOGETHER, label("ch8_torchrun_backends", backends=_listed(backends)))
    ids = {options.get("rdzv-id", "none") for options in parsed}  # torchrun's default
    expect(len(ids) == 1, TOGETHER, label("ch8_torchrun_ids", ids=_listed(sorted(ids))))
    for name, options in zip(MACHINES, parsed, strict=True):
        _expect_fixed(name, options)
    if backends[0] == "c10d":
        _expect_one_end(parsed)
    else:
        _by_address(parsed)


def _parse(name, text):
    """{option: value}, the script under "script"."""
    try:
        words = shlex.split(text.replace("\\\n", " "))  # a line may go on in the next
    except ValueError as error:
        expect(False, name, str(error))
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):  # variables of the environment, for this command
        words.pop(0)
    module = re.match(r"\S*python\S* -m torch\.distributed\.(run|launch) ", " ".join(words) + " ")
    expect(module or words[:1] == ["torchrun"], name, label("ch8_torchrun_start", start=" ".join(words[:1])))
    options, rest = {}, words[3 if module else 1 :]
    while rest and rest[0].startswith("-"):
        key, equals, value = rest.pop(0).lstrip("-").partition("=")
        key = key.replace("_", "-")
        if key not in FLAGS and not equals:
            expect(rest, name, label("ch8_torchrun_value", option=key))
            value = rest.pop(0)
        options[key] = value
    found = rest[0] if rest else ""
    expect(found, name, label("ch8_torchrun_script", script=SCRIPT))
    as_module = options.keys() & {"m", "module"}
    right = found == SCRIPT.removesuffix(".py") if as_module else found.rpartition("/")[2] == SCRIPT
    expect(right, name, label("ch8_torchrun_other_script", script=SCRIPT, found=found))
    return options


def _expect_fixed(name, options):
    """No value that each machine's shell would fill in by itself, and so differently."""
    for option, value in options.items():
        different = re.search(r"\$\{?(RANDOM|SECONDS|PPID|BASHPID|\$|SRANDOM|EPOCH\w*)|\$\(|`", value)
        expect(not different, name, label("ch8_torchrun_variable", option=option, value=value))


def _expect_counts(name, options):
    machines, ranks = len(MACHINES), len(MACHINES) * GPUS
    expect("standalone" not in options, name, label("ch8_torchrun_standalone"))
    nodes, each = options.get("nnodes"), options.get("nproc-per-node")
    right = nodes in (str(machines), f"{machines}:{machines}")
    expect(right, name, label("ch8_torchrun_nodes", value=nodes, machines=machines))
    expect(each != str(ranks), name, label("ch8_torchrun_all", ranks=ranks, gpus=GPUS))
    expect(each in (str(GPUS), "gpu", "auto"), name, label("ch8_torchrun_each", value=each, gpus=GPUS))


def _by_address(parsed):
    """torchrun's default: the machines are numbered, and all meet at number 0's."""
    numbers = [options.get("node-rank", "0") for options in parsed]
    if len({*numbers}) < len(numbers):
        expect(False, TOGETHER, label("ch8_torchrun_equal", numbers=_listed(numbers)))
    right = sorted(numbers) == [str(number) for number in range(len(MACHINES))]
    expect(right, TOGETHER, label("ch8_torchrun_numbers", numbers=_listed(numbers)))
    first = MACHINES[numbers.index("0")]
    if any("rdzv-endpoint" in options for options in parsed):
        _expect_one_end(parsed, first)
        end = parsed[0]["rdzv-endpoint"]
        expect(":" in end, TOGETHER, label("ch8_torchrun_port", end=end))
        return
    for name, options in zip(MACHINES, parsed, strict=True):
        address = options.get("master-addr")
        expect(address is not None, name, label("ch8_torchrun_address"))
        what = label("ch8_torchrun_first", first=first, option="--master-addr", address=address)
        _expect_meeting(name, address, (first,), what)
    ports = {options.get("master-port", "29500") for options in parsed}
    expect(len(ports) == 1, TOGETHER, label("ch8_torchrun_ports", ports=_listed(sorted(ports))))


def _expect_one_end(parsed, first=None):
    """All have one --rdzv-endpoint, on machine `first`, or on any of them."""
    for name, options in zip(MACHINES, parsed, strict=True):
        expect("rdzv-endpoint" in options, name, label("ch8_torchrun_end"))
        address = options["rdzv-endpoint"].partition(":")[0]
        what = label("ch8_torchrun_unknown", address=address)
        if first and address in MACHINES:
            what = label("ch8_torchrun_first", first=first, option="--rdzv-endpoint", address=address)
        _expect_meeting(name, address, (first,) if first else MACHINES, what)
    ends = [options["rdzv-endpoint"] for options in parsed]
    expect(len({*ends}) == 1, TOGETHER, label("ch8_torchrun_ends", ends=_listed(ends)))


def _expect_meeting(name, address, wanted, what):
    expect(address not in LOCAL, name, label("ch8_torchrun_local", address=address))
    expect(address in wanted, name, what)


def _listed(values):
    return ", ".join(map(str, values))
