"""From tasks and methods to the list of jobs, with what is left out and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adacap_bench.jobs import Job, Record
from adacap_bench.methods import METHODS, expand_methods, unavailable
from adacap_bench.plugins import Plugin
from adacap_bench.settings import RunSettings
from adacap_bench.sources import MadeTask

if TYPE_CHECKING:
    from adacap_bench.datasets import Task, TaskTable
    from adacap_bench.methods import Method

__all__ = ["Order", "Plan", "Skipped", "Tables", "expanded", "make_plan"]


@dataclass(frozen=True)
class Order:
    """A job with everything a worker needs to run it, except the arrays."""

    job: Job
    kind: str
    task_name: str
    category: str
    settings_hash: str
    threads: int = 1
    plugins: tuple[Plugin, ...] = ()
    method: Method | None = None  # included where the registry does not have it

    def failure(self, status: str, text: str, attempts: int = 1) -> Record:
        """Record of a job without a result, with the reason."""
        return Record(
            self.job,
            status,
            self.settings_hash,
            self.kind,
            self.category,
            self.task_name,
            attempts=attempts,
            traceback=text,
        )


@dataclass(frozen=True)
class Skipped:
    """Jobs that are not run, and why; ``task`` or ``method`` is "*" where all are meant."""

    task: str
    method: str
    reason: str
    n_jobs: int = 0


@dataclass
class Plan:
    """Jobs in the order they are run, and those left out."""

    orders: list[Order] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class Tables:
    """Tables by task key; the one used last is kept, since jobs come task by task.

    A made task makes its splits by itself and has no table.
    """

    def __init__(self, tasks: Iterable[Task | MadeTask], load: Callable[[Task], TaskTable]) -> None:
        self.tasks = {task.key: task for task in tasks}
        self._load = load
        self._last: tuple[str, TaskTable] | None = None

    def get(self, key: str) -> TaskTable:
        """Table of a task, read again only if another was asked for in between."""
        if self._last is None or self._last[0] != key:
            task = self.tasks[key]
            if isinstance(task, MadeTask):
                raise ValueError(f"{key!r} makes its splits by itself and has no table.")
            self._last = None  # two large tables at once may be too many
            self._last = key, self._load(task)
        return self._last[1]

    def n_rows(self, key: str) -> int:
        """Rows of a task, from the catalogue if it has them, else from the table."""
        known = self.tasks[key].rows
        return known if known is not None else len(self.get(key).y)


def expanded(methods: Iterable[Method | str]) -> tuple[Method, ...]:
    """Methods, registered or not, their names and names of groups, as methods, each once.

    Examples
    --------
    >>> [method.name for method in expanded(["forests", METHODS["ridge"], "rf"])]
    ['rf', 'xrf', 'ridge']
    """
    found: dict[str, Method] = {}
    for method in methods:
        for one in expand_methods([method]) if isinstance(method, str) else [method]:
            found[one.name] = one
    return tuple(found.values())


def make_plan(
    tables: Tables,
    methods: Sequence[Method],
    splits: Sequence[int],
    seeds: Sequence[int],
    *,
    settings: RunSettings | None = None,
    threads: int = 1,
    plugins: Sequence[Plugin] = (),
    in_pieces: bool = False,
) -> Plan:
    """Cross tasks, splits, methods and seeds.

    A method is left out where its package is missing, where it does not do the kind of task,
    and where the table has more rows than it can take.

    Parameters
    ----------
    tables : Tables
    methods : sequence of Method
    splits, seeds : sequences of int
    settings : RunSettings, optional
        What enters the settings hash.
    threads : int, default=1
        Threads of each worker.
    plugins : sequence of Plugin
        Files that registered some of the methods.
    in_pieces : bool, default=False
        Whether the run may be cut short. The largest tasks come first, so that no long job is left
        alone at the end; in pieces they come last, and all methods of a split and seed together, so
        that what is done can be compared.

    Returns
    -------
    Plan
    """
    plan, settings = Plan(), settings or RunSettings()
    usable = []
    for method in methods:
        if reason := unavailable(method):
            plan.skipped.append(Skipped("*", method.name, reason))
        else:
            usable.append(method)
    per_cell = len(splits) * len(seeds)
    tasks = sorted(tables.tasks.values(), key=_size, reverse=not in_pieces)
    for task in tasks:
        fitting = []
        for method in usable:
            if reason := _why_not(method, task, tables):
                plan.skipped.append(Skipped(task.key, method.name, reason, per_cell))
            else:
                fitting.append((method, settings.hash(method, task)))
        plan.orders += [
            Order(
                Job(task.key, split, method.name, seed), task.kind, task.name, method.category,
                hashed, threads, tuple(plugins),
                None if METHODS.get(method.name) is method else method,
            )
            for split in splits
            for (method, hashed), seed in _crossed(fitting, seeds, in_pieces)
        ]  # fmt: skip
    return plan


def _why_not(method: Method, task: Task | MadeTask, tables: Tables) -> str | None:
    if task.kind not in method.kinds:
        return f"does {method.does}, not {task.kind}"
    if method.max_rows is None:
        return None
    try:
        n_rows = tables.n_rows(task.key)
    except Exception:  # the table cannot be read: said once, when its first job comes up
        return None
    if n_rows <= method.max_rows:
        return None
    return f"takes up to {method.max_rows} rows, the table has {n_rows}"


def _size(task: Task | MadeTask) -> int:
    return (task.rows or 0) * (task.columns or 1)


def _crossed(
    fitting: Sequence[tuple[Method, str]], seeds: Sequence[int], seed_by_seed: bool
) -> list[tuple[tuple[Method, str], int]]:
    if seed_by_seed:
        return [(one, seed) for seed in seeds for one in fitting]
    return [(one, seed) for one in fitting for seed in seeds]
