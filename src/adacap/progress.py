"""Progress of a long operation: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from adacap.text import size_of

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Steps"]


class Steps:
    """Progress through many similar steps, on standard error.

    ``unit`` is what ``done`` counts; "bytes" are shown in kB and MB. Without a ``total``, which may
    change on the way, ``update`` needs a share. What was done before a resume, ``start``, does not
    count towards the speed. Without a terminal lines are ``every_seconds`` apart at least, and
    ``leave`` keeps the last state on the screen instead of clearing it.

    Examples
    --------
    >>> with Steps("Predicting", total=4, stream=sys.stdout, every_seconds=0) as steps:
    ...     steps.update(1)
    Predicting: 1 of 4 rows, 25 %...
    """

    def __init__(
        self,
        label: str,
        *,
        unit: str = "rows",
        total: int | None = None,
        start: int = 0,
        stream: TextIO | None = None,
        every_seconds: float = 5.0,
        leave: bool = False,
        show: bool = True,
    ) -> None:
        self.label, self.unit, self.total = label, unit, total
        self._stream = stream or sys.stderr
        self._every = every_seconds
        self._leave = leave
        self._is_shown = show
        self._n_before = start
        self._bar: Progress | None = None
        self._start = self._printed = time.monotonic()
        self._newest: tuple[int, float | None, str] = start, None, ""

    def __enter__(self) -> Self:
        if self._is_shown and self._stream.isatty():
            self._bar = _bar_on(self._stream, transient=not self._leave)
            self._bar.start()
            self._bar.add_task(self.label, total=1.0, note="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._show()
            self._bar.stop()
            self._bar = None
        elif self._leave and self.total != 0:
            self.say(self._line(is_last=True))

    def update(self, done: int, share: float | None = None, text: str = "") -> None:
        """Show how many are done, or which share of an unknown total, and a text at the end."""
        self._newest = done, share, text
        if self._bar is not None:
            self._show()
        elif time.monotonic() - self._printed >= self._every:
            self.say(self._line())

    def say(self, text: str) -> None:
        """Print a separate line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        elif self._is_shown:
            self._printed = time.monotonic()
            print(text, file=self._stream, flush=True)

    @property
    def _part(self) -> float:
        done, share, _ = self._newest
        return done / self.total if self.total else (share or 0.0)

    @property
    def _count(self) -> str:
        done = self._newest[0]
        if self.unit == "bytes":
            return f"{size_of(done)} of {size_of(self.total)}" if self.total else size_of(done)
        return f"{done:,} of {self.total:,} {self.unit}" if self.total else f"{done:,} {self.unit}"

    def _show(self) -> None:
        assert self._bar is not None
        note = f"{self._count}  {self._newest[2]}"
        self._bar.update(self._bar.task_ids[0], completed=self._part, note=note)

    def _line(self, is_last: bool = False) -> str:
        text = self._newest[2]
        left = "" if is_last else self._left()
        is_known = self.total or self._newest[1] is not None
        share = f", {100 * self._part:.0f} %" if is_known else ""
        line = f"{self.label}: {self._count}{share}{left}"
        return line + (f"  {text}" if text else "")

    def _left(self) -> str:
        gained = self._part - (self._n_before / self.total if self.total else 0.0)
        if gained <= 0 or self._part >= 1:
            return ""
        seconds = (time.monotonic() - self._start) / gained * (1 - self._part)
        return f", about {_duration(seconds)} left"


def _bar_on(stream: TextIO, *, transient: bool) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=stream),
        transient=transient,
    )


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
