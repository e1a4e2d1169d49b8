"""What a table is like: noise, memorisation, far values, transforms, columns at risk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap._typing import Floats, Index
from adacap.advice.quick import Quick
from adacap.advice.records import ColumnRisk, Memorisation, Transform
from adacap.comparison.results import corrected_error
from adacap.core.diagnostics import label_fits, permutation_p_value
from adacap.core.permutation import draw_permutations
from adacap.estimators.choosing import TRANSFORM_FOLDS, try_transforms
from adacap.estimators.dependence import Dependence
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.inputs import member_seeds
from adacap.estimators.preparing import Given, read_samples
from adacap.estimators.targets import RegressionCodec
from adacap.tables.columns import Column
from adacap.tables.plan import ColumnPlan
from adacap.tables.suspicions import doubts_of_columns, is_numbering
from adacap.tables.table import Table

__all__ = ["best_transform", "columns_at_risk", "far_values", "memorisation", "neighbour_noise"]


_MOST_STUDIED = 400  # rows that the fit of permuted labels is read on
_N_PERMUTATIONS = 99
_FAR = 10.0  # interquartile ranges from the quartiles


def neighbour_noise(
    kernel: Any, x: Tensor, targets: Tensor, dependence: Dependence | None = None
) -> float:
    """Share of the target's variance in which nearest neighbours differ; 1 is all of it.

    Neighbours are nearest by the scales that the kernel has learnt, so columns that do not matter
    do not count. Half the mean squared difference estimates the variance of the noise where rows
    are dense, and is too large where they are not. Where rows depend on each other, neighbours are
    of other groups, and of earlier times.
    """
    scaled = x.double() * kernel.logs.scale[0].double()
    apart = torch.cdist(scaled, scaled)
    apart.fill_diagonal_(float("inf"))
    if dependence is not None and dependence.group is not None:
        group = torch.from_numpy(dependence.group)
        apart[group[:, None] == group] = float("inf")
    if dependence is not None and dependence.time is not None:
        when = torch.from_numpy(dependence.time)
        apart[when[:, None] <= when] = float("inf")
    nearest = apart.min(1)
    y = targets.double()
    rows = nearest.values.isfinite()
    gaps, y = (y - y[nearest.indices])[rows], y[rows]
    total = float((y - y.mean(0)).square().sum())
    return float(gaps.square().sum()) / 2 / total if total > 0 else float("nan")


def memorisation(quick: Quick, x: Tensor, targets: Tensor, loss: str) -> Memorisation:
    """How well the kernel's solved layer fits the labels, and labels in random order."""
    kernel, rows = quick.kernel, torch.from_numpy(quick.first)[:_MOST_STUDIED]
    hidden = kernel.features(0, x[rows])(x[rows])
    draws = draw_permutations(len(rows), _N_PERMUTATIONS, torch.Generator().manual_seed(0))
    losses = label_fits(hidden, targets[rows], draws, float(kernel.lam[0]), loss=loss)
    true, permuted = float(losses[0]), float(losses[1:].mean())
    return Memorisation(true, permuted, permuted - true, permutation_p_value(losses))


def far_values(values: Floats) -> Index:
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


def best_transform(
    table: Table, y: Floats, seed: int, dependence: Dependence | None = None
) -> Transform | None:
    """The transform of a skewed target that lowers the error in its own units most.

    It is found as ``fit`` with ``target_transform="auto"`` finds it, on the same rows, by the same
    folds and stand-ins: it pays if that would use it.

    ``y`` is in the user's units, ``seed`` the ``random_state`` of the fit. None where no transform
    is worth a look, so that nothing was tried.
    """
    own = Dependence() if dependence is None else dependence
    given = Given(table, y, groups=own.group, time=own.time)
    samples = read_samples(given, "default", RegressionCodec)
    codec = RegressionCodec.fit(samples.y, samples.weight, samples.sign)
    encoded = TableEncoder().fit_encode(
        samples.table, codec.encode(samples.y), samples.weight, layout=samples.columns,
        owner="advise",
    )  # fmt: skip
    x = np.asarray(encoded, dtype=np.float64)
    column, (own_seed, *_) = codec.numbers(samples.y), member_seeds(seed, 1)
    tried = try_transforms(x, column, samples.weight, own_seed, samples.dependence)[0]
    if not tried:
        return None
    best = tried[0]
    ratio = float(np.exp(best.change))
    # of the ratio, as the gain is: that of its logarithm times the ratio itself
    error = ratio * float(corrected_error(best.by_fold, 1 / (TRANSFORM_FOLDS - 1)))
    return Transform(best.kind, 1 - ratio, error, best.pays)


# --------------------------------------------------------------------------- columns at risk

_MOSTLY = 0.5  # share of missing cells that makes a column mostly missing
_MANY_LEVELS = 0.2  # of the rows
_FEW_ROWS = 10


def columns_at_risk(
    columns: Sequence[Column], plans: Sequence[ColumnPlan], y: npt.NDArray[Any], is_class: bool
) -> tuple[ColumnRisk, ...]:
    """Columns to look at before training, each with what may go wrong.

    ``columns`` are as they are read, ``plans`` what the encoder makes of each.

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
