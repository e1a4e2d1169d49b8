"""How far a run of jobs has come, and why some came to nothing."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TextIO

from adacap.bench.jobs import Record
from adacap.progress import Steps

__all__ = ["Display"]


class Display:
    """Shows each record as it arrives.

    Parameters
    ----------
    total : int
        Jobs to do.
    show : bool, default=True
        False for silence.
    stream : text file, optional
        Standard error by default, so that standard output stays for results.

    Examples
    --------
    >>> import sys
    >>> with Display(2, stream=sys.stdout) as display:
    ...     display.leave_out(1)
    Running: 0 of 1 jobs, 0 %
    """

    def __init__(self, total: int, *, show: bool = True, stream: TextIO | None = None) -> None:
        self.total = total
        self.counts: Counter[str] = Counter()
        self._steps: Steps | None = None
        if show and total:
            self._steps = Steps(
                "Running", unit="jobs", total=total, stream=stream, ends_with_a_line=True
            )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._steps is not None:
            self._stack.enter_context(self._steps)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def add(self, record: Record) -> None:
        """Count one finished job."""
        self.counts[record.status] += 1
        if self._steps is None:
            return
        if record.status != "ok":
            self._steps.say(_sentence(record))
        n_failed = self.counts.total() - self.counts["ok"]
        text = f"{n_failed} without result" if n_failed else ""
        self._steps.update(self.counts.total(), text=text)

    def leave_out(self, n_jobs: int) -> None:
        """Take jobs off the total."""
        self.total -= n_jobs
        if self._steps is not None:
            self._steps.total = self.total


def _sentence(record: Record) -> str:
    job = record.job
    text = f"{record.status}: {job.method} on {job.task}, split {job.split}, seed {job.seed}"
    last = (record.traceback or "").strip().splitlines()[-1:]
    return text + (f": {last[0]}" if last else "")
