"""How far a long step has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self, TextIO

__all__ = ["Steps"]


class Steps:
    """Progress of one step, on standard error.

    Parameters
    ----------
    label : str
    unit : str, default="rows"
        What ``done`` counts.
    total : int, optional
        Of ``done``, where it is known; else ``update`` needs a share.
    stream : text stream, optional
    every_seconds : float, default=5.0
        Pause between lines without a terminal.

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
        stream: TextIO | None = None,
        every_seconds: float = 5.0,
    ) -> None:
        self.label, self.unit, self.total = label, unit, total
        self._stream = stream or sys.stderr
        self._every = every_seconds
        self._bar: Any = None
        self._start = self._printed = time.monotonic()
        self._first: float | None = None  # share when it began, after a resume

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

            self._bar = Progress(
                "{task.description}", BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
                "{task.fields[note]}", console=Console(file=self._stream), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._bar.add_task(self.label, total=1.0, note="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def update(self, done: int, share: float | None = None, text: str = "") -> None:
        """Show that so many are done.

        Parameters
        ----------
        done : int
        share : float, optional
            Of the whole, where the total is not known.
        text : str
            Shown at the end.
        """
        part = done / self.total if self.total else (share or 0.0)
        if self._first is None:
            self._first = part if part < 1 else 0.0
        if self._bar is not None:
            shown = f"{self._count(done)} {self.unit}  {text}"
            self._bar.update(self._bar.task_ids[0], completed=part, note=shown)
        elif time.monotonic() - self._printed >= self._every:
            self._printed = time.monotonic()
            line = f"{self.label}: {self._count(done)} {self.unit}, {100 * part:.0f} %"
            print(line + self._left(part) + (f"  {text}" if text else ""), file=self._stream,
                  flush=True)  # fmt: skip

    def _count(self, done: int) -> str:
        return f"{done:,} of {self.total:,}" if self.total else f"{done:,}"

    def _left(self, part: float) -> str:
        gained = part - (self._first or 0.0)
        if gained <= 0 or part >= 1:
            return ""
        seconds = (time.monotonic() - self._start) / gained * (1 - part)
        return f", about {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 90 else f"{whole // 60} min {whole % 60:02d} s"
