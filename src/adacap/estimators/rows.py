"""Which rows there are, and which nets train on them.

Equal rows (features and target) are merged into one row that carries the sum of their weights, and
all rows are put in an order that depends on content alone. So a weight of 2 *is* the row twice, the
order of the rows does not matter, and copies of a row never stand on both sides of a hold-out. Nor
does the unit of the weights matter: their mean over the different rows is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Index
from adacap.estimators.canonical import arrange
from adacap.exceptions import did_you_mean
from adacap.tables.table import Table

__all__ = [
    "MergedRows", "fold_rows", "folds_as_arrays", "hold_out", "merge_rows", "row_keys",
    "weights_of_classes", "with_mean_one",
]  # fmt: skip

_SHOWN = 10  # classes in a message
_LEAST_WEIGHT = 1e-30  # of a mean of 1: float32 goes down to 1e-38


@dataclass(frozen=True)
class MergedRows:
    """Different rows, in canonical order."""

    index: Index  # rows of the input to keep
    weight: Floats | None  # of mean 1; None if all are equal
    columns: tuple[int, ...]  # in canonical order
    sign: Floats  # 1, or -1 where the sign of the target is flipped


def merge_rows(table: Table, coded: Floats, sample_weight: Floats | None) -> MergedRows:
    """Merge equal rows and order by content; weights are positive.

    Examples
    --------
    >>> from adacap.tables.table import read_table
    >>> rows = merge_rows(read_table([[1.0], [2.0], [1.0]]), np.array([[5.0], [6.0], [5.0]]), None)
    >>> sorted(zip(rows.index.tolist(), rows.weight.tolist()))
    [(0, 1.333...), (1, 0.666...)]
    """
    keys = row_keys(table, coded)
    index, weight = _distinct(table, coded, sample_weight, keys)
    places = arrange(table, coded, index, keys[index])
    if weight is not None:
        weight = weight[places.rows]
    return MergedRows(index[places.rows], weight, places.columns, places.sign)


def row_keys(table: Table, coded: Floats) -> npt.NDArray[np.uint64]:
    """Hash of the features and the target of each row."""
    keys = table.row_keys()
    for column in coded.T:
        keys = _mix(keys ^ np.ascontiguousarray(column + 0.0).view(np.uint64))
    return keys


def _distinct(
    table: Table,
    coded: Floats,
    sample_weight: Floats | None,
    keys: npt.NDArray[np.uint64],
) -> tuple[Index, Floats | None]:
    """Different rows, as they stand, and their weights, if these differ."""
    order = np.argsort(keys, kind="stable")
    previous, current = order[:-1], order[1:]
    same = keys[previous] == keys[current]
    if same.any():
        at = np.flatnonzero(same)
        same[at] = table.rows_equal(previous[at], current[at]) & (
            coded[previous[at]] == coded[current[at]]
        ).all(axis=1)
    starts = np.concatenate([[True], ~same])
    first = np.flatnonzero(starts)
    if sample_weight is None and len(first) == len(order):
        return np.arange(len(order)), None
    ones = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    weight = np.add.reduceat(ones, first)
    index = order[first]
    if (weight == weight[0]).all():
        return np.sort(index), None
    weight = with_mean_one(weight)  # while they are in an order of content
    place = np.argsort(index)
    return index[place], weight[place]


def with_mean_one(weight: Floats) -> Floats:
    """Weights over their mean; none is so small that float32 would take it for 0.

    Examples
    --------
    >>> with_mean_one(np.array([1e300, 3e300])), with_mean_one(np.array([1.0, 1e300]))
    (array([0.5, 1.5]), array([1.e-30, 2.e+00]))
    """
    weight = np.ldexp(weight, -np.frexp(weight.max())[1])  # so that their sum stays in range
    found: Floats = np.maximum(weight / weight.mean(), _LEAST_WEIGHT)
    return found


def _mix(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """One round of a 64-bit finaliser, so that neighbouring values do not stay neighbours."""
    keys = keys * np.uint64(0x9E3779B97F4A7C15)
    return keys ^ (keys >> np.uint64(32))


def hold_out(
    n_rows: int,
    fraction: float,
    most: int,
    strata: Index | None,
    rng: np.random.Generator,
) -> tuple[Index, Index]:
    """Random train and validation rows; the validation part is ``min(fraction·n, most)`` rows.

    At least two rows stay for training, else nothing is held out. With ``strata`` each class gives
    its share, rounded at random.

    Examples
    --------
    >>> train, valid = hold_out(10, 0.2, 2048, None, np.random.default_rng(0))
    >>> len(train), len(valid)
    (8, 2)
    """
    n_valid = min(int(fraction * n_rows), most)
    if n_valid < 1 or n_rows - n_valid < 2:
        return np.arange(n_rows), np.arange(0)
    order = rng.permutation(n_rows)
    if strata is not None:
        order = _spread(order, strata[order])
    return np.sort(order[n_valid:]), np.sort(order[:n_valid])


def _spread(order: Index, classes: Index) -> Index:
    """Reorder so that the head of the list holds every class in its share."""
    position = np.empty(len(order))
    for label in np.unique(classes):
        members = np.flatnonzero(classes == label)
        position[members] = (np.arange(len(members)) + 0.5) / len(members)
    return order[np.argsort(position, kind="stable")]


def fold_rows(
    n_rows: int, n_folds: int, most: int, strata: Index | None, rng: np.random.Generator
) -> list[tuple[Index, Index]]:
    """Disjoint validation folds of one size, ``most`` at most, with all other rows to train on.

    Members with equally many rows are trained as one computation, so the few rows that do not
    divide by the number of folds are held out by none of them. Where a fold would leave fewer than
    two rows to train on, nothing is held out.

    Examples
    --------
    >>> folds = fold_rows(7, 3, 2048, None, np.random.default_rng(0))
    >>> [(len(train), len(valid)) for train, valid in folds]
    [(5, 2), (5, 2), (5, 2)]
    """
    if n_folds > n_rows:
        raise ValueError(
            f"validation='folds' with n_estimators={n_folds} needs at least {n_folds} different "
            f"rows, got {n_rows}. Use fewer nets, or hold out a share: validation=0.2."
        )
    if n_rows - n_rows // n_folds < 2:
        return [(np.arange(n_rows), np.arange(0))] * n_folds
    order = rng.permutation(n_rows)[n_rows - n_folds * min(n_rows // n_folds, most) :]
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    fold = np.full(n_rows, -1)
    fold[order] = np.arange(len(order)) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def folds_as_arrays(
    parts: Sequence[tuple[Index, Index]], n_rows: int
) -> tuple[Index, npt.NDArray[np.bool_]]:
    """The fold that holds out each row, -1 for none, and ``(k, n)`` the rows each trains on.

    Examples
    --------
    >>> fold, trains = folds_as_arrays([(np.array([0, 1]), np.array([2]))], 4)
    >>> fold.tolist(), trains.tolist()
    ([-1, -1, 0, -1], [[True, True, False, False]])
    """
    fold, trains = np.full(n_rows, -1), np.zeros((len(parts), n_rows), dtype=np.bool_)
    for k, (train, valid) in enumerate(parts):
        fold[valid], trains[k, train] = k, True
    return fold, trains


# ---------------------------------------------------------------------- weights by class


def weights_of_classes(
    class_weight: Mapping[Any, float] | str, y: npt.NDArray[Any], sample_weight: Any = None
) -> npt.NDArray[np.float64]:
    """Weight of each row: that of its class, 1 if it is not named, times its own.

    A ``ValueError`` if a class is named that no row has.

    Examples
    --------
    >>> weights_of_classes("balanced", np.array(["a", "a", "a", "b"])).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    >>> weights_of_classes({"b": 5.0}, np.array(["a", "b"]), [2.0, 2.0]).tolist()
    [2.0, 10.0]
    """
    classes, place = np.unique(y, return_inverse=True)
    if isinstance(class_weight, str):
        own = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        count = np.bincount(place, own, len(classes))
        each = own.sum() / (len(classes) * np.where(count > 0, count, 1.0))
    else:
        known = classes.tolist()
        if unknown := [label for label in class_weight if label not in known]:
            more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which no row has."
                f"{did_you_mean(unknown[0], map(str, known))} Classes: {known[:_SHOWN]}{more}."
            )
        each = np.array([float(class_weight.get(label, 1.0)) for label in known])
    found: npt.NDArray[np.float64] = each[place]
    return found if sample_weight is None else found * np.asarray(sample_weight, dtype=np.float64)
