"""Numbers with units that fit them."""

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def time_unit(seconds):
    """(factor, name) of the unit in which `seconds` is at least 1, or the smallest."""
    return next((unit for unit in TIMES if seconds >= unit[0]), TIMES[-1])


def seconds_text(seconds):
    """`seconds` in words, three digits: "1.25 ms"."""
    factor, name = time_unit(seconds)
    return f"{seconds / factor:.3g} {name}"


def bytes_text(nbytes):
    """`nbytes` in words, three digits, decimal units: "1.5 MB"."""
    factor, name = next((unit for unit in SIZES if nbytes >= unit[0]), SIZES[-1])
    return f"{nbytes / factor:.3g} {name}"
