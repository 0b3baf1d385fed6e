"""Every word that the library shows a learner, in one table, so that another language is one more table."""

LABELS = {
    # predictions
    "prediction": "Prediction {key}",
    "no_guess": "You made no guess. Measured: {measured}",
    "no_choice": "You made no guess. The answer is {measured}.",
    "choice": "Your guess: {guess}. The answer is {measured}.",
    "guess": "Your guess: {guess}. Measured: {measured}",
    "guess_ratio": "Your guess: {guess}. Measured: {measured}. You were off by a factor of {ratio:.2g}",
    # exercises
    "not_attempted": "Not attempted yet: fill in the function above, then run this cell again.",
    "returned_nothing": "Not attempted yet: the function returned None. "
    "If you have written it, is a return missing?",
    "workers": "{count} workers",
    "worker": "1 worker",
    "passed": "Passed: {what}.",
    "failed": "Not yet. {case}: {what}",
    # pictures
    "step": "step",
    "epoch": "passes over the data",
    "loss": "loss (half mean squared error)",
    "samples": "samples",
    "gap": "loss minus that of one worker",
    "one_percent": "within 1 % of the best",
    "workers_legend": "workers",
    "above_best": "loss above the best possible",
    "ratio": "loop time / product time",
    "theory": "closed form",
    "measured": "measured",
    "equal": "equally fast",
    "stopped": "where the demo stops: {step}",
    "convergence_title": "After {stopped} steps it has only begun; step {reached} is within 1 % of the best",
    "convergence_alt": "Loss above the best possible one, {floor:.4g}, on a logarithmic axis, against step. "
    "Measured points lie on the closed form, nearly a straight line downwards. The demo stops at step "
    "{stopped}, near the top; the loss comes within 1 % of the best at step {reached}.",
    "departure_title": "A plain mean of unequal shards leaves the path",
    "departure_alt": "Difference of the loss from that of one worker, against step. The plain mean of five "
    "unequal shards departs at once and comes back slowly; the others stay at zero. Largest: {listed}.",
    "epochs_title": "Small batches arrive sooner, then jitter; full batches go on",
    "epochs_alt": "Loss above the best possible, on a logarithmic axis, against passes over the data. "
    "Last of each: {listed}.",
    "compute": "compute",
    "send": "send",
    "recv": "receive",
    "wait": "wait",
    "collective": "collective",
    "rank": "rank {rank}",
    "seconds": "time ({unit})",
    "simulated": "simulated",
    "real": "real",
    "timeline_title": "{ranks} workers, {world}: {wait:.0%} of their time is waiting",
    "timeline_alt": "Timeline with a lane for each of {ranks} workers, {seconds} long, {world}. "
    "Shares of the workers' time: {shares}.",
    "traffic_title": "{nbytes} in {messages} messages, at most {busiest} a pair",
    "traffic_alt": "Matrix of bytes sent, a row for each source and a column for each target, "
    "{ranks} workers, {world}. {listed}",
    "source": "source rank",
    "target": "target rank",
    "bytes": "bytes",
    "ring_title": "A worker sends to {partners} of the {others} others",
    "ring_alt": "The {ranks} workers on a circle; an arrow for each pair of which one sent to the other, "
    "with the bytes it carried. {listed}",
    "messages": "messages",
    "start": "start",
    "stop": "stop",
    "more_messages": "… and {count} more",
    "speed_title": "The product is {low:.0f} to {high:.0f} times faster than the loop",
    "speed_alt": "Time of the loop divided by time of the matrix product against the number of samples, both "
    "axes logarithmic. The ratio lies between {low:.0f} and {high:.0f}, far above the line of equal speed.",
}


def label(name, /, **values):
    """The text called `name`, filled in."""
    return LABELS[name].format(**values)
