"""What `comm` needs to know of an array, be it NumPy's or torch's, without importing torch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

if TYPE_CHECKING:
    import torch

    Array: TypeAlias = np.ndarray | torch.Tensor


def is_tensor(array: Any) -> TypeGuard[torch.Tensor]:
    """True for a torch tensor; if torch was never imported, nothing can be one."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def as_array(array: Any) -> Array:
    """Return `array` if it is a NumPy array or a torch tensor, a number as a 0-d array; else TypeError."""
    if isinstance(array, np.ndarray):
        if array.dtype.hasobject:
            raise TypeError(f"an array of Python objects cannot be sent; its dtype is {array.dtype}")
        if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
            raise TypeError("a masked array cannot be sent, for its mask would be lost: send .filled(...)")
        return array
    if isinstance(array, (np.generic, int, float)):
        return np.asarray(array)
    if is_tensor(array):
        if array.layout is not sys.modules["torch"].strided or array.is_nested or array.device.type == "meta":
            raise TypeError(f"comm takes dense tensors that hold data; got {_unlike(array)}")
        return array
    kind = type(array).__name__
    raise TypeError(f"comm takes a NumPy array or a torch tensor; got a {kind}: wrap it in np.array(...)")


def _unlike(tensor: torch.Tensor) -> str:
    """How a tensor differs from one that can be sent."""
    if tensor.is_nested:
        return "a nested one"
    if tensor.device.type == "meta":
        return "one on the meta device"
    return f"a sparse one, of layout {tensor.layout}"


def copy_of(array: Array) -> Array:
    """A contiguous copy that shares no memory; a tensor's copy is detached from autograd."""
    if type(array) is np.ndarray:  # the common case first: the simulator copies millions of arrays
        return array.copy()
    return array.detach().clone().contiguous() if is_tensor(array) else np.array(array, order="C", copy=True)


def fill(out: Array, array: Array) -> None:
    """Copy the values of `array` into `out`, also into a tensor that autograd watches."""
    target = out if type(out) is np.ndarray or not is_tensor(out) else out.detach()
    target[...] = array


def n_bytes(array: Array) -> int:
    """Size in bytes."""
    return array.nbytes  # torch's name for it as well


def describe(array: Array) -> str:
    """Kind, dtype and shape, in words that two ranks can compare."""
    return f"{'tensor' if is_tensor(array) else 'array'} {array.dtype} {tuple(array.shape)}"


def alike(one: Array, other: Array) -> bool:
    """True if type, dtype and shape are the same: quick, where `describe` is slow."""
    return type(one) is type(other) and one.shape == other.shape and one.dtype == other.dtype


def is_inexact(array: Array) -> bool:
    """True if a mean of such arrays is one of them: floats and complex numbers, not integers."""
    if is_tensor(array):
        return array.is_floating_point() or array.is_complex()
    return np.issubdtype(array.dtype, np.inexact)


def empty_like(array: Array) -> Array:
    """An uninitialised array of the same kind, shape and dtype."""
    return array.new_empty(array.shape) if is_tensor(array) else np.empty(array.shape, array.dtype)


def zeros_like(array: Array) -> Array:
    """Zeros of the same kind, shape and dtype."""
    return array.new_zeros(array.shape) if is_tensor(array) else np.zeros_like(array)
