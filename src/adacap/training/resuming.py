"""Training from an earlier run: resumed where it was killed, or repeated up to its best iteration.

A resumed run gives the same bits. What a run of the trainer depends on is built again: rows,
permutations, fresh nets. Their state and that of optimiser, schedule, generators and callbacks
comes from the checkpoint; minibatches that were seen already are skipped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from adacap.checkpoint import Checkpoint
from adacap.core.mlr import MLRLoss
from adacap.exceptions import warn_caller
from adacap.training.callbacks import Callback, TrainingState, keeps_state
from adacap.training.data import Batch, TrainingData
from adacap.training.history import History, Trained
from adacap.training.kept import generators, is_done, is_under_way
from adacap.training.loop import Trainer

__all__ = ["UpTo", "resumed"]

_DONE, _UNDER_WAY = "done", "under way"


def resumed(trainer: Trainer, checkpoint: Checkpoint) -> Trained:
    """Run a trainer, from the state that a checkpoint holds.

    Parameters
    ----------
    trainer : Trainer
        Freshly built: nothing has been run.
    checkpoint : Checkpoint
        Where the state is looked for and kept.

    Returns
    -------
    Trained
    """
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
    """Keeps a given iteration of each net, whatever its score, and ends with the last of them.

    Parameters
    ----------
    last : sequence of int
        Iteration to keep of each net; the latest, if training ends before.
    """

    last: Sequence[int] = ()

    def validate(self, loss: MLRLoss) -> list[float]:
        """The step itself as a score, as long as it counts."""
        step = self.state.step
        self.best.active = [step <= last for last in self.last]
        return [float(step)] * self.nets.k

    def is_over(self, next_end: float) -> bool:
        """Also after the last of them."""
        return super().is_over(next_end) or self.state.step >= max(self.last)
