"""Records of the runs of one item, looked at by method and task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap._typing import Floats
from adacap.exceptions import AdaCapError
from adacap_bench.jobs import Job, Record
from adacap_bench.reproduce.item import Grid, Row
from adacap_bench.reproduce.means import SPLIT, by_task, mean_of

if TYPE_CHECKING:
    import pandas as pd

    from adacap_bench.plan import Skipped

__all__ = ["NoResultError", "Results", "UnfinishedError", "row_of", "units"]


class NoResultError(AdaCapError):
    """A study has no result to speak of: data absent, or every job failed."""


class UnfinishedError(AdaCapError):
    """The time limit was reached before the jobs of a study say anything."""

    def __init__(self, n_left: int, n_jobs: int) -> None:
        super().__init__(f"{n_left} of {n_jobs} jobs are left.")
        self.n_left = n_left
        self.n_jobs = n_jobs


class Results:
    """Finished runs, in the order of task, split and seed; those without a result apart.

    Beside them it holds how many jobs were left at the deadline, and those that could not be run.
    The data folder is for the true targets. What an experiment is on each task, see :func:`units`,
    is by default what the records look like, all methods together.

    Examples
    --------
    >>> from adacap_bench.jobs import Job
    >>> jobs = [Job("a", split, "ridge") for split in (1, 0)]
    >>> metrics = [{"test_rmse": 0.5}, {"test_rmse": 0.3}]
    >>> results = Results(
    ...     Record(job, "ok", "", "regression", metrics=found) for job, found in zip(jobs, metrics)
    ... )
    >>> results.values("ridge")
    array([0.3, 0.5])
    """

    def __init__(
        self,
        records: Iterable[Record],
        folder: str | Path | None = None,
        n_left: int = 0,
        skipped: Sequence[Skipped] = (),
        units: Mapping[str, str] | None = None,
    ) -> None:
        every = sorted(records, key=lambda record: (record.job, record.created))
        self.failed = [record for record in every if record.status not in ("ok", "imported")]
        self.records = [record for record in every if record.status in ("ok", "imported")]
        self.folder = folder
        self.n_left = n_left
        self.skipped = skipped
        if not self.records:
            raise NoResultError(_why_nothing(self.failed))
        self.units = _units_of(every) if units is None else units

    def of(self, method: str, task: str | None = None) -> list[Record]:
        """Records of a method, on one task or on all."""
        found = [
            record
            for record in self.records
            if record.job.method == method and task in (None, record.job.task)
        ]
        if not found:
            where = f" on {task}" if task else ""
            raise NoResultError(f"No run of {method}{where} came to a result.")
        return found

    def values(self, method: str, metric: str = "test_rmse", task: str | None = None) -> Floats:
        """One number per run: a metric, ``fit_seconds``, or an entry of the payload."""
        return np.array([_value(record, metric) for record in self.of(method, task)])

    def payloads(self, method: str, task: str | None = None) -> list[Mapping[str, Any]]:
        """What the probes found."""
        return [record.payload for record in self.of(method, task)]

    def row(
        self,
        label: str,
        method: str,
        paper: float | None = None,
        *,
        metric: str = "test_rmse",
        task: str | None = None,
        digits: int = 4,
        extra: Mapping[str, str] | None = None,
    ) -> Row:
        """Mean and spread of a metric as a row of the table.

        ``extra`` maps titles to further metrics.
        """
        more = {
            title: float(self.values(method, name, task).mean())
            for title, name in (extra or {}).items()
        }
        values = self.values(method, metric, task)
        by = self.by_experiment(method, metric, task)
        return row_of(label, by, paper, runs=values, digits=digits, extra=more)

    def by_experiment(
        self, method: str, metric: str = "test_rmse", task: str | None = None
    ) -> dict[str, float]:
        """The metric on each experiment by its name, which has the task unless one is given.

        Runs of several seeds on the same split are one experiment: their errors go together.
        """
        groups: dict[str, list[float]] = {}
        for record in self.of(method, task):
            name = self.experiment(record.job)
            name = name if task else f"{record.job.task}, {name}"
            groups.setdefault(name, []).append(_value(record, metric))
        return {name: float(np.mean(values)) for name, values in groups.items()}

    def experiment(self, job: Job) -> str:
        """Name of an experiment within its task, such as ``"split 3"`` or ``"seed 3"``."""
        unit = self.units.get(job.task, SPLIT)
        return f"{unit} {job.seed if unit == _SEED else job.split}"

    def has(self, method: str) -> bool:
        """Whether a method came to a result anywhere."""
        return any(record.job.method == method for record in self.records)

    def frame(self) -> pd.DataFrame:
        """One row per run, as :meth:`adacap_bench.store.Store.frame` gives them."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **vars(record.job),
                    "task_name": record.task_name,
                    "kind": record.kind,
                    "category": record.category,
                    "status": record.status,
                    "fit_seconds": record.fit_seconds,
                    "created": record.created,
                    **record.metrics,
                }
                for record in self.records
            ]
        )

    def targets(self, task: str, split: int) -> Floats:
        """True targets of the test rows, standardised as the runs saw them."""
        from adacap_bench.datasets import load_table
        from adacap_bench.split import make_split

        return np.asarray(make_split(load_table(task, folder=self.folder), split).y_test)


def row_of(
    label: str,
    by: Mapping[str, float],
    paper: float | None = None,
    *,
    runs: Floats | None = None,
    digits: int = 4,
    extra: Mapping[str, float] | None = None,
) -> Row:
    """Row of the mean of a number over experiments, each of which may be of several runs."""
    values = np.array([*by.values()]) if runs is None else runs
    one = len(by_task(by)) == 1
    spread = float(values.std(ddof=1)) if one and len(values) > 1 else None
    return Row(label, mean_of(by), paper, spread, len(values), digits, extra or {}, by)


_SEED = "seed"


def units(grids: Iterable[Grid]) -> dict[str, str]:
    """What an experiment is on each task of a study, whatever was run of it so far.

    A seed where the study asks for several on one split, otherwise a split of a table, or a draw of
    data that are made.
    """
    words: dict[str, str] = {}
    splits: dict[str, set[int]] = {}
    seeds: dict[str, set[int]] = {}
    for grid in grids:
        for task in grid.tasks:
            key, word = (task, SPLIT) if isinstance(task, str) else (task.key, task.unit)
            words[key] = word
            splits.setdefault(key, set()).update(grid.splits)
            seeds.setdefault(key, set()).update(grid.seeds)
    return {
        key: _SEED if len(splits[key]) == 1 < len(seeds[key]) else word
        for key, word in words.items()
    }


def _units_of(records: Iterable[Record]) -> dict[str, str]:
    every = [record.job for record in records]
    return units(Grid([job.task], [job.method], [job.split], [job.seed]) for job in every)


def _value(record: Record, metric: str) -> float:
    if metric in record.metrics:
        return record.metrics[metric]
    if metric in record.payload:
        return float(record.payload[metric])
    if metric == "fit_seconds":
        return record.fit_seconds
    known = ", ".join(sorted([*record.metrics, *record.payload, "fit_seconds"]))
    raise NoResultError(f"{record.job.key()} has no {metric!r}. It has: {known}.")


def _why_nothing(failed: list[Record]) -> str:
    if not failed:
        return "No job could be run. Are the data there? See: adacap data list."
    lines = (failed[0].traceback or failed[0].status).strip().splitlines()
    return f"All {len(failed)} jobs failed, the first with: {lines[-1]}"
