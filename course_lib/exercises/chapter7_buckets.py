"""Checker of chapter 7: find the bucket size for given layers and a given link."""

from functools import cache

from course_lib.arguments import real_number
from course_lib.buckets import backward_with_buckets, backwards, sweep
from course_lib.exercises.credit import exercise
from course_lib.exercises.report import Report, checked, expect
from course_lib.labels import label
from course_lib.link import Link
from course_lib.pictures.overlap import count_text
from course_lib.pictures.wording import bytes_text, number_text, seconds_text
from course_lib.simulation import simulate

# 48 layers of 100 kB and 1 ms each; 4 workers on a busy network of 1 Gbit/s.
LAYER_BYTES, LAYER_SECONDS = (100_000,) * 48, (0.001,) * 48
RANKS, LINK = 4, Link(300e-6, 125e6)
TOLERANCE = 0.05


@exercise("7.3")
def check_bucket_size(bucket_bytes):
    """The time of a backward pass with buckets of this size is within 5 % of the best there is.

    For LAYER_BYTES, LAYER_SECONDS, RANKS and LINK, simulated.
    """
    if bucket_bytes is None or bucket_bytes is Ellipsis:
        return Report(None, label("ch7_bucket_not_attempted"))
    passed = label("ch7_bucket_passed", seconds=seconds_text(_best().seconds))
    return checked(lambda: _size(bucket_bytes), passed)


@cache
def _best():
    """The SweepRow of the fastest size: one size for each number of layers in a bucket."""
    layer, layers = LAYER_BYTES[0], len(LAYER_BYTES)
    numbers = {-(-layers // count): layer * count for count in range(layers, 0, -1)}
    rows = sweep(LAYER_BYTES, LAYER_SECONDS, sorted(numbers.values()), RANKS, LINK)
    return min(rows, key=lambda row: row.seconds)


def _size(bucket_bytes):
    try:
        size = real_number("bucket_bytes", bucket_bytes, inclusive=False)
    except (TypeError, ValueError) as error:
        about = label("ch7_bucket_kind") if isinstance(bucket_bytes, type) else str(error)
        return expect(False, label("ch7_bucket_case"), about)
    run = simulate(backward_with_buckets(LAYER_BYTES, LAYER_SECONDS, size), RANKS, link=LINK)
    mine, best = backwards(run)[0], _best()
    words = {
        "buckets": count_text(len(mine.buckets)),
        "seconds": seconds_text(mine.stop),
        "slower": number_text(100 * (mine.stop / best.seconds - 1)),
        "latency": seconds_text(2 * (RANKS - 1) * LINK.latency * len(mine.buckets)),
        "waited": seconds_text(mine.waited),
    }
    advice = "ch7_bucket_small" if len(mine.buckets) > best.buckets else "ch7_bucket_large"
    case = label("ch7_bucket_of", size=bytes_text(size))
    return expect(mine.stop <= (1 + TOLERANCE) * best.seconds, case, label(advice, **words))
