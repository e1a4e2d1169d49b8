"""The training loop: forward, solve, validate, step."""

import math
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from adacap.exceptions import (
    DivergenceError,
    NonFiniteError,
    NotPositiveDefiniteError,
    NumericalWarning,
)
from adacap.training.callbacks import Callback, TrainingState
from adacap.training.config import TrainingConfig
from adacap.training.data import Batch, TrainingData
from adacap.training.history import History
from adacap.training.members import Members, Net
from adacap.training.objectives import Objective, StepLoss
from adacap.training.scores import scorer
from adacap.training.stepping import Stepper
from adacap.training.threads import stop_asked

__all__ = ["Trained", "train"]

# Validation rows × weights of all members up to which autograd's way back over these rows costs
# less than a forward pass of their own.
_CHEAP = 15_000_000
_MOST_TRACED = 32, 128  # steps and validation rows whose predictions are kept


@dataclass(frozen=True)
class Trained:
    """A member at its best iteration: the net, its output layer and what happened."""

    net: Net
    coef: Tensor  # (J, c)
    intercept: Tensor  # (c,)
    best_step: int
    best_score: float
    history: History
    trace: Tensor | None = None  # (S, m, c): predictions of some validation rows along the way


def train(
    members: Members,
    data: TrainingData,
    objective: Objective,
    config: TrainingConfig,
    *,
    score: str = "r2",
    callbacks: Sequence[Callback] = (),
    keep_at: Sequence[int] | None = None,
) -> list[Trained]:
    """Train the members and return each at its best iteration.

    Each step solves the output layer on the minibatch, scores that layer on the validation rows,
    keeps the state if the score is the best so far, and then moves the weights. Without validation
    rows the last iteration is kept.

    Parameters
    ----------
    members : Members
    data : TrainingData
    objective : Objective
    config : TrainingConfig
    score : str, default="r2"
        A key of ``SCORES``.
    callbacks : sequence of Callback
    keep_at : sequence of int, optional
        Iteration to keep of each member, whatever its score; training ends with the last of them.

    Returns
    -------
    list of Trained, one per member

    Raises
    ------
    DivergenceError
        If the loss is not finite before any iteration could be scored, or, with several members,
        at any time: the others must then be trained without the one that failed.
    """
    optimizer = config.make_optimizer(
        members.parameters(of_head=False), members.parameters(of_head=True)
    )
    scheduler = config.make_scheduler(optimizer)
    move = Stepper(optimizer)
    parameters = list(members.parameters())
    best = _Best(members, config.patience, keep_at)
    features = _Features(members, data)
    score_of = None if data.valid is None else scorer(score, *data.valid[1:])
    state = TrainingState(members, config.max_iter)
    records: list[dict[str, list[float]]] = []
    trace: list[Tensor] = []
    # Without autograd torch's own bookkeeping of versions and views is not needed either.
    has_pullback = getattr(objective, "has_pullback", False)
    has_graph = not (has_pullback and members.is_chain and data.x.ndim == 2)
    mode = nullcontext if has_graph else torch.inference_mode
    _keep_freed_memory()
    start = last = time.perf_counter()
    with ExitStack() as stack:
        for callback in callbacks:
            callback.on_start(state)
            stack.callback(callback.on_end, state)
        for step, batch in zip(range(config.max_iter), data.batches(config.batch_size)):  # noqa: B905 (batches never end)
            try:
                with mode():
                    hidden, held_out = features(batch)
                    loss = objective(members, hidden, batch.labels, batch.weight)
                    record = _record(step, loss)
            except (NonFiniteError, NotPositiveDefiniteError) as error:
                if best.exists and members.n_members == 1:
                    _warn_diverged(step, best, config)
                    break
                raise DivergenceError(
                    f"Training diverged at step {step} before a usable iteration: {error} "
                    f"max_lr is now {config.max_lr:g}."
                ) from error
            if score_of is not None:
                with mode():
                    held_out = features.of_valid() if held_out is None else held_out
                    prediction = _predict(held_out, loss)
                    record["valid_score"] = score_of(prediction).tolist()
                if step % math.ceil(config.max_iter / _MOST_TRACED[0]) == 0:
                    trace.append(prediction[:, : _MOST_TRACED[1]].clone())
            if (lam := _lambda(members)) is not None:
                record["lambda"] = lam
            best.offer(step, record.get("valid_score"), loss)
            record["learning_rate"] = [optimizer.param_groups[0]["lr"]] * members.n_members
            for parameter in parameters:
                parameter.grad = None
            with mode():
                members.pull_back(loss.backward(members, hidden))
                move()
            if scheduler is not None:
                scheduler.step()
            now = time.perf_counter()
            record["seconds"] = [now - start] * members.n_members
            state.step, state.batch, state.hidden, state.loss = step, batch, hidden, loss
            state.record = record
            for callback in callbacks:
                callback.on_step(state)
            records.append(record)
            late = config.deadline is not None and now + (now - last) > config.deadline
            if best.exhausted(step) or state.stop or late or stop_asked():
                break
            last = now
    return best.result(records, trace)


def _keep_freed_memory() -> None:
    """Have glibc keep what one step frees for the next, instead of fetching fresh pages each time.

    Freeing a block of this size raises its two thresholds to the most they reach by themselves.
    Elsewhere it does nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)


class _Features:
    """Features of the batch and of the validation rows, in one pass where that is cheaper."""

    def __init__(self, members: Members, data: TrainingData) -> None:
        self.members = members
        self.valid = None if data.valid is None else data.valid[0]
        self.joint: Tensor | None = None
        self.n_weights = members.n_weights * members.n_members
        self.n_train = data.n_train

    def __call__(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Features ``(K, b, J)`` to train on, and those of the validation rows if they came too."""
        if not self._as_one(batch):
            self.members.train()
            return self._of(batch.x).requires_grad_(), None
        if self.joint is None:  # the same rows in every step
            assert self.valid is not None
            self.joint = torch.cat([batch.x, self.valid], 1)
        features = self._of(self.joint)
        return features[:, : self.n_train].requires_grad_(), features[:, self.n_train :]

    def _of(self, x: Tensor) -> Tensor:
        features = self.members.features(x)
        if features.ndim != 3 or features.shape[:2] != x.shape[:2]:
            raise ValueError(
                f"The backbone must map {x.shape[1]} rows to a tensor of shape ({x.shape[1]}, J), "
                f"got {tuple(features.shape[1:])}. Flatten its output, for example with "
                "nn.Flatten()."
            )
        return features

    def _as_one(self, batch: Batch) -> bool:
        if self.valid is None or self.members.has_modes or batch.x.shape[1] < self.n_train:
            return False
        return self.members.is_chain or self.valid.shape[1] * self.n_weights <= _CHEAP

    def of_valid(self) -> Tensor:
        """Features of the validation rows, by a pass of their own."""
        assert self.valid is not None
        self.members.train(False)
        with torch.no_grad():
            return self.members.hidden(self.valid)


class _Best:
    """Best iteration of each member, kept in memory and overwritten in place."""

    def __init__(
        self, members: Members, patience: int | None, keep_at: Sequence[int] | None = None
    ) -> None:
        n = members.n_members
        self.members = members
        self.keep_at = keep_at
        self.patience = patience
        self.score = [-math.inf] * n
        self.step = [0] * n
        self.active = [True] * n
        self.n_steps = [0] * n
        self.exists = False

    def offer(self, step: int, score: list[float] | None, loss: StepLoss) -> None:
        """Keep the members that beat their best; all of them when there is no score."""
        if self.keep_at is not None:
            better = [last >= step for last in self.keep_at]  # the latest, if training ends before
        elif score is None:
            better = list(self.active)
        else:  # NaN beats nothing
            pairs = zip(score, self.score, self.active, strict=True)
            better = [active and new > old for new, old, active in pairs]
            self.score = [
                new if b else old for new, old, b in zip(score, self.score, better, strict=True)
            ]
        if not self.exists:
            better = [True] * len(better)
            self.snapshot = self.members.snapshot()
            self.coef, self.intercept = loss.coef.clone(), loss.intercept.clone()
            self.exists = True
        elif all(better):
            self.members.update(self.snapshot, better)
            self.coef.copy_(loss.coef)
            self.intercept.copy_(loss.intercept)
        elif any(better):
            self.members.update(self.snapshot, better)
            index = torch.tensor(better)
            self.coef[index], self.intercept[index] = loss.coef[index], loss.intercept[index]
        self.step = [step if b else old for b, old in zip(better, self.step, strict=True)]

    def exhausted(self, step: int) -> bool:
        """Whether no member can improve any more."""
        for k, active in enumerate(self.active):
            if active:
                self.n_steps[k] = step + 1
                if self.keep_at is not None:
                    self.active[k] = step < self.keep_at[k]
                elif self.patience is not None:
                    self.active[k] = step - self.step[k] < self.patience
        return not any(self.active)

    def result(self, records: list[dict[str, list[float]]], trace: list[Tensor]) -> list[Trained]:
        self.members.restore(self.snapshot)
        traced = torch.stack(trace, 1) if trace else None  # (K, S, m, c)
        return [
            Trained(
                net,
                self.coef[k].clone(),
                self.intercept[k].clone(),
                self.step[k],
                self.score[k],
                History([{name: v[k] for name, v in record.items()} for record in records[:n]]),
                None if traced is None else traced[k],
            )
            # a member that ended early has no later history
            for k, (net, n) in enumerate(zip(self.members.unstack(), self.n_steps, strict=True))
        ]


@torch.no_grad()
def _predict(hidden: Tensor, loss: StepLoss) -> Tensor:
    """Outputs ``(K, n, c)`` by the layers that were just solved."""
    return torch.baddbmm(loss.intercept.unsqueeze(1), hidden, loss.coef)


def _lambda(members: Members) -> list[float] | None:
    if "head.log_lambda" not in members:
        return None
    return [math.exp(value) for value in members.head("log_lambda").tolist()]


def _record(step: int, loss: StepLoss) -> dict[str, list[float]]:
    """What a step says of each member; refused when a loss is not finite."""
    parts = {"loss": loss.value, "fit_true": loss.fit_true}
    if loss.fit_permuted is not None:
        parts["fit_permuted"] = loss.fit_permuted
    values = torch.stack(list(parts.values())).detach().tolist()
    if not all(map(math.isfinite, values[0])):
        raise NonFiniteError("the loss is not finite.")
    record = {"step": [float(step)] * len(loss.value)}
    record.update(zip(parts, values, strict=True))
    return record


def _warn_diverged(step: int, best: _Best, config: TrainingConfig) -> None:
    warnings.warn(
        f"Training diverged at step {step}; the best iteration before that, {best.step[0]}, "
        f"is kept. Try a smaller max_lr (now {config.max_lr:g}).",
        NumericalWarning,
        stacklevel=4,
    )
