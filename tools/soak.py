"""Use the library for a long time, and see that nothing piles up.

    python tools/soak.py --minutes 30

A round fits, predicts, gives intervals, saves, loads, predicts with ``adacap.lite`` and now and
then writes a report. After a warm-up of a quarter of the time memory must stay within 2 % of where
it was, and open files, threads and files on disk where they were. Figures are printed as
the time goes by; exit code 1 if anything grew.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import io
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import adacap
import adacap.lite

WARM_UP = 0.25  # of the time
MOST_GROWTH = 0.02  # of memory
REPORT_EVERY = 25  # rounds


class Reading(NamedTuple):
    """What the process holds."""

    rounds: int
    megabytes: float
    handles: int
    threads: int
    tasks: int
    files: int
    objects: int


def read(rounds: int, folder: Path) -> Reading:
    """Look at this process; what the allocator holds back is given back first."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Reading(
        rounds,
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        len(os.listdir("/proc/self/task")),
        len(list(folder.iterdir())),
        len(gc.get_objects()),
    )


class Rounds:
    """One round after another, of a few kinds in turn."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.n = folder, 0
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(80, 5))
        self.y = self.X[:, 0] * self.X[:, 1] + 0.1 * rng.normal(size=80)
        self.models = [
            adacap.AdaCapRegressor(random_state=0, width=32, max_iter=15),
            adacap.AdaCapRegressor(random_state=0, quality=["kernel", "ridge:bins"]),
            adacap.AdaCapClassifier(random_state=0, width=32, max_iter=15),
        ]

    def round(self) -> None:
        """Everything once, with one of the models."""
        model = self.models[self.n % len(self.models)]
        is_class = isinstance(model, adacap.AdaCapClassifier)
        y = np.where(self.y > 0, "a", "b") if is_class else self.y
        path = self.folder / "m.adacap"
        model.fit(self.X, y, checkpoint=self.folder / "c.checkpoint")
        expected = model.predict(self.X)
        if not is_class:
            model.predict_interval(self.X, coverage=0.9)
        model.save(path, force=True)
        assert np.array_equal(adacap.load(path).predict(self.X), expected)
        adacap.lite.load(path).predict(self.X)
        if self.n % REPORT_EVERY == 0:
            report = self.folder / "page.html"
            with contextlib.redirect_stdout(io.StringIO()):
                model.report(self.X, y, report, force=True)
        self.n += 1


def judge(readings: list[Reading]) -> list[str]:
    """What grew between the end of the warm-up and the end.

    Examples
    --------
    >>> early, late = Reading(9, 100.0, 5, 1, 2, 3, 1000), Reading(99, 103.0, 6, 1, 2, 3, 1000)
    >>> judge([early, late])
    ['memory: 100.0 MB to 103.0 MB (+3.0 %)', 'handles: 5 to 6']
    """
    if len(readings) < 2:
        return ["there are not two readings after the warm-up: give it more time"]
    third = max(1, len(readings) // 3)
    before = statistics.median(r.megabytes for r in readings[:third])
    after = statistics.median(r.megabytes for r in readings[-third:])
    found = []
    if abs(after / before - 1) > MOST_GROWTH:
        change = 100 * (after / before - 1)
        found.append(f"memory: {before:.1f} MB to {after:.1f} MB ({change:+.1f} %)")
    first, last = readings[0], readings[-1]
    for name in ("handles", "threads", "tasks", "files"):
        if getattr(last, name) > getattr(first, name):
            found.append(f"{name}: {getattr(first, name)} to {getattr(last, name)}")
    return found


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two readings")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        readings = soak(Rounds(Path(place)), 60 * told.minutes, told.every)
    grown = judge(readings)
    first, last = (readings or [Reading(0, 0, 0, 0, 0, 0, 0)])[0], readings[-1]
    print(f"{last.rounds} rounds, {first.megabytes:.1f} MB to {last.megabytes:.1f} MB")
    print("Grew: " + "; ".join(grown) if grown else "Nothing grew.")
    return int(bool(grown))


def soak(rounds: Rounds, seconds: float, every: float) -> list[Reading]:
    """Readings after the warm-up, each printed."""
    start = last = time.perf_counter()
    readings = []
    print(*Reading._fields, sep="\t", flush=True)
    while (now := time.perf_counter()) - start < seconds or not readings:
        rounds.round()
        if now - last >= every:
            last = now
            reading = read(rounds.n, rounds.folder)
            print(
                *(f"{v:.1f}" if isinstance(v, float) else v for v in reading), sep="\t", flush=True
            )
            if now - start >= WARM_UP * seconds:
                readings.append(reading)
    return readings


if __name__ == "__main__":
    sys.exit(main())
