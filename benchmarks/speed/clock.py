"""Interleaved timing, and the table and file that a run leaves."""

import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from adacap_bench.markdown import markdown_lines

Row = dict[str, Any]


class Clock:
    """Keeps what was timed, over several visits to the same thing.

    A machine can be slow for a minute; visits that lie apart see more than one mood of it.
    """

    def __init__(self) -> None:
        self._times: dict[tuple[object, ...], dict[str, list[float]]] = {}

    def medians(
        self,
        key: tuple[object, ...],
        actions: Mapping[str, Callable[[], object]],
        seconds: float,
        *,
        least: int = 3,
        most: int = 200,
        warm: Mapping[str, Callable[[], object]] | None = None,
    ) -> dict[str, float]:
        """Median seconds of each action over all visits under this key.

        Parameters
        ----------
        key : tuple
        actions : mapping of str to callable
            Taken in turn, so that a slow moment hits every one. Each round begins with the next
            action, since each leaves the caches to the one after it.
        seconds : float
            Length of this visit, once each action was taken ``least`` times.
        least, most : int
        warm : mapping of str to callable, optional
            Run once before the first visit, since first calls allocate, import and tune; the
            actions themselves by default.
        """
        if key not in self._times:
            for action in (actions if warm is None else warm).values():
                action()
        times = self._times.setdefault(key, {})
        start, n_done = time.perf_counter(), 0
        names = list(actions)
        while n_done < least or (n_done < most and time.perf_counter() - start < seconds):
            first = n_done % len(names)
            for name in names[first:] + names[:first]:
                begin = time.perf_counter()
                actions[name]()
                times.setdefault(name, []).append(time.perf_counter() - begin)
            n_done += 1
        return {name: statistics.median(values) for name, values in times.items()}

    def ratio(self, key: tuple[object, ...], one: str, other: str) -> float:
        """How many times as long one action took as the other: the median over the rounds."""
        times = self._times[key]
        return statistics.median(a / b for a, b in zip(times[one], times[other], strict=True))


def table(title: str, rows: list[Row]) -> str:
    """Rows as a Markdown table under a heading."""
    names = list(rows[0])
    cells = ([_text(row[name]) for name in names] for row in rows)
    return "\n".join([f"### {title}", "", *markdown_lines(names, cells)])


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def save(path: Path, sections: dict[str, list[Row]]) -> None:
    """Write all sections, with what they were measured on, in one go."""
    import torch

    about = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"about": about, **sections}, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
