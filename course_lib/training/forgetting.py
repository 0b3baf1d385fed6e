"""A job goes on from a checkpoint that lacks one part: what differs in the end? Run by `launch`."""

import copy
from dataclasses import dataclass

PARTS = ("parameters", "buffers", "optimiser", "schedule", "loss scaler", "place in the data", "generators")
STEPS, SAVED, BATCH = 18, 8, 128  # updates; after how many the state is kept; samples a rank
FIRST_SCALE = 2.0**24  # too large for half precision: the scaler has to come down, a skipped update each time


@dataclass(frozen=True)
class Resumed:
    """What was left out, and whether the end is that of the undisturbed job, bit for bit."""

    left_out: str
    same_parameters: bool
    same_predictions: bool

    def __repr__(self):
        same = {True: "same", False: "differ"}
        parameters, predictions = same[self.same_parameters], same[self.same_predictions]
        return f"{self.left_out:18} parameters {parameters:6}  predictions {predictions}"


def leave_out_each(comm):
    """A Resumed for a whole state, and for one without each of PARTS in turn."""
    import torch

    job = _Job(comm)
    job.run(SAVED)
    state = copy.deepcopy(job.state())
    job.run(STEPS)
    wanted, rows = job.end(), []
    for part in (None, *PARTS):
        again = _Job(comm)
        again.load({name: value for name, value in copy.deepcopy(state).items() if name != part})
        again.run(STEPS)
        same = [torch.equal(*pair) for pair in zip(again.end(), wanted, strict=True)]
        rows.append(Resumed(part or "nothing", *same))
    return rows


class _Job:
    """Digits in half precision, with all that a training may carry from step to step."""

    def __init__(self, comm):
        import torch
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel
        from torch.utils.data import DistributedSampler

        from course_lib.digits import load_digits

        torch.manual_seed(0)
        layers = nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)
        self._net = nn.Sequential(*layers)
        self._model = DistributedDataParallel(self._net)
        torch.manual_seed(comm.rank)
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=0.2, momentum=0.9)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, lambda step: 1 - step / STEPS)
        self._scaler = torch.amp.GradScaler("cpu", init_scale=FIRST_SCALE)
        digits, _ = load_digits()
        self._images = torch.tensor(digits.images, dtype=torch.float32)
        self._labels = torch.tensor(digits.labels)
        self._sampler = DistributedSampler(range(len(digits.images)), comm.size, comm.rank, seed=0)
        self._place = self._done = 0

    def run(self, until):
        """On to the update of that number."""
        import torch
        from torch.nn.functional import cross_entropy

        self._net.train()
        while self._done < until:
            rows = self._rows()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = cross_entropy(self._model(self._images[rows]), self._labels[rows])
            self._optimizer.zero_grad()
            self._scaler.scale(loss).backward()
            self._scaler.step(self._optimizer)
            scale = self._scaler.get_scale()
            self._scaler.update()
            if self._scaler.get_scale() >= scale:  # else the update was skipped
                self._schedule.step()
            self._place, self._done = self._place + 1, self._done + 1

    def _rows(self):
        """This rank's samples of the next step: the order of an epoch follows from its number."""
        epoch, step = divmod(self._place, len(self._sampler) // BATCH)
        self._sampler.set_epoch(epoch)
        return list(self._sampler)[step * BATCH : (step + 1) * BATCH]

    def state(self):
        import torch

        return {
            "parameters": dict(self._net.named_parameters()),
            "buffers": dict(self._net.named_buffers()),
            "optimiser": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
            "loss scaler": self._scaler.state_dict(),
            "place in the data": self._place,
            "generators": torch.get_rng_state(),
        }

    def load(self, state):
        """What there is; the rest stays as in a new process."""
        import torch

        self._net.load_state_dict(state.get("parameters", {}) | state.get("buffers", {}), strict=False)
        for part, holder in (
            ("optimiser", self._optimizer),
            ("schedule", self._schedule),
            ("loss scaler", self._scaler),
        ):
            if part in state:
                holder.load_state_dict(state[part])
        self._place, self._done = state.get("place in the data", 0), SAVED
        if "generators" in state:
            torch.set_rng_state(state["generators"])

    def end(self):
        """(all parameters, what the network says of all digits)."""
        import torch

        self._net.eval()
        with torch.no_grad():
            parameters = torch.cat([each.flatten() for each in self._net.parameters()])
            return parameters.clone(), self._net(self._images)
