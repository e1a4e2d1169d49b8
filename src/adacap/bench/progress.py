"""How far a run has come: a bar with the time left on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from adacap.bench.jobs import Record

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Display"]

_LINE_SECONDS = 5.0  # least time between two lines that only say how far it has come


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
    >>> with Display(2, stream=sys.stdout) as display:
    ...     display.leave_out(1)
    0/1 done
    """

    def __init__(self, total: int, *, show: bool = True, stream: TextIO | None = None) -> None:
        self.total = total
        self.counts: Counter[str] = Counter()
        self._show = show
        self._stream = stream or sys.stderr
        self._bar: Progress | None = None
        self._start = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if self._show and self._stream.isatty():
            self._bar = _make_bar(self._stream)
            self._bar.start()
            self._task = self._bar.add_task("jobs", total=self.total, failed="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._show and self.total:
            self._print(self._state())

    def add(self, record: Record) -> None:
        """Count one finished job."""
        self.counts[record.status] += 1
        job, text = record.job, ""
        if record.status != "ok":
            last = (record.traceback or "").strip().splitlines()[-1:]
            text = (
                f"{record.status}: {job.method} on {job.task}, split {job.split}, seed {job.seed}"
            )
            text += f": {last[0]}" if last else ""
        if self._bar is not None:
            if text:
                self._bar.console.print(text, markup=False, highlight=False)
            self._bar.update(self._task, advance=1, failed=self._failures())
        elif self._show:
            if text:
                self._print(text)
            if time.monotonic() - self._printed >= _LINE_SECONDS:
                self._print(self._state())

    def leave_out(self, n_jobs: int) -> None:
        """Take jobs off the total."""
        self.total -= n_jobs
        if self._bar is not None:
            self._bar.update(self._task, total=self.total)

    def _failures(self) -> str:
        n_failed = self.counts.total() - self.counts["ok"]
        return f"{n_failed} without result" if n_failed else ""

    def _state(self) -> str:
        n_done = self.counts.total()
        text = f"{n_done}/{self.total} done"
        if 0 < n_done < self.total:
            left = (time.monotonic() - self._start) / n_done * (self.total - n_done)
            text += f", about {_duration(left)} left"
        return text + (f", {failed}" if (failed := self._failures()) else "")

    def _print(self, text: str) -> None:
        self._printed = time.monotonic()
        print(text, file=self._stream, flush=True)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _make_bar(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failed]}"),
        console=Console(file=stream),
    )
