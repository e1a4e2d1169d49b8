"""What a table is like: noise, memorisation, far values, transforms, columns at risk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap._typing import Floats
from adacap.advice.quick import N_FOLDS, Quick, out_of_fold
from adacap.advice.records import ColumnRisk, Memorisation, Transform
from adacap.comparison.results import corrected_error
from adacap.core.diagnostics import label_fits, permutation_p_value
from adacap.core.permutation import draw_permutations
from adacap.members.fold_data import FoldData
from adacap.members.kernel import KernelSettings, fit_kernel
from adacap.members.linear import fit_linear
from adacap.tables.columns import Column
from adacap.tables.plan import ColumnPlan
from adacap.tables.suspicions import doubts_of_columns, is_numbering, skewness

__all__ = [
    "best_transform",
    "columns_at_risk",
    "far_values",
    "memorisation",
    "neighbour_noise",
]


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
    if abs(skewness(y)) < _SKEWED or len(np.unique(y)) < 10:
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


# --------------------------------------------------------------------------- columns at risk

_MOSTLY = 0.5  # share of missing cells that makes a column mostly missing
_MANY_LEVELS = 0.2  # of the rows
_FEW_ROWS = 10


def columns_at_risk(
    columns: Sequence[Column], plans: Sequence[ColumnPlan], y: npt.NDArray[Any], is_class: bool
) -> tuple[ColumnRisk, ...]:
    """Columns to look at before training, each with what may go wrong.

    Parameters
    ----------
    columns : sequence of Column
        As they are read.
    plans : sequence of ColumnPlan
        What the encoder makes of each.
    y : ndarray of shape (n_rows,)
    is_class : bool
        Whether ``y`` holds labels.

    Examples
    --------
    >>> columns = [Column("numeric", np.arange(60.0)), Column("numeric", np.ones(60))]
    >>> plans = [ColumnPlan("id", "numeric"), ColumnPlan("c", "numeric", dropped="constant")]
    >>> y = np.random.default_rng(0).normal(size=60)
    >>> [(one.column, one.risk) for one in columns_at_risk(columns, plans, y, is_class=False)]
    [('id', 'id'), ('c', 'constant')]
    """
    names = [plan.name for plan in plans]
    leaks = doubts_of_columns(columns, names, y, is_class)
    found: list[ColumnRisk] = []
    for column, plan in zip(columns, plans, strict=True):
        told = [text for text in leaks if text.startswith(f"Column {plan.name!r} ")]
        found += _risks(column, plan, told)
    return tuple(found)


def _risks(column: Column, plan: ColumnPlan, told: Sequence[str]) -> Iterator[ColumnRisk]:
    n_rows, name = len(column.values), plan.name
    known = ~column.missing
    if plan.dropped == "constant":
        yield ColumnRisk(name, "constant", "one value in all rows: it is left out")
        return
    for text in told:
        yield ColumnRisk(name, "leak" if "alone predicts" in text else "id", text)
    if not told and _is_id(column, known):
        yield ColumnRisk(name, "id", "a different value in every row: new rows have others")
    elif plan.dropped:
        yield ColumnRisk(name, "dropped", plan.dropped)
    elif column.kind == "categorical" and plan.parts:
        n_levels = len(np.unique(column.values[known]))
        if n_rows >= _FEW_ROWS and n_levels > max(12, _MANY_LEVELS * n_rows):
            yield ColumnRisk(name, "many levels", f"{n_levels:,} levels in {n_rows:,} rows")
    if (share := 1 - known.mean()) > _MOSTLY:
        yield ColumnRisk(name, "mostly missing", f"{100 * share:.0f} % of the cells are missing")
    if column.kind == "numeric" and len(far := far_values(column.numbers())):
        extreme = column.numbers()[far]
        value = extreme[np.abs(extreme).argmax()]
        text = f"{len(far):,} value{'s' * (len(far) > 1)} far from the others, such as {value:.6g}"
        yield ColumnRisk(name, "outliers", text)


def _is_id(column: Column, known: npt.NDArray[np.bool_]) -> bool:
    """Whether every row has a distinct value: a text, or a whole number of a sequence."""
    n_known = int(known.sum())
    if n_known < _FEW_ROWS or n_known < 0.9 * len(known):
        return False
    values = column.values[known]
    if column.kind == "categorical":
        return len(np.unique(values)) == n_known
    return column.kind == "numeric" and is_numbering(values.astype(np.float64), 2 * n_known)
