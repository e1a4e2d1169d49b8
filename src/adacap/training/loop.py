"""The training loop: K nets, one step after another.

:class:`Trainer` is a ladder of short methods, one per thing that a step does: take a batch,
compute its features, its loss, the score on the validation rows, keep what is best, move the
weights. Override one to change it.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor

from adacap.core.mlr import MLRForm, MLRLoss
from adacap.exceptions import (
    DivergenceError,
    NonFiniteError,
    NotPositiveDefiniteError,
    NumericalWarning,
)
from adacap.nn.modules import Nets, TikhonovHead
from adacap.training.callbacks import Callback, TrainingState
from adacap.training.config import TrainingConfig
from adacap.training.data import Batch, TrainingData
from adacap.training.history import History
from adacap.training.scores import scorer

__all__ = ["MLRObjective", "Objective", "Trained", "Trainer", "train"]

Objective = Callable[[Nets, Tensor, Batch], MLRLoss]
Record = dict[str, list[float]]  # one value per net

_DROPOUT = 0x5BD1E995  # keeps the draws of dropout apart from the permutations of the same seed
_EVERY = 10  # steps between two readings of the degrees of freedom
_MOST_TRACED = 32, 128  # steps and validation rows whose predictions are kept


@dataclass(frozen=True)
class MLRObjective:
    """The loss of the head: MLR with permuted labels, Tikhonov alone without, or plain."""

    loss: str = "rmse"
    form: MLRForm = "difference"

    def __call__(self, nets: Nets, hidden: Tensor, batch: Batch) -> MLRLoss:
        """Loss of features ``(K, b, J)``."""
        return nets.head.mlr_loss(
            hidden, batch.labels, loss=self.loss, form=self.form, sample_weight=batch.weight
        )


@dataclass(frozen=True)
class Trained:
    """K nets, each at its best iteration, their output layers and what happened."""

    nets: Nets
    coef: Tensor  # (K, J, c)
    intercept: Tensor  # (K, c)
    best_step: list[int]
    best_score: list[float]
    histories: list[History]
    trace: Tensor | None = None  # (K, S, m, c): predictions of some validation rows along the way


def train(
    nets: Nets,
    data: TrainingData,
    objective: Objective,
    config: TrainingConfig,
    *,
    score: str = "r2",
    callbacks: Sequence[Callback] = (),
    keep_at: Sequence[int] | None = None,
) -> Trained:
    """Train K nets and return each at its best iteration.

    Each step solves the output layer on the minibatch, scores that layer on the validation rows,
    keeps the state if the score is the best so far, and then moves the weights. Without validation
    rows the last iteration is kept.

    Parameters
    ----------
    nets : Nets
    data : TrainingData
    objective : callable
        ``(nets, hidden, batch) -> MLRLoss``.
    config : TrainingConfig
    score : str, default="r2"
        A key of ``SCORES``.
    callbacks : sequence of Callback
    keep_at : sequence of int, optional
        Iteration to keep of each net, whatever its score; training ends with the last of them.

    Returns
    -------
    Trained

    Raises
    ------
    DivergenceError
        If the loss is not finite before any iteration could be scored, or, with several nets,
        at any time: the others must then be trained without the one that failed.
    """
    return Trainer(nets, data, objective, config, score, callbacks, keep_at).run()


class Trainer:
    """One training run. Arguments as in :func:`train`."""

    def __init__(
        self,
        nets: Nets,
        data: TrainingData,
        objective: Objective,
        config: TrainingConfig,
        score: str = "r2",
        callbacks: Sequence[Callback] = (),
        keep_at: Sequence[int] | None = None,
    ) -> None:
        self.nets, self.data, self.objective, self.config = nets, data, objective, config
        self.optimizer = config.make_optimizer(nets.backbone.parameters(), nets.head.parameters())
        self.scheduler = config.make_scheduler(self.optimizer)
        self.best = _Best(nets, config.patience, keep_at)
        self.valid, self.callbacks = data.valid, callbacks
        self.score_of = (
            None if self.valid is None else scorer(score, self.valid.targets, self.valid.weight)
        )
        self.state = TrainingState(nets, config.max_iter)
        self.records: list[Record] = []
        self.trace: list[Tensor] = []
        nets.backbone.generators = [
            torch.Generator(data.x.device).manual_seed(seed ^ _DROPOUT) for seed in data.seeds
        ]

    def run(self) -> Trained:
        """All steps, and the best of each net."""
        _keep_freed_memory()
        start = last = time.perf_counter()
        with ExitStack() as stack:
            for callback in self.callbacks:
                callback.on_start(self.state)
                stack.callback(callback.on_end, self.state)
            for batch in self.data.batches(self.config.batch_size):
                try:
                    record = self.step(batch)
                except (NonFiniteError, NotPositiveDefiniteError) as error:
                    self.diverged(error)
                    break
                now = time.perf_counter()
                record["seconds"] = [now - start] * self.nets.k
                for callback in self.callbacks:
                    callback.on_step(self.state)
                self.records.append(record)
                if self.is_over(now + (now - last)):
                    break
                last = now
        self.nets.backbone.generators = None
        return self.best.result(self.records, self.trace)

    def step(self, batch: Batch) -> Record:
        """One iteration: features, loss, score, keep, move."""
        self.state.step = step = self.state.step + 1
        hidden = self.features(batch.x)
        loss = self.objective(self.nets, hidden, batch)
        record = self.describe(step, loss)
        scores = self.score(step, loss)
        if scores is not None:
            record["valid_score"] = scores
        self.best.offer(step, scores, loss)
        self.move(loss)
        self.state.batch, self.state.hidden, self.state.loss = batch, hidden, loss
        self.state.record = record
        return record

    def features(self, x: Tensor, training: bool = True) -> Tensor:
        """Features ``(K, b, J)`` of rows ``(K, b, ...)``."""
        if self.nets.training is not training:
            self.nets.train(training)
        features: Tensor = self.nets.backbone(x)
        if features.ndim != 3 or features.shape[:2] != x.shape[:2]:
            raise ValueError(
                f"The backbone must map {x.shape[1]} rows to a tensor of shape ({x.shape[1]}, J), "
                f"got {tuple(features.shape[1:])}. Flatten its output, for example with "
                "nn.Flatten()."
            )
        return features

    @torch.no_grad()
    def score(self, step: int, loss: MLRLoss) -> list[float] | None:
        """Score of each net's output layer, as it was just solved, on its validation rows."""
        if self.valid is None or self.score_of is None:
            return None
        features = self.features(self.valid.x, training=False)
        prediction = torch.baddbmm(loss.layer.intercept.unsqueeze(1), features, loss.layer.coef)
        if step % math.ceil(self.config.max_iter / _MOST_TRACED[0]) == 0:
            self.trace.append(prediction[:, : _MOST_TRACED[1]].clone())
        scores: list[float] = self.score_of(prediction).tolist()
        return scores

    def move(self, loss: MLRLoss) -> None:
        """One step of the optimiser, of all nets at once: their losses share no weight."""
        self.optimizer.zero_grad()
        loss.value.sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()

    def describe(self, step: int, loss: MLRLoss) -> Record:
        """What the history says of a step; refused when a loss is not finite."""
        parts = {"loss": loss.value, "fit_true": loss.fit_true, "fit_permuted": loss.fit_permuted}
        given = {name: value.detach() for name, value in parts.items() if value is not None}
        values = torch.stack(list(given.values())).tolist()
        if not all(map(math.isfinite, values[0])):
            raise NonFiniteError("the loss is not finite.")
        record: Record = {"step": [float(step)] * self.nets.k}
        record.update(zip(given, values, strict=True))
        record["learning_rate"] = [self.optimizer.param_groups[0]["lr"]] * self.nets.k
        if isinstance(self.nets.head, TikhonovHead):
            record["lambda"] = self.nets.head.lam.tolist()
            if step % _EVERY == 0 and loss.ridge is not None:
                record["effective_dof"] = loss.ridge.dof(loss.ridge.lam).tolist()
        return record

    def is_over(self, next_end: float) -> bool:
        """Whether there is no further step."""
        deadline, step = self.config.deadline, self.state.step
        is_late = deadline is not None and next_end > deadline
        is_last = step + 1 >= self.config.max_iter
        return self.best.exhausted(step) or self.state.stop or is_late or is_last

    def diverged(self, error: ArithmeticError) -> None:
        """Warn if there is an iteration to keep, else raise."""
        step, config = self.state.step, self.config
        if not self.best.exists or self.nets.k > 1:
            raise DivergenceError(
                f"Training diverged at step {step} before a usable iteration: {error} "
                f"max_lr is now {config.max_lr:g}."
            ) from error
        warnings.warn(
            f"Training diverged at step {step}; the best iteration before that, "
            f"{self.best.step[0]}, is kept. Try a smaller max_lr (now {config.max_lr:g}).",
            NumericalWarning,
            stacklevel=5,
        )


def _keep_freed_memory() -> None:
    """Have glibc keep what one step frees for the next, instead of fetching fresh pages each time.

    Freeing a block of this size raises its two thresholds to the most they reach by themselves.
    Elsewhere it does nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)


class _Best:
    """Best iteration of each net, kept in memory and overwritten in place."""

    def __init__(self, nets: Nets, patience: int | None, keep_at: Sequence[int] | None) -> None:
        self.nets, self.patience, self.keep_at = nets, patience, keep_at
        self.score = [-math.inf] * nets.k
        self.step = [0] * nets.k
        self.n_steps = [0] * nets.k
        self.active = [True] * nets.k
        self.kept: list[Tensor] = []

    @property
    def exists(self) -> bool:
        """Whether there is an iteration to go back to."""
        return bool(self.kept)

    def offer(self, step: int, scores: list[float] | None, loss: MLRLoss) -> None:
        """Keep the nets that beat their best; all of them when there is no score."""
        if self.keep_at is not None:
            better = [last >= step for last in self.keep_at]  # the latest, if training ends before
        elif scores is None:
            better = list(self.active)
        else:  # NaN beats nothing
            pairs = zip(scores, self.score, self.active, strict=True)
            better = [active and new > old for new, old, active in pairs]
        chosen = [k for k, is_better in enumerate(better) if is_better or not self.exists]
        self._keep(chosen, [*self.nets.state().values(), loss.layer.coef, loss.layer.intercept])
        for k in chosen:
            self.step[k] = step
            if scores is not None and better[k]:
                self.score[k] = scores[k]

    def _keep(self, chosen: list[int], state: list[Tensor]) -> None:
        if not self.exists:
            self.kept = [tensor.clone() for tensor in state]
        elif len(chosen) == self.nets.k:
            for kept, tensor in zip(self.kept, state, strict=True):
                kept.copy_(tensor)
        elif chosen:
            index = torch.tensor(chosen, device=state[0].device)
            for kept, tensor in zip(self.kept, state, strict=True):
                kept[index] = tensor[index]

    def exhausted(self, step: int) -> bool:
        """Whether no net can improve any more."""
        for k, active in enumerate(self.active):
            if active:
                self.n_steps[k] = step + 1
                if self.keep_at is not None:
                    self.active[k] = step < self.keep_at[k]
                elif self.patience is not None:
                    self.active[k] = step - self.step[k] < self.patience
        return not any(self.active)

    def result(self, records: list[Record], trace: list[Tensor]) -> Trained:
        """The nets at their best; one that ended early has no later history."""
        *state, coef, intercept = self.kept
        for tensor, kept in zip(self.nets.state().values(), state, strict=True):
            tensor.copy_(kept)
        self.nets.zero_grad()
        histories = [
            History(
                [{name: values[k] for name, values in record.items()} for record in records[:n]]
            )
            for k, n in enumerate(self.n_steps)
        ]
        traced = torch.stack(trace, 1) if trace else None
        return Trained(self.nets, coef, intercept, self.step, self.score, histories, traced)
