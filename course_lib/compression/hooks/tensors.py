"""The same payloads made of torch tensors, on whatever device they are: byte for byte those of NumPy."""

from functools import singledispatch

import torch

from course_lib.compression.formats import LEVELS, SCALE_BYTES, Int8, Sign
from course_lib.compression.sparse import TopK

_BITS = (128, 64, 32, 16, 8, 4, 2, 1)  # numpy.packbits: the first number is the highest bit


@singledispatch
def encode(compressor, gradient):
    """The payload of a gradient: a flat uint8 tensor. For Int8, Sign and TopK."""
    raise TypeError(f"compressor must be an Int8, Sign or TopK here; got {compressor!r}")


@singledispatch
def decode(compressor, payload, shape):
    """What arrives: a float32 tensor of shape `shape`, a torch.Size."""
    raise TypeError(f"compressor must be an Int8, Sign or TopK here; got {compressor!r}")


@encode.register
def _(compressor: Int8, gradient):
    flat = gradient.flatten().float()
    scale = flat.abs().max() / LEVELS
    steps = torch.where(scale > 0, (flat / scale).round(), 0).clamp(-LEVELS, LEVELS)
    return _with_scale(scale, steps.to(torch.int8).view(torch.uint8))


@decode.register
def _(compressor: Int8, payload, shape):
    scale, steps = _split_scale(payload)
    return (steps.view(torch.int8) * scale).view(shape)


@encode.register
def _(compressor: Sign, gradient):
    flat = gradient.flatten().float()
    positive = torch.nn.functional.pad((flat >= 0).to(torch.uint8), (0, -len(flat) % 8)).view(-1, 8)
    packed = (positive * positive.new_tensor(_BITS)).sum(1, dtype=torch.uint8)
    return _with_scale(flat.abs().mean(dtype=torch.float64).float(), packed)


@decode.register
def _(compressor: Sign, payload, shape):
    scale, packed = _split_scale(payload)
    positive = (packed[:, None] & packed.new_tensor(_BITS)).flatten()[: shape.numel()] > 0
    return torch.where(positive, scale, -scale).view(shape)


@encode.register
def _(compressor: TopK, gradient):
    flat = gradient.flatten().float()
    kept = flat.abs().topk(compressor.entries(len(flat))).indices.sort().values
    return torch.cat([kept.int(), flat[kept].view(torch.int32)]).view(torch.uint8)


@decode.register
def _(compressor: TopK, payload, shape):
    indices, bits = _aligned(payload).view(torch.int32).view(2, -1)
    dense = torch.zeros(shape.numel(), device=payload.device)
    dense[indices.long()] = bits.view(torch.float32)
    return dense.view(shape)


def _with_scale(scale, numbers):
    return torch.cat([scale.view(1).view(torch.uint8), numbers])


def _split_scale(payload):
    return _aligned(payload[:SCALE_BYTES]).view(torch.float32), payload[SCALE_BYTES:]


def _aligned(payload):
    """A copy at an address of its own: wider numbers cannot be viewed at every byte."""
    return payload.clone()
