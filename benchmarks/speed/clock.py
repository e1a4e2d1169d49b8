"""Interleaved timing, and the table and file that a run leaves."""

import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def medians(
    actions: Mapping[str, Callable[[], object]],
    seconds: float,
    least: int = 3,
    most: int = 200,
    warm: bool = True,
) -> dict[str, float]:
    """Median seconds of each action, all taken in turn, so that a slow moment hits every one."""
    for action in actions.values() if warm else ():
        action()  # first calls allocate, import and tune
    times: dict[str, list[float]] = {name: [] for name in actions}
    start = time.perf_counter()
    while len(next(iter(times.values()))) < most:
        for name, action in actions.items():
            begin = time.perf_counter()
            action()
            times[name].append(time.perf_counter() - begin)
        if len(times[name]) >= least and time.perf_counter() - start > seconds:
            break
    return {name: statistics.median(values) for name, values in times.items()}


def table(title: str, rows: list[Row]) -> str:
    """Rows as a Markdown table under a heading."""
    names = list(rows[0])
    lines = [f"### {title}", "", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_text(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


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
