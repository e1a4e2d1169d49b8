"""Nets as members of a blend.

On large tables they are trained only if they help, and longer while they improve.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from adacap.estimators import quality
from adacap.estimators.backbone import BackboneSpec
from adacap.estimators.bag import FittedMember, regroup
from adacap.estimators.blending.weighing import rmse
from adacap.estimators.fitting import BagTraining, Recipe
from adacap.estimators.held_out import Rows
from adacap.nn.predictors import EncodingModule

__all__ = ["NetMembers", "NetTraining"]

_GO_ON_WITHIN = 1.1  # error of nets that go on, over the least of the other members
_STILL_FALLS = 0.98  # error after a cycle over that before, of nets that go on
_LATE = 0.8  # share of a cycle after which a best iteration is one that still falls


@dataclass(frozen=True, eq=False)
class NetTraining(BagTraining):
    """Training of a bag of nets, alone or as members of a blend."""

    def member(
        self,
        kind: str,
        encoding: EncodingModule | None,
        turn: int,
        *,
        before: Sequence[FittedMember] = (),
        cycle: int = 0,
        folds: int | None = None,
    ) -> NetTraining:
        """Training of nets of a kind on encoded rows; ``turn`` tells equal bags apart.

        ``before`` are nets to go on with, in one more cycle of the schedule; with ``folds`` there
        are nets of the first folds alone.
        """
        shift = 7919 * turn + 104729 * cycle
        members = tuple(replace(m, seed=(m.seed + shift) % 2**31) for m in self.members[:folds])
        recipes = self.recipes if kind == "nets" else (_waves(self.recipes[0]),)
        rows = self.rows
        if encoding is not None:
            rows = Rows(encoding(rows.x), rows.targets, rows.weight)
        return replace(
            self,
            members=members,
            recipes=tuple(_longer(recipe, cycle) for recipe in recipes),
            start_from=tuple(before),
            rows=rows,
            encoding=encoding,
        )


def _longer(recipe: Recipe, cycle: int) -> Recipe:
    """The recipe of a later cycle: twice as many steps as the one before, at half its rate."""
    config = recipe.config
    steps, rate = config.max_iter * 2**cycle, config.max_lr / 2**cycle
    return replace(recipe, config=replace(config, max_iter=steps, max_lr=rate))


def _waves(recipe: Recipe) -> Recipe:
    """The recipe of a bag of Fourier features, which the MLR loss keeps from memorising."""
    config = replace(recipe.config, max_iter=130, max_lr=0.2, weight_decay=0.0)
    backbone = BackboneSpec.resolve("fourier", **quality.FOURIER)
    return replace(recipe, backbone=backbone, factory=None, lambda_init=0.3, config=config)


@dataclass(frozen=True, eq=False)
class NetMembers:
    """Trains members of nets, beside what other members said out of fold."""

    training: NetTraining
    loss: str
    within: float  # of many rows: error of nets over the least of the others, at most
    cycles: int  # of many rows: nets go on so often at most, each time twice as long
    deadline: float | None

    def train(
        self, name: str, encoding: EncodingModule | None, turn: int, others: Sequence[Tensor]
    ) -> Sequence[FittedMember] | None:
        """A net per fold; None where nets are not worth it beside the others' outputs."""
        kind, _, _ = name.partition(":")
        bag = partial(self.training.member, kind, encoding, turn)
        if not self._may_pay(bag, others):
            return None
        start = time.perf_counter()
        nets: Sequence[FittedMember] = bag().fit()
        return self._go_on(nets, bag, start, others) if self.has_many_rows else nets

    def outputs(self, nets: Sequence[FittedMember]) -> Tensor:
        """Out-of-fold outputs; the target itself for rows of no fold."""
        outputs = self.training.rows.targets.cpu().double().clone()
        for net in nets:
            assert net.held_out is not None
            outputs[net.rows.valid] = net.held_out.outputs.cpu().double()
        return outputs

    @property
    def has_many_rows(self) -> bool:
        """Whether nets are trained as on many rows."""
        return len(self.training.rows.x) > quality.MANY_ROWS and self.loss == "rmse"

    def _may_pay(self, bag: Callable[..., NetTraining], others: Sequence[Tensor]) -> bool:
        """Whether nets are worth their time: of many rows, by the net of the first fold.

        Its error is compared with what the other members reach on that fold.
        """
        if not self.has_many_rows or not others or math.isinf(self.within):
            return True
        first = bag(folds=1).fit()
        return self._error_of(first) <= self.within * self._least(others, first)

    def _go_on(
        self,
        nets: Sequence[FittedMember],
        bag: Callable[..., NetTraining],
        start: float,
        others: Sequence[Tensor],
    ) -> Sequence[FittedMember]:
        """On large tables, keep training the nets while they improve."""
        most = _GO_ON_WITHIN * self._least(others, nets) if others else math.inf
        falls = _ended_late(nets)
        for cycle in range(1, self.cycles):
            now, before = time.perf_counter(), self._error_of(nets)
            end = now + 2 * (now - start)  # a cycle takes twice as long as the one before
            is_late = self.deadline is not None and end > self.deadline
            if not falls or before > most or is_late:
                break
            nets, start = _better(nets, bag(before=nets, cycle=cycle).fit()), now
            falls = self._error_of(nets) < _STILL_FALLS * before
        return nets

    def _error_of(self, nets: Sequence[FittedMember]) -> float:
        """Root mean squared error of nets on the rows that they held out."""
        return self._error(self.outputs(nets), nets)

    def _least(self, others: Sequence[Tensor], nets: Sequence[FittedMember]) -> float:
        """The least error of other members on the same rows."""
        return min(self._error(outputs, nets) for outputs in others)

    def _error(self, outputs: Tensor, nets: Sequence[FittedMember]) -> float:
        at = torch.cat([net.rows.valid for net in nets])
        rows = self.training.rows.take(at)
        squares = (outputs[at] - rows.targets.cpu().double()).square().mean(1).numpy()
        return rmse(squares, None if rows.weight is None else rows.weight.cpu().double().numpy())


def _ended_late(nets: Sequence[FittedMember]) -> bool:
    """Whether half of the nets were best near the end of their training."""
    late = [net.best_iter >= _LATE * (len(net.history) - 1) for net in nets]
    return 2 * sum(late) >= len(late)


def _better(
    before: Sequence[FittedMember], after: Sequence[FittedMember]
) -> Sequence[FittedMember]:
    """Of every net the better one, with the history of all cycles."""
    found = []
    for old, new in zip(before, after, strict=True):
        history = old.history + new.history
        if new.best_score > old.best_score:
            best = len(old.history) + new.best_iter
            found.append(replace(new, history=history, best_iter=best, rows=old.rows))
        else:
            found.append(replace(old, history=history))
    return regroup(found)
