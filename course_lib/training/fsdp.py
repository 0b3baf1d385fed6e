"""FSDP2, real at small size: the masked-language model with its parameters sharded, and replicated by DDP."""

from dataclasses import dataclass

from course_lib.training.mlm import MlmConfig

SMALL = MlmConfig(context=16, layers=2, width=32, global_batch=16, steps=20, warmup=5)


@dataclass(frozen=True)
class Replica:
    """One way to train, on one rank. losses: of each update, over the samples of all ranks, before it.

    parameters: numbers of the model that this rank holds between two steps. optimizer: numbers of Adam's two
    moments that it holds. gradients: numbers of gradient that it holds, once averaged.
    """

    losses: tuple
    parameters: int
    optimizer: int
    gradients: int


@dataclass(frozen=True)
class Sharding:
    """The same training twice. total: parameters of the model."""

    total: int
    ddp: Replica
    fsdp: Replica


def sharding_worker(config=SMALL):
    """A worker for `launch` that trains by DDP, then by FSDP2; returns a Sharding, one a rank.

    FSDP2 (fully_shard) leaves each rank a piece of every parameter, cut along its first dimension. Just
    before a layer is used it gathers the pieces; of gradients it reduces and scatters them (ZeRO stage 3).
    On GPUs if each rank has one, else on the CPU.
    """
    if not isinstance(config, MlmConfig):
        raise TypeError(f"config must be an MlmConfig; got {config!r}")

    def worker(comm):
        import torch
        from torch.nn.parallel import DistributedDataParallel

        device = comm.device if torch.cuda.device_count() >= comm.size else torch.device("cpu")
        ways = DistributedDataParallel, lambda model: sharded(model, comm.size, device)
        ddp, fsdp = (_train(config, comm.rank, comm.size, device, wrap) for wrap in ways)
        return Sharding(_total(config), ddp, fsdp)

    return worker


def sharded(model, ranks, device):
    """`model`, a mlm.model.Encoder, sharded in place over all ranks: first each layer, then what is left.

    All ranks must have made it with the same parameters: nothing is broadcast, each keeps its own piece.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (ranks,))
    for layer in model.layers.layers:  # what is gathered at a time, so the memory for one layer suffices
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def _train(config, rank, size, device, wrap):
    import torch

    from course_lib.training.loop import sum_over_ranks
    from course_lib.training.mlm.loop import Trainer

    trainer = Trainer(config, rank, size, device, wrap)
    losses = sum_over_ranks(torch.stack([trainer.update(step) for step in range(config.steps)]), size)
    parameters = list(trainer.model.parameters())
    moments = [
        state[name] for state in trainer.optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")
    ]
    gradients = [parameter.grad for parameter in parameters]
    return Replica(tuple(losses.tolist()), *map(_held, (parameters, moments, gradients)))


def _held(tensors):
    """How many numbers of these tensors lie on this rank."""
    from torch.distributed.tensor import DTensor

    return sum((each.to_local() if isinstance(each, DTensor) else each).numel() for each in tensors)


def _total(config):
    from course_lib.training.mlm.model import Encoder

    return _held(Encoder(config).parameters())
