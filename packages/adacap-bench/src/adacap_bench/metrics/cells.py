"""Rows of a results store to cells: which count, which are averaged, which are missing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from adacap.exceptions import AdaCapError

__all__ = ["COUNTED", "Cell", "CellTable", "MissingCellsError", "failures", "read_cells"]

Experiment: TypeAlias = tuple[str, int]

COUNTED = ("ok", "imported")  # statuses whose scores enter a table

_NEEDED = ("task", "kind", "split", "seed", "method", "status")
_SHOWN = 5


class MissingCellsError(AdaCapError, ValueError):
    """Some (method, task, split) has no result.

    Attributes
    ----------
    cells : list of (method, task, split)
    """

    def __init__(
        self, cells: Sequence[tuple[str, str, int]], n_expected: int, way_out: str
    ) -> None:
        self.cells = list(cells)
        named = ", ".join(
            f"{method} × {task}" + (f" × split {split}" if split >= 0 else "")
            for method, task, split in self.cells[:_SHOWN]
        )
        more = ", …" if len(self.cells) > _SHOWN else ""
        verb = "has" if len(self.cells) == 1 else "have"
        super().__init__(
            f"{len(self.cells)} of {n_expected} cells {verb} no result: {named}{more}. {way_out}"
        )


@dataclass(frozen=True)
class Cell:
    """What one method did in one experiment, averaged over its seeds."""

    score: float
    seconds: float
    n_seeds: int


@dataclass(frozen=True)
class CellTable:
    """Cells with a score, and everything a score was expected for."""

    cells: dict[tuple[Experiment, str], Cell]
    experiments: tuple[Experiment, ...]
    categories: dict[str, str]


def read_cells(frame: pd.DataFrame, columns: Sequence[str], kinds: Collection[str]) -> CellTable:
    """Cells of the tasks of some kinds, with the score of the first column the frame has."""
    _check_columns(frame)
    rows = frame[frame["kind"].isin(list(kinds))].copy()
    column = next((name for name in columns if name in frame.columns), None)
    if column is None and len(rows):
        raise ValueError(
            f"The frame has no column {columns[0]!r}. It has: {', '.join(map(str, frame.columns))}."
        )
    rows["score"] = rows[column].astype(float) if column else float("nan")
    rows["seconds"] = (
        rows["fit_seconds"].astype(float) if "fit_seconds" in rows.columns else float("nan")
    )
    counted = rows[rows["status"].isin(COUNTED) & rows["score"].notna()]
    _refuse_doubles(counted)
    return CellTable(
        cells=_average(counted),
        experiments=tuple(
            (str(task), int(split))
            for task, split in rows[["task", "split"]].drop_duplicates().itertuples(index=False)
        ),
        categories=_categories(rows),
    )


def _check_columns(frame: pd.DataFrame) -> None:
    absent = [name for name in _NEEDED if name not in frame.columns]
    if absent:
        raise ValueError(
            f"The frame does not have {', '.join(absent)}; "
            f"it needs {', '.join(_NEEDED)} and a column of scores."
        )


def _refuse_doubles(rows: pd.DataFrame) -> None:
    """Two results for one job cannot both be right; averaging would hide it."""
    key = ["task", "split", "method", "seed"]
    doubled = rows[rows.duplicated(key)]
    if len(doubled):
        task, split, method, seed = doubled.iloc[0][key]
        raise ValueError(
            f"{len(doubled)} jobs have more than one result, the first: "
            f"{method} × {task} × split {split} × seed {seed}. Keep one of them."
        )


def _average(rows: pd.DataFrame) -> dict[tuple[Experiment, str], Cell]:
    means = (
        rows.groupby(["task", "split", "method"], sort=False)
        .agg(score=("score", "mean"), seconds=("seconds", "mean"), n_seeds=("score", "size"))
        .reset_index()
    )
    return {
        ((str(row.task), int(row.split)), str(row.method)): Cell(
            float(row.score), float(row.seconds), int(row.n_seeds)
        )
        for row in means.itertuples(index=False)
    }


def _categories(rows: pd.DataFrame) -> dict[str, str]:
    """Category of each method, the last one given where records disagree."""
    if "category" not in rows.columns:
        return {str(method): "" for method in rows["method"].unique()}
    texts = rows["category"].fillna("").astype(str)
    return dict(zip(rows["method"].astype(str), texts, strict=True))


def failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that count nowhere: failed, timed out, crashed.

    Examples
    --------
    >>> frame = pd.DataFrame({"split": [0, 1], "status": ["ok", "timeout"]})
    >>> frame = frame.assign(task="a", kind="binary", seed=0, method="qda")
    >>> failures(frame)["split"].tolist()
    [1]
    """
    _check_columns(frame)
    rows = frame[~frame["status"].isin(COUNTED)]
    return rows.sort_values(["method", "task", "split", "seed"]).reset_index(drop=True)
