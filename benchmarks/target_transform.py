"""Does a target transform pay? Tasks whose target the paper takes the logarithm of, given raw.

    ADACAP_DATA=<folder> python benchmarks/target_transform.py run [--splits explored|judged]
    python benchmarks/target_transform.py judge [--write]  (writes docs/guides/transforms.md)

A cell (task, split) fits ``quality="fast"`` with ``target_transform`` none, log and auto on the raw
target and scores test rows twice: by RMSE in raw units, which a user of raw targets asks for, and
by RMSE after the paper's transform, which is the paper's score (predictions below half of the least
training target are moved there first, since a logarithm cannot take them). The rule by which auto
chooses was settled on the explored splits, where records of kind ``auto-before`` are of the rule
before it (a kernel alone, pooled error); the judged ones confirm it. Records go to
``benchmarks/records/target_transform.jsonl``; what is there already is not run again.
"""

import argparse
import time
from typing import Any

import numpy as np
from shared import GUIDES, RECORDS, error_of, number_of, pyplot, read_records, write_down

from adacap._typing import Floats
from adacap_bench.markdown import markdown_lines, place

RESULTS = RECORDS / "target_transform.jsonl"
PAGE, PICTURE = GUIDES / "transforms.md", GUIDES / "transforms.png"
MARKS = "<!-- transforms: begin -->", "<!-- transforms: end -->"
SPLITS = {"explored": tuple(range(90, 95)), "judged": tuple(range(95, 100))}
KINDS = ("none", "log", "auto")
SCORES = {"raw": "raw units", "paper": "the paper's units"}


# ---------------------------------------------------------------------------------- running


def tasks(most_rows: int) -> list[Any]:
    """The paper's regression tasks with a transform, the small ones first."""
    from adacap_bench.datasets import find_tasks

    found = [one for one in find_tasks(["paper-regression"]) if one.transform != "none"]
    sized = [(one.figures.n, i, one) for i, one in enumerate(found)]
    return [one for n, _, one in sorted(sized, key=lambda row: row[:2]) if n <= most_rows]


def run(splits: tuple[int, ...], most_rows: int, most_seconds: float) -> None:
    """Fit what the records do not hold."""
    from adacap_bench.datasets import load_table
    from adacap_bench.split import split_rows

    done = {(one["task"], one["split"], one["kind"]) for one in read_records(RESULTS)}
    start = time.perf_counter()
    for task in tasks(most_rows):
        table = load_table(task.key, raw_target=True)
        y = np.asarray(table.y, dtype=np.float64)
        for split in splits:
            rows, test = split_rows(len(y), split)
            for kind in KINDS:
                if (task.key, split, kind) in done:
                    continue
                if time.perf_counter() - start > most_seconds:
                    print("The time is over.")
                    return
                found = _fit(table.X.iloc[rows], y[rows], table.X.iloc[test], y[test], kind, task)
                line = {"task": task.key, "split": split, "n_train": len(rows), "kind": kind}
                write_down(RESULTS, line | found)
        print(task.key, f"{time.perf_counter() - start:.0f} s", flush=True)


def _fit(X: Any, y: Floats, X_test: Any, y_test: Floats, kind: str, task: Any) -> dict[str, Any]:
    from adacap import AdaCapRegressor
    from adacap_bench.datasets.targets import TRANSFORMS

    start = time.perf_counter()
    model = AdaCapRegressor(quality="fast", random_state=0, target_transform=kind).fit(X, y)
    seconds = time.perf_counter() - start
    predicted = model.predict(X_test)
    function, bound = TRANSFORMS[task.transform]
    edge = bound + 0.5 * (y.min() - bound)
    in_paper = function(np.maximum(predicted, edge)) - function(y_test)
    return {
        "chosen": model.settings_.target_transform,
        "raw": float(f"{np.sqrt(np.mean((predicted - y_test) ** 2)):.7g}"),
        "paper": float(f"{np.sqrt(np.mean(in_paper**2)):.7g}"),
        "seconds": round(seconds, 2),
    }


# ---------------------------------------------------------------------------------- judging


def table_of(splits: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Per task: chosen transforms, and per kind and score the log ratios to no transform."""
    cells = {(one["task"], one["kind"], one["split"]): one for one in read_records(RESULTS)}
    found: dict[str, dict[str, Any]] = {}
    for task in sorted({key[0] for key in cells}, key=number_of):
        own = [s for s in splits if all((task, kind, s) in cells for kind in KINDS)]
        if len(own) < 2:
            continue
        logs = {
            (kind, score): np.array([
                np.log(cells[task, kind, s][score] / cells[task, "none", s][score]) for s in own
            ])
            for kind in KINDS[1:] for score in SCORES
        }  # fmt: skip
        chosen = [cells[task, "auto", s]["chosen"] for s in own]
        n_rows = cells[task, "none", own[0]]["n_train"]
        found[task] = {"n": n_rows, "splits": len(own), "chosen": chosen, "logs": logs}
    return found


def _change(logs: Floats) -> str:
    """Mean change of the error in per cent, and its standard error."""
    return f"{100 * np.mean(logs):+.1f} ± {100 * error_of(logs):.1f} %"


def lines_of(found: dict[str, dict[str, Any]]) -> list[str]:
    from adacap_bench.datasets import find_task

    heads = ["task", "rows", "paper", "splits", "auto chose"]
    heads += [f"{kind}, {score}" for score in SCORES for kind in ("auto", "log")]
    rows = []
    for task, one in found.items():
        names = sorted(set(one["chosen"]), key=one["chosen"].count, reverse=True)
        chosen = ", ".join(f"{name} {one['chosen'].count(name)}" for name in names)
        cells = [_change(one["logs"][kind, score]) for score in SCORES for kind in ("auto", "log")]
        about = [task, one["n"], find_task(task).transform, one["splits"], chosen]
        rows.append([*about, *cells])
    means = [
        _change(np.array([one["logs"][kind, score].mean() for one in found.values()]))
        for score in SCORES for kind in ("auto", "log")
    ]  # fmt: skip
    rows.append(["**mean over tasks**", "", "", "", "", *means])
    return list(markdown_lines(heads, rows))


def draw(found: dict[str, dict[str, Any]]) -> None:
    """Change of the error on each task, by auto and by log: docs/guides/transforms.png."""
    figure, axes = pyplot().subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    places = np.arange(len(found))[::-1]
    for ax, (score, title) in zip(axes, SCORES.items(), strict=True):
        ax.axvline(0, color="0.7", lw=1)
        for kind, shift, colour in (("auto", 0.12, "C0"), ("log", -0.12, "C1")):
            logs = [100 * one["logs"][kind, score] for one in found.values()]
            errors = [error_of(one) for one in logs]
            means = [float(np.mean(one)) for one in logs]
            ax.errorbar(means, places + shift, xerr=errors, fmt="o", ms=4, color=colour, label=kind)
        ax.set_yticks(places, list(found))
        ax.set_title(f"error in {title}", fontsize=10)
        ax.set_xlabel("change against none, % (left is better)")
    axes[0].legend(fontsize=8)
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="fit what the records do not hold")
    runs.add_argument("--most-rows", type=int, default=2000)
    runs.add_argument("--most-seconds", type=float, default=float("inf"))
    judges = commands.add_parser("judge", help="print the table")
    judges.add_argument("--write", action="store_true", help="into the guide, with its picture")
    for one in (runs, judges):
        one.add_argument("--splits", default="judged", choices=SPLITS)
    options = parser.parse_args()
    splits = SPLITS[options.splits]
    if options.command == "run":
        run(splits, options.most_rows, options.most_seconds)
        return
    found = table_of(splits)
    lines = lines_of(found)
    print("\n".join(lines))
    if options.write:
        place(PAGE, MARKS, "\n".join(lines))
        draw(found)


if __name__ == "__main__":
    main()
