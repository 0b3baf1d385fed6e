"""The same training on digits by Horovod and by PyTorch's DistributedDataParallel: same results, which times?

    make horovod [RECORD=1]      (installs first; RECORD=1 keeps what is measured in data/horovod.json)

What differs is HorovodTrainer, and who starts the ranks: horovod.run there, launch here.
"""

import argparse
import json
import os
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch
from torch.nn.utils import parameters_to_vector

from course_lib import data, launch
from course_lib.training.digits import DigitsConfig
from course_lib.training.digits_task import DigitsTask
from course_lib.training.loop import Trainer, evaluate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "source"))
from machine import this_machine

try:
    import horovod
    import horovod.torch as hvd
except ImportError as error:
    sys.exit(
        f"This needs Horovod, which is not part of the course's environment ({error}). `make horovod` builds "
        "it in one of its own, .venv-horovod; chapter 8 shows a recorded run."
    )

RECORDING = data.FOLDER / "horovod.json"
CONFIG = DigitsConfig()
RANKS = 2
REPEAT = 3  # the quickest counts
TOLERANCE = 1e-6  # the ranks' gradients may be added up in another order


class HorovodTrainer(Trainer):
    """The course's training loop as Horovod wants it: it wraps not the model but the optimizer."""

    def replica(self, attach):
        hvd.broadcast_parameters(self.model.state_dict(), root_rank=0)
        return self.model

    def make_optimizer(self):
        return hvd.DistributedOptimizer(super().make_optimizer(), self.model.named_parameters())

    def total(self, tensor):
        return hvd.allreduce(tensor, op=hvd.Sum)


def trained(kind, rank, size):
    """(parameters, loss over all training data, steps, their seconds) of one rank."""
    torch.set_num_threads(1)
    trainer = kind(DigitsTask(CONFIG, "cpu"), CONFIG, rank, size)
    while not trainer.finished():
        trainer.run_epoch()
    loss, _ = evaluate(trainer.model, trainer.task, trainer.task.training)
    parameters = parameters_to_vector(trainer.model.parameters()).detach().double().numpy()
    return parameters, loss, len(trainer.losses), sum(trainer.seconds)


def horovod_rank():
    hvd.init()
    try:
        return trained(HorovodTrainer, hvd.rank(), hvd.size())
    finally:
        hvd.shutdown()


def by_horovod():
    # disable_cache: else it writes to the home folder what it found out about the network.
    return horovod.run(horovod_rank, num_proc=RANKS, use_gloo=True, start_timeout=60, disable_cache=True)


def by_ddp():
    return launch(lambda comm: trained(Trainer, comm.rank, comm.size), RANKS, threads=1, timeout=300).values


def compare():
    """The recording: where, when, and what came out."""
    os.environ["HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"] = "120"  # when a rank does not come
    runs = {"ddp": [], "horovod": []}
    for _ in range(REPEAT):  # in turn, so that what else the machine does hits both
        runs["ddp"].append(by_ddp())
        runs["horovod"].append(by_horovod())
    everyone = [rank for each in runs.values() for ranks in each for rank in ranks]
    first, _, steps, _ = runs["ddp"][0][0]
    return {
        "machine": this_machine(),
        "date": date.today().isoformat(),
        "horovod": version("horovod"),
        "torch": torch.__version__,
        "ranks": RANKS,
        "steps": steps,
        "largest_parameter_difference": max(abs(parameters - first).max() for parameters, *_ in everyone),
        **{f"final_loss_{name}": ranks[0][1] for name, (ranks, *_) in runs.items()},
        **{f"seconds_{name}": quickest(each) for name, each in runs.items()},
    }


def quickest(runs):
    """Seconds of the quickest run, each as long as its slowest rank's steps."""
    return round(min(max(seconds for *_, seconds in ranks) for ranks in runs), 4)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="keep the result in data/horovod.json")
    options = parser.parse_args()
    result = compare()
    print(json.dumps(result, indent=1, sort_keys=True))
    if not result["largest_parameter_difference"] <= TOLERANCE:
        sys.exit(f"Horovod and DDP differ by more than {TOLERANCE}; nothing is recorded.")
    if options.record:
        RECORDING.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
