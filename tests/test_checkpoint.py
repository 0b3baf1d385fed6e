"""Checkpoints: all that the next step depends on, whole or not at all, never in place of another file."""

import math
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib import RankError, launch
from course_lib.training import checkpoint
from course_lib.training.checkpoint import CheckpointError, DamagedCheckpoint
from course_lib.training.whole_file import write_whole


def state(world_size=2, **changes):
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    net(torch.ones(3)).sum().backward()
    optimizer.step()
    return {
        "world_size": world_size,
        "epoch": 1,
        "step": 2,
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "rng": [checkpoint.rng_state() for _ in range(world_size)],
        **changes,
    }


@pytest.fixture
def path(tmp_path):
    return checkpoint.write(tmp_path / "checkpoint-000001.pt", state())


# A job that goes on as if nothing had happened


def train(model, optimizer, steps, start=0):
    """Steps whose noise comes from all three generators and from dropout."""
    for step in range(start, steps):
        noise = torch.from_numpy(np.random.normal(0, 1, (4, 6)).astype(np.float32))
        images = random.uniform(0.5, 1.5) * torch.linspace(0, step, 24).reshape(4, 6) + noise
        optimizer.zero_grad()
        model(images).square().mean().backward()
        optimizer.step()


def built(seed):
    for set_seed in (random.seed, np.random.seed, torch.manual_seed):
        set_seed(seed)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 64), nn.Dropout(0.5), nn.Linear(64, 9)))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def saved_and_resumed(comm, folder, forget=(), settle=True):
    """Digests of an undisturbed run of 6 steps, and of one that goes on from a checkpoint after 3."""
    model, optimizer = built(comm.rank)
    begun = checkpoint.resume(folder, model, optimizer)
    train(model, optimizer, 3)
    path = checkpoint.save(folder, model, optimizer, epoch=1, step=3)
    train(model, optimizer, 6, start=3)
    undisturbed = checkpoint.digest(model)

    model, optimizer = built(100 + comm.rank)  # another process would have something else as well
    if settle:
        train(model, optimizer, 1)  # DDP's buckets are final after its first step
    before = checkpoint.rng_state()
    position = checkpoint.resume(folder, model, optimizer)
    resumed_state = checkpoint.rng_state()
    checkpoint.set_rng_state({**resumed_state, **{name: before[name] for name in forget}})
    train(model, optimizer, 6, start=3)
    return tuple(begun), tuple(position), path and path.name, undisturbed, checkpoint.digest(model)


def test_it_goes_on_bit_for_bit_if_no_generator_is_forgotten(tmp_path, subtests):
    """And if DDP has its final buckets: until then three ranks' gradients are added up in another order."""
    cases = [((), True), (("torch",), True), (("numpy",), True), (("python",), True), ((), False)]

    def worker(comm):
        return [saved_and_resumed(comm, tmp_path / str(case), *case) for case in cases]

    for case, *values in zip(cases, *launch(worker, 3).values, strict=True):
        with subtests.test(case=case):
            assert [value[:3] for value in values] == [
                ((0, 0), (1, 3), "checkpoint-000001.pt" if rank == 0 else None) for rank in range(3)
            ]
            assert len({value[3] for value in values}) == 1  # DDP's replicas are alike
            assert all(
                (resumed == undisturbed) == (case == ((), True)) for *_, undisturbed, resumed in values
            )


def test_a_new_checkpoint_never_takes_the_name_of_another(tmp_path):
    def worker(comm):
        model, optimizer = built(comm.rank)
        for step in range(2):
            checkpoint.save(tmp_path, model, optimizer, epoch=0, step=step)
        dist.barrier()
        return checkpoint.resume(tmp_path, model, optimizer).step

    (tmp_path / "checkpoint-000007.pt").write_text("somebody's notes")
    (tmp_path / "checkpoint-best.pt").write_text("not ours")
    (tmp_path / ".checkpoint-000009.pt.123").write_bytes(b"left by a killed writer")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert launch(worker, 2).values == [1, 1]
    assert {each.name for each in tmp_path.iterdir() if each.name[0] != "."} == {
        *(f"checkpoint-00000{number}.pt" for number in (7, 8, 9)),
        "checkpoint-best.pt",
    }
    assert (tmp_path / "checkpoint-000007.pt").read_text() == "somebody's notes"


def test_ranks_that_see_different_folders_are_told(tmp_path):
    def worker(comm):
        model, optimizer = built(comm.rank)
        checkpoint.resume(tmp_path / str(comm.rank), model, optimizer)

    checkpoint.write(tmp_path / "0" / "checkpoint-000003.pt", state())
    with pytest.raises(RankError, match=r"same checkpoint; they found \['checkpoint-000003.pt', None\]"):
        launch(worker, 2)


@pytest.mark.parametrize("bad", [{"epoch": -1, "step": 0}, {"epoch": 0, "step": 1.5}])
def test_bad_positions(tmp_path, bad):
    with pytest.raises((TypeError, ValueError), match="epoch must be|step must be"):
        checkpoint.save(tmp_path, None, None, **bad)


# Reading


def test_what_is_written_is_read(path):
    now = torch.get_rng_state()
    got = checkpoint.read(path, world_size=2)
    assert got.keys() == state().keys() and (got["epoch"], got["step"]) == (1, 2)
    assert torch.equal(got["rng"][1]["torch"], now)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_file_cut_short(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: math.floor(share * len(whole))])
    with pytest.raises(
        DamagedCheckpoint, match=r"checkpoint-000001.pt \(\d+ bytes\) is cut short or damaged"
    ):
        checkpoint.read(path, 2)


def test_a_changed_byte(path):
    whole = bytearray(path.read_bytes())
    place = whole.index(next(iter(state()["model"])).encode()) + 2
    whole[place] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DamagedCheckpoint, match="damaged: archive/data.pkl"):
        checkpoint.read(path, 2)


def test_another_world_size(path):
    with pytest.raises(CheckpointError, match="written by 2 ranks, but this job has 4: start it with 2"):
        checkpoint.read(path, 4)


def test_missing_keys(tmp_path):
    part = state()
    del part["rng"], part["optimizer"]
    with pytest.raises(CheckpointError, match="no whole checkpoint: optimizer, rng missing"):
        checkpoint.read(checkpoint.write(tmp_path / "a.pt", part), 2)
    with pytest.raises(CheckpointError, match="world_size, epoch, step, model, optimizer, rng missing"):
        checkpoint.read(checkpoint.write(tmp_path / "b.pt", [1, 2]), 2)


class Bomb:
    def __reduce__(self):
        return os.mkdir, (str(Path(__file__).parent / "exploded"),)


@pytest.mark.parametrize("save", [torch.save, lambda what, path: path.write_bytes(pickle.dumps(what))])
def test_no_code_of_a_file_is_run(tmp_path, save):
    save({**state(), "epoch": Bomb()}, tmp_path / "a.pt")
    with pytest.raises(CheckpointError):
        checkpoint.read(tmp_path / "a.pt", 2)
    assert not (Path(__file__).parent / "exploded").exists()


def test_the_newest_whole_one_is_taken(tmp_path):
    assert checkpoint.newest(tmp_path, 2) is None and checkpoint.newest(tmp_path / "none", 2) is None
    for number in range(1, 4):
        checkpoint.write(tmp_path / f"checkpoint-{number:06d}.pt", state(step=number))
    last = tmp_path / "checkpoint-000003.pt"
    assert checkpoint.newest(tmp_path, 2)[1]["step"] == 3
    last.write_bytes(last.read_bytes()[:1000])
    with pytest.warns(UserWarning, match="000003.pt .*cut short or damaged.*; looking for an older one"):
        path, got = checkpoint.newest(tmp_path, 2)
    assert (path.name, got["step"]) == ("checkpoint-000002.pt", 2)
    with pytest.raises(CheckpointError, match="written by 2 ranks"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint.newest(tmp_path, 3)


def test_newest_goes_by_number_and_other_names_are_no_checkpoints(path):
    for number in ("1000000", "999999", "2", "\u0662", "\u00b2\u00b3"):
        shutil.copy(path, path.with_name(f"checkpoint-{number}.pt"))
    newest, _ = checkpoint.newest(path.parent, 2)
    assert newest.name == "checkpoint-1000000.pt"


def test_a_file_in_the_place_of_the_folder(path):
    with pytest.raises(NotADirectoryError, match="kept in a folder; .* is a file"):
        checkpoint.newest(path, 2)


def test_a_job_does_not_begin_anew_unnoticed(path):
    path.write_bytes(b"")
    with pytest.warns(UserWarning), pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
        checkpoint.newest(path.parent, 2)


# Writing


def test_a_file_that_is_there_stays(tmp_path):
    taken = tmp_path / "notes.pt"
    taken.write_text("mine")
    with pytest.raises(FileExistsError, match="no file is ever replaced"):
        checkpoint.write(taken, state())
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("failing", ["fsync", "link"])
def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch, failing):
    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(os, failing, fail)
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        checkpoint.write(tmp_path / "checkpoint-000001.pt", state())
    assert list(tmp_path.iterdir()) == []


def test_what_another_job_wrote_meanwhile_stays(tmp_path):
    path = tmp_path / "checkpoint-000001.pt"

    def slow(file):
        file.write(b"late")
        path.write_bytes(b"first")

    with pytest.raises(FileExistsError, match="no file is ever replaced"):
        write_whole(path, slow)
    assert path.read_bytes() == b"first" and list(tmp_path.iterdir()) == [path]


def test_where_there_are_no_links_a_file_is_renamed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: os.stat(tmp_path / "nothing"))  # an OSError
    checkpoint.write(tmp_path / "checkpoint-000001.pt", {"a": 1})
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint-000001.pt"]


UNLUCKY = """
import os, resource, signal, sys, torch
from course_lib.training import checkpoint
path, (_, hard) = sys.argv[1] + "/checkpoint-00000%d.pt", resource.getrlimit(resource.RLIMIT_FSIZE)
checkpoint.write(path % 1, {"a": 1})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
try:
    checkpoint.write(path % 2, {"a": torch.zeros(10_000)})
except OSError as error:
    print(error, os.listdir(sys.argv[1]), flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
checkpoint.write(path % 3, {"a": 3})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files")
def test_a_full_disk_is_named_and_a_writer_killed_half_way_leaves_the_old_state(tmp_path):
    done = subprocess.run([sys.executable, "-c", UNLUCKY, str(tmp_path)], capture_output=True, text=True)
    assert re.search(r"File too large.* \['checkpoint-000001.pt'\]", done.stdout), done.stderr
    assert done.returncode == -signal.SIGKILL
    assert [each.name for each in tmp_path.glob("*.pt") if each.name[0] != "."] == ["checkpoint-000001.pt"]
    assert torch.load(tmp_path / "checkpoint-000001.pt", weights_only=True) == {"a": 1}


# Random numbers, digests


def draws():
    # An odd number of normal ones: numpy then keeps one for later.
    return random.random(), np.random.normal(size=3).tolist(), torch.rand(3).tolist()


def test_generators_go_on_where_they_were(tmp_path):
    draws()
    written = checkpoint.write(tmp_path / "a.pt", state(world_size=1))
    expected = [draws(), draws()]
    checkpoint.set_rng_state(checkpoint.read(written, 1)["rng"][0])
    assert [draws(), draws()] == expected


def test_a_digest_tells_one_bit():
    torch.manual_seed(0)
    net, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    assert checkpoint.digest(net) == checkpoint.digest(other)
    with torch.no_grad():
        other.weight[1] = torch.nextafter(other.weight[1], torch.tensor(2.0))
    assert checkpoint.digest(net) != checkpoint.digest(other)
    net.running_mean += 1
    assert len({checkpoint.digest(each) for each in (net, other, nn.BatchNorm1d(2))}) == 3
