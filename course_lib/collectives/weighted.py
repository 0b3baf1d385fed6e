"""A mean that counts each rank as much as it has to say."""

import numpy as np

from course_lib.arguments import real_number
from course_lib.arrays import zeros_like
from course_lib.comm import reducible


def weighted_mean(comm, array, weight):
    """The mean of every rank's `array`, each counted `weight` times (>= 0; its number of samples, say).

    Right for unequal shards, where a plain mean of means is not. What a rank of weight 0 passes does not
    matter, NaN included, except for its shape. Floating-point arrays; raises ValueError if all weights are 0.
    """
    weight = real_number("weight", weight)
    array = reducible(array, "mean")
    weights = float(comm.all_reduce(np.array(weight)))
    if weights == 0:
        raise ValueError("the weights of all ranks add up to 0; at least one must be above 0")
    # By its share, at most 1: a number counted 5000 times soon is too large for float16.
    return comm.all_reduce(array * (weight / weights) if weight else zeros_like(array))
