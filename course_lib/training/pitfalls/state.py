"""Random numbers, files and number formats of a job of several ranks."""

from pathlib import Path


def same_noise(comm, seed=0, items=8):
    """Which of `items` dropout keeps. → name: list of 0 and 1.

    "one seed": the same noise on all ranks, one draw where K were meant. "by rank": parameters by one seed,
    then noise by seed and rank.
    """
    import torch

    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(items, items), torch.nn.Dropout(0.5))
    results = {}
    for name, own in {"one seed": seed, "by rank": seed + 1 + comm.rank}.items():
        torch.manual_seed(own)
        results[name] = model[1](torch.ones(items)).bool().int().tolist()
    return results


def saving(folder):
    """A worker: rank 0 saves net and net.module to `folder`, all load the second. → name: value.

    "net", "net.module": the keys of each file; DDP's own begin with "module.", which no plain model knows.
    "error": what loading the first into a plain model says. "sum": of the parameters loaded.
    """

    def worker(comm):
        import torch
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(comm.rank)
        net = DistributedDataParallel(torch.nn.Linear(3, 2))  # from here on rank 0's parameters
        files = {
            "net": (net, Path(folder) / "net.pt"),
            "net.module": (net.module, Path(folder) / "module.pt"),
        }
        if comm.rank == 0:
            for module, path in files.values():
                torch.save(module.state_dict(), path)
        comm.barrier()  # or some would look for a file that is not there, or half there
        states = {name: torch.load(path, weights_only=True) for name, (_, path) in files.items()}
        fresh = torch.nn.Linear(3, 2)
        results: dict[str, object] = {name: list(state) for name, state in states.items()}
        try:
            fresh.load_state_dict(states["net"])
        except RuntimeError as error:
            results["error"] = str(error)
        fresh.load_state_dict(states["net.module"])
        results["sum"] = sum(parameter.sum().item() for parameter in fresh.parameters())
        return results

    return worker


def half_weights(comm, steps=100, lr=1e-3):
    """w = 1 and loss w, `steps` times w -= lr: 0.9 in the end. → name: (w, dtype of the prediction).

    "weights in bfloat16": next to 1 the next number below is 1 - 2^-8, so each step is rounded away.
    "autocast": weights and update in float32, the product in bfloat16.
    """
    import torch
    from torch.nn.parallel import DistributedDataParallel

    results = {}
    for name, dtype in {"weights in bfloat16": torch.bfloat16, "autocast": torch.float32}.items():
        layer = torch.nn.Linear(1, 1, bias=False, dtype=dtype)
        torch.nn.init.ones_(layer.weight)
        net, optimizer = DistributedDataParallel(layer), torch.optim.SGD(layer.parameters(), lr=lr)
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=name == "autocast"):
                predicted = net(torch.ones(1, 1, dtype=dtype))
            predicted.float().sum().backward()
            optimizer.step()
        results[name] = layer.weight.item(), str(predicted.dtype)
    return results


def loss_scaling(comm, gradient=1e-8):
    """A `gradient` too small for float16. → name: its mean over the ranks, after an all-reduce in float16.

    "scaled": the loss, and so the gradient, times 2^16 before and through 2^16 after, as GradScaler does.
    bfloat16 has float32's exponents and needs none.
    """
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    from torch.nn.parallel import DistributedDataParallel

    results = {}
    for name, scale in {"plain": 1.0, "scaled": 2.0**16}.items():
        net = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
        net.register_comm_hook(None, fp16_compress_hook)
        (net(torch.tensor([[gradient]])).sum() * scale).backward()
        results[name] = net.module.weight.grad.item() / scale
    return results
