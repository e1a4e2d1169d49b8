"""One worker process and the job it holds.

Each slot is a pool of one process. A pool of many breaks as a whole when one process dies, without
showing whose job it was; here the job is known and the others are not affected.
"""

from __future__ import annotations

import math
import os
import re
import time
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from joblib.externals.loky.process_executor import ProcessPoolExecutor

from adacap.exceptions import AdaCapError
from adacap_bench.jobs import Record
from adacap_bench.plan import Order
from adacap_bench.split import Split
from adacap_bench.worker import prepare, run_order, set_up, thread_variables

__all__ = ["Slot", "WorkerDied"]

_START_SECONDS = 300.0  # for a process to start and to load a method's package
_TICK = 0.2  # seconds between looks at the clock
_TAIL = 4000  # characters of what a dead worker printed last


class WorkerDied(AdaCapError):
    """The process of a job ended without a result."""


class Slot:
    """A place for one job at a time, in a process of its own that is kept between jobs.

    Its threads are set before any numerical library is loaded. The time limit is for one job, in
    seconds from the moment its method is loaded; then the process is killed, so that code that does
    not come back to Python is stopped too. The log takes what the process prints; it removes the
    scratch folder if whoever started it is killed.
    """

    def __init__(
        self,
        threads: int = 1,
        time_limit: float | None = None,
        log: Path | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.threads = threads
        self.time_limit = time_limit
        self.log = log
        self.scratch = scratch
        self._pool: ProcessPoolExecutor | None = None
        self._order: Order | None = None
        self._deadline = math.inf
        self._has_loaded = False

    def start(self, order: Order, split: Split | Path) -> None:
        """Begin a job; the slot must be idle."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                max_workers=1,
                initializer=set_up,
                initargs=(os.getpid(), self.log, self.scratch),
                env=thread_variables(self.threads),
            )
        if self.log is not None:
            self.log.write_bytes(b"")
        self._order = order
        self._has_loaded = False
        self._deadline = time.monotonic() + _START_SECONDS
        self._pool.submit(prepare, order).add_done_callback(self._start_clock)
        self.future: Future[Record] = self._pool.submit(run_order, order, split)

    def _start_clock(self, loaded: Future[None]) -> None:
        self._deadline = time.monotonic() + (self.time_limit or math.inf)
        self._has_loaded = True

    @property
    def is_idle(self) -> bool:
        """Whether the slot holds no job."""
        return self._order is None

    def poll(self) -> Record | None:
        """Record of the job if it has ended or run out of time, else None.

        Raises
        ------
        WorkerDied
            If the process is gone, or does not come to load the method; the slot is idle again
            and starts a new one.
        """
        if self._order is None:
            raise ValueError("The slot holds no job. Call start first.")
        order = self._order
        if self.future.done():
            self._order = None
            try:
                return self.future.result()
            except BrokenProcessPool as error:
                self.close()
                raise WorkerDied(self._last_words(error)) from error
        has_loaded = self._has_loaded  # before the deadline, which another thread sets first
        if time.monotonic() > self._deadline:
            self.close()
            if not has_loaded:
                raise WorkerDied(f"The worker process did not start in {_START_SECONDS:g} s.")
            text = f"Stopped at the time limit of {self.time_limit:g} s."
            return order.failure("timeout", text)
        return None

    def wait(self) -> Record:
        """Record of the job, however long it takes within the limit."""
        while (record := self.poll()) is None:
            wait([self.future], timeout=_TICK)  # the deadline may be set meanwhile
        return record

    def _last_words(self, error: BaseException) -> str:
        printed = ""
        if self.log is not None and self.log.exists():
            printed = self.log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
        codes = re.findall(r"exit codes of the workers are \{(.*)\}", str(error))
        how = f" with {codes[0]}" if codes else f": {error}"
        said = f"It printed last:\n{printed}\n" if printed else ""
        return f"{said}The worker process died{how}."

    def close(self) -> None:
        """End the process and all it started, at once."""
        self._order = None
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None
