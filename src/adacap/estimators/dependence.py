"""Rows that are not independent: which belong to one group, and which come first.

A group is never on both sides of a split. In time, what is held out comes after all that its model
was trained on. With both, later rows of some groups are predicted from earlier rows of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Index
from adacap.estimators.rows import MergedRows, merge_rows, row_keys, with_mean_one
from adacap.tables.columns import is_missing, read_column, values_by_row
from adacap.tables.readings import find_reading
from adacap.tables.table import Table

__all__ = [
    "MOST_GROUP_FOLDS", "Dependence", "RowSplit", "dependent_folds", "dependent_hold_out",
    "folds_wanted", "group_weights", "merge_dependent", "read_dependence", "split_folds",
]  # fmt: skip

MOST_GROUP_FOLDS = (
    10  # up to which every group is a fold of its own, where the number is ours to choose
)
_FOLDS = 5
_FIRST_PART = 0.5  # share of the rows that the first model in time is trained on
_DRAWS = 20  # of groups to hold out, of which the one with the best shares of classes is taken


@dataclass(frozen=True, eq=False)
class Dependence:
    """Groups and times of rows."""

    group: Index | None = None  # (n,) numbers from 0, in arbitrary order
    time: Index | None = None  # (n,) ranks; equal times are equal

    def take(self, index: Any) -> Dependence:
        """Those of some rows, renumbered without gaps."""
        return Dependence(_dense(self.group, index), _dense(self.time, index))

    @property
    def by(self) -> tuple[str, ...]:
        """What rows are split by."""
        named = {"group": self.group, "time": self.time}
        return tuple(name for name, values in named.items() if values is not None)

    @property
    def n_groups(self) -> int | None:
        """Different groups."""
        return None if self.group is None else len(np.unique(self.group))

    def check(self) -> None:
        """Refuse what cannot be split."""
        if self.n_groups == 1:
            raise ValueError(
                "groups holds a single group, so none can be held out. Give at least 2 "
                "groups, or leave groups out."
            )
        if self.time is not None and len(np.unique(self.time)) < 3:
            raise ValueError(
                f"time holds {len(np.unique(self.time))} different times, too few to predict later "
                "rows from earlier ones twice. Give at least 3, or leave time out."
            )


def _dense(values: Index | None, index: Any) -> Index | None:
    if values is None:
        return None
    return np.unique(values[index], return_inverse=True)[1].astype(np.intp).ravel()


class RowSplit(NamedTuple):
    """How the rows of a fit are split: what settings need to know of it."""

    by: tuple[str, ...]
    n_groups: int | None
    n_folds: int


# ------------------------------------------------------------------------------- reading


def read_dependence(groups: Any, time: Any, n_rows: int) -> Dependence | None:
    """Groups and times as numbers, checked; None where there are neither.

    Groups are anything that can be compared, times are numbers, dates, or text that spells them.

    Examples
    --------
    >>> found = read_dependence(["b", "a", "b"], ["2021-03-01", "2020-01-01", "2021-03-01"], 3)
    >>> found.group.tolist(), found.time.tolist()
    ([0, 1, 0], [1, 0, 1])
    """
    if groups is None and time is None:
        return None
    group = None if groups is None else _codes(_cells(groups, "groups", n_rows))
    order = None if time is None else _ranks(_cells(time, "time", n_rows))
    return Dependence(group, order)


def _cells(values: Any, name: str, n_rows: int) -> npt.NDArray[Any]:
    cells = values_by_row(getattr(values, "to_numpy", lambda: values)(), name)
    if cells.dtype.kind in "US" and isinstance(values, list | tuple):
        cells = np.asarray(values, dtype=object)
    if cells.ndim != 1 or len(cells) != n_rows:
        raise ValueError(
            f"{name} must hold one value per row, {n_rows} in all, got shape {cells.shape}."
        )
    missing = np.fromiter((is_missing(cell) for cell in cells), np.bool_, len(cells))
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"{name} is missing in {missing.sum()} of {n_rows} rows, the first being row {first}, "
            "counted from 0. Remove these rows, or give each a value."
        )
    return cells


def _codes(cells: npt.NDArray[Any]) -> Index:
    """Numbers in the order in which values appear, so that their names do not matter."""
    found: dict[Any, int] = {}
    codes = (found.setdefault(cell, len(found)) for cell in cells.tolist())
    return np.fromiter(codes, np.intp, len(cells))


def _ranks(cells: npt.NDArray[Any]) -> Index:
    column = read_column(cells, "time")
    reading = find_reading(column)
    numbers = (column if reading is None else reading.read(column)).numbers()
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(
            f"time must hold numbers or dates, got {cells[bad].tolist()[0]!r:.40} in row {bad[0]}, "
            "counted from 0. Convert it, or write dates as 2024-05-31."
        )
    return np.unique(numbers, return_inverse=True)[1].astype(np.intp).ravel()


# ------------------------------------------------------------------------------- merging


def merge_dependent(
    table: Table, coded: Floats, sample_weight: Floats | None, dependence: Dependence
) -> tuple[MergedRows, Dependence]:
    """Merge equal rows of one group and time; order rows and groups by content.

    Groups get the numbers that their rows give them, so that neither names nor positions matter.
    """
    merged = merge_rows(table, coded, None)
    content = _places(row_keys(table, coded), merged.index)
    group = dependence.group if dependence.group is not None else np.zeros_like(content)
    time = dependence.time if dependence.time is not None else np.zeros_like(content)
    group = _by_content(group, content, time)
    order = np.lexsort((np.arange(len(content)), time, group, content))
    cells = np.column_stack([content, group, time])[order]
    first = np.flatnonzero(np.concatenate([[True], (cells[1:] != cells[:-1]).any(axis=1)]))
    ones = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    weight: Floats | None = np.add.reduceat(ones, first)
    assert weight is not None
    weight = None if (weight == weight[0]).all() else with_mean_one(weight)
    index = order[first]
    kept = Dependence(
        None if dependence.group is None else group[index],
        None if dependence.time is None else time[index],
    )
    return replace(merged, index=index, weight=weight), kept


def _places(keys: npt.NDArray[np.uint64], kept: Index) -> Index:
    """Position of each row among the distinct ones, in canonical order."""
    order = np.argsort(keys[kept], kind="stable")
    found: Index = order[np.searchsorted(keys[kept][order], keys)]
    return found


def _by_content(group: Index, content: Index, time: Index) -> Index:
    """Groups numbered by the rows they hold."""
    order = np.lexsort((time, content, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    rows = np.column_stack([content, time])[order]
    parts = [part.tobytes() for part in np.split(rows.astype(">i8"), starts[1:])]
    ranked = sorted(range(len(parts)), key=parts.__getitem__)
    number = np.empty(int(group.max()) + 1, dtype=np.intp)
    number[group[order][starts[ranked]]] = np.arange(len(parts))
    found: Index = number[group]
    return found


# ----------------------------------------------------------------------------- splitting


def dependent_hold_out(
    dependence: Dependence,
    fraction: float,
    most: int,
    strata: Index | None,
    rng: np.random.Generator,
) -> tuple[Index, Index]:
    """Train and validation rows: whole groups, the last rows in time, or both.

    With both, the last rows of some groups are held out, earlier rows of the others are trained on,
    and rows that are neither are left out.

    Examples
    --------
    >>> groups = Dependence(group=np.array([0, 0, 1, 1, 2, 2, 3, 3]))
    >>> train, valid = dependent_hold_out(groups, 0.25, 99, None, np.random.default_rng(0))
    >>> len(train), len(valid), len(np.unique(groups.group[valid]))
    (6, 2, 1)
    >>> time = Dependence(time=np.array([3, 1, 0, 2]))
    >>> dependent_hold_out(time, 0.5, 99, None, np.random.default_rng(0))
    (array([1, 2]), array([0, 3]))
    """
    values = dependence.group if dependence.time is None else dependence.time
    assert values is not None
    n_rows = len(values)
    if min(int(fraction * n_rows), most) < 1:
        return np.arange(n_rows), np.arange(0)
    share = min(fraction, most / n_rows)
    share = share**0.5 if len(dependence.by) == 2 else share
    held = train = np.ones(n_rows, dtype=np.bool_)
    if dependence.group is not None:
        held = _drawn_groups(dependence.group, share, strata, rng)
        train = ~held
    if dependence.time is not None:
        later = dependence.time >= _cuts(dependence.time, np.array([1 - share]))[0]
        held, train = held & later, train & ~later
    if train.sum() < 2 or not held.any():
        return np.arange(n_rows), np.arange(0)
    return np.flatnonzero(train), np.flatnonzero(held)


def _drawn_groups(
    group: Index, share: float, strata: Index | None, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Rows of groups drawn at random, about a share of all; where there are classes, of each."""
    counts = _counts(group, strata)
    best, least = np.arange(0), np.inf
    for _ in range(1 if strata is None else _DRAWS):
        order = rng.permutation(len(counts))
        taken = np.cumsum(counts[order].sum(1)) / counts.sum()
        n_held = int(np.clip(np.abs(taken - share).argmin() + 1, 1, len(order) - 1))
        off = np.abs(counts[order[:n_held]].sum(0) / counts.sum(0) - share).sum()
        if off < least:
            best, least = order[:n_held], off
    return np.isin(group, best)


def _counts(group: Index, strata: Index | None) -> Floats:
    """Rows of each group and class."""
    classes = np.zeros_like(group) if strata is None else np.unique(strata, return_inverse=True)[1]
    found = np.zeros((int(group.max()) + 1, int(classes.max()) + 1))
    np.add.at(found, (group, classes), 1.0)
    return found


def _cuts(time: Index, shares: Floats) -> Index:
    """Times nearest to shares of the rows; each leaves rows before it."""
    times, counts = np.unique(time, return_counts=True)
    before = np.cumsum(counts)[:-1] / len(time)  # share of rows before times[1:]
    nearest = np.abs(before[None] - shares[:, None]).argmin(1)
    found: Index = times[1:][np.unique(nearest)]
    return found


def dependent_folds(
    dependence: Dependence,
    n_folds: int,
    most: int,
    strata: Index | None,
    rng: np.random.Generator,
) -> list[tuple[Index, Index]]:
    """Rows to train on and to hold out for each fold, or for as many as there can be.

    Groups: every group is held out in one fold, unless a fold has ``most`` rows already. Time: the
    second half of the rows is divided into blocks; each is held out, and all earlier rows are
    trained on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> time = Dependence(time=np.arange(10))
    >>> for train, valid in dependent_folds(time, 2, 99, None, rng):
    ...     print(train.max(), valid)
    4 [5 6]
    6 [7 8 9]
    >>> groups = Dependence(group=np.arange(10) // 4)
    >>> [len(valid) for _, valid in dependent_folds(groups, 5, 99, None, rng)]
    [4, 4, 2]
    """
    fold = None
    if dependence.group is not None:
        fold = _group_folds(dependence.group, n_folds, most, strata, rng)
    if dependence.time is None:
        assert fold is not None
        return [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)
        ]
    blocks = _blocks(dependence.time, fold, n_folds, most, rng)
    parts = [(train, valid) for train, valid in blocks if len(train) >= 2 and len(valid) >= 1]
    if len(parts) < 2:
        raise ValueError(
            f"groups and time together leave {len(parts)} folds in which later rows of some groups "
            "can be predicted from earlier rows of others; 2 are needed. Give one of the two."
        )
    return parts


def _blocks(
    time: Index, fold: Index | None, n_folds: int, most: int, rng: np.random.Generator
) -> list[tuple[Index, Index]]:
    shares = _FIRST_PART + (1 - _FIRST_PART) * np.arange(n_folds) / n_folds
    cuts = _cuts(time, shares)
    if len(cuts) < 2:  # most rows have one time
        cuts = np.unique(time)[-2:]
    parts = []
    for k, (start, end) in enumerate(zip(cuts, [*cuts[1:], time.max() + 1], strict=True)):
        train, valid = time < start, (time >= start) & (time < end)
        if fold is not None:
            own = fold == k % (fold.max() + 1)
            train, valid = train & ~own, valid & own
        held = np.flatnonzero(valid)
        if len(held) > most:
            held = np.sort(rng.permutation(held)[:most])
        parts.append((np.flatnonzero(train), held))
    return parts


def _group_folds(
    group: Index, n_folds: int, most: int, strata: Index | None, rng: np.random.Generator
) -> Index:
    """Fold of each row; the largest groups first, each to the fold that has least of its classes.

    -1 for groups that would make every fold larger than ``most``.
    """
    counts = _counts(group, strata)
    shares = counts / counts.sum(0)
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(1), kind="stable")]
    n_folds = min(n_folds, len(counts))
    filled, sizes = np.zeros((n_folds, counts.shape[1])), np.zeros(n_folds)
    own = np.full(len(counts), -1)
    for g in order:
        size = counts[g].sum()
        room = (sizes + size <= most) | (sizes == 0)
        if not room.any():
            continue
        crowded = np.where(room, filled @ shares[g] + 1e-9 * sizes, np.inf)
        k = own[g] = int(crowded.argmin())
        filled[k] += shares[g]
        sizes[k] += size
    found: Index = own[group]
    return found


def folds_wanted(dependence: Dependence, n_told: int | str, n_rows: int) -> int:
    """Folds to make: as requested, or one per group where groups are few; 0 for a single net.

    Examples
    --------
    >>> groups = Dependence(group=np.arange(80) // 10)
    >>> folds_wanted(groups, "auto", 80), folds_wanted(groups, 3, 80), folds_wanted(groups, 1, 80)
    (8, 3, 0)
    """
    if not isinstance(n_told, str):
        return int(n_told) if n_told > 1 else 0
    n_groups = dependence.n_groups
    if n_groups is None or dependence.time is not None or n_groups > MOST_GROUP_FOLDS:
        return max(2, min(_FOLDS, n_rows // 2))
    return n_groups


def split_folds(
    dependence: Dependence, n_folds: int, most: int, strata: Index | None, seed: int
) -> tuple[RowSplit, list[tuple[Index, Index]] | None]:
    """How rows are split, and the folds, if there are to be any."""
    folds = None
    if n_folds:
        rng = np.random.default_rng(seed)
        folds = dependent_folds(dependence, n_folds, most, strata, rng)
    return RowSplit(dependence.by, dependence.n_groups, len(folds or ())), folds


# ------------------------------------------------------------------------------- counting


def group_weights(group: Index, weight: Floats | None) -> Floats:
    """How often rows count where groups do: those of a group once together.

    Examples
    --------
    >>> group_weights(np.array([0, 0, 1]), None)
    array([0.5, 0.5, 1. ])
    """
    ones = np.ones(len(group)) if weight is None else weight
    numbers = np.unique(group, return_inverse=True)[1]
    found: Floats = ones / np.bincount(numbers, ones)[numbers]
    return found
