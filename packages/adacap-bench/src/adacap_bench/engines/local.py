"""Jobs in processes of this machine: joblib's loky workers, one per slot."""

from __future__ import annotations

import tempfile
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, replace
from pathlib import Path

import joblib

from adacap_bench.engines import Records, Work
from adacap_bench.engines.slot import Slot, WorkerDied
from adacap_bench.jobs import Record
from adacap_bench.plan import Order
from adacap_bench.split import Split

__all__ = ["LocalEngine"]

_TICK = 0.2  # seconds between looks at the clock and at Ctrl-C


class _SharedSplit:
    """A split in a file that workers map into memory; removed when no job needs it."""

    def __init__(self, split: Split, folder: Path, number: int) -> None:
        self.split = split
        self.path = folder / f"split-{number}.joblib"
        joblib.dump(split, self.path)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


@dataclass
class _Attempt:
    order: Order
    shared: _SharedSplit
    number: int = 1


@dataclass(frozen=True)
class LocalEngine:
    """Runs ``n_jobs`` jobs at once, each in a process of its own that is kept between jobs.

    A process that dies costs its job one attempt and nothing else. A job that exceeds
    ``time_limit`` is ended with its process.
    """

    n_jobs: int
    threads: int = 1
    time_limit: float | None = None
    retries: int = 1

    def outcomes(self, works: Iterator[Work], stop: Callable[[], bool]) -> Records:
        """See :class:`~adacap_bench.engines.Engine`."""
        with (
            tempfile.TemporaryDirectory(prefix="adacap-bench-", ignore_cleanup_errors=True) as name,
            warnings.catch_warnings(),
        ):
            # loky replaces a process whose memory has grown a lot: fine, and not worth a warning.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            yield from _Run(self, works, stop, Path(name)).records()


class _Run:
    """Jobs waiting and jobs running, of one call."""

    def __init__(
        self, engine: LocalEngine, works: Iterator[Work], stop: Callable[[], bool], folder: Path
    ) -> None:
        self.engine = engine
        self.works = works
        self.stop = stop
        self.folder = folder
        self.again: deque[_Attempt] = deque()
        self.last: _SharedSplit | None = None
        self.n_shared = 0
        self.running: dict[Slot, _Attempt] = {}
        self.slots = [
            Slot(engine.threads, engine.time_limit, folder / f"worker-{k}.log", folder)
            for k in range(engine.n_jobs)
        ]

    def records(self) -> Iterator[Record]:
        try:
            while self._fill():
                wait([slot.future for slot in self.running], _TICK, FIRST_COMPLETED)
                yield from self._collect()
                if self.stop():
                    return
        finally:
            for slot in self.slots:
                slot.close()

    def _fill(self) -> bool:
        """Give every idle slot a job; false if nothing is left to wait for."""
        for slot in self.slots:
            if slot.is_idle and (attempt := self._next()):
                slot.start(attempt.order, attempt.shared.path)
                self.running[slot] = attempt
        return bool(self.running)

    def _next(self) -> _Attempt | None:
        if self.again:
            return self.again.popleft()
        work = next(self.works, None)
        if work is None:
            return None
        order, split = work
        if self.last is None or self.last.split is not split:
            self.n_shared += 1
            self.last = _SharedSplit(split, self.folder, self.n_shared)
        return _Attempt(order, self.last)

    def _collect(self) -> Iterator[Record]:
        for slot, attempt in list(self.running.items()):
            try:
                record = slot.poll()
            except WorkerDied as error:
                record = self._after_death(attempt, error)
                del self.running[slot]
            else:
                if record is None:
                    continue
                del self.running[slot]
            if record is not None:
                yield _counted(record, attempt.number)

    def _after_death(self, attempt: _Attempt, error: WorkerDied) -> Record | None:
        """Queue the job again, or record that it crashed."""
        if attempt.number <= self.engine.retries:
            self.again.append(_Attempt(attempt.order, attempt.shared, attempt.number + 1))
            return None
        return attempt.order.failure("crashed", str(error))


def _counted(record: Record, attempts: int) -> Record:
    return record if attempts == 1 else replace(record, attempts=attempts)
