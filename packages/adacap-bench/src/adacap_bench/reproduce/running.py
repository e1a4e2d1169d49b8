"""From an item to its record: the benchmark's runner makes the results, the item reads them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adacap.exceptions import suggest
from adacap.files.atomic import write_text
from adacap_bench.jobs import Job, Record, now
from adacap_bench.plan import Skipped
from adacap_bench.reproduce.drawing import write_html, write_png
from adacap_bench.reproduce.item import SCALES, Item, Outcome, Scale
from adacap_bench.reproduce.item_record import ItemRecord, read_item_record
from adacap_bench.reproduce.parts import joined, refuse_unlike, restricted
from adacap_bench.reproduce.rejudging import lightened
from adacap_bench.reproduce.results import NoResultError, Results, UnfinishedError, units
from adacap_bench.reproduce.text import record_text, table_rows
from adacap_bench.runner import run
from adacap_bench.store import Store

__all__ = ["Machine", "reproduce", "write_all"]


@dataclass(frozen=True)
class Machine:
    """Where jobs run and their results are kept, see :func:`adacap_bench.runner.run`.

    No job is begun after the deadline, a moment of ``time.monotonic``; those running are finished.
    """

    state: Path  # store of the jobs; what it holds is not run again
    store: Path | None = None  # benchmark store that items about the benchmark read instead
    engine: str = "local"
    n_jobs: int = 1
    threads: int = 1
    address: str | None = None
    folder: Path | None = None
    progress: bool = False
    deadline: float | None = None
    job_limit: float | None = None  # seconds after which a job is stopped
    retry_failed: bool = False  # run again what failed or was stopped before

    def seconds_left(self) -> float | None:
        """Until the deadline, if there is one; 0 after it."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


def reproduce(
    item: Item,
    machine: Machine,
    scale: str = "ledger",
    *,
    splits: int | None = None,
    seeds: int | None = None,
    methods: Sequence[str] = (),
    earlier: ItemRecord | None = None,
) -> ItemRecord:
    """Run what the state does not hold yet and compare with the paper.

    Splits and seeds may be other numbers than those of the scale. Of an item that can be run in
    parts it may be some methods only, which join the earlier record of others at the same scale.
    Where the deadline comes first, jobs are left.

    Raises
    ------
    NoResultError
        If there is nothing to compare: data absent, or every job failed.
    UnfinishedError
        If too many jobs are left at the deadline to say anything, or some of an item that is run in
        parts; what was finished is kept.
    UsageError
        If the item cannot be run in parts, or the parts do not go together.
    KeyboardInterrupt
        If Ctrl-C ended it; what was finished is kept.
    """
    if scale not in SCALES:
        raise ValueError(suggest(scale, SCALES, "scale"))
    chosen = _changed(item.scales[scale], splits, seeds, machine.folder)
    from_store = item.reads_store and machine.store is not None
    name = scale if chosen == item.scales[scale] else "own"
    part = restricted(item, chosen, methods) if methods else item
    if earlier is not None:
        refuse_unlike(item, earlier, name, methods)
    results = _read_store(machine) if from_store else _run(part, chosen, machine)
    every = [*results.records, *results.failed]
    outcome = _outcome(item, results, chosen, in_parts=bool(methods))
    cut = [record for record in results.failed if record.status == "timeout"]
    record = ItemRecord(
        item=item.key,
        title=item.title,
        place=item.place,
        measure=item.measure,
        scale=name,
        extent=_store_extent(results) if from_store else part.extent(chosen),
        command=_command(
            item, machine if from_store else None, scale, splits, seeds, methods,
            job_limit=machine.job_limit if cut else None,
        ),
        created=max((record.created for record in every), default=now()),
        versions=_versions(results.records),
        n_jobs=len(every),
        n_failed=len(results.failed),
        n_left=results.n_left,
        core_seconds=sum(record.fit_seconds for record in results.records),
        rows=tuple(outcome.rows),
        claims=lightened(item, outcome.claims),
        figure=outcome.figure,
        notes=(*item.notes, *outcome.remarks, *_cut(cut, results.skipped)),
    )  # fmt: skip
    return record if earlier is None else joined(item, earlier, record, item.extent(chosen))


def _outcome(item: Item, results: Results, scale: Scale, *, in_parts: bool) -> Outcome:
    """What the runs say; of an unfinished study it may be nothing."""
    n_done = len(results.records) + len(results.failed)
    left = UnfinishedError(results.n_left, results.n_left + n_done)
    if results.n_left and in_parts:
        raise left
    try:
        return item.summarise(results, scale)
    except NoResultError:
        if results.n_left:
            raise left from None
        raise


def _cut(stopped: Sequence[Record], skipped: Sequence[Skipped]) -> list[str]:
    """Notes on the jobs that a limit ended, and on those that could not be run at all."""
    notes = []
    if stopped:
        names = sorted({f"{record.job.method} on {record.job.task}" for record in stopped})
        limits = " ".join(sorted({record.traceback or "" for record in stopped}))
        notes.append(
            f"{len(stopped)} of the runs ended without a result. {limits} {', '.join(names)}."
        )
    if skipped:
        reasons = {f"{one.method} on {one.task}": one.reason for one in skipped}
        told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        notes.append(f"Not run: {told.replace(' on *', '')}.")
    return notes


def write_all(record: ItemRecord, folder: Path) -> list[Path]:
    """Write record, table, picture and page of one item; returns their paths.

    The drawings need the extra ``report`` and are left out without it.
    """
    paths = [folder / f"{record.item}.{end}" for end in ("json", "md", "png", "html")]
    if paths[0].exists() and not record.before:
        record = replace(record, before=read_item_record(paths[0]).before)
    record.write(paths[0])
    text = record_text(record, picture=paths[2].name)
    write_text(paths[1], text, force=True)
    try:
        write_png(record.figure, paths[2])
        write_html(record.figure, record.title, paths[3], table_rows(record))
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        return paths[:2]
    return paths


def _changed(scale: Scale, splits: int | None, seeds: int | None, folder: Path | None) -> Scale:
    return replace(scale, splits=splits or scale.splits, seeds=seeds or scale.seeds, folder=folder)


def _run(item: Item, scale: Scale, machine: Machine) -> Results:
    planned: set[tuple[Job, str]] = set()
    skipped: list[Skipped] = []
    n_left = n_jobs = 0
    grids = item.grids(scale)
    for grid in grids:
        summary = run(
            grid.tasks, grid.methods, grid.splits, grid.seeds, machine.state,
            engine=machine.engine, n_jobs=machine.n_jobs, threads=machine.threads,
            address=machine.address, folder=machine.folder, progress=machine.progress,
            stop_after=machine.seconds_left(), time_limit=machine.job_limit,
            retry_failed=machine.retry_failed,
        )  # fmt: skip
        if summary.interrupted:
            raise KeyboardInterrupt
        n_left += summary.n_left
        n_jobs += summary.n_jobs
        planned.update(summary.planned)
        skipped += summary.skipped
    if n_left == n_jobs and n_left:
        raise UnfinishedError(n_left, n_jobs)
    with Store(machine.state, read_only=True) as store:
        records = [r for r in store.records() if (r.job, r.settings_hash) in planned]
    if not records and skipped:
        first = skipped[0]
        raise NoResultError(
            f"{item.key} could not be run. {first.method} on {first.task}: {first.reason}"
        )
    return Results(records, machine.folder, n_left, skipped, units(grids))


def _read_store(machine: Machine) -> Results:
    """Newest record of every job of a benchmark store, which is not written to."""
    assert machine.store is not None
    with Store(machine.store, read_only=True) as store:
        records = store.records(predictions=False)
    newest: dict[Job, Record] = {}
    for record in sorted(records, key=lambda record: record.created):
        newest[record.job] = record
    return Results(newest.values(), machine.folder)


def _store_extent(results: Results) -> str:
    tasks = {record.job.task for record in results.records}
    splits = {record.job.split for record in results.records}
    methods = {record.job.method for record in results.records}
    return f"{len(tasks)} tasks × up to {len(splits)} splits × {len(methods)} methods of a store"


def _versions(records: Sequence[Record]) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in sorted(records, key=lambda record: record.created):
        found.update(record.versions)
    return found


def _command(
    item: Item,
    machine: Machine | None,
    scale: str,
    splits: int | None,
    seeds: int | None,
    methods: Sequence[str],
    job_limit: float | None = None,
) -> str:
    words = ["adacap reproduce", item.key]
    if machine is not None and machine.store is not None:
        return " ".join([*words, "--store", machine.store.name])
    words.append("--quick" if scale == "quick" else f"--scale {scale}")
    words += [f"--splits {splits}"] if splits else []
    words += [f"--seeds {seeds}"] if seeds else []
    words += [f"--job-limit {job_limit:g}"] if job_limit else []
    words += [f"--methods {','.join(methods)}"] if methods else []
    return " ".join(words)
