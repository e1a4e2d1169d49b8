"""Scores as a table of experiments by methods, read from the rows of a results store."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from adacap.exceptions import did_you_mean, few_of, suggest
from adacap_bench.metrics.cells import CellTable, Experiment, MissingCellsError, read_cells

__all__ = ["METRICS", "Metric", "ScoreTable", "find_metric", "from_frame"]

FloatArray: TypeAlias = NDArray[np.float64]

_REGRESSION = frozenset({"regression"})
_CLASSES = frozenset({"binary", "multiclass"})


@dataclass(frozen=True)
class Metric:
    """A score on the test part: where it stands in a frame and which way is better."""

    name: str
    label: str
    columns: tuple[str, ...]  # the first that the frame has is read
    greater_is_better: bool
    kinds: frozenset[str]


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("rmse", "RMSE", ("test_rmse", "rmse"), False, _REGRESSION),
        Metric("r2", "R²", ("test_r2", "r2"), True, _REGRESSION),
        Metric("auc", "AUC", ("test_auc", "auc"), True, _CLASSES),
        Metric("accuracy", "Accuracy", ("test_accuracy", "accuracy"), True, _CLASSES),
    )
}


def find_metric(name: str | Metric) -> Metric:
    """The metric of a name; a :class:`Metric` is returned as it is.

    Examples
    --------
    >>> find_metric("auc").greater_is_better
    True
    """
    if isinstance(name, Metric):
        return name
    if name in METRICS:
        return METRICS[name]
    raise ValueError(suggest(name, METRICS, "metric"))


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """One metric for every experiment and method.

    An experiment is one train/test split of one task. Several seeds of a cell are averaged, and
    ``n_seeds`` says how many. ``nan`` marks a cell without result; functions that cannot do
    without it refuse the table, the others leave it out and count it.

    Attributes
    ----------
    metric : Metric
    experiments : tuple of (task, split)
    methods : tuple of str
    values : array of shape (n_experiments, n_methods)
    seconds : array of the same shape
        Time of ``fit``, ``nan`` where it is not known.
    n_seeds : integer array of the same shape
        Records averaged in the cell, 0 where there is none.
    categories : dict
        Category of each method.

    Examples
    --------
    >>> rows = [("a", "ols", 0.5), ("a", "rf", 0.4), ("b", "ols", 0.2), ("b", "rf", 0.3)]
    >>> frame = pd.DataFrame(rows, columns=["task", "method", "test_rmse"])
    >>> frame = frame.assign(kind="regression", split=0, seed=0, status="ok")
    >>> table = from_frame(frame, "rmse")
    >>> table.experiments
    (('a', 0), ('b', 0))
    >>> table.best().tolist()
    [0.4, 0.2]
    """

    metric: Metric
    experiments: tuple[Experiment, ...]
    methods: tuple[str, ...]
    values: FloatArray
    seconds: FloatArray
    n_seeds: NDArray[np.int64]
    categories: dict[str, str]

    @property
    def losses(self) -> FloatArray:
        """The values, or their negatives: smaller is better."""
        return -self.values if self.metric.greater_is_better else self.values

    def best(self) -> FloatArray:
        """Best value of each experiment, of shape (n_experiments,)."""
        self.require_rows()
        lowest = np.where(np.isnan(self.losses), np.inf, self.losses).min(axis=1)
        lowest = np.where(np.isinf(lowest), np.nan, lowest)  # an experiment without any result
        return -lowest if self.metric.greater_is_better else lowest

    def missing(self) -> list[tuple[str, str, int]]:
        """Cells without result, as (method, task, split)."""
        rows, columns = np.nonzero(np.isnan(self.values))
        return [(self.methods[j], *self.experiments[i]) for i, j in zip(rows, columns, strict=True)]

    def column(self, method: str) -> int:
        """Position of a method.

        Raises
        ------
        ValueError
            If the table does not have it.
        """
        if method in self.methods:
            return self.methods.index(method)
        hint = f"{did_you_mean(method, self.methods)} {few_of(method, self.methods)}"
        raise ValueError(f"No method {method!r} in this table.{hint}")

    def require_rows(self) -> None:
        """Refuse a table without experiments or methods."""
        if not self.experiments or not self.methods:
            raise ValueError(
                f"The table has {len(self.experiments)} experiments and {len(self.methods)} "
                f"methods: nothing to compare."
            )

    def require_complete(self, what: str) -> None:
        """Refuse a table with missing cells, naming the first of them."""
        self.require_rows()
        cells = self.missing()
        if cells:
            way_out = (
                f"{what} needs every cell: take .complete_methods() or .complete_experiments()."
            )
            raise MissingCellsError(cells, self.values.size, way_out)

    def take_methods(self, names: Iterable[str]) -> "ScoreTable":
        """The table restricted to some methods, in the order given."""
        columns = [self.column(name) for name in names]
        return replace(
            self,
            methods=tuple(self.methods[j] for j in columns),
            values=self.values[:, columns],
            seconds=self.seconds[:, columns],
            n_seeds=self.n_seeds[:, columns],
            categories={self.methods[j]: self.categories[self.methods[j]] for j in columns},
        )

    def take_experiments(self, keep: Sequence[bool] | NDArray[np.bool_]) -> "ScoreTable":
        """The table restricted to the experiments whose mark is true."""
        rows = np.flatnonzero(np.asarray(keep, dtype=bool))
        return replace(
            self,
            experiments=tuple(self.experiments[i] for i in rows),
            values=self.values[rows],
            seconds=self.seconds[rows],
            n_seeds=self.n_seeds[rows],
        )

    def _gaps(self, axis: int) -> NDArray[np.bool_]:
        return np.asarray(np.isnan(self.values).any(axis=axis))

    def complete_methods(self) -> "ScoreTable":
        """The table without the methods that lack a cell."""
        gaps = self._gaps(axis=0)
        return self.take_methods(
            name for name, gap in zip(self.methods, gaps, strict=True) if not gap
        )

    def complete_experiments(self) -> "ScoreTable":
        """The table without the experiments that lack a cell."""
        return self.take_experiments(~self._gaps(axis=1))

    def by_task(self) -> "ScoreTable":
        """One row per task, the mean over its splits; ``nan`` where a split is missing."""
        tasks = list(dict.fromkeys(task for task, _ in self.experiments))
        rows = [[i for i, (t, _) in enumerate(self.experiments) if t == task] for task in tasks]

        def stack(reduce: Callable[[FloatArray], FloatArray], whole: FloatArray) -> FloatArray:
            return np.array([reduce(whole[index]) for index in rows]).reshape(len(rows), -1)

        n_seeds = stack(lambda block: block.sum(axis=0), self.n_seeds.astype(float))
        return replace(
            self,
            experiments=tuple((task, -1) for task in tasks),
            values=stack(lambda block: block.mean(axis=0), self.values),
            seconds=stack(lambda block: block.mean(axis=0), self.seconds),
            n_seeds=n_seeds.astype(np.int64),
        )


def from_frame(
    frame: pd.DataFrame,
    metric: str | Metric = "rmse",
    *,
    missing: Literal["refuse", "mark"] = "refuse",
) -> ScoreTable:
    """Table of one metric from the rows of a store.

    Rows of tasks the metric does not apply to are left aside. Only rows of status ``ok`` or
    ``imported`` give a score. The expected cells are all pairs of an experiment and a method that
    occur in the frame, whatever their status.

    Parameters
    ----------
    frame : DataFrame
        One row per record, with columns task, kind, split, seed, method, status and the metric;
        category and fit_seconds where they are known.
    metric : str or Metric, default="rmse"
        One of rmse, r2, auc, accuracy.
    missing : {"refuse", "mark"}, default="refuse"
        What to do with a cell without result: raise an error that names it, or leave ``nan``.

    Returns
    -------
    ScoreTable

    Raises
    ------
    MissingCellsError
        If a cell has no result and `missing` is ``"refuse"``.

    Examples
    --------
    >>> rows = [(0, "ols", 0.5), (1, "ols", 0.4), (0, "rf", 0.3)]
    >>> frame = pd.DataFrame(rows, columns=["split", "method", "test_rmse"])
    >>> frame = frame.assign(task="a", kind="regression", seed=0, status="ok")
    >>> from_frame(frame)
    Traceback (most recent call last):
    ...
    adacap_bench.metrics.cells.MissingCellsError: 1 of 4 cells has no result: rf × a × split 1. ...
    >>> from_frame(frame, missing="mark").missing()
    [('rf', 'a', 1)]
    """
    if missing not in ("refuse", "mark"):
        raise ValueError(f"missing must be 'refuse' or 'mark', got {missing!r}.")
    metric = find_metric(metric)
    cells = read_cells(frame, metric.columns, metric.kinds)
    table = _assemble(metric, cells)
    gaps = table.missing()
    if gaps and missing == "refuse":
        way_out = (
            "Run the benchmark again, or mark them: missing='mark', a report without --complete."
        )
        raise MissingCellsError(gaps, table.values.size, way_out)
    return table


def _assemble(metric: Metric, cells: CellTable) -> ScoreTable:
    experiments = sorted(cells.experiments, key=lambda cell: (natural(cell[0]), cell[1]))
    methods = sorted(cells.categories, key=natural)
    shape = len(experiments), len(methods)
    values, seconds = np.full(shape, np.nan), np.full(shape, np.nan)
    n_seeds = np.zeros(shape, dtype=np.int64)
    row = {experiment: i for i, experiment in enumerate(experiments)}
    column = {method: j for j, method in enumerate(methods)}
    for (experiment, method), cell in cells.cells.items():
        at = row[experiment], column[method]
        values[at], seconds[at], n_seeds[at] = cell.score, cell.seconds, cell.n_seeds
    categories = {method: cells.categories[method] for method in methods}
    return ScoreTable(
        metric, tuple(experiments), tuple(methods), values, seconds, n_seeds, categories
    )


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sorting key by which ``paper-2`` comes before ``paper-10``.

    Examples
    --------
    >>> sorted(["paper-10", "paper-2"], key=natural)
    ['paper-2', 'paper-10']
    >>> natural("a007") == natural("a7") < natural("a" + "9" * 5000)
    True
    """
    parts = re.split(r"(\d+)", text.lower())
    # of numbers the length, then the digits: int() refuses more than 4,300 of them
    numbers = [part.lstrip("0") if part.isdecimal() else None for part in parts]
    pairs = zip(parts, numbers, strict=True)
    return [(1, 0, part) if number is None else (0, len(number), number) for part, number in pairs]
