"""What every compressor does: `encode` makes the payload that travels, `decode` what arrives of it."""

from abc import ABC, abstractmethod

import numpy as np

from course_lib.arrays import as_array, describe, is_inexact, is_tensor


class Compressor(ABC):
    """encode(array) → the payload, one flat array: its nbytes are what a rank has to say.

    decode(payload, shape) → what the receiver makes of it: float32, of that shape. Called with an array, both
    in turn: what arrives, in kind, dtype and shape like `array`.
    """

    @abstractmethod
    def encode(self, array):
        """The payload of an array of floats; TypeError or ValueError for what is no gradient."""

    @abstractmethod
    def decode(self, payload, shape):
        """What arrives: a float32 array of shape `shape`."""

    def __call__(self, array):
        values = gradient(array)
        return like(array, self.decode(self.encode(values), values.shape))


def gradient(array):
    """`array` (a list and a torch tensor too) as NumPy floats: not empty, all finite; else an error."""
    array = as_array(np.asarray(array) if isinstance(array, list | tuple) else array)
    if not is_inexact(array) or "complex" in str(array.dtype):
        raise TypeError(f"a gradient is of floating-point numbers; got {describe(array)}")
    if is_tensor(array):
        array = array.detach().cpu()
        array = (array.float() if array.itemsize < 4 else array).numpy()  # NumPy knows no bfloat16
    if array.size == 0:
        raise ValueError(f"a gradient holds at least one number; got {describe(array)}")
    if bad := np.count_nonzero(~np.isfinite(array)):
        raise ValueError(f"a gradient must be finite; {bad} of {array.size} numbers are NaN or infinite")
    return array


def flat_float32(array):
    """A checked gradient as float32, flattened; ValueError where that is infinite."""
    array = gradient(array)
    with np.errstate(over="ignore"):
        flat = array.astype(np.float32).reshape(-1)
    expect_range("float32", array, flat)
    return flat


def expect_range(name, array, decoded):
    """Raise ValueError if a number of `array` was too large for the format called `name`."""
    if not np.isfinite(decoded).all():
        largest = np.abs(array).max()
        raise ValueError(f"{largest:g} is too large for {name}: divide by the number of ranks, or rescale")


def like(array, values):
    """`values` in the kind, dtype and device of `array`; ValueError where that makes one infinite."""
    if is_tensor(array):
        made = array.new_tensor(values)
        finite = bool(made.double().isfinite().all())  # of eight bits there is no isfinite
    else:
        with np.errstate(over="ignore"):
            made = np.asarray(values).astype(np.asarray(array).dtype)
        finite = np.isfinite(made).all()
    if not finite:
        raise ValueError(
            f"what arrives is too large for {made.dtype}: divide by the number of ranks, or rescale"
        )
    return made


def expect_compressor(value):
    """Raise TypeError unless `value` is a Compressor."""
    if not isinstance(value, Compressor):
        raise TypeError(f"compressor must be one that makes payloads, such as Int8(); got {value!r}")
