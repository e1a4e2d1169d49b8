"""Run what is missing: plan, feed an engine, store every record as it arrives."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from adacap.exceptions import UsageError
from adacap.progress import Steps
from adacap_bench.engines import Engine, Work, make_engine
from adacap_bench.jobs import FAILED, Job, Record, last_line
from adacap_bench.plan import Order, Plan, Skipped, Tables, expanded, make_plan
from adacap_bench.plugins import Plugin
from adacap_bench.settings import RunSettings
from adacap_bench.sources import MadeTask
from adacap_bench.split import Split, make_split
from adacap_bench.store import Store

if TYPE_CHECKING:
    from adacap_bench.datasets import Task
    from adacap_bench.methods import Method

__all__ = ["Display", "Summary", "run"]

_PATIENCE = 0.5  # seconds between looks at jobs that another run has
_MOST_JOBS = 1_000_000  # of one run: each is an object in memory before the first one starts


@dataclass
class Summary:
    """What a run did.

    Attributes
    ----------
    n_jobs : int
        Jobs that the arguments name and that can be run.
    n_before : int
        Of these, how many the store held already.
    n_elsewhere : int
        Of these, how many another run on the same store did in the meantime.
    counts : Counter of str
        Records written now, by status.
    skipped : list of Skipped
        Jobs left out, with the reason.
    seconds : float
    interrupted : bool
        Whether Ctrl-C ended it.
    n_left : int
        Jobs that can be run and were not, since the run ended before their turn.
    planned : list of (Job, str)
        The jobs with their settings hashes, by which a store identifies their records.
    """

    n_jobs: int = 0
    n_before: int = 0
    n_elsewhere: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    n_left: int = 0
    planned: list[tuple[Job, str]] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """130 if interrupted, 1 if a job failed or there was none to run, else 0."""
        if self.interrupted:
            return 130
        failed = any(self.counts[status] for status in FAILED)
        n_done = self.n_before + self.n_elsewhere + self.counts.total()
        return int(failed or n_done == 0)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "n_jobs": self.n_jobs,
            "n_before": self.n_before,
            "n_elsewhere": self.n_elsewhere,
            "counts": dict(self.counts),
            "skipped": [vars(skipped) for skipped in self.skipped],
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "n_left": self.n_left,
        }


def run(
    tasks: Sequence[Task | MadeTask | str],
    methods: Sequence[Method | str],
    splits: Sequence[int],
    seeds: Sequence[int],
    store: Store | str | Path,
    *,
    engine: str | Engine = "local",
    n_jobs: int = 1,
    threads: int = 1,
    time_limit: float | None = None,
    retries: int = 1,
    raw_target: bool = False,
    retry_failed: bool = False,
    address: str | None = None,
    folder: str | Path | None = None,
    plugins: Sequence[str | Path] = (),
    progress: bool = False,
    stop_after: float | None = None,
) -> Summary:
    """Measure methods on tasks; only jobs that the store does not hold are run.

    Parameters
    ----------
    tasks : sequence of Task, MadeTask or str
        Catalogue entries or their keys, or data that are made.
    methods : sequence of Method or str
        Methods, registered or not, their names, or names of groups.
    splits, seeds : sequences of int
        Numbers of the 80/20 splits, and seeds of the methods.
    store : Store or path
        Where records go; written as jobs finish.
    engine : {"local", "ray"} or Engine, default="local"
    n_jobs : int, default=1
        Jobs at once.
    threads : int, default=1
        Threads of each job, fixed so that timings compare.
    time_limit : float, optional
        Seconds for one job; then it is stopped and recorded as ``timeout``.
    retries : int, default=1
        How often a job is started again whose process died, before it counts as ``crashed``.
    raw_target : bool, default=False
        Targets without the transforms of the catalogue.
    retry_failed : bool, default=False
        Run again what failed, ran out of time or crashed before.
    address : str, optional
        Ray cluster to join.
    folder : path, optional
        Where the data sets are; see :func:`adacap_bench.datasets.load_table`.
    plugins : sequence of paths
        Python files that register methods.
    progress : bool, default=False
        Show a bar on standard error.
    stop_after : float, optional
        Seconds after which no job is handed to the engine; those it has are finished. The order
        is then that of a run in pieces, see :func:`~adacap_bench.plan.make_plan`.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "results.sqlite"
    >>> summary = run(["builtin-diabetes"], ["ridge"], splits=[0], seeds=[0], store=path)
    >>> summary.counts["ok"], summary.exit_code
    (1, 0)
    """
    start = time.monotonic()
    _check(splits, seeds, n_jobs, threads, time_limit, retries)
    deadline = math.inf if stop_after is None else start + stop_after
    loaded = [Plugin.read(path) for path in plugins]
    settings = RunSettings(raw_target, loaded, folder)
    tables = _tables(tasks, folder, raw_target)
    chosen = expanded(methods)
    _refuse_too_many(len(tables.tasks), len(chosen), len(splits), len(seeds))
    plan = make_plan(
        tables, chosen, splits, seeds,
        settings=settings, threads=threads, plugins=loaded, in_pieces=stop_after is not None,
    )  # fmt: skip
    if isinstance(engine, str):
        engine = make_engine(
            engine, n_jobs, threads=threads, time_limit=time_limit, retries=retries, address=address
        )
    with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        summary = _execute(plan, tables, opened, engine, retry_failed, progress, deadline)
    summary.seconds = time.monotonic() - start
    return summary


def _check(
    splits: Sequence[int],
    seeds: Sequence[int],
    n_jobs: int,
    threads: int,
    time_limit: float | None,
    retries: int,
) -> None:
    for name, numbers in (("splits", splits), ("seeds", seeds)):
        if numbers[_MOST_JOBS : _MOST_JOBS + 1]:  # len() fails beyond the words of the machine
            raise UsageError(f"{name} are more than {_MOST_JOBS:,}, the most of one run.")
        if not numbers or min(numbers) < 0:
            raise UsageError(f"{name} must be numbers from 0, at least one, got {list(numbers)}.")
    for name, number, least in (("n_jobs", n_jobs, 1), ("threads", threads, 1)):
        if number < least:
            raise UsageError(f"{name} must be an integer of at least {least}, got {number!r}.")
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"time_limit must be a positive number of seconds, got {time_limit!r}.")
    if retries < 0:
        raise UsageError(f"retries must be an integer of at least 0, got {retries!r}.")


def _refuse_too_many(*numbers: int) -> None:
    if (n_jobs := math.prod(numbers)) > _MOST_JOBS:
        tasks, methods, splits, seeds = (f"{number:,}" for number in numbers)
        raise UsageError(
            f"{tasks} tasks x {methods} methods x {splits} splits x {seeds} seeds are {n_jobs:,} "
            f"jobs, but one run has at most {_MOST_JOBS:,}. Run them in parts: a store adds up."
        )


def _tables(
    tasks: Sequence[Task | MadeTask | str], folder: str | Path | None, raw_target: bool
) -> Tables:
    from adacap_bench.datasets import find_task, load_table

    found = [find_task(task) if isinstance(task, str) else task for task in tasks]
    return Tables(found, lambda task: load_table(task, folder=folder, raw_target=raw_target))


def _execute(
    plan: Plan,
    tables: Tables,
    store: Store,
    engine: Engine,
    retry_failed: bool,
    progress: bool,
    deadline: float,
) -> Summary:
    done = store.done(retry_failed=retry_failed)
    missing = [order for order in plan.orders if (order.job, order.settings_hash) not in done]
    summary = Summary(
        n_jobs=len(plan.orders),
        n_before=len(plan.orders) - len(missing),
        skipped=list(plan.skipped),
        n_left=len(missing),
        planned=[(order.job, order.settings_hash) for order in plan.orders],
    )
    with Display(len(missing), show=progress) as display, _stop_on_interrupt() as stop:

        def leave_out(task: str, reason: str, n_jobs: int) -> None:
            summary.skipped.append(Skipped(task, "*", reason, n_jobs))
            summary.n_left -= n_jobs
            display.leave_out(n_jobs)

        share = _Share(store, missing, retry_failed)
        try:
            while share.waiting and time.monotonic() < deadline and not stop():
                works = _until(deadline, share.mine(_works(share.waiting, tables, leave_out)))
                with closing(engine.outcomes(works, stop)) as records:
                    for record in records:
                        summary.n_left -= 1
                        if store.add(record):
                            summary.counts[record.status] += 1
                        store.release(record.job, record.settings_hash)
                        display.add(record)
                share.turn_to_taken()
        finally:
            store.release()
        summary.n_elsewhere = share.n_elsewhere
        summary.n_left -= share.n_elsewhere
        summary.interrupted = stop()
    return summary


class Display(Steps):
    """Shows each record as it arrives, by default on standard error: the other is for results.

    Examples
    --------
    >>> import sys
    >>> with Display(2, stream=sys.stdout) as display:
    ...     display.leave_out(1)
    Running: 0 of 1 jobs, 0 %
    """

    def __init__(self, total: int, *, show: bool = True, stream: TextIO | None = None) -> None:
        super().__init__("Running", unit="jobs", total=total, stream=stream, leave=True, show=show)
        self.counts: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Count one finished job."""
        self.counts[record.status] += 1
        if record.status != "ok":
            self.say(_sentence(record))
        n_failed = self.counts.total() - self.counts["ok"]
        self.update(self.counts.total(), text=f"{n_failed} without result" if n_failed else "")

    def leave_out(self, n_jobs: int) -> None:
        """Take jobs off the total."""
        self.total = (self.total or 0) - n_jobs


def _sentence(record: Record) -> str:
    job, reason = record.job, last_line(record.traceback)
    text = f"{record.status}: {job.method} on {job.task}, split {job.split}, seed {job.seed}"
    return f"{text}: {reason}" if reason else text


class _Share:
    """The jobs that this run takes of those missing, as others may work on the same store."""

    def __init__(self, store: Store, orders: Sequence[Order], retry_failed: bool) -> None:
        self.waiting = list(orders)  # to be gone through next
        self.n_elsewhere = 0  # that others did
        self._store = store
        self._retry_failed = retry_failed
        self._taken: list[Order] = []
        self._n_mine = 0

    def mine(self, works: Iterator[Work]) -> Iterator[Work]:
        """The works that nobody else has, each claimed when its turn comes."""
        self._n_mine = 0
        for order, split in works:
            claim = self._store.claim(
                order.job, order.settings_hash, retry_failed=self._retry_failed
            )
            self._n_mine += claim == "mine"
            if claim == "mine":
                yield order, split
            elif claim == "taken":
                self._taken.append(order)
            else:
                self.n_elsewhere += 1

    def turn_to_taken(self) -> None:
        """Look next at what others had; wait a moment if there was nothing else to do."""
        self.waiting, self._taken = self._taken, []
        self._retry_failed = False  # their owner retries them
        if self.waiting and not self._n_mine:
            time.sleep(_PATIENCE)


def _until(deadline: float, works: Iterator[Work]) -> Iterator[Work]:
    """The works whose turn comes before the deadline; no split is made after it."""
    while time.monotonic() < deadline and (work := next(works, None)):
        yield work


def _works(
    orders: Sequence[Order], tables: Tables, leave_out: Callable[[str, str, int], None]
) -> Iterator[Work]:
    """Orders with their arrays, made once per split and when their turn comes.

    The jobs of a task whose table cannot be read or encoded are left out.
    """
    for task, of_task in groupby(orders, lambda order: order.job.task):
        waiting = list(of_task)
        for index, of_split in groupby(list(waiting), lambda order: order.job.split):
            try:
                split = _split(tables, task, index)
            except Exception as error:  # whatever is wrong with one table, the others continue
                leave_out(task, f"{type(error).__name__}: {error}", len(waiting))
                break
            for order in of_split:
                waiting.remove(order)
                yield order, split


def _split(tables: Tables, key: str, index: int) -> Split:
    task = tables.tasks[key]
    return task.make(index) if isinstance(task, MadeTask) else make_split(tables.get(key), index)


@contextmanager
def _stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that finished results are stored."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped.is_set  # signals reach the main thread only
        return

    def note(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stopped.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stopped.is_set
    finally:
        signal.signal(signal.SIGINT, before)
