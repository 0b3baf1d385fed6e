"""Every word that the library shows a learner, in one table, so that another language is one more table."""

LABELS = {
    # predictions
    "no_guess": "You made no guess. Measured: {measured}",
    "guess": "Your guess: {guess}. Measured: {measured}",
    "guess_ratio": "Your guess: {guess}. Measured: {measured}. You were off by a factor of {ratio:.2g}",
    # exercises
    "not_attempted": "Not attempted yet: fill in the function above, then run this cell again.",
    "passed": "Passed: {what}.",
    "failed": "Not yet. {case}: {what}",
    # pictures
    "step": "step",
    "epoch": "passes over the data",
    "loss": "loss (half mean squared error)",
    "samples": "samples",
}


def label(key, **values):
    """The text of `key`, filled in."""
    return LABELS[key].format(**values)
