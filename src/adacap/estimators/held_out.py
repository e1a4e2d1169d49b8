"""Outputs of trained nets on rows they were not trained on: for intervals and calibration."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from adacap.core.diagnostics import lowest_losses
from adacap.core.permutation import draw_permutations
from adacap.core.ridge import Ridge, RidgeFit
from adacap.exceptions import NumericalWarning
from adacap.nn.modules import TikhonovHead
from adacap.training.data import MemberRows
from adacap.training.history import Trained

if TYPE_CHECKING:
    from adacap.estimators.bag import FittedMember
    from adacap.estimators.blending import Blended
    from adacap.estimators.dependence import Dependence
    from adacap.estimators.fitting import Recipe

__all__ = [
    "BLEND_CHUNK", "MOST_REFIT", "Evidence", "HeldOut", "LeftOut", "Rows", "held_out", "outputs_of",
    "pooled_outputs", "pooled_residuals", "same_permutations", "solve_rows",
]  # fmt: skip

MOST_REFIT = 50_000  # rows beyond which a re-solved output layer no longer changes
_CHUNK = 8192
BLEND_CHUNK = 1024  # a kernel compares each row with thousands of others
_LEAST_TESTED = 4  # rows held out, for a test on them
N_PERMUTATIONS = 199
_MOST_LEFT_OUT = 20_000  # rows beyond which leave-one-out errors add nothing


@dataclass(frozen=True)
class Rows:
    """Encoded rows on their device."""

    x: Tensor  # (n, ...)
    targets: Tensor  # (n, c)
    weight: Tensor | None  # (n,)

    def take(self, index: Tensor | slice) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.x[index], self.targets[index], weight)


@dataclass(frozen=True)
class HeldOut:
    """Outputs of a net on its validation rows, and the output layer they come from.

    ``layer`` was solved without these rows; None once the net has been trained again on all rows.
    ``inflation`` is the mean error on these rows over the mean leave-one-out error on the training
    rows, whose features the net has learnt; None without a solved layer. ``lowest_losses`` are
    those of :func:`adacap.core.diagnostics.lowest_losses` over the iterations, of the labels and
    of permutations of them; None for fewer than 4 rows.
    """

    layer: tuple[Tensor, Tensor] | None  # weights (J, c), offsets (c,)
    outputs: Tensor  # (n_valid, c)
    inflation: Tensor | None = None  # (c,)
    lowest_losses: Tensor | None = None  # (1 + T,)


@dataclass(frozen=True)
class LeftOut:
    """Leave-one-out residuals of the output layer, on rows it was solved on."""

    index: Tensor  # (m,)
    residuals: Tensor  # (m, c), float64
    leverage: Tensor  # (m,), float64


@dataclass(frozen=True)
class Evidence:
    """What training leaves to judge the nets by."""

    members: Sequence[FittedMember]
    rows: Rows  # all that training saw
    valid: Rows | None  # given by the caller to choose iterations on
    aside: Rows | None  # that neither training nor any choice saw
    is_warm_start: bool  # continued from nets of an earlier fit, whose rows are not known
    blend: Blended | None = None  # what the nets are part of
    dependence: Dependence | None = None  # of the rows
    dependence_aside: Dependence | None = None

    def outputs_aside(self) -> Tensor:
        """Mean output of the members on the rows set aside."""
        rows = self.aside
        assert rows is not None
        if self.blend is not None:
            return outputs_of(self.blend.module, rows.x, BLEND_CHUNK).double()
        outputs = [outputs_of(member.network, rows.x).double() for member in self.members]
        return torch.stack(outputs).mean(0)

    def outputs_held_out(self) -> tuple[Tensor, Tensor]:
        """Rows that were held out, and the outputs of members that did not see them."""
        if self.blend is not None:
            index = (self.blend.fold >= 0).nonzero()[:, 0]
            return index, self.blend.outputs[index]
        rows = self.rows if self.valid is None else self.valid
        return pooled_outputs(self.members, len(rows.x))


@torch.no_grad()
def outputs_of(network: nn.Module, x: Tensor, chunk: int = _CHUNK) -> Tensor:
    """Outputs of a network in evaluation mode, in chunks of rows."""
    return torch.cat([network(x[i : i + chunk]) for i in range(0, len(x), chunk)])


def held_out(
    recipe: Recipe,
    rows: Rows,
    trained: Trained,
    k: int,
    member: MemberRows,
    valid: Rows | None,
    left: LeftOut | None,
    backbone: nn.Module,
) -> HeldOut | None:
    """Outputs of net k on its validation rows, by a head that was solved without them."""
    held = rows.take(member.valid) if valid is None else valid
    if len(held.x) == 0:
        return None
    coef, intercept = trained.coef[k].clone(), trained.intercept[k].clone()
    more = len(member.train) > recipe.config.batch_size  # rows than the head was solved on
    if isinstance(trained.nets.head, TikhonovHead) and recipe.refit_head and more:
        part = rows.take(member.train[:MOST_REFIT])
        lam = float(trained.nets.head.lam[k])
        ridge = _ridge(outputs_of(backbone, part.x), lam, part.weight, recipe.fit_intercept)
        coef, intercept, _ = _narrow(ridge.solve(part.targets.double()), part.targets)
    outputs = outputs_of(backbone, held.x) @ coef + intercept
    inflation = None
    if left is not None:
        seen = ~torch.isin(left.index, member.valid)
        weight = None if rows.weight is None else rows.weight[left.index[seen]]
        inflation = _mean_error(outputs - held.targets, held.weight) / _mean_error(
            left.residuals[seen], weight
        )
    trace = None if trained.trace is None else trained.trace[k]
    return HeldOut((coef, intercept), outputs, inflation, _lowest(trace, held, recipe.loss))


def _lowest(trace: Tensor | None, held: Rows, loss: str) -> Tensor | None:
    """Losses of the iterations on the first rows held out, by labels in many orders.

    Those of members that hold out the same rows, or no row in common, can be averaged.
    """
    if trace is None or trace.shape[1] < _LEAST_TESTED:
        return None
    n_rows = trace.shape[1]
    draws = same_permutations(n_rows, N_PERMUTATIONS)
    return lowest_losses(
        trace, held.targets[:n_rows], draws.to(trace.device), loss=loss,
        sample_weight=None if held.weight is None else held.weight[:n_rows],
    ).cpu()  # fmt: skip


@lru_cache(maxsize=4)
def same_permutations(n_rows: int, n_permutations: int) -> Tensor:
    """Permutations ``(T, n)`` that are the same for every member and every fit; not to be changed.

    Losses of members can be averaged only if all of them see the same permutations.
    """
    return draw_permutations(n_rows, n_permutations, torch.Generator().manual_seed(0))


def _mean_error(residuals: Tensor, weight: Tensor | None) -> Tensor:
    errors = residuals.detach().abs().double()
    w = torch.ones_like(errors[:, :1]) if weight is None else weight[:, None].double()
    return (w * errors).sum(0) / w.sum()


def _ridge(hidden: Tensor, lam: float, weight: Tensor | None, fit_intercept: bool) -> Ridge:
    """Ridge in float64."""
    w = None if weight is None else weight.double()
    return Ridge(hidden.double(), lam, sample_weight=w, fit_intercept=fit_intercept)


def _narrow(fit: RidgeFit, targets: Tensor) -> RidgeFit:
    """A fit in the dtype of the targets."""
    return RidgeFit(*(part.to(targets) for part in fit))


def solve_rows(
    hidden: Tensor, rows: Rows, index: Tensor, lam: float, *, fit_intercept: bool
) -> tuple[RidgeFit, float, LeftOut | None]:
    """Output layer on some rows, its degrees of freedom and leave-one-out residuals.

    All from one factorisation; on very large tables, residuals are of the first rows only. Rows are
    in an order that depends on content alone, so these are as good as any.
    """
    part = rows.take(index)
    ridge, Y = _ridge(hidden, lam, part.weight, fit_intercept), part.targets.double()
    fit, dof = _narrow(ridge.solve(Y), part.targets), float(ridge.dof())
    if len(index) < 2:
        return fit, dof, None
    first = slice(0, _MOST_LEFT_OUT)
    if len(index) > _MOST_LEFT_OUT:
        weight = None if part.weight is None else part.weight[first]
        ridge = _ridge(hidden[first], lam, weight, fit_intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # the solve warned already
        try:
            residuals, leverage = ridge.loo(Y[first])
        except ArithmeticError:  # diagnostics must never make `fit` fail
            return fit, dof, None
    return fit, dof, LeftOut(index[first], residuals, leverage)


def pooled_outputs(members: Sequence[FittedMember], n_rows: int) -> tuple[Tensor, Tensor]:
    """Rows that some member held out, and the mean output of the members that did."""
    held = [(m.rows.valid, m.held_out.outputs) for m in members if m.held_out is not None]
    everything = torch.arange(n_rows)  # rows that the caller gave to validate on have no index
    return _pool([(valid if len(valid) else everything, out) for valid, out in held], n_rows)


def pooled_residuals(members: Sequence[FittedMember], n_rows: int) -> tuple[Tensor, Tensor]:
    """Rows with leave-one-out residuals, and those of the mean of the members.

    Each member's output layer is linear in the targets, so leaving a row out of all of them leaves
    it out of their mean.
    """
    parts = [(m.left_out.index, m.left_out.residuals) for m in members if m.left_out is not None]
    return _pool(parts, n_rows)


def _pool(parts: list[tuple[Tensor, Tensor]], n_rows: int) -> tuple[Tensor, Tensor]:
    if not parts:
        return torch.arange(0), torch.empty(0, 0, dtype=torch.float64)
    total = torch.zeros(n_rows, parts[0][1].shape[1], dtype=torch.float64)
    count = torch.zeros(n_rows, dtype=torch.float64)
    for index, values in parts:
        total[index] += values.double().cpu()
        count[index] += 1
    seen = count.nonzero()[:, 0]
    return seen, total[seen] / count[seen, None]
