"""Progress of a run of jobs, and why some jobs failed."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from adacap.progress import Steps
from adacap_bench.jobs import Record, last_line

__all__ = ["Display"]


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
