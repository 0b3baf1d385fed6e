"""Numbers in words, digit for digit as widgets/js/text.js writes them, so that both tell the same."""

import math
from decimal import ROUND_HALF_UP, Decimal

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
MOST = 1e24  # from here on with an exponent: Decimal has 28 digits, and nobody reads so many


def unit_of(value, units):
    """(factor, name) of the first of `units` in which `value` is at least 1, or the smallest."""
    return next((unit for unit in units if value >= unit[0]), units[-1])


def number_text(x):
    """Three digits, whole from 100 on: "1,960", "12.5", "5", "0.05", "4.9e-5", "∞"."""
    if math.isinf(x):
        return "∞"
    if x and abs(x) < 1e-3:
        return _with_exponent(x)
    return _rounded(x, max(0, 2 - _exponent(x)))


def exact_text(x):
    """Six digits: for what a learner has set, where 0.9995 must not read as 1."""
    return _trimmed(f"{Decimal(f'{x:.6g}'):f}")


def seconds_text(seconds):
    """ "81.7 ms"."""
    return _with_unit(seconds, TIMES)


def bytes_text(nbytes):
    """ "14 GB"; decimal units."""
    return _with_unit(nbytes, SIZES)


def bandwidth_text(bandwidth):
    """ "300 GB/s"."""
    return f"{bytes_text(bandwidth)}/s"


def percent_text(share):
    """ "14 %"."""
    return f"{number_text(100 * share)} %"


def _with_unit(value, units):
    factor, name = unit_of(value, units)
    return f"{number_text(value / factor)} {name}"


def _rounded(x, digits):
    if MOST <= abs(x) < math.inf:
        return _with_exponent(x)
    return _trimmed(f"{Decimal(float(x)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,f}")


def _with_exponent(x):
    mantissa, exponent = f"{x:.2e}".split("e")
    return f"{_trimmed(mantissa)}e{int(exponent)}"


def _exponent(x):
    return math.floor(math.log10(abs(x))) if x else 0


def _trimmed(text):
    return text.rstrip("0").rstrip(".") if "." in text else text
