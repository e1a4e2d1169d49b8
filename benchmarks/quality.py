"""What the default is made of, and how it does: figures behind docs/DEFAULTS.md and the README.

    ADACAP_DATA=<folder> python benchmarks/quality.py run confirm    (the choice and its peers)
    ADACAP_DATA=<folder> python benchmarks/quality.py run fresh      (the choice, on new splits)
    ADACAP_DATA=<folder> python benchmarks/quality.py run times --jobs 1    (on an idle machine)
    python benchmarks/quality.py write                               (tables from the records)

The splits were not looked at while choosing: what members are worth is the question of
``benchmarks/members.py``. Every job runs on one thread; what the store holds is not run again.
Results go from the store to ``benchmarks/records/quality.csv``, which the tables are made from.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import shared
from shared import Row, error_of, number_of

from adacap.comparison import Method
from adacap.comparison.factory import EVERY_KIND
from adacap.estimators.quality import OF_MANY_ROWS
from adacap_bench.markdown import markdown_lines

RESULTS, STORE = shared.RECORDS / "quality.csv", shared.RECORDS / "quality.sqlite"
SMALL, LARGE = "paper-regression-small", "paper-regression"
MANY_ROWS = 2000
FEW_ROWS = 500  # that a Gaussian process and TabM were run on
SCORES = ("rmse", "auc", "accuracy", "log_loss")
PROBED = ("nets", "last")

CONFIRM = (60, 61, 62, 63, 64)
FRESH = (70, 71, 72, 73, 74)
CLASSES = (66, 67, 68, 69, 70, 71)
BETWEEN = ("paper-7", "paper-25", "paper-28", "paper-29")  # neither small by the paper nor large
REFERENCE, DEFAULT, BEFORE = "catboost", "adacap-balanced", "adacap-nets"
OWN = ("adacap-fast", DEFAULT, "adacap-best", BEFORE)
PEERS = (REFERENCE, "gp-ard", "lightgbm", "xgboost", "rf", "xrf", "realmlp-td", "tabm-d", "xrfm")
SHOWN = (DEFAULT, REFERENCE, "gp-ard", "realmlp-td", "xrf")  # per task, in the README


# ------------------------------------------------------------------------------ what is run


@dataclass(frozen=True)
class Blend:
    """``build`` of a blend of given members; columns come encoded and standardised."""

    members: tuple[str, ...]

    def __call__(self, kind: str, seed: int) -> Any:
        from adacap import AdaCapClassifier, AdaCapRegressor

        estimator = AdaCapRegressor if kind == "regression" else AdaCapClassifier
        return estimator(quality=list(self.members), preprocessing="none", random_state=seed)


def blend(name: str, members: Iterable[str]) -> Method:
    own = name.replace(":", "-")  # names are words joined by hyphens
    return Method(own, "AdaCap", EVERY_KIND, Blend(tuple(members)), ("torch",))


def last_iterations(estimator: Any, split: Any) -> dict[str, int]:
    """Probe: how many nets there are, and of how many the last tenth of the steps was the best."""
    nets = [net for net in estimator.members_ if len(net.history)]
    last = sum(net.best_iter >= 0.9 * (len(net.history) - 1) for net in nets)
    return {"nets": len(nets), "last": last}


def probed(name: str) -> Method:
    """A method of ours that tells how its nets ended."""
    from adacap_bench.methods import find_method

    return replace(find_method(name), probe=last_iterations)


def timed(name: str) -> Method:
    """The same method under another name, for a run on a machine that does nothing else."""
    from adacap_bench.methods import find_method

    return replace(find_method(name), name=f"timed-{name}")


def without(whole: Sequence[str]) -> list[Method]:
    """The whole blend, then with each member left out in turn."""
    less = [blend(f"without-{name}", [other for other in whole if other != name]) for name in whole]
    return [blend("whole", whole), *less]


class Plan(NamedTuple):
    """Methods, tasks and splits of one run."""

    methods: Callable[[], list[Method | str]]
    suite: str
    splits: tuple[int, ...]
    largest: bool | None = None  # only tasks of more, or of at most, so many rows
    seconds: float | None = None
    only: tuple[str, ...] = ()  # of the suite


PLANS: dict[str, Plan] = {
    "ablation-many": Plan(
        lambda: [REFERENCE, *without(OF_MANY_ROWS["balanced"])], SMALL, (50, 51, 52), True
    ),
    "fresh": Plan(lambda: [*OWN, REFERENCE, "gp-ard", "xrf"], SMALL, FRESH, seconds=600),
    "between": Plan(
        lambda: [*OWN, REFERENCE, "xrf", "lightgbm"], LARGE, (60, 61), seconds=1800, only=BETWEEN
    ),
    "confirm": Plan(lambda: [*OWN, *PEERS], SMALL, CONFIRM, seconds=600),
    "own": Plan(lambda: [*OWN, REFERENCE], SMALL, CONFIRM),
    "large": Plan(
        lambda: [*map(probed, OWN), REFERENCE, "xrf", "lightgbm"], LARGE, (60, 61), True, 1800
    ),
    "times": Plan(lambda: [timed(DEFAULT), timed(REFERENCE)], LARGE, (60,), True),
    "times-few": Plan(lambda: [*map(timed, (*OWN, REFERENCE))], SMALL, (70,), False),
    "classes": Plan(lambda: [REFERENCE, DEFAULT, BEFORE, "xrf"], "paper-classification", CLASSES),
}


def run(
    plan: Plan,
    n_jobs: int,
    max_hours: float | None,
    only: str | None,
    most_rows: int | None,
    seconds: float | None,
    splits: str | None,
) -> None:
    """Run what is missing, and write all results down."""
    from adacap_bench.datasets import find_tasks, load_table
    from adacap_bench.datasets.errors import MissingDataError
    from adacap_bench.runner import run as run_jobs

    methods = [m for m in plan.methods() if only is None or _name(m) in only.split(";")]
    tasks = []
    for task in find_tasks([plan.suite]):
        if plan.only and task.key not in plan.only:
            continue
        try:
            n_train = int(0.8 * len(load_table(task.key).y))
        except MissingDataError:
            continue
        fits = plan.largest is None or plan.largest == (n_train > MANY_ROWS)
        if fits and n_train <= (most_rows or n_train):
            tasks.append(task)
    summary = run_jobs(
        tasks, methods, [int(s) for s in splits.split(",")] if splits else plan.splits, [0], STORE,
        n_jobs=n_jobs, threads=1, time_limit=seconds or plan.seconds, progress=True,
        stop_after=None if max_hours is None else 3600 * max_hours,
    )  # fmt: skip
    print(dict(summary.counts), f"{summary.n_left} left")
    export()


def _name(method: Method | str) -> str:
    return method if isinstance(method, str) else method.name


def export() -> None:
    """Results of the store, with those written down before."""
    from adacap_bench.store import Store

    found = {(r["method"], r["task"], r["split"]): r for r in records()}
    with Store(STORE, read_only=True) as store:
        frame = store.frame()
        found_by_probes = {
            (record.job.method, record.job.task, record.job.split): record.payload
            for record in store.records(predictions=False)
            if record.payload
        }
    kept = frame[frame["status"].isin(["ok", "imported"])].sort_values("created")
    n_train = kept.groupby("task")["n_train"].max()  # which imported results do not say
    for row in kept.to_dict("records"):
        key = (row["method"], row["task"], int(row["split"]))
        found[key] = {
            "method": key[0], "task": key[1], "split": key[2], "n_train": n_train[key[1]],
            "seconds": round(row["fit_seconds"], 3),
            **{name: _rounded(row.get(f"test_{name}")) for name in SCORES},
            **{name: found_by_probes.get(key, {}).get(name, "") for name in PROBED},
        }  # fmt: skip
    names = ("method", "task", "split", "n_train", "seconds", *SCORES, *PROBED)
    whole = ({**row, **{name: _whole(row.get(name)) for name in PROBED}}
             for _, row in sorted(found.items()))  # fmt: skip
    shared.write_csv(RESULTS, names, whole)


def _whole(value: Any) -> int | str:
    return "" if value in (None, "") else int(value)


def _rounded(value: Any) -> float | str:
    return "" if value is None or value != value else round(float(value), 6)


def records() -> list[Row]:
    numbers = ("seconds", *SCORES, *PROBED)
    return [
        {**row, "split": int(row["split"]), "n_train": int(row["n_train"]),
         **{name: float(row[name]) if row.get(name) else None for name in numbers}}
        for row in shared.read_csv(RESULTS)
    ]  # fmt: skip


# ------------------------------------------------------------------------------ what is shown


class Line(NamedTuple):
    """A method against CatBoost, over experiments (task, split) that both have."""

    method: str
    n: int
    mean: float
    ratio: float  # geometric mean of ratios of errors
    error: float  # standard error of its logarithm
    ahead: float
    worst: tuple[str, float]
    seconds: float  # geometric mean of ratios of times
    rank: float
    p90: float  # share of experiments within 10 % of the best method of the pool


Table = dict[str, dict[tuple[str, int], Row]]


def table_of(rows: Iterable[Row], score: str = "rmse") -> Table:
    found: Table = {}
    for row in rows:
        if row[score] is not None:
            found.setdefault(row["method"], {})[row["task"], row["split"]] = row
    return found


def line(table: Table, method: str, pool: Sequence[str]) -> Line:
    own, base = table[method], table[REFERENCE]
    keys = sorted(own.keys() & base.keys())
    a = np.array([own[key]["rmse"] for key in keys])
    b = np.array([base[key]["rmse"] for key in keys])
    tasks = sorted({key[0] for key in keys})
    per_task = {
        task: a[mask].mean() / b[mask].mean() - 1
        for task in tasks
        if (mask := np.array([key[0] == task for key in keys])).any()
    }
    worst = max(per_task, key=lambda task: per_task[task])
    times = np.array([own[key]["seconds"] / base[key]["seconds"] for key in keys])
    logs = np.log(a / b)
    by_task = np.array([logs[[key[0] == task for key in keys]].mean() for task in tasks])
    everywhere = [key for key in keys if all(key in table[other] for other in pool)]
    ranks = [
        1 + sum(table[other][key]["rmse"] < own[key]["rmse"] for other in pool if other != method)
        for key in everywhere
    ]
    best = [min(table[other][key]["rmse"] for other in pool) for key in everywhere]
    near = [b >= 0.9 * own[key]["rmse"] for b, key in zip(best, everywhere, strict=True)]
    return Line(
        method, len(keys), a.mean(), float(np.exp(logs.mean())),
        error_of(by_task), float((a < b).mean()),
        (worst, per_task[worst]), float(np.exp(np.log(times).mean())),
        *(float(np.mean(found)) if found else float("nan") for found in (ranks, near)),
    )  # fmt: skip


def lines_table(rows: list[Row], methods: Iterable[str]) -> list[str]:
    table = table_of(rows)
    if REFERENCE not in table:
        return []
    # A method that has not run everywhere is not shown: its mean would be of other tasks.
    pool = [m for m in methods if m in table and table[m].keys() >= table[REFERENCE].keys()]
    found = [line(table, m, pool) for m in pool]
    found.sort(key=lambda one: one.ratio)
    titles = ("", "experiments", "mean RMSE", "ratio to CatBoost", "ahead", "worst task",
              "mean rank", "P90", "time")  # fmt: skip
    cells = (
        (one.method, one.n, f"{one.mean:.4f}", f"{one.ratio:.3f} (± {one.error:.3f})",
         f"{one.ahead:.0%}", f"{one.worst[0]} {one.worst[1]:+.1%}", f"{one.rank:.1f}",
         f"{one.p90:.0%}", f"{one.seconds:.2f}")
        for one in found
    )  # fmt: skip
    return list(markdown_lines(titles, cells))


def change_table(rows: list[Row]) -> list[str]:
    """What each change does to the whole blend: paired, over experiments that both have."""
    table = table_of(rows)
    base = table.get("whole", {})
    titles = ("change", "experiments", "ratio of errors", "standard error", "worse on tasks",
              "time")  # fmt: skip
    found = []
    for method, own in table.items():
        keys = sorted(own.keys() & base.keys())
        if method in ("whole", REFERENCE) or not keys:
            continue
        logs = np.array([np.log(own[key]["rmse"] / base[key]["rmse"]) for key in keys])
        times = [np.log(own[key]["seconds"] / base[key]["seconds"]) for key in keys]
        tasks = np.array([key[0] for key in keys])
        by_task = np.array([logs[tasks == task].mean() for task in sorted(set(tasks))])
        error = error_of(by_task)
        found.append((by_task.mean(), method, len(keys), error, by_task, np.mean(times)))
    cells = (
        (method, n, f"{np.exp(mean):.4f}", f"{error:.4f}",
         f"{(by_task > 0).sum()} of {len(by_task)}", f"{np.exp(seconds):.2f}")
        for mean, method, n, error, by_task, seconds in sorted(found, reverse=True)
    )  # fmt: skip
    return list(markdown_lines(titles, cells))


def last_table(rows: list[Row]) -> list[str]:
    """Share of the nets in the models that were at their best near the end of their steps."""
    cells = []
    for method in OWN:
        own = [row for row in rows if row["method"] == method and row["nets"]]
        n_nets, n_last = (sum(row[name] for row in own) for name in PROBED)
        if n_nets:
            cells.append((method, f"{n_nets:.0f}", f"{n_last / n_nets:.0%}"))
    return list(markdown_lines(("", "nets", "best in the last tenth of their steps"), cells))


def time_table(rows: list[Row]) -> list[str]:
    """Seconds where nothing else ran, and the mean ratio to CatBoost's."""
    table = table_of(rows)
    names = [name for name in (*OWN, REFERENCE) if f"timed-{name}" in table]
    keys = set.intersection(*(set(table[f"timed-{name}"]) for name in names))
    seconds = {
        key: [table[f"timed-{name}"][key]["seconds"] for name in names]
        for key in sorted(keys, key=lambda key: table[f"timed-{REFERENCE}"][key]["n_train"])
    }
    lines: list[tuple[Any, ...]] = [
        (key[0], table[f"timed-{REFERENCE}"][key]["n_train"], *(f"{one:.2f}" for one in own))
        for key, own in seconds.items()
    ]
    logs = np.log(list(seconds.values()))
    ratios = np.exp((logs - logs[:, -1:]).mean(0))
    lines.append(("**over CatBoost's**", "", *(f"{ratio:.2f}" for ratio in ratios)))
    return list(markdown_lines(("task", "rows", *names), lines))


def task_table(rows: list[Row], methods: Sequence[str]) -> list[str]:
    table = table_of(rows)
    methods = [m for m in methods if m in table]
    tasks = sorted({key[0] for key in table[DEFAULT]}, key=number_of)
    lines = []
    for task in tasks:
        means = []
        for method in methods:
            own = [r["rmse"] for key, r in table[method].items() if key[0] == task]
            means.append(float(np.mean(own)) if own else float("nan"))
        n = next(r["n_train"] for key, r in table[DEFAULT].items() if key[0] == task)
        best = np.nanmin(means)
        cells = [f"**{m:.4f}**" if m == best else "–" if m != m else f"{m:.4f}" for m in means]
        lines.append((task, n, *cells))
    return list(markdown_lines(("task", "rows", *methods), lines))


def class_table(rows: list[Row]) -> list[str]:
    """Mean scores of classes, each with its paired difference from CatBoost and standard error."""
    table = table_of(rows, "auc")
    titles = ("", "experiments", "AUC", "accuracy", "log-loss", "time / CatBoost")
    base, lines = table[REFERENCE], []
    for method, own in table.items():
        keys, cells = sorted(own.keys() & base.keys()), []
        for name in SCORES[1:]:
            values, others = ([one[key][name] for key in keys] for one in (own, base))
            if None in values:
                cells.append("–")
                continue
            apart = np.subtract(values, others)
            told = "" if method == REFERENCE else f" ({apart.mean():+.4f} ± {error_of(apart):.4f})"
            cells.append(f"{np.mean(values):.4f}{told}")
        times = [own[key]["seconds"] / base[key]["seconds"] for key in keys]
        lines.append((method, len(keys), *cells, f"{np.exp(np.mean(np.log(times))):.2f}"))
    return list(markdown_lines(titles, lines))


def sections() -> dict[str, list[str]]:
    """Every table by the name of its place."""
    timing, rows = [], []
    for row in records():
        (timing if row["method"].startswith("timed-") else rows).append(row)

    def part(splits: Iterable[int], keep: Callable[[Row], bool]) -> list[Row]:
        wanted = set(splits)
        return [row for row in rows if row["split"] in wanted and keep(row)]

    small_tasks = _small_tasks()

    def small(row: Row) -> bool:
        return row["rmse"] is not None and row["task"] in small_tasks

    def large(row: Row) -> bool:
        return row["rmse"] is not None and row["n_train"] > MANY_ROWS

    confirmed, fresh = part(CONFIRM, small), part(FRESH, small)
    ablated = part(PLANS["ablation-many"].splits, large)
    found = {}
    if fresh:
        found["fresh"] = lines_table(fresh, [*OWN, *PEERS])
        few = [row for row in fresh if row["n_train"] <= FEW_ROWS]
        found["fresh-few"] = lines_table(few, [*OWN, *PEERS])
        by_others = {(row["task"], row["split"]) for row in fresh if row["method"] == "autogluon"}
        both = [row for row in fresh if (row["task"], row["split"]) in by_others]
        found["autogluon"] = lines_table(both, [*OWN, *PEERS, "autogluon"])
    if ablated:
        found["ablation"] = change_table(ablated)
    if confirmed:
        names = list(dict.fromkeys(row["method"] for row in confirmed))
        found["confirmed"] = lines_table(confirmed, [m for m in (*OWN, *PEERS) if m in names])
        found["tasks"] = task_table(confirmed, SHOWN)
        few = [row for row in confirmed if row["n_train"] <= FEW_ROWS]
        found["peers"] = lines_table(few, [m for m in (*OWN, *PEERS) if m in names])
    for name, is_many in (("times", True), ("times-few", False)):
        if own := [row for row in timing if (row["n_train"] > MANY_ROWS) == is_many]:
            found[name] = time_table(own)
    many = part(PLANS["large"].splits, large)
    if {row["task"] for row in many} - small_tasks:  # else only the two that the small suite has
        found["large"] = lines_table(many, dict.fromkeys(row["method"] for row in many))
        found["large-tasks"] = task_table(many, [*OWN, REFERENCE])
        found["last"] = last_table(many)
        every = part(PLANS["large"].splits, lambda row: row["rmse"] is not None)
        found["all"] = lines_table(every, [*OWN, *PEERS])
    if classes := part(PLANS["classes"].splits, lambda row: row["auc"] is not None):
        found["classes"] = class_table(classes)
    return found


def write() -> None:
    """Put every table in its place between marks: in docs/DEFAULTS.md and in the README."""
    shared.place_all("quality", sections(), shared.DEFAULTS, shared.README)
    small = _small_tasks()
    _draw([row for row in records() if row["split"] in CONFIRM and row["task"] in small])


def _small_tasks() -> set[str]:
    from adacap_bench.datasets import find_suite

    return {task.key for task in find_suite(SMALL)}


def _draw(rows: list[Row]) -> None:
    """The default and a bag of nets beside CatBoost, task by task: docs/quality.png."""
    table = table_of(rows)
    tasks = sorted({key[0] for key in table[DEFAULT] if key in table[REFERENCE]}, key=number_of)

    def ratio(method: str, task: str) -> float:
        own = [r["rmse"] / table[REFERENCE][key]["rmse"] for key, r in table[method].items()
               if key[0] == task and key in table[REFERENCE]]  # fmt: skip
        return float(np.exp(np.mean(np.log(own)))) if own else float("nan")

    order = sorted(tasks, key=lambda task: ratio(DEFAULT, task))
    figure, axes = shared.pyplot().subplots(figsize=(8, 3.2), layout="constrained")
    places = np.arange(len(order))
    others = [m for m in (BEFORE, "xrf", "gp-ard") if m in table]
    for method, mark in zip(others, "xs^", strict=False):
        axes.plot(places, [ratio(method, t) for t in order], mark, color="0.65", ms=4, label=method)
    axes.plot(
        places, [ratio(DEFAULT, t) for t in order], "o", color="C0", label="AdaCapRegressor()"
    )
    axes.axhline(1.0, color="C3", lw=1, label="CatBoost")
    axes.set_yscale("log")
    axes.set_yticks([0.2, 0.5, 1, 1.5], ["0.2", "0.5", "1", "1.5"])
    axes.minorticks_off()
    axes.set_xticks(places, [t.removeprefix("paper-") for t in order])
    axes.set_xlabel("small regression task of the paper")
    axes.set_ylabel("test error / CatBoost's")
    axes.legend(frameon=False, ncols=3, fontsize=8)
    figure.savefig(shared.DOCS / "quality.png", dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="run what the store does not hold")
    runs.add_argument("plan", choices=sorted(PLANS))
    runs.add_argument("--jobs", type=int, default=2)
    runs.add_argument("--max-hours", type=float)
    runs.add_argument("--only", help="methods of the plan, with semicolons")
    runs.add_argument("--most-rows", type=int, help="leave out tasks of more training rows")
    runs.add_argument("--seconds", type=float, help="time limit of a job, in place of the plan's")
    runs.add_argument("--splits", help="some of the plan's, with commas")
    commands.add_parser("export", help="the store to the records")
    commands.add_parser("write", help="the records to the pages")
    options = parser.parse_args()
    if options.command == "run":
        told = (options.max_hours, options.only, options.most_rows, options.seconds, options.splits)
        run(PLANS[options.plan], options.jobs, *told)
    else:
        {"export": export, "write": write}[options.command]()


if __name__ == "__main__":
    main()
