"""Reading the capacity of trained members, at the end of ``fit``, on a bounded number of rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from adacap._typing import Floats
from adacap.core.diagnostics import label_fits, permutation_p_value, press_r2
from adacap.core.mlr import constant_fit
from adacap.estimators.bag import FittedMember
from adacap.estimators.capacity import Capacity, MemberCapacity
from adacap.estimators.fitting import Recipe, solved_share
from adacap.estimators.held_out import (
    N_PERMUTATIONS,
    Evidence,
    Rows,
    _pool,
    pooled_residuals,
    same_permutations,
)
from adacap.estimators.preparing import Prepared
from adacap.estimators.targets import RegressionCodec
from adacap.exceptions import NumericalWarning

__all__ = ["read_capacity"]

_MOST_ROWS = 2048  # kept at most; more would cost time and a larger file, and change little
_MOST_LABELS = 4_000_000  # rows times permuted label columns


def read_capacity(evidence: Evidence, recipe: Recipe, data: Prepared, estimator: str) -> Capacity:
    """Capacity of trained members."""
    members, rows, valid = evidence.members, evidence.rows, evidence.valid
    codec, origin = data.codec, data.samples.origin
    scale = codec.scale if isinstance(codec, RegressionCodec) else np.ones(codec.n_targets)
    fits = [_label_fits(member, recipe, rows) for member in members]
    known = [fit for fit in fits if fit is not None]
    mean_fits = torch.stack(known).mean(0).cpu() if known else torch.zeros(1, dtype=torch.float64)
    index, residuals = pooled_residuals(members, len(origin))
    leverage = _pooled_leverage(members, len(origin))
    part = slice(0, _MOST_ROWS)
    return Capacity(
        estimator=estimator,
        n_rows=data.samples.n_given,
        n_distinct=len(origin),
        scheme=recipe.scheme,
        n_solved=_total(rows) * (solved_share(recipe, members[0], len(origin)) if members else 1.0),
        n_features=members[0].width if members else 0,
        loss=recipe.loss,
        baseline=float(constant_fit(recipe.loss, rows.targets.unsqueeze(1).double(), rows.weight)),
        members=tuple(
            _summary(member, fit, rows, None if evidence.is_warm_start else _holdout([member]))
            for member, fit in zip(members, fits, strict=True)
        )
        or (MemberCapacity(),),  # trees alone have nothing to read
        p_value=permutation_p_value(mean_fits) if known else None,
        press_r2=_press(index, residuals, rows),
        holdout_p_value=None if evidence.is_warm_start else _holdout(members, valid is not None),
        rows=origin[index[part].numpy()].astype(np.int64),
        residuals=_in_units(residuals[part].numpy().reshape(-1, len(scale)), scale),
        leverage=leverage[part].numpy(),
        permuted_fits=mean_fits[1:].numpy(),
    )


def _sizes(n_rows: int, n_targets: int) -> tuple[int, int]:
    """Permutations and rows, so that their labels stay few even with many classes."""
    n_permutations = N_PERMUTATIONS if n_targets < 4 else 99
    most = max(256, _MOST_LABELS // (n_targets * (1 + n_permutations)))
    return n_permutations, min(n_rows, _MOST_ROWS, most)


def _in_units(residuals: Floats, scale: Floats) -> Floats:
    """Residuals in the user's units, the largest float64 where they exceed it."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(residuals * scale, -largest, largest)


def _total(rows: Rows) -> float:
    return float(len(rows.x) if rows.weight is None else rows.weight.double().sum())


@torch.no_grad()
def _label_fits(member: FittedMember, recipe: Recipe, rows: Rows) -> Tensor | None:
    """Losses of the true and of permuted labels on a sample of rows.

    Rows are ordered by a hash of their content, so the first ones are a random sample.
    Where they are fewer than the layer was solved on, λ is scaled to keep λ/n.
    """
    if member.lam is None:
        return None
    n_permutations, n_read = _sizes(len(rows.x), rows.targets.shape[1])
    draws = same_permutations(n_read, n_permutations)
    y, w = rows.targets[:n_read], None if rows.weight is None else rows.weight[:n_read]
    solved = _total(rows) * solved_share(recipe, member, len(rows.x))
    share = (n_read if w is None else float(w.double().sum())) / solved
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # the solve warned already
        try:
            return label_fits(
                member.backbone(rows.x[:n_read]), y, draws.to(y.device), member.lam * share,
                loss=recipe.loss, sample_weight=w, fit_intercept=recipe.fit_intercept,
            )  # fmt: skip
        except ArithmeticError:  # diagnostics must never make `fit` fail
            return None


def _summary(
    member: FittedMember, fits: Tensor | None, rows: Rows, holdout: float | None
) -> MemberCapacity:
    press = None
    if member.left_out is not None:
        press = _press(member.left_out.index, member.left_out.residuals, rows)
    return MemberCapacity(
        lam=member.lam,
        effective_dof=member.effective_dof,
        fit_true=None if fits is None else float(fits[0]),
        fit_permuted=None if fits is None else float(fits[1:].mean()),
        p_value=None if fits is None else permutation_p_value(fits),
        press_r2=press,
        holdout_p_value=holdout,
    )


def _press(index: Tensor, residuals: Tensor, rows: Rows) -> float | None:
    if not len(index):
        return None
    weight = None if rows.weight is None else rows.weight[index]
    found = press_r2(residuals, rows.targets[index], weight)
    return None if math.isnan(found) else found


def _pooled_leverage(members: Sequence[FittedMember], n_rows: int) -> Tensor:
    parts = [
        (m.left_out.index, m.left_out.leverage.unsqueeze(-1))
        for m in members
        if m.left_out is not None
    ]
    return _pool(parts, n_rows)[1].flatten()


def _holdout(members: Sequence[FittedMember], same_rows: bool = False) -> float | None:
    """Permutation p-value of the predictions of rows held out; None for too few.

    Losses of members may be averaged where all hold out the same rows, or no two the same row.
    Otherwise the p-values depend on each other in unknown ways; twice their mean still holds.
    """
    held = [m.held_out for m in members if m.held_out is not None]
    losses = [h.lowest_losses for h in held if h.lowest_losses is not None]
    if not losses:
        return None
    rows = torch.cat([member.rows.valid for member in members])
    if same_rows or len(rows.unique()) == len(rows):
        return permutation_p_value(torch.stack(losses).mean(0))
    return min(1.0, 2 * sum(map(permutation_p_value, losses)) / len(losses))
