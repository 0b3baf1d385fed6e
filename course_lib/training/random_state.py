"""The random number generators that a training step draws from."""

import random
from typing import Any

import numpy as np
import torch


def rng_state():
    """The state of this process's generators, made of tensors and plain numbers."""
    numpy_state: Any = np.random.get_state()  # a tuple; it would be a dict if asked for otherwise
    name, keys, *rest = numpy_state
    state = {"torch": torch.get_rng_state(), "numpy": (name, keys.tolist(), *rest)}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return {**state, "python": random.getstate()}


def set_rng_state(state):
    """Go on with the random numbers where `rng_state` was taken."""
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
