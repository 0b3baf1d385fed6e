"""PowerSGD in DDP, for any number of buckets; course_lib.compression.PowerSGD is the same, to read."""

import torch
import torch.distributed as dist

from course_lib.arguments import whole_number
from course_lib.compression.hooks.state import HookState, gradients_of
from course_lib.compression.low_rank import first_q


class PowerSGDState(HookState):
    """State of power_sgd_hook. rank: r; seed: of the first Q, the same on all ranks."""

    def __init__(self, rank, *, seed=0, feedback=True, group=None):
        super().__init__(feedback=feedback, group=group)
        self.rank, self.seed = whole_number("rank", rank, 1), whole_number("seed", seed, 0)
        self.q = {}  # parameter -> where power iteration goes on

    def last_q(self, parameter):
        """The Q of the last step; in the first one random, but the same on all ranks."""
        if parameter not in self.q:
            q = first_q(parameter.numel() // len(parameter), self.rank, self.seed)
            self.q[parameter] = torch.from_numpy(q).to(parameter.device)
        return self.q[parameter]

    def pays(self, gradient):
        """True for a matrix, or what can be flattened to one, of which P and Q hold fewer numbers."""
        if gradient.ndim < 2:
            return False
        rows, size = len(gradient), gradient.numel()
        return self.rank <= min(rows, size // rows) and self.rank * (rows + size // rows) < size


def power_sgd_hook(state, bucket):
    """A matrix goes as P and Q, if they are smaller; what is no matrix as it is, along with the Qs."""
    buffer, gradients = bucket.buffer(), gradients_of(bucket)
    plain = [gradient for gradient in gradients.values() if not state.pays(gradient)]
    matrices = {
        parameter: state.corrected(parameter, gradient).flatten(1)
        for parameter, gradient in gradients.items()
        if state.pays(gradient)
    }
    ps = _orthonormal_sums(state, [matrix @ state.last_q(key) for key, matrix in matrices.items()])
    qs = [matrix.T @ p for matrix, p in zip(matrices.values(), ps, strict=True)]
    for parameter, p, q in zip(matrices, ps, qs, strict=True):
        state.keep(parameter, (matrices[parameter] - p @ q.T).view(parameter.shape))
    packed, shapes = _pack(plain + qs)
    state.count(bucket, packed.nbytes + sum(p.nbytes for p in ps), "ring")
    work = dist.all_reduce(packed, group=state.group, async_op=True)

    def rebuild(done):
        means = _unpack(done.value()[0] / state.ranks, shapes)
        for gradient, mean in zip(plain, means[: len(plain)], strict=True):
            gradient.copy_(mean)
        for parameter, p, q in zip(matrices, ps, means[len(plain) :], strict=True):
            gradients[parameter].copy_((p @ q.T).view(parameter.shape))
            if q.any():  # from zero there is no way back
                state.q[parameter] = q
        return buffer

    return work.get_future().then(rebuild)


def _orthonormal_sums(state, ps):
    """The ranks' sums with orthonormal columns; waited for, since the Qs are made of them."""
    if not ps:
        return []
    packed, shapes = _pack(ps)
    dist.all_reduce(packed, group=state.group)
    return [torch.linalg.qr(p).Q for p in _unpack(packed, shapes)]


def _pack(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors]), [tensor.shape for tensor in tensors]


def _unpack(packed, shapes):
    parts = packed.split([shape.numel() for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
