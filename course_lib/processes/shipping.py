"""What travels between the kernel and a rank: the worker there, its result back."""

import io
import marshal
import pickle
import sys
import types

import cloudpickle


def pack_worker(worker):
    """The worker as bytes, or TypeError that says what in it cannot be sent."""
    try:
        return _dump(_WorkerPickler, worker)
    except Exception as error:
        name = getattr(worker, "__name__", repr(worker))
        raise TypeError(
            f"worker {name} cannot be sent to other processes, for something it refers to cannot: "
            f"{error}. Create such objects (files, locks, generators, connections) inside the worker."
        ) from error


def pack_result(value):
    """A worker's result as bytes, or TypeError; CUDA tensors come back on the CPU."""
    try:
        return _dump(_ResultPickler, value)
    except Exception as error:
        kind = type(value).__name__
        raise TypeError(f"the worker's result, a {kind}, cannot be sent back: {error}") from None


unpack = pickle.loads


def _dump(pickler, value):
    buffer = io.BytesIO()
    pickler(buffer).dump(value)
    return buffer.getvalue()


def _reduce_code(code):
    return marshal.loads, (marshal.dumps(code),)


class _WorkerPickler(cloudpickle.Pickler):
    """cloudpickle forgets which file or cell code came from; a traceback has to show it."""

    dispatch_table = {**cloudpickle.Pickler.dispatch_table, types.CodeType: _reduce_code}


class _ResultPickler(cloudpickle.Pickler):
    """Neither a tensor's GPU, nor the graph behind it, nor what it is a view of leaves the rank."""

    def reducer_override(self, obj):
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.nn.Parameter) and obj.is_cuda:
            return torch.nn.Parameter, (obj.detach().cpu(), obj.requires_grad)
        if torch is not None and type(obj) is torch.Tensor and (obj.is_cuda or not obj.is_leaf):
            return _identity, (obj.detach().cpu(),)
        if torch is not None and type(obj) is torch.Tensor and _is_part(obj):
            return _identity, (obj.detach().clone().requires_grad_(obj.requires_grad),)
        return super().reducer_override(obj)


def _is_part(tensor):
    """True if the memory behind a tensor, which would be pickled as a whole, is larger than the tensor."""
    strided = str(tensor.layout) == "torch.strided"
    return strided and tensor.untyped_storage().nbytes() > tensor.nbytes


def _identity(obj):
    return obj
