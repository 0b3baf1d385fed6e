"""Checkpoints of a data-parallel job: a file that is whole, or not there at all.

A file holds all that the next step depends on: model, optimiser, position in the data, and the state of every
random number generator on every rank. It is written under another name, then named, so that a job killed
at any moment leaves either the old state of the folder or the new one.
"""

import hashlib
import io
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist

from course_lib.arguments import whole_number
from course_lib.training.random_state import rng_state, set_rng_state
from course_lib.training.whole_file import write_whole

KEYS = ("world_size", "epoch", "step", "model", "optimizer", "rng")
_NAME, _PATTERN = "checkpoint-{:06d}.pt", re.compile(r"checkpoint-(\d{6,})\.pt", re.ASCII)


class CheckpointError(RuntimeError):
    """A checkpoint that this job cannot go on from; the text says why."""


class DamagedCheckpoint(CheckpointError):
    """A file that was cut short or changed."""


class Position(NamedTuple):
    """Where to go on: the epoch, and the step within it that comes next."""

    epoch: int
    step: int


def save(folder, model, optimizer, *, epoch, step, **more):
    """Write a new checkpoint to `folder`; every rank calls it, rank 0 writes. Returns its path on rank 0.

    epoch, step: of the step to be done next. more: to be kept along, of tensors, numbers and strings. A
    module wrapped by DDP is saved without its wrapper.
    """
    epoch, step = whole_number("epoch", epoch, 0), whole_number("step", step, 0)
    generators = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(rng_state(), generators)
    if generators is None:
        return None
    state = {
        **more,
        "world_size": len(generators),
        "epoch": epoch,
        "step": step,
        "model": _unwrapped(model).state_dict(),
        "optimizer": optimizer.state_dict(),
        "rng": generators,
    }
    return write(Path(folder) / _NAME.format(max(_files(folder), default=0) + 1), state)


def resume(folder, model, optimizer):
    """Load the newest whole checkpoint of `folder`, if there is one, and return its Position; on every rank.

    Sets the model, the optimiser and this rank's random number generators. Raises CheckpointError where ranks
    find different files: they need one folder that all of them see. A model under DDP on more than two ranks
    goes on bit for bit only if it has run one backward pass before: then its buckets are final, and with them
    the order in which gloo adds up.
    """
    found = newest(folder, dist.get_world_size())
    name, names = found and found[0].name, [None] * dist.get_world_size()
    dist.all_gather_object(names, name)
    if len(set(names)) > 1:
        raise CheckpointError(f"the ranks must go on from the same checkpoint; they found {names}")
    if found is None:
        return Position(0, 0)
    _, state = found
    _unwrapped(model).load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    set_rng_state(state["rng"][dist.get_rank()])
    return Position(state["epoch"], state["step"])


def newest(folder, world_size) -> tuple[Path, dict] | None:
    """(path, state) of the newest whole checkpoint, or None for a folder without any.

    A damaged one is left out with a warning; CheckpointError if all are, lest a job begin anew unnoticed.
    """
    files = _files(folder)
    for _, path in sorted(files.items(), reverse=True):
        try:
            return path, read(path, world_size)
        except DamagedCheckpoint as error:
            warnings.warn(f"{error}; looking for an older one", stacklevel=2)
    if files:
        raise CheckpointError(f"none of the {len(files)} checkpoints in {folder} is whole")
    return None


def read(path, world_size):
    """The state in a checkpoint; CheckpointError if it is damaged, incomplete, or of another world size."""
    _check_bytes(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)  # runs no code from the file
    except (RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise CheckpointError(f"{path} is no checkpoint of tensors and numbers: {error}") from None
    missing = [key for key in KEYS if key not in state] if isinstance(state, Mapping) else KEYS
    if missing:
        raise CheckpointError(f"{path} is no whole checkpoint: {', '.join(missing)} missing")
    if state["world_size"] != world_size:
        raise CheckpointError(
            f"{path} was written by {state['world_size']} ranks, but this job has {world_size}: start it "
            f"with {state['world_size']}, for each has its share of the data and its own random numbers"
        )
    return state


def expect_config(path, state, config):
    """Raise CheckpointError, which names what differs, unless the dict `config` was saved as config=…."""
    saved = state.get("config", {})
    differs = sorted(name for name in saved.keys() | config if saved.get(name) != config.get(name))
    if differs:
        listed = ", ".join(f"{name}={saved.get(name)!r} (here {config.get(name)!r})" for name in differs)
        raise CheckpointError(f"{path} is of another run, with {listed}: choose another folder")


def _check_bytes(path):
    """Raise DamagedCheckpoint unless the file is all there: a zip archive, with a checksum of each part."""
    with open(path, "rb") as file:
        try:
            damage: object = zipfile.ZipFile(file).testzip()
        except Exception as error:  # zipfile raises whatever the wrong bytes lead it to
            damage = error
    if damage is not None:
        raise DamagedCheckpoint(f"{path} ({os.path.getsize(path)} bytes) is cut short or damaged: {damage}")


def write(path, state):
    """Write `state` to a new file, all of it or nothing, and return the path; see write_whole."""
    whole = io.BytesIO()  # of a full disk torch itself would say only "unexpected pos"
    torch.save(state, whole)
    return write_whole(path, lambda file: file.write(whole.getbuffer()))


def _files(folder):
    """{number: path} of the checkpoints in a folder, damaged ones included; none if there is no folder."""
    if not Path(folder).is_dir():
        if Path(folder).exists():
            raise NotADirectoryError(f"checkpoints are kept in a folder; {folder} is a file")
        return {}
    named = ((_PATTERN.fullmatch(path.name), path) for path in Path(folder).iterdir())
    return {int(match[1]): path for match, path in named if match}


def _unwrapped(model):
    return getattr(model, "module", model)


def digest(model):
    """SHA-256 of the names and bytes of all parameters and buffers: equal if they are, bit for bit."""
    sha = hashlib.sha256()
    for name, tensor in _unwrapped(model).state_dict().items():
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        sha.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()
