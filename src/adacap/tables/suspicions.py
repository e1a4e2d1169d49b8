"""What makes scores too good or worse: leaks, ids, codes for missing, outliers; in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from adacap._typing import Floats
from adacap.tables.columns import Column

__all__ = ["doubts_of_columns", "doubts_of_target", "is_numbering", "skewness"]

_LEAST_ROWS = 50
_MOST_ROWS = 20_000  # looked at
_PERFECT = 0.99
_IN_ORDER = 0.95
_NEAR = 3.0  # interquartile ranges from the quartiles
_FAR = 10.0
_SHOWN = 5
_CODES = (-1.0, *(sign * n for n in (9, 99, 999, 9999, 99999) for sign in (-1.0, 1.0)))


def doubts_of_columns(
    columns: Sequence[Column], names: Sequence[str], y: npt.NDArray[Any], is_class: bool
) -> list[str]:
    """Sentences about columns that alone predict the target, and about codes for missing cells.

    With fewer than two columns there is nothing to say. With ``is_class``, ``y`` holds labels.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> columns = [Column("numeric", x[:, 0]), Column("numeric", x[:, 1])]
    >>> doubts_of_columns(columns, ["size", "paid"], x[:, 1] * 3, is_class=False)
    ["Column 'paid' alone predicts the target almost perfectly (R² 1.0000): ... drop it."]
    """
    n_rows = len(y)
    if len(columns) < 2 or n_rows < _LEAST_ROWS:
        return []
    rows = np.arange(n_rows)
    if n_rows > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(n_rows, _MOST_ROWS, replace=False))
    targets = _targets(y[rows], is_class)
    found: list[str] = []
    for name, column in zip(names, columns, strict=True):
        found += _codes(column.take(rows), name)
        found += _doubts(column.take(rows), name, targets, is_class)
    return found


def _codes(column: Column, name: str) -> Iterator[str]:
    """A value such as −999, far from the others and in at least three cells."""
    if column.kind != "numeric":
        return
    x = column.numbers()[~column.missing]
    for code in {x.min(), x.max()} & set(_CODES) if len(x) else ():
        others, n = x[x != code], int((x == code).sum())
        if n < 3 or len(np.unique(others)) < 3:
            continue
        low, high = others.min(), others.max()
        if max(low - code, code - high) > 2 * (high - low):
            yield (
                f"Column {name!r} is {code:g} in {n:,} cells, far from the others ({low:g} to "
                f"{high:g}). If that stands for a missing value, leave these cells empty: it is "
                "read as a number."
            )


def _tame(y: Floats) -> list[Floats]:
    """A target as ranks, and with outliers clipped: no outlier dominates either."""
    low, high = np.quantile(y, [0.25, 0.75])
    room = _NEAR * (high - low)
    return [_ranks(y), np.clip(y, low - room, high + room)]


def _ranks(values: npt.NDArray[Any]) -> Floats:
    """Rank of each value, from 0; equal values share their mean rank."""
    return np.asarray(rankdata(values) - 1)


def _targets(y: npt.NDArray[Any], is_class: bool) -> list[npt.NDArray[Any]]:
    if is_class:
        return [np.unique(y, return_inverse=True)[1]]
    return list(np.asarray(y, dtype=np.float64).reshape(len(y), -1).T)


def _doubts(
    column: Column, name: str, targets: Sequence[npt.NDArray[Any]], is_class: bool
) -> Iterator[str]:
    known = ~column.missing
    if known.sum() < max(_LEAST_ROWS, 0.5 * len(known)):
        return
    for y in targets:
        if not is_class and _is_id(column, known) and _order(column.numbers()[known], y[known]):
            yield (
                f"Column {name!r} numbers the rows, and orders the target: the rows were sorted "
                "before they were numbered. New rows have no such number; drop it."
            )
            return
        share = _share(column.take(known), y[known], is_class)
        if share >= _PERFECT:
            what = "right in" if is_class else "R²"
            shown = f"{100 * share:.1f} % of the rows" if is_class else f"{share:.4f}"
            yield (
                f"Column {name!r} alone predicts the target almost perfectly ({what} {shown}): it "
                "may be the target itself, or known only after it. If new rows will not have it, "
                "drop it."
            )
            return


def _is_id(column: Column, known: npt.NDArray[np.bool_]) -> bool:
    """Whether a column holds whole numbers, each once, without large gaps."""
    if column.kind != "numeric":
        return False
    x = column.numbers()[known]
    return is_numbering(x, 2 * max(len(x), _MOST_ROWS * (len(x) >= _MOST_ROWS)))


def is_numbering(values: npt.NDArray[Any], span: int) -> bool:
    """Whether values are whole numbers, each once, that lie within a span, as those of rows do.

    There is at least one, and none is missing.

    Examples
    --------
    >>> is_numbering(np.array([7, 5, 6]), span=3), is_numbering(np.array([7, 5, 60]), span=3)
    (True, False)
    """
    lowest, highest = values.min().item(), values.max().item()
    if not np.isfinite([lowest, highest]).all() or highest - lowest >= span:
        return False
    return not (values % 1).any() and len(np.unique(values)) == len(values)


def _order(x: Floats, y: npt.NDArray[Any]) -> bool:
    """Whether a target goes up or down with a column."""
    return bool(abs(np.corrcoef(_ranks(x), _ranks(y))[0, 1]) >= _IN_ORDER)


def _share(column: Column, y: npt.NDArray[Any], is_class: bool) -> float:
    """R² or share of right labels, when each row is predicted by other rows with the same cell."""
    if is_class and np.bincount(y).max() > 0.95 * len(y):
        return 0.0
    told = _by_level if column.kind == "categorical" else _by_neighbours
    cells = column.values if column.kind == "categorical" else column.numbers()
    return max(told(cells, one, is_class) for one in ([y] if is_class else _tame(y)))


def _by_level(codes: npt.NDArray[Any], y: npt.NDArray[Any], is_class: bool) -> float:
    counts = np.bincount(codes)
    if len(codes) < 3 * np.count_nonzero(counts):
        return 0.0
    if is_class:
        joint = np.zeros((len(counts), int(y.max()) + 1))
        np.add.at(joint, (codes, y), 1)
        return float(joint.max(axis=1).sum() / len(y))
    others = np.maximum(counts[codes] - 1, 1)
    told = (np.bincount(codes, weights=y)[codes] - y) / others
    return _r2(y, np.where(counts[codes] > 1, told, y.mean()))


def _by_neighbours(x: Floats, y: npt.NDArray[Any], is_class: bool) -> float:
    """Each row predicted by those just below and above it in the column; ties in random order."""
    order = np.lexsort((np.random.default_rng(0).random(len(x)), x))
    below, own, above = y[order][:-2], y[order][1:-1], y[order][2:]
    if is_class:
        return float(np.mean((below == own) & (above == own))) if len(np.unique(x)) > 1 else 0.0
    return _r2(own, (below + above) / 2)


def _r2(y: npt.NDArray[Any], told: npt.NDArray[Any]) -> float:
    total = float(((y - y.mean()) ** 2).sum())
    return 1.0 - float(((y - told) ** 2).sum()) / total if total > 0 else 0.0


# ---------------------------------------------------------------------------- the target


def doubts_of_target(
    y: npt.NDArray[Any],
    name: str,
    numbers: npt.NDArray[Any] | None = None,
    transform: str | None = None,
) -> list[str]:
    """Sentences about a numeric target that is hard to learn as it is, with what to do.

    ``numbers`` is what rows are called, their positions by default. With a ``transform``, the
    ``target_transform`` of the model, there is no word on the logarithm.

    Examples
    --------
    >>> y = np.append(np.random.default_rng(0).normal(size=99), 5000.0)
    >>> doubts_of_target(y, "price")
    ["The target 'price' has 1 value far from the others (5000 in row 99): ... leave them out."]
    """
    y = np.asarray(y, dtype=np.float64)
    if len(y) < _LEAST_ROWS:
        return []
    if _looks_log_normal(y):
        if transform not in (None, "none"):
            return []
        return [
            f"The target {name!r} looks log-normal: all values are above 0, most are small and a "
            "few large. Its logarithm may be easier to learn: target_transform='auto' tries that "
            "out of fold (--target-transform auto on the command line)."
        ]
    low, high = np.quantile(y, [0.25, 0.75])
    far = np.flatnonzero((y < low - _FAR * (high - low)) | (y > high + _FAR * (high - low)))
    if high == low or not len(far) or len(far) > 0.02 * len(y):
        return []
    called = far if numbers is None else numbers[far]
    shown = ", ".join(
        f"{y[i]:.6g} in row {row}" for i, row in zip(far[:_SHOWN], called, strict=False)
    )
    more = ", …" if len(far) > _SHOWN else ""
    plural = "values" if len(far) > 1 else "value"
    return [
        f"The target {name!r} has {len(far)} {plural} far from the others ({shown}{more}): the fit "
        "is dominated by them. If they are mistakes, correct these rows or leave them out."
    ]


def _looks_log_normal(y: Floats) -> bool:
    if y.min() <= 0 or len(np.unique(y)) < 20:
        return False
    skewed, tamed = skewness(y), skewness(np.log(y))
    return skewed > 1.5 and abs(tamed) < min(1.0, 0.3 * skewed)


def skewness(y: Floats) -> float:
    """Third standardised moment; 0 for a constant.

    Examples
    --------
    >>> round(skewness(np.array([0.0, 0.0, 0.0, 4.0])), 2)
    1.15
    """
    z = y - y.mean()
    spread = float(np.sqrt((z**2).mean()))
    return float(((z / spread) ** 3).mean()) if spread > 0 else 0.0
