"""Scores of a benchmark store as the paper's contests need them: who came first, by category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap_bench.reproduce.figure import FigureData, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap_bench.reproduce.means import SPLIT, mean_of
from adacap_bench.reproduce.results import NoResultError, Results
from adacap_bench.reproduce.verdicts import ClaimEffect, effect_of

if TYPE_CHECKING:
    from adacap_bench.metrics import Contest, ScoreTable

__all__ = [
    "NOTE_CLOCK", "N_REGRESSION", "Points", "contest_nets", "first_figure", "item", "leads",
    "left_out", "named", "score_table", "shares_of", "tasks_remark", "whole", "wins",
]  # fmt: skip

_NOTE_STORE = (
    "Read from a store of 'adacap bench run' where --store names one; otherwise the runs are done."
)
NOTE_CLOCK = (
    "Times are of the wall clock, other work of the machine included: where it was not idle, they "
    "are too long and do not compare."
)
N_REGRESSION = 26  # of the whole regression benchmark

_QUICK = {
    "tasks": ("paper-1", "paper-9"),
    "methods": (
        "mlp", "resblock", "snn", "glu-mlp", "adacap-mlp", "adacap-resblock", "adacap-snn",
        "adacap-glu-mlp", "catboost", "fast-catboost", "sk-gbdt", "rf", "xrf", "cart", "svm",
        "ridge", "lasso",
    ),
}  # fmt: skip
_SCALES = {
    "quick": Scale(1, 1, _QUICK),
    "ledger": Scale(3, 1, {"tasks": ("paper-regression-small",), "methods": ("paper",)}),
    "paper": Scale(3, 1, {"tasks": ("paper-regression",), "methods": ("paper",)}),
}


Points = Mapping[str, Mapping[str, float]]
"""Of each category, its points on each experiment."""


def item(
    key: str,
    title: str,
    place: str,
    measure: str,
    read: Callable[[Results, Scale], Outcome],
    *notes: str,
    scales: Mapping[str, Scale] = _SCALES,
    claims: Callable[[Mapping[str, Row]], Sequence[Claim]] | None = None,
) -> Item:
    """Item about the methods of a scale on all its tasks, which may be read from a store."""
    return Item(
        key, title, place, measure, scales, _grids,
        lambda scale: f"{', '.join(scale['tasks'])}, {scale.splits} splits", read,
        (_NOTE_STORE, *notes), reads_store=True, claims=claims,
    )  # fmt: skip


def _grids(scale: Scale) -> list[Grid]:
    return [scale.grid(scale.tasks, [*scale["methods"]])]


def contest_nets() -> set[str]:
    """Networks of both contests."""
    from adacap_bench.metrics import CONTESTS

    return {name for contest in CONTESTS for name in contest.networks}


def score_table(results: Results, metric: str = "rmse") -> ScoreTable:
    """One metric for every experiment and method; what is absent is marked."""
    from adacap_bench.metrics import from_frame

    return from_frame(results.frame(), metric, missing="mark")


def whole(table: ScoreTable, names: Iterable[str]) -> ScoreTable:
    """Experiments for which every one of some networks has a result."""
    names = sorted(set(names))
    if absent := set(names) - set(table.methods):
        raise NoResultError(f"The contests need {', '.join(sorted(absent))}, which were not run.")
    columns = [table.methods.index(name) for name in names]
    complete = np.asarray(~np.isnan(table.values[:, columns]).any(axis=1))
    if not complete.any():
        raise NoResultError(
            f"No experiment has results of all of {', '.join(names)}. Run the group "
            "contest-with-adacap and contest-without-adacap by 'adacap bench run'."
        )
    return table.take_experiments(complete)


def wins(
    table: ScoreTable, contest: Contest, categories: Iterable[str]
) -> dict[str, dict[str, float]]:
    """Points of each category on each experiment; those that tie for the best divide it."""
    from adacap_bench.metrics import top1_by_category

    n = len(table.experiments)
    points = {category: np.zeros(n) for category in categories}
    for place in range(n):
        one = table.take_experiments(np.arange(n) == place)
        for category, share in top1_by_category(one, contest, allow_absent=True).shares.items():
            points.setdefault(category, np.zeros(n))[place] = share
    return {category: named(table, found) for category, found in points.items()}


def named(table: ScoreTable, values: Any) -> dict[str, float]:
    """One number per experiment of a table, by the name of the experiment."""
    return {
        f"{task}, {SPLIT} {split}": float(value)
        for (task, split), value in zip(table.experiments, values, strict=True)
    }


def shares_of(won: Mapping[str, Points]) -> dict[str, dict[str, float]]:
    """Share of first places in per cent, by column and category."""
    return {
        column: {category: 100 * mean_of(found) for category, found in points.items()}
        for column, points in won.items()
    }


def leads(category: str, points: Points) -> list[ClaimEffect]:
    """That a category has more first places than any other."""
    ours = points[category]
    others = [found for name, found in points.items() if name != category and any(found.values())]
    return [
        effect_of({name: value - found.get(name, 0.0) for name, value in ours.items()})
        for found in others or [{}]
    ]


def first_figure(
    columns: Mapping[str, Mapping[str, float]],
    paper: Mapping[str, Mapping[str, float]],
    categories: Sequence[str],
) -> FigureData:
    """Shares of first places in per cent by column, ours beside the paper's where it has them."""
    panels = []
    for column, found in columns.items():
        ours = tuple(found.get(category, 0.0) for category in categories)
        series = [Series("ours", tuple(categories), ours, (), "bar")]
        if known := paper.get(column):
            series.append(Series("paper", tuple(known), tuple(known.values()), (), "bar"))
        panels.append(Panel(column, "first places, %", "", tuple(series)))
    return FigureData("Share of experiments won by each category.", tuple(panels))


def tasks_remark(table: ScoreTable, n_tasks: int, n_all: int | None = None) -> str:
    """How many experiments there are, of how many in all, and on how many of the paper's tasks."""
    tasks = {task for task, _ in table.experiments}
    text = f"{len(table.experiments)} experiments on {len(tasks)} tasks."
    if n_all is not None and n_all > len(table.experiments):
        text += f" {n_all - len(table.experiments)} more lack a result of one of the networks."
    if len(tasks) < n_tasks:
        text += f" The paper's table is about {n_tasks} tasks, so numbers compare loosely."
    return text


def left_out(results: Results, table: ScoreTable) -> dict[str, str]:
    """Methods that lack a result on some experiments, so that they cannot be compared, and why.

    Peers, which the paper does not have, are not named.
    """
    from adacap_bench.methods import METHODS

    reasons: dict[str, list[str]] = {}
    for record in results.failed:
        why = f"{record.status} on {record.job.task}"
        reasons.setdefault(record.job.method, []).append(why)
    for one in results.skipped:
        where = "" if one.task == "*" else f" on {one.task}"
        reasons.setdefault(one.method, []).append(f"not run{where}: {one.reason}")
    lacking = Counter(method for method, *_ in table.missing())
    found = {
        name: f"no result on {n} of {len(table.experiments)} experiments"
        for name, n in lacking.items()
    }
    found |= {name: "no result at all" for name in reasons if name not in table.methods}
    return {
        name: "; ".join([text, *dict.fromkeys(reasons.get(name, ["not in the store"]))])
        for name, text in found.items()
        if name in METHODS and METHODS[name].category != "Peer"
    }
