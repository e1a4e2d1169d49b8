"""Training from an earlier run: resumed where it was killed, or repeated up to its best iteration.

A resumed run gives the same bits. What a run of the trainer depends on is built again: rows,
permutations, fresh nets. Their state and that of optimiser, schedule, generators and callbacks
comes from the checkpoint; minibatches that were seen already are skipped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from adacap.checkpoint import Checkpoint, is_alike, is_number
from adacap.core.mlr import MLRLoss
from adacap.exceptions import warn_caller
from adacap.training.callbacks import Callback, EarlyStopping, TrainingState, keeps_state
from adacap.training.data import Batch, TrainingData
from adacap.training.history import History, Trained
from adacap.training.loop import Trainer

__all__ = ["UpTo", "resumed"]

_DONE, _UNDER_WAY = "done", "under way"
_ALWAYS_RECORDED = {"step", "loss", "fit_true", "learning_rate"}
_MOVES = {"last_epoch", "_step_count", "_last_lr"}  # of a schedule; all else stays as it was made


def resumed(trainer: Trainer, checkpoint: Checkpoint) -> Trained:
    """Run a freshly built trainer, from the state that a checkpoint holds."""
    key = f"nets {_digest(trainer)}"
    found = checkpoint.get(key)
    if _is_of(trainer, found, _DONE):
        checkpoint.accept()
        return _restored(trainer, found)
    saver = _Saver(trainer, checkpoint, key)
    is_found = _is_of(trainer, found, _UNDER_WAY)
    if found is not None and not is_found:
        checkpoint.discard(key)
    if is_found:
        checkpoint.accept()
        _go_on(trainer, found)
        saver.before, saver.states = found["seconds"], found["callbacks"]
    trainer.callbacks = (*trainer.callbacks, saver)
    trained = trainer.run()
    checkpoint.put(key, _described(trained))
    return trained


def _digest(trainer: Trainer) -> str:
    """What identifies one run of a fit: nets at their start, seeds, training settings."""
    config = replace(trainer.config, deadline=None, optimizer="adam", scheduler=None)
    last = [int(step) for step in getattr(trainer, "last", ())]
    digest = hashlib.blake2b(f"{config} {trainer.data.seeds} {last}".encode(), digest_size=16)
    for name, tensor in trainer.nets.state().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _is_of(trainer: Trainer, found: Any, status: str) -> bool:
    """Whether a file belongs to this trainer and has every part in the form it would write."""
    names = _Done._fields if status == _DONE else _UnderWay._fields
    if not isinstance(found, dict) or found.get("status") != status or found.keys() != {*names}:
        return False
    return is_done(trainer, found) if status == _DONE else is_under_way(trainer, found)


# ----------------------------------------------------------------------------- a run that is done


class _Done(NamedTuple):
    status: str
    nets: list[Tensor]
    coef: Tensor
    intercept: Tensor
    best_step: list[int]
    best_score: list[float]
    histories: list[Any]
    trace: Tensor | None


def _described(trained: Trained) -> dict[str, Any]:
    return _Done(
        _DONE, list(trained.nets.state().values()), trained.coef, trained.intercept,
        trained.best_step, trained.best_score, [list(h) for h in trained.histories], trained.trace,
    )._asdict()  # fmt: skip


@torch.no_grad()
def _restored(trainer: Trainer, found: dict[str, Any]) -> Trained:
    done, nets = _Done(**found), trainer.nets
    _copy(nets.state().values(), done.nets)
    nets.backbone.generators = None
    device = trainer.data.x.device
    return Trained(
        nets, done.coef.to(device), done.intercept.to(device), done.best_step, done.best_score,
        [History(records) for records in done.histories],
        None if done.trace is None else done.trace.to(device),
    )  # fmt: skip


def _copy(own: Any, stored: Sequence[Tensor]) -> None:
    for tensor, kept in zip(own, stored, strict=True):
        tensor.copy_(kept)


# -------------------------------------------------------------------------- a run that is under way


class _UnderWay(NamedTuple):
    status: str
    step: int
    seconds: float
    nets: list[Tensor]
    kept: list[Tensor]
    best: dict[str, list[Any]]
    records: list[dict[str, list[float]]]
    trace: list[Tensor]
    optimizer: dict[str, Any]
    scheduler: dict[str, Any] | None
    generators: list[Tensor]
    callbacks: list[dict[str, Any]]


def _snapshot(trainer: Trainer, record: dict[str, list[float]]) -> dict[str, Any]:
    """State after a step, whose record is not yet with the others."""
    best, scheduler = trainer.best, trainer.scheduler
    return _UnderWay(
        status=_UNDER_WAY,
        step=trainer.state.step,
        seconds=record["seconds"][0],
        nets=list(trainer.nets.state().values()),
        kept=best.kept,
        best={name: list(getattr(best, name)) for name in ("score", "active", "step", "n_steps")},
        records=[*trainer.records, record],
        trace=trainer.trace,
        optimizer=trainer.optimizer.state_dict(),
        scheduler=None if scheduler is None else scheduler.state_dict(),
        generators=[generator.get_state() for generator in generators(trainer)],
        callbacks=[callback.state_dict() for callback in filter(keeps_state, trainer.callbacks)],
    )._asdict()


@torch.no_grad()
def _go_on(trainer: Trainer, found: dict[str, Any]) -> None:
    """Bring a fresh trainer to the state of an earlier one."""
    old, device = _UnderWay(**found), trainer.data.x.device
    _copy(trainer.nets.state().values(), old.nets)
    trainer.best.kept = [tensor.to(device) for tensor in old.kept]
    vars(trainer.best).update(old.best)
    trainer.state.step, trainer.records = old.step, old.records
    trainer.trace = [tensor.to(device) for tensor in old.trace]
    trainer.optimizer.load_state_dict(old.optimizer)
    if trainer.scheduler is not None and old.scheduler is not None:
        trainer.scheduler.load_state_dict(old.scheduler)
    for generator, state in zip(generators(trainer), old.generators, strict=True):
        generator.set_state(state)
    trainer.data = _Later(trainer.data, old.step + 1)


class _Later(TrainingData):
    """The same rows, whose first minibatches have been seen."""

    def __init__(self, data: TrainingData, n_seen: int) -> None:
        vars(self).update(vars(data))
        self._n_seen = n_seen

    def batches(self, batch_size: int) -> Iterator[Batch]:
        """Minibatches from the first that has not been seen."""
        return islice(super().batches(batch_size), self._n_seen, None)


class _Saver(Callback):
    """The last callback: saves the state now and then, and restores that of the others."""

    def __init__(self, trainer: Trainer, checkpoint: Checkpoint, key: str) -> None:
        self.trainer, self.checkpoint, self.key = trainer, checkpoint, key
        self.before = 0.0  # seconds
        self.states: list[dict[str, Any]] = []
        self.is_on = True

    def on_start(self, state: TrainingState) -> None:
        others = filter(keeps_state, self.trainer.callbacks)
        for callback, old in zip(others, self.states, strict=False):
            callback.load_state_dict(old)

    def on_step(self, state: TrainingState) -> None:
        record = state.record
        record["seconds"] = [seconds + self.before for seconds in record["seconds"]]
        is_last = state.stop or self.trainer.is_over(-math.inf)
        if not self.is_on or is_last or not self.checkpoint.is_due():
            return
        try:
            self.checkpoint.put(self.key, _snapshot(self.trainer, record))
        except TypeError as error:
            self.is_on = False
            warn_caller(
                f"{error} Training continues; its nets are kept when done, not on the way. "
                "Use an optimizer and a schedule whose state is numbers."
            )


# -------------------------------------------------------------------- up to an iteration


@dataclass
class UpTo(Trainer):
    """Keeps a given iteration of each net regardless of its score, and stops after the last."""

    last: Sequence[int] = ()  # iteration to keep of each net; the latest, if training ends before

    def validate(self, loss: MLRLoss) -> list[float]:
        """The step itself as a score, as long as it counts."""
        step = self.state.step
        self.best.active = [step <= last for last in self.last]
        return [float(step)] * self.nets.k

    def is_over(self, next_end: float) -> bool:
        """Also after the last of them."""
        return super().is_over(next_end) or self.state.step >= max(self.last)


# ----------------------------------------------------------------- whether what is kept fits
# A file may hold anything. Everything is checked against what this process builds itself: the nets,
# one step of a fresh optimiser, the sizes of the data.


def generators(trainer: Trainer) -> list[torch.Generator]:
    """Where dropout and dithering draw from; batches are drawn again and skipped."""
    of_nets = trainer.nets.backbone.generators or []
    return [*of_nets, *getattr(trainer.objective, "generators", ())]


def is_done(trainer: Trainer, found: dict[str, Any]) -> bool:
    """Whether these are the fields of a run that is done, in their forms."""
    k, trace, last = trainer.nets.k, found["trace"], trainer.config.max_iter - 1
    return (
        is_alike(found["nets"], _state(trainer))
        and _are_finite(found["nets"])
        and _is_layer(trainer, found["coef"], found["intercept"])
        and _are_whole(found["best_step"], k, last)
        and _are_numbers(found["best_score"], k)
        and _is_list(found["histories"], k)
        and all(_are_records(one, is_number_or_nan) for one in found["histories"])
        and (trace is None or _is_trace(trainer, trace, 4))
    )


def is_under_way(trainer: Trainer, found: dict[str, Any]) -> bool:
    """Whether these are the fields of a run that is under way, in their forms."""
    k, step, kept, trace = trainer.nets.k, found["step"], found["kept"], found["trace"]
    is_step = type(step) is int and 0 <= step < trainer.config.max_iter
    return (
        is_step
        and is_number(found["seconds"], 0, 1e12)
        and is_alike(found["nets"], _state(trainer))
        and isinstance(kept, list)
        and is_alike(kept[:-2], _state(trainer))
        and _is_layer(trainer, *kept[-2:])
        and _is_best(found["best"], k, step)
        and _are_records(found["records"], lambda value: _are_numbers(value, k))
        and len(found["records"]) == step + 1
        and isinstance(trace, list)
        and all(_is_trace(trainer, one, 3) for one in trace)
        and _are_generators(trainer, found["generators"])
        and _is_optimizer(trainer, found["optimizer"], found["scheduler"])
        and _are_callbacks(trainer, found["callbacks"])
    )


# ------------------------------------------------------------------------------ numbers and lists


def is_number_or_nan(value: Any) -> bool:
    """Whether a value is an integer or a float of any kind."""
    return type(value) in (int, float)


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _are_numbers(value: Any, k: int) -> bool:
    return _is_list(value, k) and all(map(is_number_or_nan, value))


def _are_whole(value: Any, k: int, most: int) -> bool:
    return _is_list(value, k) and all(type(one) is int and 0 <= one <= most for one in value)


def _are_records(value: Any, is_value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(record, dict)
        and record.keys() >= _ALWAYS_RECORDED
        and all(isinstance(name, str) and is_value(one) for name, one in record.items())
        for record in value
    )


def _is_best(best: Any, k: int, step: int) -> bool:
    return (
        isinstance(best, dict)
        and best.keys() == {"score", "active", "step", "n_steps"}
        and _are_numbers(best["score"], k)
        and is_alike(best["active"], [True] * k)
        and _are_whole(best["step"], k, step)
        and _are_whole(best["n_steps"], k, step + 1)
    )


# ---------------------------------------------------------------------------------------- tensors


def _state(trainer: Trainer) -> list[Tensor]:
    return list(trainer.nets.state().values())


def _is_layer(trainer: Trainer, coef: Any = None, intercept: Any = None) -> bool:
    """Whether these are output layers of the nets; they define the number of features."""
    k, c, x = trainer.nets.k, trainer.data.labels.shape[-1], trainer.data.x[:1]
    with torch.no_grad():
        features = trainer.features(x.expand(k, *x.shape), training=False)
    shapes = [(k, features.shape[-1], c), (k, c)]
    return all(map(_is_float, (coef, intercept), shapes))


def _is_float(value: Any, shape: Iterable[int]) -> bool:
    is_one = isinstance(value, Tensor) and value.is_floating_point()
    return is_one and tuple(value.shape) == tuple(shape) and _are_finite([value])


def _are_finite(tensors: Iterable[Tensor]) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in tensors)


def _is_trace(trainer: Trainer, trace: Any, n_dims: int) -> bool:
    """Whether these are predictions of validation rows, of one step or of several."""
    valid = trainer.data.valid
    if valid is None or not isinstance(trace, Tensor) or trace.ndim != n_dims:
        return False
    k, m, c = valid.targets.shape
    several = trace.shape[1:-2]
    return math.prod(several) > 0 and _is_float(trace, (k, *several, min(m, trainer.n_traced), c))


# ------------------------------------------------------------------------- optimiser and callbacks


def _is_optimizer(trainer: Trainer, state: Any, schedule: Any) -> bool:
    """Whether these are states as those of a fresh optimiser and schedule after one step."""
    nets, config = trainer.nets, trainer.config
    fresh = [
        [torch.zeros_like(one, requires_grad=True) for one in part.parameters()]
        for part in (nets.backbone, nets.head)
    ]
    optimizer = config.make_optimizer(*fresh)
    scheduler = config.make_scheduler(optimizer)
    for one in (*fresh[0], *fresh[1]):
        one.grad = torch.zeros_like(one)
    optimizer.step()
    own = optimizer.state_dict()
    if not isinstance(state, dict) or state.keys() != own.keys():
        return False
    steps = state["state"]
    if not isinstance(steps, dict) or not steps.keys() <= own["state"].keys():
        return False
    return (
        is_alike(state["param_groups"], own["param_groups"])
        and [one["params"] for one in state["param_groups"]]
        == [one["params"] for one in own["param_groups"]]
        and all(is_alike(one, own["state"][place]) for place, one in steps.items())
        and _is_schedule(schedule, None if scheduler is None else scheduler.state_dict())
    )


def _is_schedule(state: Any, own: dict[str, Any] | None) -> bool:
    """Whether only that differs from a fresh schedule which moves with the steps."""
    return is_alike(state, own) and all(
        state[name] == value for name, value in (own or {}).items() if name not in _MOVES
    )


def _are_generators(trainer: Trainer, states: Any) -> bool:
    own = generators(trainer)
    if not is_alike(states, [one.get_state() for one in own]):
        return False
    try:
        for one, state in zip(own, states, strict=True):
            torch.Generator(one.device).set_state(state)
    except RuntimeError:  # of this size, but no state
        return False
    return True


def _are_callbacks(trainer: Trainer, states: Any) -> bool:
    """Whether there is a state for each callback that keeps one; a user's own knows its form."""
    callbacks = list(filter(keeps_state, trainer.callbacks))
    early: dict[str, Any] = {"best": [0.0] * trainer.nets.k, "waited": 0}
    return _is_list(states, len(callbacks)) and all(
        isinstance(state, dict)
        and (not isinstance(callback, EarlyStopping) or is_alike(state, early))
        for callback, state in zip(callbacks, states, strict=True)
    )
