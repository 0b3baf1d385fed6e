"""Click-through rate: logistic regression or DeepFM learns to predict clicks, on one rank or many."""

from dataclasses import dataclass, replace

from course_lib.arguments import one_of, whole_number
from course_lib.training.config import TrainingConfig
from course_lib.training.result import TrainingResult
from course_lib.training.worker import TrainingWorker

MODELS = ("logistic", "deepfm")
COMPRESSIONS = (None, "fp16", "int8", "top_k")
TASK = "course_lib.training.clicks_task:ClicksTask"


@dataclass(frozen=True, kw_only=True)
class ClicksConfig(TrainingConfig):
    """A TrainingConfig for clicks.make_clicks(training, held_out, seed=data_seed).

    model: "logistic", logistic regression on the fields' values; "deepfm" adds vectors of `embedding` numbers
    a value, their products in pairs, and a network on them with layers of `hidden` units (Guo et al. 2017).
    comm_hook, for compressed gradients: None, "fp16", "int8", or "top_k", a fifth of each parameter's
    entries, what is not sent being added to the next step's.
    """

    batch: int = 512
    lr: float = 0.02
    epochs: int = 3
    decay_epochs: float = 2.0
    optimizer: str = "adam"
    model: str = "deepfm"
    embedding: int = 4
    hidden: tuple = (16, 16)
    training: int = 80_000
    held_out: int = 20_000
    data_seed: int = 0

    def __post_init__(self):
        super().__post_init__()
        one_of("model", self.model, MODELS)
        one_of("comm_hook", self.comm_hook, COMPRESSIONS)
        if not isinstance(self.hidden, tuple | list):
            raise TypeError(f"hidden must be a tuple of layer widths, such as (16, 16); got {self.hidden!r}")
        self._set("hidden", tuple(whole_number("hidden", width, 1) for width in self.hidden))
        for name in ("embedding", "training", "held_out"):
            self._set(name, whole_number(name, getattr(self, name), 1))
        self._set("data_seed", whole_number("data_seed", self.data_seed, 0))


@dataclass(frozen=True)
class Traffic:
    """Bytes of one rank over a run. gradient: of its gradients. payload: of what was made of them.

    wire: sent, by the law of the collective. ring: sent, had the gradients themselves gone by the ring.
    """

    gradient: int
    payload: int
    wire: float
    ring: float


@dataclass(frozen=True)
class ClicksResult:
    """run: its TrainingResult. aucs: held out, before the first epoch and after each, every sample counted
    once; the same on every rank. best_auc: of the true probabilities. traffic: None in one process alone."""

    run: TrainingResult
    aucs: tuple
    best_auc: float
    traffic: Traffic | None

    @property
    def auc(self):
        """In the end."""
        return self.aucs[-1]

    @property
    def gap(self):
        """What is missing to the best."""
        return self.best_auc - self.auc


@dataclass(frozen=True)
class ClicksWorker:
    """worker(comm) for `launch`, in a torchrun job too: trains on all ranks and returns a ClicksResult."""

    config: ClicksConfig

    def __call__(self, comm):
        from course_lib.training.hooks import attach

        states = []
        config = replace(self.config, comm_hook=None)  # attached here instead, to keep the counts

        def attach_counting(net):
            states.append(attach(net, self.config.comm_hook))

        run = TrainingWorker(TASK, config, watch=_watch, attach=attach_counting)(comm)
        (state,) = states
        sizes = state.gradient_bytes, state.payload_bytes, state.wire_bytes, state.ring_bytes
        return _result(run, Traffic(*sizes))

    def alone(self):
        """Train in this process only, whatever its rank."""
        return _result(TrainingWorker(TASK, self.config, watch=_watch).alone(), None)


def clicks_worker(config=None):
    """The ClicksWorker of a ClicksConfig."""
    config = ClicksConfig() if config is None else config
    if not isinstance(config, ClicksConfig):
        raise TypeError(f"config must be a ClicksConfig; got {config!r}")
    return ClicksWorker(config)


def _watch(progress):
    """(AUC, best AUC) of the held-out clicks."""
    from course_lib.training.clicks_task import held_out_auc

    return held_out_auc(progress), progress.task.best_auc


def _result(run, traffic):
    aucs, best = zip(*run.watched, strict=True)
    return ClicksResult(run, aucs, best[0], traffic)
