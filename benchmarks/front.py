"""Accuracy against time on the 15 small regression tasks: where the presets come from.

    ADACAP_DATA=<folder> python benchmarks/front.py [--splits 0,1] [--names 'fast;balanced']
    python benchmarks/front.py --write      (docs/SPEED.md and docs/front.png from the records)

Each cell (setting, task, split) is trained once, on one thread with ``--jobs`` at a time, or on all
threads and alone with ``--jobs 1``, which is how times are to be compared. Records go to
``benchmarks/records/front.jsonl`` as they come; what is there already is not run again.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from joblib import Parallel, delayed
from shared import DOCS, RECORDS, Row, read_records, write_down

import adacap
from adacap_bench.datasets import find_suite, load_table
from adacap_bench.markdown import markdown_lines, place
from adacap_bench.split import make_split

RESULTS = RECORDS / "front.jsonl"
MARKS = "<!-- front: begin -->", "<!-- front: end -->"

SETTINGS: dict[str, dict[str, Any]] = {
    "width 32": {"width": 32},
    "width 64": {"width": 64},
    "width 256": {"width": 256},
    "60 steps": {"max_iter": 60},
    "90 steps": {"max_iter": 90},
    "200 steps": {"max_iter": 200},
    "batch 256": {"batch_size": 256},
    "batch 1024": {"batch_size": 1024},
    "batch 2048": {"batch_size": 2048},
    "no decay": {"weight_decay": 0.0},
    "decay 1": {"weight_decay": 1.0},
    "decay 6": {"weight_decay": 6.0},
    "one net": {"n_estimators": 1},
    "one net, not refitted": {"n_estimators": 1, "refit": "head"},
    "3 folds": {"n_estimators": 3},
    "8 folds": {"n_estimators": 8},
    "5 seeds": {"validation": 0.2},
    "Tikhonov only": {"scheme": "tikhonov"},
    "plain": {"scheme": "plain"},
    "SNN": {"architecture": "snn"},
    "MLP": {"architecture": "mlp"},
    "rate 0.01, 200 steps": {"max_lr": 0.01, "max_iter": 200},
    "λ by the rule": {"lambda_init": "max_sensitivity"},
    "one net, width 256, 100 steps": {"n_estimators": 1, "width": 256, "max_iter": 100},
    "one net, rate 0.01, 200 steps": {"n_estimators": 1, "max_lr": 0.01, "max_iter": 200},
}
"""Departures from ``"nets"``, a bag of nets alone."""
NAMED = ("catboost", "fast", "balanced")


class Cell(NamedTuple):
    """One training: which setting, which task, which split, on how many threads."""

    name: str
    task: str
    split: int
    threads: int


def estimator(cell: Cell) -> Any:
    if cell.name == "catboost":
        from catboost import CatBoostRegressor

        return CatBoostRegressor(
            verbose=False,
            allow_writing_files=False,
            random_seed=cell.split,
            thread_count=cell.threads,
        )
    if cell.name in NAMED:
        return adacap.make(cell.name, random_state=cell.split)
    return adacap.make("nets", random_state=cell.split, **SETTINGS[cell.name])


def run(cell: Cell) -> Row:
    """Train one cell; its test RMSE on the standardised target, and its seconds."""
    torch.set_num_threads(cell.threads)
    data = make_split(load_table(cell.task), cell.split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        fitted = estimator(cell).fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - begin
        error = fitted.predict(data.X_test) - data.y_test
    rmse = float(np.sqrt(np.mean(error**2)))
    return {**cell._asdict(), "rmse": round(rmse, 6), "seconds": round(seconds, 4)}


def measure(names: Iterable[str], splits: Iterable[int], jobs: int) -> None:
    """Run what is missing, a setting at a time, and write it down."""
    threads = 1 if jobs > 1 else torch.get_num_threads()
    done = {(r["name"], r["task"], r["split"], r["threads"]) for r in read_records(RESULTS)}
    tasks = [task.key for task in find_suite("paper-regression-small")]
    for name in names:
        cells = [Cell(name, task, split, threads) for split in splits for task in tasks]
        cells = [cell for cell in cells if tuple(cell) not in done]
        if not cells:
            continue
        rows = Parallel(n_jobs=jobs)(delayed(run)(cell) for cell in cells)
        write_down(RESULTS, *rows)
        mean = {key: np.mean([row[key] for row in rows]) for key in ("rmse", "seconds")}
        print(f"{name:40s} RMSE {mean['rmse']:.4f}  {mean['seconds']:.2f} s", flush=True)


class Point(NamedTuple):
    """A setting averaged over tasks and splits, beside CatBoost on the same cells."""

    name: str
    rmse: float
    seconds: float
    rmse_ratio: float
    time_ratio: float
    n_splits: int


def points(rows: list[Row]) -> list[Point]:
    """Means over the tasks and splits of one thread count; complete settings only."""
    cells = {(r["name"], r["task"], r["split"]): r for r in rows}
    splits: dict[str, set[int]] = defaultdict(set)
    for name, _, split in cells:
        splits[name].add(split)
    tasks = {task for _, task, _ in cells}
    result = []
    for name, own in splits.items():
        common = sorted(own & splits["catboost"])
        keys = [(task, split) for split in common for task in tasks]
        if not keys or any((name, *key) not in cells for key in keys):
            continue
        ours, theirs = ([cells[who, *key] for key in keys] for who in (name, "catboost"))
        rmse, seconds = (float(np.mean([r[k] for r in ours])) for k in ("rmse", "seconds"))
        other, pace = (float(np.mean([r[k] for r in theirs])) for k in ("rmse", "seconds"))
        result.append(Point(name, rmse, seconds, rmse / other, seconds / pace, len(common)))
    return sorted(result, key=lambda point: point.rmse)


def table(found: list[Point]) -> str:
    titles = ("setting", "mean RMSE", "seconds", "RMSE / CatBoost", "time / CatBoost")
    rows = [
        (p.name, f"{p.rmse:.4f}", f"{p.seconds:.2f}", f"{p.rmse_ratio:.3f}", f"{p.time_ratio:.2f}")
        for p in found
    ]
    return "\n".join(markdown_lines(titles, rows))


def write() -> None:
    """Put both tables into docs/SPEED.md and draw the front."""
    rows = read_records(RESULTS)
    chosen_on = points([r for r in rows if r["threads"] == 1 and r["split"] in (0, 1)])
    confirmed = points([r for r in rows if r["threads"] > 1 and r["split"] not in (0, 1)])
    text = (
        "![Test error against seconds per fit of every setting](front.png)\n\n"
        "Splits 0 and 1, one thread each, two at a time (used for choosing):\n\n"
        f"{table(chosen_on)}\n\n"
        f"Splits {sorted({r['split'] for r in rows if r['threads'] > 1 and r['split'] > 1})}, two "
        f"threads, one at a time (not used for choosing):\n\n{table(confirmed)}"
    )
    place(DOCS / "SPEED.md", MARKS, text)
    draw(chosen_on, DOCS / "front.png")


def lowest_by_time(found: list[Point]) -> tuple[list[float], np.ndarray]:
    """Seconds in order, and the lowest error to be had within each."""
    ordered = sorted(found, key=lambda point: point.seconds)
    return [p.seconds for p in ordered], np.minimum.accumulate([p.rmse for p in ordered])


def draw(found: list[Point], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.subplots()
    axes.step(*lowest_by_time(found), where="post", color="0.75", zorder=0)
    for p in found:
        special = p.name in NAMED
        axes.plot(p.seconds, p.rmse, "s" if special else "o", color="C3" if special else "C0")
        axes.annotate(
            p.name, (p.seconds, p.rmse), fontsize=7, xytext=(4, 3), textcoords="offset points",
            weight="bold" if special else "normal",
        )  # fmt: skip
    axes.set(xscale="log", xlabel="seconds per fit (mean)", ylabel="test RMSE (mean of 15 tasks)")
    ticks = [1, 2, 3, 5, 10]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", help="settings by semicolon; all by default")
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write docs/SPEED.md from the records")
    options = parser.parse_args()
    if options.write:
        write()
        return
    names = options.names.split(";") if options.names else [*NAMED, *SETTINGS]
    unknown = [name for name in names if name not in (*NAMED, *SETTINGS)]
    if unknown:
        parser.error(f"unknown settings {unknown}; known: {'; '.join((*NAMED, *SETTINGS))}")
    measure(names, [int(split) for split in options.splits.split(",")], options.jobs)


if __name__ == "__main__":
    main()
