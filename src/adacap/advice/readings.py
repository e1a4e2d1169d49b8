"""What a table is like, in numbers: noise, memorisation, linearity, far values, transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap.advice.quick import N_FOLDS, Quick, out_of_fold
from adacap.advice.records import Memorisation, Transform
from adacap.comparison.results import corrected_error
from adacap.core.diagnostics import label_fits, permutation_p_value
from adacap.core.permutation import draw_permutations
from adacap.members.fold_data import FoldData
from adacap.members.kernel import KernelSettings, fit_kernel
from adacap.members.linear import fit_linear

__all__ = ["best_transform", "far_values", "memorisation", "neighbour_noise", "skew"]

Floats = npt.NDArray[np.float64]

_MOST_STUDIED = 400  # rows that the fit of permuted labels is read on
_N_PERMUTATIONS = 99
_FAR = 10.0  # interquartile ranges from the quartiles
_SKEWED = 0.8  # from which on a transform is tried
_MOST_RESIDUALS = 200  # that a prediction is averaged over on its way back
_LEAST_GAIN = 0.01
_KERNEL = KernelSettings(n_steps=40, most_trained=100, most_solved=600)


def neighbour_noise(kernel: Any, x: Tensor, targets: Tensor) -> float:
    """Share of the target's variance in which nearest neighbours differ; 1 is all of it.

    Neighbours are nearest by the scales that the kernel has learnt, so columns that do not matter
    do not count. Half the mean squared difference estimates the variance of the noise where rows
    are dense, and is too large where they are not.
    """
    scaled = x.double() * kernel.logs.scale[0].double()
    apart = torch.cdist(scaled, scaled)
    apart.fill_diagonal_(float("inf"))
    y = targets.double()
    gaps = y - y[apart.argmin(1)]
    total = float((y - y.mean(0)).square().sum())
    return float(gaps.square().sum()) / 2 / total if total > 0 else float("nan")


def memorisation(kernel: Any, x: Tensor, targets: Tensor, fold: Tensor, loss: str) -> Memorisation:
    """How well the kernel's solved layer fits the labels, and labels in random order."""
    rows = (fold != 0).nonzero()[:, 0][:_MOST_STUDIED]
    hidden = kernel.features(0, x[rows])(x[rows])
    draws = draw_permutations(len(rows), _N_PERMUTATIONS, torch.Generator().manual_seed(0))
    losses = label_fits(hidden, targets[rows], draws, float(kernel.lam[0]), loss=loss)
    true, permuted = float(losses[0]), float(losses[1:].mean())
    return Memorisation(true, permuted, permuted - true, permutation_p_value(losses))


def far_values(values: Floats) -> npt.NDArray[np.intp]:
    """Places of values more than ten interquartile ranges from the quartiles.

    Examples
    --------
    >>> far_values(np.array([1.0, 2.0, 3.0, 4.0, 900.0, np.nan]))
    array([4])
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return np.arange(0)
    low, high = np.quantile(known, [0.25, 0.75])
    room = _FAR * (high - low)
    if not room > 0:
        return np.arange(0)
    return np.flatnonzero((values < low - room) | (values > high + room))


def skew(y: Floats) -> float:
    """Third standardised moment; 0 for a constant.

    Examples
    --------
    >>> round(skew(np.array([0.0, 0.0, 0.0, 4.0])), 2)
    1.15
    """
    z = y - y.mean()
    spread = float(np.sqrt((z**2).mean()))
    return float(((z / spread) ** 3).mean()) if spread > 0 else 0.0


# ------------------------------------------------------------------------- target transforms


class _Scale(NamedTuple):
    """A transform of the target and the way back."""

    name: str
    there: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]


def best_transform(x: Tensor, y: Floats, quick: Quick) -> Transform | None:
    """The transform of a skewed target that lowers the error in its own units, if one does.

    Ridge and kernel are fitted to the target as it is and transformed, in the same folds.
    Predictions come back as means over the errors of other folds, which leaves no bias.

    Parameters
    ----------
    x : Tensor of shape (n, d)
    y : ndarray of shape (n,)
        In the user's units.
    quick : Quick
        Whose folds to use.

    Returns
    -------
    Transform or None
        None where the target is nearly symmetric, so that nothing was tried.
    """
    if abs(skew(y)) < _SKEWED or len(np.unique(y)) < 10:
        return None
    plain = _errors_on(_Scale("none", lambda v: v, lambda v: v), x, y, quick)
    found = []
    for scale in _scales(y):
        logs = np.log(_errors_on(scale, x, y, quick) / plain)
        gain = 1 - float(np.exp(logs.mean()))
        error = float(corrected_error(logs, 1 / (N_FOLDS - 1)))
        found.append(Transform(scale.name, gain, error, gain > max(_LEAST_GAIN, error)))
    return max(found, key=lambda one: one.gain)


def _scales(y: Floats) -> list[_Scale]:
    from scipy import stats

    found = [_Scale("log", np.log, np.exp)] if y.min() > 0 else []
    unit = float(y.std())
    power = float(stats.yeojohnson_normmax(y / unit))

    def there(values: Floats) -> Floats:
        return np.asarray(stats.yeojohnson(values / unit, power))

    return [*found, _Scale("yeo-johnson", there, lambda z: unit * _inverse(z, power))]


def _inverse(z: Floats, power: float) -> Floats:
    """Value whose Yeo–Johnson transform is z; infinite where no value has it."""
    above, below = power, 2 - power
    up = np.expm1(z) if above == 0 else np.maximum(1 + above * z, 0.0) ** (1 / above) - 1
    down = -np.expm1(-z) if below == 0 else 1 - np.maximum(1 - below * z, 0.0) ** (1 / below)
    return np.where(z >= 0, up, down)


def _errors_on(scale: _Scale, x: Tensor, y: Floats, quick: Quick) -> Floats:
    """RMSE per fold, in the user's units, of the better of ridge and kernel on a scale."""
    z = scale.there(y)
    mean, spread = z.mean(), z.std() or 1.0
    targets = torch.from_numpy((z - mean) / spread).float()[:, None]
    data = FoldData(x, targets, None, torch.from_numpy(quick.fold), N_FOLDS, 0)
    every = []
    for fit in (fit_linear, lambda data: fit_kernel(data, _KERNEL)):
        outputs = mean + spread * out_of_fold(data, fit)[0][:, 0]
        predicted = _back(scale, outputs, z, y, quick.fold)
        parts = [quick.fold == k for k in range(N_FOLDS)]
        every.append([np.sqrt(np.mean((predicted[p] - y[p]) ** 2)) for p in parts])
    errors = np.maximum(np.array(every), 1e-12)
    return np.asarray(errors[errors.mean(1).argmin()])


def _back(scale: _Scale, outputs: Floats, z: Floats, y: Floats, fold: Any) -> Floats:
    """Mean over the errors of other folds, kept near the range of the target."""
    found, room = np.zeros_like(y), y.max() - y.min()
    low, high = z.min(), z.max()
    for k in range(N_FOLDS):
        own, others = fold == k, (fold != k) & (fold >= 0)
        errors = (z - outputs)[others]
        errors = np.quantile(errors, np.linspace(0, 1, min(len(errors), _MOST_RESIDUALS) + 2)[1:-1])
        paths = np.clip(outputs[own][:, None] + errors, low - (high - low), high + (high - low))
        with np.errstate(all="ignore"):
            values = scale.back(paths)
        found[own] = np.clip(values, y.min() - room, y.max() + room).mean(1)
    return found
