"""The training loop: K nets, one step after another.

:class:`Trainer` is a ladder of short methods, one per thing that a step does: features, loss, score
on the validation rows, keep what is best, move the weights. Override one to change it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from adacap.core.mlr import MLRForm, MLRLoss
from adacap.exceptions import NonFiniteError, NotPositiveDefiniteError
from adacap.nn.modules import Nets, TikhonovHead
from adacap.training.callbacks import Callback, TrainingState
from adacap.training.config import TrainingConfig
from adacap.training.data import Batch, TrainingData
from adacap.training.history import History, Trained
from adacap.training.trouble import diverged, keep_freed_memory

__all__ = ["MLRObjective", "Objective", "Trainer", "train"]

Objective = Callable[[Nets, Tensor, Batch], MLRLoss]
StepRecord = dict[str, list[float]]  # one value per net

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
        options: Any = {"loss": self.loss, "form": self.form, "sample_weight": batch.weight}
        return nets.head.mlr_loss(hidden, batch.labels, **options)  # type: ignore[no-any-return]


def train(
    nets: Nets, data: TrainingData, objective: Objective, config: TrainingConfig, **options: Any
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
    **options
        ``score`` and ``callbacks`` of :class:`Trainer`.

    Returns
    -------
    Trained

    Raises
    ------
    DivergenceError
        If the loss is not finite before any iteration could be scored, or, with several nets,
        at any time: the others must then be trained without the one that failed.
    """
    return Trainer(nets, data, objective, config, **options).run()


@dataclass
class Trainer:
    """One training run.

    Parameters
    ----------
    nets, data, objective, config
        As in :func:`train`.
    score : str, default="r2"
        A key of ``SCORES``.
    callbacks : sequence of Callback
    """

    nets: Nets
    data: TrainingData
    objective: Objective
    config: TrainingConfig
    score: str = "r2"
    callbacks: Sequence[Callback] = ()

    n_traced: ClassVar[int] = _MOST_TRACED[1]
    """Validation rows whose predictions are kept along the way."""

    def __post_init__(self) -> None:
        nets = self.nets
        self.optimizer = self.config.make_optimizer(
            nets.backbone.parameters(), nets.head.parameters()
        )
        self.scheduler = self.config.make_scheduler(self.optimizer)
        self.best = _Best(nets)
        self.state = TrainingState(nets, self.config.max_iter, active=self.best.active)
        self.records: list[StepRecord] = []
        self.trace: list[Tensor] = []
        new = [torch.Generator(self.data.x.device) for _ in self.data.seeds]
        draws = zip(new, self.data.seeds, strict=True)
        nets.backbone.generators = [g.manual_seed(seed ^ _DROPOUT) for g, seed in draws]

    def run(self) -> Trained:
        """All steps, and the best of each net."""
        keep_freed_memory()
        start = last = time.perf_counter()
        with ExitStack() as stack:
            for callback in self.callbacks:
                callback.on_start(self.state)
                stack.callback(callback.on_end, self.state)
            for batch in self.data.batches(self.config.batch_size):
                try:
                    record = self.step(batch)
                except (NonFiniteError, NotPositiveDefiniteError) as error:
                    diverged(error, self)
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

    def step(self, batch: Batch) -> StepRecord:
        """One iteration: features, loss, score, keep, move."""
        self.state.step += 1
        hidden = self.features(batch.x)
        loss = self.objective(self.nets, hidden, batch)
        record = self.describe(loss)
        scores = self.validate(loss)
        if scores is not None:
            record["valid_score"] = scores
        self.best.offer(self.state.step, scores, loss)
        self.move(loss)
        vars(self.state).update(batch=batch, hidden=hidden, loss=loss, record=record)
        return record

    def features(self, x: Tensor, training: bool = True) -> Tensor:
        """Features ``(K, b, J)`` of rows ``(K, b, ...)``."""
        if self.nets.training is not training:
            self.nets.train(training)
        features: Tensor = self.nets.backbone(x)
        if features.ndim != 3 or features.shape[:2] != x.shape[:2]:
            raise ValueError(
                f"The backbone must map {x.shape[1]} rows to a tensor of shape ({x.shape[1]}, J), "
                f"got {tuple(features.shape[1:])}. Flatten its output, for example by nn.Flatten()."
            )
        return features

    @torch.no_grad()
    def validate(self, loss: MLRLoss) -> list[float] | None:
        """Score of each net's output layer, as it was just solved, on its validation rows."""
        valid, layer = self.data.valid, loss.layer
        if valid is None:
            return None
        features = self.features(valid.x, training=False)
        prediction = torch.baddbmm(layer.intercept.unsqueeze(1), features, layer.coef)
        if self.state.step % math.ceil(self.config.max_iter / _MOST_TRACED[0]) == 0:
            self.trace.append(prediction[:, : _MOST_TRACED[1]].clone())
        scores: list[float] = valid.score(prediction, self.score).tolist()
        return scores

    def move(self, loss: MLRLoss) -> None:
        """One optimiser step for all nets at once: their losses share no weights."""
        self.optimizer.zero_grad()
        loss.value.sum().backward()
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()

    def describe(self, loss: MLRLoss) -> StepRecord:
        """History record of a step; raises if a loss is not finite."""
        step, k, head = self.state.step, self.nets.k, self.nets.head
        parts = {"loss": loss.value, "fit_true": loss.fit_true, "fit_permuted": loss.fit_permuted}
        record: StepRecord = {"step": [float(step)] * k}
        record |= {name: part.tolist() for name, part in parts.items() if part is not None}
        if not all(map(math.isfinite, record["loss"])):
            raise NonFiniteError("the loss is not finite.")
        record["learning_rate"] = [self.optimizer.param_groups[0]["lr"]] * k
        if isinstance(head, TikhonovHead) and loss.ridge is not None:
            record["lambda"] = loss.ridge.lam.tolist()
            if step % _EVERY == 0:
                record["effective_dof"] = loss.ridge.dof().tolist()
        return record

    def is_over(self, next_end: float) -> bool:
        """Whether training is over."""
        is_late = self.config.deadline is not None and next_end > self.config.deadline
        is_last = self.state.step + 1 >= self.config.max_iter
        return not any(self.best.active) or self.state.stop or is_late or is_last


class _Best:
    """Best iteration of each net, kept in memory and overwritten in place."""

    def __init__(self, nets: Nets) -> None:
        self.nets = nets
        self.score, self.active = [-math.inf] * nets.k, [True] * nets.k
        self.step, self.n_steps = [0] * nets.k, [0] * nets.k
        self.kept: list[Tensor] = []  # state of the nets, then the output layer

    def offer(self, step: int, scores: list[float] | None, loss: MLRLoss) -> None:
        """Keep the nets that beat their best; all of them when there is no score."""
        every = range(self.nets.k)
        score = self.score if scores is None else scores
        is_better = [scores is None or score[k] > self.score[k] for k in every]  # NaN beats nothing
        better = [k for k in every if self.active[k] and is_better[k]]
        for k in better:
            self.score[k] = score[k]
        chosen = better if self.kept else list(every)
        for k in chosen:
            self.step[k] = step
        for k in every:
            if self.active[k]:
                self.n_steps[k] = step + 1
        if chosen:
            state = self.nets.state().values()
            self._keep(chosen, [*state, loss.layer.coef, loss.layer.intercept])

    def _keep(self, chosen: list[int], state: list[Tensor]) -> None:
        self.kept = self.kept or [tensor.clone() for tensor in state]
        for kept, tensor in zip(self.kept, state, strict=True):
            for k in chosen:
                kept[k].copy_(tensor[k])

    def result(self, records: list[StepRecord], trace: list[Tensor]) -> Trained:
        """The nets at their best; one that ended early has no later history."""
        *state, coef, intercept = self.kept
        for tensor, kept in zip(self.nets.state().values(), state, strict=True):
            tensor.copy_(kept)
        self.nets.zero_grad()
        histories = [
            History([{name: part[k] for name, part in record.items()} for record in records[:n]])
            for k, n in enumerate(self.n_steps)
        ]
        traced = torch.stack(trace, 1) if trace else None
        return Trained(self.nets, coef, intercept, self.step, self.score, histories, traced)
