"""The training loop: forward, solve, validate, step."""

import math
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
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
from adacap.training.data import TrainingData
from adacap.training.history import History
from adacap.training.members import Members, Net
from adacap.training.objectives import Objective, StepLoss
from adacap.training.scores import SCORES

__all__ = ["Trained", "train"]


@dataclass(frozen=True)
class Trained:
    """A member at its best iteration: the net, its output layer and what happened."""

    net: Net
    coef: Tensor  # (J, c)
    intercept: Tensor  # (c,)
    best_step: int
    best_score: float
    history: History


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
    best = _Best(members, config.patience, keep_at)
    state = TrainingState(members, config.max_iter)
    records: list[dict[str, list[float]]] = []
    start = last = time.perf_counter()
    with ExitStack() as stack:
        for callback in callbacks:
            callback.on_start(state)
            stack.callback(callback.on_end, state)
        for step, batch in zip(range(config.max_iter), data.batches(config.batch_size)):  # noqa: B905 (batches never end)
            members.train()
            try:
                hidden = _checked(members.hidden(batch.x), batch.x)
                loss = objective(members, hidden, batch.labels, batch.weight)
                _require_finite(loss.value)
            except (NonFiniteError, NotPositiveDefiniteError) as error:
                if best.exists and members.n_members == 1:
                    _warn_diverged(step, best, config)
                    break
                raise DivergenceError(
                    f"Training diverged at step {step} before a usable iteration: {error} "
                    f"max_lr is now {config.max_lr:g}."
                ) from error
            valid = _validate(members, data, loss, score)
            best.offer(step, valid, loss)
            learning_rate = optimizer.param_groups[0]["lr"]
            lam = _lambda(members)
            optimizer.zero_grad(set_to_none=True)
            loss.value.sum().backward()
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            now = time.perf_counter()
            state.step, state.batch, state.hidden, state.loss = step, batch, hidden, loss
            state.record = _record(step, loss, valid, lam, learning_rate, now - start)
            for callback in callbacks:
                callback.on_step(state)
            records.append(state.record)
            late = config.deadline is not None and now + (now - last) > config.deadline
            if best.exhausted(step) or state.stop or late:
                break
            last = now
    return best.result(records)


class _Best:
    """Best iteration of each member, kept in memory and overwritten in place."""

    def __init__(
        self, members: Members, patience: int | None, keep_at: Sequence[int] | None = None
    ) -> None:
        self.members = members
        self.keep_at = None if keep_at is None else torch.tensor(keep_at)
        self.patience = patience
        self.score = torch.full((members.n_members,), -math.inf, dtype=torch.float64)
        self.step = torch.zeros(members.n_members, dtype=torch.int64)
        self.active = torch.ones(members.n_members, dtype=torch.bool)
        self.n_steps = torch.zeros(members.n_members, dtype=torch.int64)
        self.exists = False

    def offer(self, step: int, score: Tensor | None, loss: StepLoss) -> None:
        """Keep the members that beat their best; all of them when there is no score."""
        if self.keep_at is not None:
            better = self.keep_at >= step  # the latest, in case training ends before
        elif score is None:
            better = self.active.clone()
        else:
            score = score.cpu().double().nan_to_num(nan=-math.inf)
            better = (score > self.score) & self.active
            self.score = torch.where(better, score, self.score)
        if not self.exists:
            better[:] = True
            self.snapshot = self.members.snapshot()
            self.coef, self.intercept = loss.coef.clone(), loss.intercept.clone()
            self.exists = True
        elif bool(better.any()):
            self.members.update(self.snapshot, better)
            self.coef[better], self.intercept[better] = loss.coef[better], loss.intercept[better]
        self.step[better] = step

    def exhausted(self, step: int) -> bool:
        """Whether no member can improve any more."""
        self.n_steps[self.active] = step + 1
        if self.keep_at is not None:
            self.active &= step < self.keep_at
        elif self.patience is not None:
            self.active &= step - self.step < self.patience
        return not bool(self.active.any())

    def result(self, records: list[dict[str, list[float]]]) -> list[Trained]:
        self.members.restore(self.snapshot)
        n_steps = self.n_steps.tolist()  # a member that ended early has no later history
        return [
            Trained(
                net,
                self.coef[k].clone(),
                self.intercept[k].clone(),
                int(self.step[k]),
                float(self.score[k]),
                History([{name: v[k] for name, v in record.items()} for record in records[:n]]),
            )
            for k, (net, n) in enumerate(zip(self.members.unstack(), n_steps, strict=True))
        ]


@torch.no_grad()
def _validate(members: Members, data: TrainingData, loss: StepLoss, score: str) -> Tensor | None:
    if data.valid is None:
        return None
    x, targets, weight = data.valid
    members.train(False)
    prediction = torch.baddbmm(loss.intercept.unsqueeze(1), members.hidden(x), loss.coef)
    return SCORES[score](prediction, targets, weight)


def _lambda(members: Members) -> list[float] | None:
    try:
        return members.head("log_lambda").detach().exp().tolist()
    except KeyError:
        return None


def _record(
    step: int,
    loss: StepLoss,
    valid: Tensor | None,
    lam: list[float] | None,
    learning_rate: float,
    seconds: float,
) -> dict[str, list[float]]:
    n_members = len(loss.value)
    record = {"step": [float(step)] * n_members, "loss": loss.value.tolist()}
    record["fit_true"] = loss.fit_true.tolist()
    if loss.fit_permuted is not None:
        record["fit_permuted"] = loss.fit_permuted.tolist()
    if valid is not None:
        record["valid_score"] = valid.tolist()
    if lam is not None:
        record["lambda"] = lam
    record["learning_rate"] = [learning_rate] * n_members
    record["seconds"] = [seconds] * n_members
    return record


def _checked(hidden: Tensor, x: Tensor) -> Tensor:
    if hidden.ndim != 3 or hidden.shape[:2] != x.shape[:2]:
        raise ValueError(
            f"The backbone must map {x.shape[1]} rows to a tensor of shape ({x.shape[1]}, J), got "
            f"{tuple(hidden.shape[1:])}. Flatten its output, for example with nn.Flatten()."
        )
    return hidden


def _require_finite(value: Tensor) -> None:
    if not bool(torch.isfinite(value).all()):
        raise NonFiniteError("the loss is not finite.")


def _warn_diverged(step: int, best: _Best, config: TrainingConfig) -> None:
    warnings.warn(
        f"Training diverged at step {step}; the best iteration before that, {int(best.step[0])}, "
        f"is kept. Try a smaller max_lr (now {config.max_lr:g}).",
        NumericalWarning,
        stacklevel=4,
    )
