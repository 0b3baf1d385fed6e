"""Which samples a rank sees: DistributedSampler's order, and what it pads."""

from course_lib.arguments import whole_number


def sampler_epochs(comm, items=8, epochs=2):
    """DistributedSampler, shuffled with seed 0. → name: this rank's items in each epoch.

    Its order follows from seed and epoch, and only set_epoch tells it the epoch.
    """
    from torch.utils.data import DistributedSampler

    results = {}
    for name in ("without", "set_epoch"):
        sampler = DistributedSampler(range(items), comm.size, comm.rank, seed=0)
        results[name] = []
        for epoch in range(epochs):
            if name == "set_epoch":
                sampler.set_epoch(epoch)
            results[name].append(list(sampler))
    return results


def without_padding(sampler):
    """This rank's items of one epoch of a DistributedSampler, without those that only fill up the last round.

    Together the ranks have every item once, so counts can be added up; some have an item less than others.
    """
    items = len(sampler.dataset)
    dealt = enumerate(sampler)
    return [item for place, item in dealt if sampler.rank + place * sampler.num_replicas < items]


def padding(comm, items=10):
    """A model that is right about the first two of `items` only. → name: accuracy, over all ranks.

    The sampler pads with its first items, so that all ranks get as many: these two count twice.
    """
    import numpy as np
    from torch.utils.data import DistributedSampler

    items = whole_number("items", items, 2)
    sampler = DistributedSampler(range(items), comm.size, comm.rank, shuffle=False)
    results = {}
    for name, mine in {"padded": list(sampler), "dropped": without_padding(sampler)}.items():
        counts = np.array([sum(item < 2 for item in mine), len(mine)])
        right, seen = comm.all_reduce(counts)
        results[name] = float(right / seen)
    return results
