"""Is the advice right? Facts that it rests on, and a check on tasks and splits it has not seen.

    ADACAP_DATA=<folder> python benchmarks/advise.py run      (fits, what the store does not hold)
    ADACAP_DATA=<folder> python benchmarks/advise.py look     (quick comparisons of training parts)
    python benchmarks/advise.py facts                         (src/adacap/advice/facts.csv)
    python benchmarks/advise.py judge [--write]               (the table of docs/guides/advise.md)

Facts come from splits 60 to 64 of the small tasks, of ``benchmarks/records/quality.csv`` and the
cheap methods run here. How facts and quick comparison are weighed was settled while looking at
these and at splits 80 to 84 (with ``adacap-fast``), so the verdict is that of splits 85 to 89: the
advice sees a training part, and never a fact about the same task. The truth is the mean test error
of fitted models. Every step goes on where it stopped.
"""

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import shared

from adacap.advice.facts import Fact, blend_with_facts, winner_of
from adacap_bench.markdown import markdown_lines, place

STORE, RESULTS = shared.RECORDS / "advise.sqlite", shared.RECORDS / "advise.csv"
LOOKS, QUALITY = shared.RECORDS / "advise.jsonl", shared.RECORDS / "quality.csv"
FACTS = shared.ROOT / "src" / "adacap" / "advice" / "facts.csv"
PAGE, PICTURE = shared.GUIDES / "advise.md", shared.GUIDES / "advise.png"
MARKS = "<!-- advise: begin -->", "<!-- advise: end -->"

SMALL = "paper-regression-small"
LEARNT, EXPLORED, JUDGED = tuple(range(60, 65)), tuple(range(80, 85)), tuple(range(85, 90))
SPLITS = {"learnt": LEARNT, "explored": EXPLORED, "judged": JUDGED}
DEFAULT = "adacap-balanced"
METHODS = {"adacap": (), "linear": ("ridge",), "trees": ("catboost", "xrf")}
TOLERANCE = 0.01  # of the error, within which a kind is as good as the best


# ---------------------------------------------------------------------------------- running


def run() -> None:
    """Fit what the store does not hold; AdaCap and CatBoost on 60 to 64 are in quality.csv."""
    from adacap_bench.datasets import find_tasks
    from adacap_bench.runner import run as run_jobs

    tasks = find_tasks([SMALL])
    others = ["ridge", "xrf", "catboost"]
    plans = [(["ridge", "xrf"], LEARNT), (["adacap-fast", *others], EXPLORED),
             ([DEFAULT, *others], JUDGED)]  # fmt: skip
    done = {(row["method"], row["task"], row["split"]) for row in _rows(RESULTS)}
    for methods, splits in plans:
        for task in tasks:
            for method in methods:
                left = [split for split in splits if (method, task.key, split) not in done]
                if left:
                    summary = run_jobs([task], [method], left, [0], STORE, threads=1,
                                       time_limit=600)  # fmt: skip
                    print(task.key, method, dict(summary.counts), flush=True)
                    export()


def export() -> None:
    """Results of the store, with those written down before."""
    from adacap_bench.store import Store

    found = {(row["method"], row["task"], row["split"]): row for row in _rows(RESULTS)}
    with Store(STORE, read_only=True) as store:
        frame = store.frame()
    for row in frame[frame["status"] == "ok"].to_dict("records"):
        key = (row["method"], row["task"], int(row["split"]))
        found[key] = {
            "method": key[0], "task": key[1], "split": key[2], "n_train": row["n_train"],
            "seconds": round(row["fit_seconds"], 3), "rmse": round(float(row["test_rmse"]), 6),
        }  # fmt: skip
    names = ("method", "task", "split", "n_train", "seconds", "rmse")
    shared.write_csv(RESULTS, names, (found[key] for key in sorted(found)))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [
        {**row, "split": int(row["split"]), **{n: float(row[n]) for n in ("seconds", "rmse")}}
        for row in shared.read_csv(path)
        if row["rmse"]
    ]


def look(splits: tuple[int, ...] = (LEARNT[0], *EXPLORED, *JUDGED)) -> None:
    """Quick comparisons of training parts, without any facts."""
    from adacap import advise
    from adacap_bench.datasets import find_tasks, load_table
    from adacap_bench.split import split_rows

    done = {(one["task"], one["split"]) for one in shared.read_records(LOOKS)}
    for split in splits:
        for task in find_tasks([SMALL]):
            if (task.key, split) in done:
                continue
            table = load_table(task.key)
            rows, _ = split_rows(len(table.y), split)
            X, y = table.X.iloc[rows], np.asarray(table.y)[rows]
            advice = advise(X, y, task="regression", facts=())
            shared.write_down(LOOKS, _look(task.key, split, advice))


def _look(task: str, split: int, advice: Any) -> dict[str, Any]:
    found = {"task": task, "split": split, "n_rows": advice.n_rows,
             "n_features": advice.n_features,
             "unexplained": round(1 - advice.explained["adacap"], 5),
             "quick_seconds": round(advice.quick_seconds, 3),
             "seconds": round(advice.seconds, 3)}  # fmt: skip
    for kind in ("linear", "trees"):
        one = advice.expected[kind]
        found[f"quick_{kind}"] = round(math.log(one.quick), 5)
        found[f"error_{kind}"] = round(one.standard_error / one.ratio, 5)
    return found


# ------------------------------------------------------------------------------------ facts


def truth(splits: tuple[int, ...], ours: str) -> dict[str, dict[str, dict[str, float]]]:
    """Per task and kind: mean test error of its best method over the splits, and seconds."""
    errors: dict[tuple[str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
    for row in [*_rows(QUALITY), *_rows(RESULTS)]:
        if row["split"] in splits:
            errors[row["task"], row["method"]][row["split"]] = row["rmse"], row["seconds"]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for task in sorted({task for task, _ in errors}, key=shared.number_of):
        kinds = {}
        for kind, methods in METHODS.items():
            own = [
                errors[task, m] for m in methods or (ours,) if len(errors[task, m]) == len(splits)
            ]
            means = [np.mean(list(one.values()), axis=0) for one in own]
            if means:
                best = min(means, key=lambda mean: mean[0])
                kinds[kind] = {"rmse": float(best[0]), "seconds": float(best[1])}
        if len(kinds) == len(METHODS):
            found[task] = kinds
    return found


def facts(ours: str = DEFAULT) -> list[Fact]:
    """A line per task: what was seen, and what was true."""
    known = truth(LEARNT, ours)
    names = {field.name for field in fields(Fact)}
    found = []
    for one in shared.read_records(LOOKS):
        if one["split"] != LEARNT[0] or one["task"] not in known:
            continue
        own = known[one["task"]]
        base = own["adacap"]["rmse"]
        more = {
            f"bench_{k}": round(math.log(own[k]["rmse"] / base), 5) for k in ("linear", "trees")
        }
        more |= {f"{k}_seconds": round(own[k]["seconds"], 3) for k in METHODS}
        found.append(Fact(**{k: v for k, v in one.items() if k in names}, **more))
    return found


def write_facts() -> None:
    rows = [asdict(fact) for fact in facts()]
    with FACTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows)} facts in {FACTS.relative_to(shared.ROOT)}")


# ---------------------------------------------------------------------------------- judging


def judged(ours: str, splits: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Per task: what was advised on each split, without facts about the task, and what was true."""
    every, known, looks = facts(ours), truth(splits, ours), shared.read_records(LOOKS)
    names = {field.name for field in fields(Fact)}
    for task, kinds in known.items():
        own = [one for one in looks if one["task"] == task and one["split"] in splits]
        others = [fact for fact in every if fact.task != task]
        ratios = []
        for one in own:
            fact = Fact(**{k: v for k, v in one.items() if k in names})
            told = {k: blend_with_facts(fact, k, one[f"error_{k}"], others)
                    for k in ("linear", "trees")}  # fmt: skip
            ratios.append({"adacap": 1.0, **{k: math.exp(v.log_ratio) for k, v in told.items()}})
        if ratios:
            base = kinds["adacap"]["rmse"]
            true = {kind: kinds[kind]["rmse"] / base for kind in METHODS}
            advised = [winner_of(one) for one in ratios]
            yield {"task": task, "n_rows": own[0]["n_rows"], "advised": advised, "true": true,
                   "expected": {k: float(np.mean([one[k] for one in ratios])) for k in METHODS},
                   "seconds": float(np.mean([one["seconds"] for one in own]))}  # fmt: skip


def lines_of(found: list[dict[str, Any]]) -> list[str]:
    heads = ("task", "rows", "expected: linear", "trees", "true: linear", "trees", "best",
             "advised", "right")  # fmt: skip
    rows = []
    for one in found:
        best = min(one["true"], key=lambda kind: one["true"][kind])
        said = max(set(one["advised"]), key=one["advised"].count)
        ratios = [f"{one[told][kind]:.2f}" for told in ("expected", "true")
                  for kind in ("linear", "trees")]  # fmt: skip
        advised = f"{said} ({one['advised'].count(said)} of {len(one['advised'])})"
        rows.append([one["task"], one["n_rows"], *ratios, best, advised, _right(one, said)])
    strict, tolerant, always, always_near = _shares(found)
    verdicts = [_right(one, max(set(one["advised"]), key=one["advised"].count)) for one in found]
    n_right, n_near = verdicts.count("yes"), len(verdicts) - verdicts.count("no")
    told = (
        f"Right in {n_right} of {len(found)} tasks ({n_right / len(found):.0%}), in {n_near} "
        f"({n_near / len(found):.0%}) if an error within 1 % of the best counts as right; by "
        f"experiment, a task and a split, in {strict:.0%} and {tolerant:.0%}. Who always says "
        f"AdaCap is right in {always:.0%} and {always_near:.0%}."
    )
    return [*markdown_lines(heads, rows), "", told]


def _right(one: dict[str, Any], said: str) -> str:
    least = min(one["true"].values())
    gap = one["true"][said] / least - 1
    return "yes" if gap == 0 else f"within {100 * TOLERANCE:g} %" if gap <= TOLERANCE else "no"


def _shares(found: list[dict[str, Any]]) -> tuple[float, float, float, float]:
    """Share of right advice, task by task over splits, and of always AdaCap."""
    rows = []
    for one in found:
        least = min(one["true"].values())
        gaps = [one["true"][said] / least - 1 for said in one["advised"]]
        own = one["true"]["adacap"] / least - 1
        rows.append([np.mean([g == 0 for g in gaps]), np.mean([g <= TOLERANCE for g in gaps]),
                     own == 0, own <= TOLERANCE])  # fmt: skip
    return tuple(np.mean(rows, axis=0).tolist())  # type: ignore[return-value]


def draw(found: list[dict[str, Any]]) -> None:
    """Expected against true errors: docs/guides/advise.png."""
    figure, axes = shared.pyplot().subplots(1, 2, figsize=(8, 3.6), layout="constrained")
    for ax, kind, title in zip(axes, ("linear", "trees"), ("linear model", "trees"), strict=True):
        x = np.array([one["expected"][kind] for one in found])
        y = np.array([one["true"][kind] for one in found])
        ends = [0.9 * min(*x, *y), 1.1 * max(*x, *y)]
        ax.plot(ends, ends, color="0.8", lw=1)
        ax.axhline(1, color="C3", lw=0.8)
        ax.axvline(1, color="C3", lw=0.8)
        ax.plot(x, y, "o", ms=4)
        for one in found:
            place = one["expected"][kind], one["true"][kind]
            ax.annotate(one["task"].removeprefix("paper-"), place, fontsize=7,
                        xytext=(3, 3), textcoords="offset points")  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ticks = [t for t in (0.8, 1, 1.2, 1.5, 2, 3, 5, 8) if ends[0] <= t <= ends[1]]
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
        ax.minorticks_off()
        ax.set_title(f"error of {title} / AdaCap's", fontsize=10)
        ax.set_xlabel("expected by advise")
    axes[0].set_ylabel("true, on test rows")
    figure.savefig(PICTURE, dpi=120)


def judge(ours: str, splits: str, write: bool) -> None:
    found = list(judged(ours, SPLITS[splits]))
    if not found:
        raise SystemExit(f"No task has all splits of {ours}: see the command run.")
    lines = lines_of(found)
    print("\n".join(lines))
    print(f"mean seconds of the advice: {np.mean([one['seconds'] for one in found]):.1f}")
    if write:
        place(PAGE, MARKS, "\n".join(lines))
        draw(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("run", "fit what the store does not hold"), ("export", "store to records"),
                       ("look", "quick comparisons"), ("facts", "write the facts")):  # fmt: skip
        commands.add_parser(name, help=text)
    parser_of_judge = commands.add_parser("judge", help="hold the advice against the truth")
    parser_of_judge.add_argument("--ours", default=DEFAULT, help="what stands for AdaCap")
    parser_of_judge.add_argument("--splits", default="judged", choices=SPLITS)
    parser_of_judge.add_argument("--write", action="store_true", help="into the guide")
    options = parser.parse_args()
    if options.command == "judge":
        judge(options.ours, options.splits, options.write)
    else:
        {"run": run, "export": export, "look": look, "facts": write_facts}[options.command]()


if __name__ == "__main__":
    main()
