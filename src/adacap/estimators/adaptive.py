"""The width of a row's interval, learnt from out-of-fold errors.

As honest as the errors: the scale of a fold is learnt from the rows outside it. Its weight is found
on all rows out of fold, by the likelihood of errors whose size is the scale, and so is its stretch,
by the share of errors beyond it among rows of like scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression
from torch import Tensor

from adacap._typing import Floats
from adacap.conformal import conformal_quantile
from adacap.core.ridge import Ridge
from adacap.estimators.blending import out_of_fold
from adacap.members.fold_data import FoldData
from adacap.members.forest import fit_extra_trees
from adacap.nn.predictors import Frozen
from adacap.widths import FARTHEST, Widths

__all__ = ["LearntWidths", "learn_widths"]


LEAST_ROWS = 50
"""Rows out of fold below which widths do not adapt."""
_N_TREES, _LEAST_LEAF, _MOST_LEAVES = 30, 12, 100
_LEAST_GAIN = 2.0  # of log-likelihood: what two numbers found on the same rows gain by chance
_MOST_POWER = (3.0, 2.0)
_NEAR_ZERO = 0.05  # of the median error, below which errors are all alike
_LEAST_SIZE = 1e-3  # of the mean error
_STRETCHED_AT = 0.9  # coverage that is made equal among narrow and wide rows
_MOST_KNOTS, _ROWS_PER_KNOT = 10, 30
_LEAST_GAP = 0.05  # between knots, of the logarithm of the scale: so h is never steep
_MOST_STRETCH = np.log(5.0)


@dataclass(frozen=True, eq=False)
class LearntWidths:
    """Trees that predict the size of a row's errors, and the formula that uses them."""

    trees: Frozen
    formula: Widths


def learn_widths(
    x: Tensor, errors: Floats, outputs: Floats, weight: Floats | None, fold: Any
) -> tuple[LearntWidths, Floats] | None:
    """What gives rows (n, d) a scale, and the scale (n, c) of these; None if it does not help.

    Errors and outputs (n, c) are out of fold and in coded units; so is the scale, of each row by
    the fold that never saw it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, fold = rng.uniform(size=(400, 2)), np.arange(400) % 5
    >>> errors = (0.1 + x[:, :1]) * rng.normal(size=(400, 1))
    >>> learnt, scale = learn_widths(torch.tensor(x), errors, 0 * errors, None, fold)
    >>> bool(np.corrcoef(scale[:, 0], x[:, 0])[0, 1] > 0.9)
    True
    >>> learn_widths(torch.tensor(x), rng.normal(size=(400, 1)), 0 * errors, None, fold) is None
    True
    """
    sizes = np.abs(errors)
    mean = np.average(sizes, axis=0, weights=weight)
    if x.ndim != 2 or len(x) < LEAST_ROWS or not (mean > 0).any():
        return None
    trees, by_trees = _grow(x, sizes, weight, fold)
    slope = _slopes(outputs, sizes, weight, fold, int(np.max(fold)) + 1)
    floor = np.where(mean > 0, _LEAST_SIZE * mean, 1.0)
    none, flat = np.zeros(len(mean)), np.zeros((1, len(mean)))
    bare = Widths(np.ones((2, len(mean))), floor, none, slope, flat, flat)
    powers = [_powers(*_parts(bare, outputs, by_trees, fold, j), sizes[:, j], weight)
              for j in range(len(mean))]  # fmt: skip
    formula = replace(bare, power=np.array(powers).T)
    if not formula.power.any():
        return None
    logs = np.log(_own_scale(formula, outputs, by_trees, fold))
    shift = np.average(logs, axis=0, weights=weight)
    knots, stretch = _stretch(logs - shift, sizes, weight)
    formula = replace(formula, shift=shift, knots=knots, stretch=stretch)
    return LearntWidths(trees, formula), _own_scale(formula, outputs, by_trees, fold)


def _grow(x: Tensor, sizes: Floats, weight: Floats | None, fold: Any) -> tuple[Frozen, Floats]:
    """Trees for every fold, and their predictions for the rows in it."""
    k = int(np.max(fold)) + 1
    rows, held = x.cpu(), torch.as_tensor(fold, dtype=torch.long)
    w = None if weight is None else torch.from_numpy(weight)
    data = FoldData(rows, torch.from_numpy(sizes), w, held, k, seed=0)
    leaf = max(_LEAST_LEAF, len(rows) // _MOST_LEAVES)
    found = fit_extra_trees(data, n_trees=_N_TREES, max_features=1.0, min_samples_leaf=leaf)
    frozen = Frozen(*found).eval()
    return frozen.to(x.device), out_of_fold(frozen, rows, held, k).numpy()


def _slopes(outputs: Floats, sizes: Floats, weight: Floats | None, fold: Any, k: int) -> Floats:
    """Ridge regression of log sizes on z and |z|, for every fold on the rows outside it."""
    z = np.clip(outputs, -FARTHEST, FARTHEST)
    logs = np.log(sizes + _NEAR_ZERO * np.median(sizes, axis=0) + np.finfo(float).tiny)
    columns = torch.from_numpy(np.stack([z.T, np.abs(z.T)], axis=-1))  # (c, n, 2)
    y = torch.from_numpy(logs.T[..., None])
    w = None if weight is None else torch.from_numpy(weight)
    found = []
    for i in range(k):
        at = torch.from_numpy(fold != i)
        own = None if w is None else w[at]
        ridge = Ridge(columns[:, at], 1.0, sample_weight=own, fit_intercept=True)
        found.append(ridge.solve(y[:, at]).coef[..., 0].T)
    return torch.stack(found).numpy()


def _parts(
    bare: Widths, outputs: Floats, by_trees: Floats, fold: Any, j: int
) -> tuple[Floats, Floats]:
    """Predictions of each row's log error, from trees and from the prediction."""
    ones = np.ones((1, len(bare.floor)))
    powers = np.array([[1.0], [0.0]]) * ones, np.array([[0.0], [1.0]]) * ones
    own = [_own_scale(replace(bare, power=p), outputs, by_trees, fold)[:, j] for p in powers]
    return np.log(own[0]), np.log(own[1])


def _own_scale(formula: Widths, outputs: Floats, by_trees: Floats, fold: Any) -> Floats:
    """Scale of each row by its own fold."""
    k = len(formula.slope)
    each = formula.scale(
        np.repeat(outputs[:, None], k, axis=1), np.repeat(by_trees[:, None], k, axis=1)
    )
    return np.asarray(each[np.arange(len(each)), fold])


def _powers(by_trees: Floats, by_level: Floats, sizes: Floats, weight: Floats | None) -> Floats:
    """Weight of each part, by maximum likelihood; 0 where that gains too little.

    Errors over the scale are assumed Laplacian with one width, which is estimated too.
    """
    share = np.full(len(sizes), 1 / len(sizes)) if weight is None else weight / weight.sum()
    total = len(sizes) if weight is None else weight.sum()
    logs = np.column_stack([by_trees - share @ by_trees, by_level - share @ by_level])

    def cost(power: Floats) -> float:
        scaled = share @ (sizes * np.exp(-np.clip(logs @ power, -50, 50)))
        return float(np.log(scaled + np.finfo(float).tiny) + power @ power / total)

    bounds = [(0.0, most) for most in _MOST_POWER]
    found: Floats = minimize(cost, np.array([0.5, 0.5]), bounds=bounds).x
    gain = total * (cost(np.zeros(2)) - cost(found)) + found @ found
    return found if gain >= _LEAST_GAIN else np.zeros(2)


def _stretch(logs: Floats, sizes: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Knots ``(m, c)`` of log scale, and by how much the scale is stretched there.

    At each the quantile of errors over the scale is taken among the rows that are nearest in rank.
    The stretched scale grows with the scale, and its mean logarithm over the rows stays 0.
    """
    n, n_targets = logs.shape
    m = min(_MOST_KNOTS, n // _ROWS_PER_KNOT)
    if m < 2:
        return np.zeros((1, n_targets)), np.zeros((1, n_targets))
    w = np.ones(n) if weight is None else weight
    pairs = [_stretch_of(logs[:, j], sizes[:, j], w, (np.arange(m) + 0.5) / m)
             for j in range(n_targets)]  # fmt: skip
    return np.stack([knots for knots, _ in pairs], -1), np.stack([h for _, h in pairs], -1)


def _stretch_of(logs: Floats, sizes: Floats, w: Floats, centres: Floats) -> tuple[Floats, Floats]:
    m, order = len(centres), np.argsort(logs, kind="stable")
    below = np.cumsum(w[order]) - w[order] / 2
    rank = below / w.sum()  # in order of the scale
    gaps = _LEAST_GAP * np.arange(m)
    knots = np.maximum.accumulate(np.interp(centres, rank, logs[order]) - gaps) + gaps
    if np.ptp(logs) == 0:
        return knots, np.zeros(m)
    scaled = (sizes / np.exp(logs))[order]
    found = np.zeros(m)
    for i, centre in enumerate(centres):
        near = w[order] * np.clip(1 - m * np.abs(rank - centre), 0, None)
        count = near.sum() ** 2 / (near @ near)  # as many rows of equal weight say as much
        found[i] = conformal_quantile(
            scaled[:, None], _STRETCHED_AT, near * count / near.sum()
        ).item()
    if not (np.isfinite(found) & (found > 0)).all():
        return knots, np.zeros(m)
    h = np.log(found)
    h = np.clip(h - np.median(h), -_MOST_STRETCH, _MOST_STRETCH)
    h = isotonic_regression(knots + h) - knots
    return knots, h - np.average(np.interp(logs, knots, h), weights=w)
