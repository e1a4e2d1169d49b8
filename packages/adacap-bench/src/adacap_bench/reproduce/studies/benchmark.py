"""Tables of the benchmark, from its store: first places (C5), ten best (C6), overcost (C12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap_bench.reproduce.figure import Figure, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap_bench.reproduce.results import NoResultError, Results
from adacap_bench.reproduce.verdicts import Effect, effect_of

if TYPE_CHECKING:
    from adacap_bench.metrics import ScoreTable

__all__ = ["OVERCOST", "TEN_BEST", "TOP_ONE"]

# Category: share of first places in per cent, without and with AdaCap, on all tasks and on those
# whose best RMSE is below 0.25.
_PAPER_TOP = {
    "GBDT": (39.615, 36.538, 35.0, 27.160),
    "DNN": (30.0, 33.461, 50.0, 58.024),
    "RF": (18.461, 18.076, 15.0, 14.814),
    "SVM": (5.7692, 6.1538, 0.0, 0.0),
    "GLM": (4.6153, 4.6153, 0.0, 0.0),
    "MARS": (1.5384, 1.1538, 0.0, 0.0),
    "CART": (0.0, 0.0, 0.0, 0.0),
}
# Method: mean RMSE on the 26 tasks, P90 in per cent, seconds.
_PAPER_BEST = {
    "adacap-snn": (0.4147, 55.0, 19.798),
    "glu-mlp": (0.4201, 54.230, 9.8911),
    "adacap-glu-mlp": (0.4206, 60.384, 22.355),
    "adacap-resblock": (0.4214, 50.0, 17.192),
    "catboost": (0.4221, 66.538, 92.518),
    "mlp": (0.4230, 50.769, 4.0581),
    "adacap-mlp": (0.4233, 46.923, 17.208),
    "adacap-fast-snn": (0.4245, 42.307, 7.6670),
    "adacap-batch-resblock": (0.4257, 45.384, 194.72),
    "snn": (0.4260, 40.384, 7.1895),
}
# The same on the 15 small tasks, one split: column "no bag" of the table of bagging.
_PAPER_SMALL = {
    "adacap-snn": 0.3532,
    "adacap-glu-mlp": 0.3482,
    "snn": 0.3615,
    "glu-mlp": 0.3593,
    "fast-mlp": 0.3698,
    "catboost": 0.3638,
    "fast-catboost": 0.3879,
    "xrf": 0.3813,
}
_N_TASKS = 26  # of the whole regression benchmark

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
    "paper": Scale(10, 1, {"tasks": ("paper-regression",), "methods": ("paper",)}),
}
_NOTE_STORE = (
    "Read from a store of 'adacap bench run' where --store names one; otherwise the runs are done."
)
_NOTE_CLOCK = (
    "Times are of the wall clock, other work of the machine included: where it was not idle, they "
    "are too long and do not compare."
)


def _grids(scale: Scale) -> list[Grid]:
    from adacap_bench.datasets import find_tasks

    keys = [task.key for task in find_tasks(list(scale["tasks"]))]
    return [Grid(keys, list(scale["methods"]), range(scale.splits), range(scale.seeds))]


def _extent(scale: Scale) -> str:
    tasks = ", ".join(scale["tasks"])
    return f"{tasks}, {scale.splits} splits"


def _table(results: Results) -> ScoreTable:
    from adacap_bench.metrics import from_frame

    return from_frame(results.frame(), "rmse", missing="mark")


def _contests(table: ScoreTable) -> dict[str, dict[str, float]]:
    """Shares in per cent of the four columns; a subset without experiments is absent."""
    from adacap_bench.metrics import CONTESTS, easy_subset, top1_by_category

    found = {}
    for subset, name in ((table, "all"), (easy_subset(table), "min RMSE < 0.25")):
        for contest in CONTESTS:
            if len(subset.experiments):
                top = top1_by_category(subset, contest, allow_absent=True)
                found[f"{contest.name}, {name}"] = {
                    category: 100 * share for category, share in top.shares.items()
                }
    return found


def _complete(table: ScoreTable) -> ScoreTable:
    """Experiments for which every network of both contests has a result."""
    from adacap_bench.metrics import CONTESTS

    names = {name for contest in CONTESTS for name in contest.networks}
    if absent := names - set(table.methods):
        raise NoResultError(f"The contests need {', '.join(sorted(absent))}, which were not run.")
    columns = [table.methods.index(name) for name in sorted(names)]
    whole = np.asarray(~np.isnan(table.values[:, columns]).any(axis=1))
    if not whole.any():
        raise NoResultError(
            f"No experiment has results of all of {', '.join(sorted(names))}. Run the group "
            "contest-with-adacap and contest-without-adacap by 'adacap bench run'."
        )
    return table.take_experiments(whole)


def _summarise_top(results: Results, scale: Scale) -> Outcome:
    table = _complete(_table(results))
    shares = _contests(table)
    rows = [
        Row(
            f"{category}, {column}", found.get(category, 0.0), paper[place],
            n=len(table.experiments), digits=1,
        )
        for place, (column, found) in enumerate(shares.items())
        for category, paper in _PAPER_TOP.items()
    ]  # fmt: skip
    won = _wins(table)
    before, after = shares["without AdaCap, all"], shares["with AdaCap, all"]
    plain, adacap = won["without AdaCap, all"], won["with AdaCap, all"]
    claims = [
        Claim(
            "AdaCap raises the share of first places of networks",
            [effect_of(adacap["DNN"] - plain["DNN"])],
            f"{before.get('DNN', 0):.1f} % without, {after.get('DNN', 0):.1f} % with AdaCap",
        ),
        Claim(
            "Boosted trees take the most first places, with and without AdaCap",
            [*_leads("GBDT", plain), *_leads("GBDT", adacap)],
            f"GBDT {before.get('GBDT', 0):.1f} % and {after.get('GBDT', 0):.1f} %, networks "
            f"{before.get('DNN', 0):.1f} % and {after.get('DNN', 0):.1f} %",
        ),
    ]
    if (easy := shares.get(_EASY)) is not None:
        claims.append(
            Claim(
                "Where the best RMSE is below 0.25, networks with AdaCap lead",
                _leads("DNN", won[_EASY]),
                f"networks {easy.get('DNN', 0):.1f} %, GBDT {easy.get('GBDT', 0):.1f} %",
            )
        )
    categories = tuple(_PAPER_TOP)
    panels = tuple(
        Panel(
            column, "first places, %", "",
            (
                Series("ours", categories, tuple(found.get(c, 0.0) for c in categories), (), "bar"),
                Series("paper", categories, tuple(_PAPER_TOP[c][k] for c in categories), (), "bar"),
            ),
        )
        for k, (column, found) in enumerate(shares.items())
    )  # fmt: skip
    figure = Figure("Share of experiments won by each category.", panels)
    return Outcome(rows, claims, figure, [_tasks_remark(table)])


_EASY = "with AdaCap, min RMSE < 0.25"


def _wins(table: ScoreTable) -> dict[str, dict[str, Any]]:
    """Per column and category: its points on each experiment, as :func:`_contests` counts them."""
    from adacap_bench.metrics import CONTESTS, easy_subset, top1_by_category

    found: dict[str, dict[str, Any]] = {}
    for subset, name in ((table, "all"), (easy_subset(table), "min RMSE < 0.25")):
        n = len(subset.experiments)
        for contest in CONTESTS:
            points = {category: np.zeros(n) for category in _PAPER_TOP}
            for place in range(n):
                one = subset.take_experiments(np.arange(n) == place)
                top = top1_by_category(one, contest, allow_absent=True)
                for category, share in top.shares.items():
                    points.setdefault(category, np.zeros(n))[place] = share
            if n:
                found[f"{contest.name}, {name}"] = points
    return found


def _leads(category: str, points: Mapping[str, Any]) -> list[Effect]:
    """That a category has more first places than any other."""
    others = [found for name, found in points.items() if name != category and found.any()]
    return [effect_of(points[category] - found) for found in others]


def _tasks_remark(table: ScoreTable) -> str:
    tasks = {task for task, _ in table.experiments}
    text = f"{len(table.experiments)} experiments on {len(tasks)} tasks."
    if len(tasks) < _N_TASKS:
        text += f" The paper's table is about {_N_TASKS} tasks, so numbers compare loosely."
    return text


TOP_ONE = Item(
    "c5",
    "First places by category",
    "Table of the share of experiments won by each category, regression",
    "Share of first places, in per cent",
    _SCALES,
    _grids,
    _extent,
    _summarise_top,
    notes=(_NOTE_STORE, "Four networks stand for the category DNN, as in the paper."),
    reads_store=True,
)


def _summarise_best(results: Results, scale: Scale) -> Outcome:
    from adacap_bench.metrics import leaderboard

    table = _complete(_table(results))
    names = [name for name in table.methods if table.categories[name] != "Peer"]
    whole = table.take_methods(names).complete_methods()
    board = leaderboard(whole)
    small = len({task for task, _ in table.experiments}) < _N_TASKS
    paper = _PAPER_SMALL if small else {name: row[0] for name, row in _PAPER_BEST.items()}
    shown = board[board["method"].isin([*board["method"][:10], *paper])]
    rows = [
        Row(
            str(line.method), float(line.mean), paper.get(str(line.method)), n=int(line.n),
            extra={
                "P90 %": 100 * float(line.p90), "rank": float(line.rank),
                "seconds": float(line.fit_seconds),
            },
        )
        for line in shown.itertuples()
    ]  # fmt: skip
    return Outcome(
        rows, _best_claims(whole), _best_figure(rows),
        [_tasks_remark(table), _best_remark(small)],
    )  # fmt: skip


def _best_remark(small: bool) -> str:
    if small:
        return (
            "The paper's column is the one of single models in its table of bagging: these tasks."
        )
    return "The paper's column is its table of the ten best methods."


def _best_claims(table: ScoreTable) -> list[Claim]:
    """Claims about mean errors, by differences on the same experiments."""
    errors = {name: table.values[:, place] for place, name in enumerate(table.methods)}
    mean = {name: float(values.mean()) for name, values in errors.items()}
    adacap = [name for name in ("adacap-snn", "adacap-glu-mlp") if name in errors]
    shown = ", ".join(f"{name} {mean[name]:.4f}" for name in adacap)
    claims = []
    if adacap and "catboost" in errors:
        claims.append(
            Claim(
                "AdaCap-SNN and AdaCap-GLU come before CatBoost in mean RMSE",
                [effect_of(errors["catboost"] - errors[name]) for name in adacap],
                f"{shown}, catboost {mean['catboost']:.4f}",
            )
        )
    if adacap:
        first = min(mean, key=lambda name: mean[name])
        nets = [name for name in errors if name.startswith("adacap-")]
        best = min(nets, key=lambda name: mean[name])
        claims.append(
            Claim(
                "A net with AdaCap has the lowest mean RMSE of all methods",
                [effect_of(errors[name] - errors[best]) for name in errors if name not in nets],
                f"the lowest is {first} with {mean[first]:.4f}; {shown}",
            )
        )
    claims += [
        Claim(
            f"AdaCap improves {net}",
            [effect_of(errors[net] - errors[f"adacap-{net}"])],
            f"mean RMSE {mean[net]:.4f} without, {mean[f'adacap-{net}']:.4f} with AdaCap",
        )
        for net in ("snn", "glu-mlp")
        if net in errors and f"adacap-{net}" in errors
    ]
    return claims


def _best_figure(rows: list[Row]) -> Figure:
    names = tuple(row.label for row in rows)
    known = [row for row in rows if row.paper is not None]
    series = [Series("ours", names, tuple(row.ours for row in rows), (), "bar")]
    if known:
        values = tuple(row.paper for row in known if row.paper is not None)
        series.append(Series("paper", tuple(row.label for row in known), values, (), "bar"))
    panel = Panel("best methods", "mean test RMSE", "", tuple(series))
    return Figure("Mean test RMSE, the best methods first.", (panel,))


TEN_BEST = Item(
    "c6",
    "Error, P90 and runtime of the best methods",
    "Table of the ten best methods on the regression tasks",
    "Test RMSE, mean over experiments",
    _SCALES,
    _grids,
    _extent,
    _summarise_best,
    notes=(_NOTE_STORE, _NOTE_CLOCK),
    reads_store=True,
)


_PAIRS = (
    "mlp",
    "snn",
    "glu-mlp",
    "resblock",
    "fast-mlp",
    "fast-snn",
    "batch-mlp",
    "batch-resblock",
)


def _summarise_overcost(results: Results, scale: Scale) -> Outcome:
    table = _table(results)
    rows = []
    for net in _PAIRS:
        if net not in table.methods or f"adacap-{net}" not in table.methods:
            continue
        plain, ours = (table.seconds[:, table.methods.index(m)] for m in (net, f"adacap-{net}"))
        both = ~np.isnan(plain) & ~np.isnan(ours)
        if not both.any():
            continue
        ratio = float(ours[both].sum() / plain[both].sum())
        extra = {"plain s": float(plain[both].mean()), "AdaCap s": float(ours[both].mean())}
        logs = np.log(ours[both] / plain[both])
        values = {str(place): float(value) for place, value in enumerate(logs)}
        rows.append(
            Row(
                net, ratio, _paper_ratio(net), n=int(both.sum()), digits=2, extra=extra,
                values=values,
            )
        )  # fmt: skip
    if not rows:
        raise NoResultError("No network was run both with and without AdaCap on the same split.")
    mean = float(np.exp(np.mean([np.log(row.ours) for row in rows])))
    most = max(_paper_ratio(net) or 0.0 for net in _PAIRS)
    claim = Claim(
        "The overcost of AdaCap is moderate: no more than in the paper's own table",
        [effect_of([np.log(most) - value for value in row.values.values()]) for row in rows],
        f"time of fit with AdaCap over that without: {mean:.2f} on average, at most "
        f"{max(row.ours for row in rows):.2f}; the paper's table gives up to {most:.2f}",
    )
    names = tuple(row.label for row in rows)
    series = [Series("ours", names, tuple(row.ours for row in rows), (), "bar")]
    known = {row.label: row.paper for row in rows if row.paper is not None}
    series.append(Series("paper", tuple(known), tuple(known.values()), (), "bar"))
    panel = Panel("overcost", "seconds with AdaCap / without", "", tuple(series))
    figure = Figure("Time of fit with AdaCap, as a multiple of that without.", (panel,))
    return Outcome(rows, [claim], figure, [_tasks_remark(table)])


def _paper_ratio(net: str) -> float | None:
    if net in _PAPER_BEST and f"adacap-{net}" in _PAPER_BEST:
        return _PAPER_BEST[f"adacap-{net}"][2] / _PAPER_BEST[net][2]
    return None


OVERCOST = Item(
    "c12",
    "Runtime overcost of AdaCap",
    "Column of runtimes in the table of the ten best methods",
    "Time of fit with AdaCap over that of the same net without, on the same experiments",
    _SCALES,
    _grids,
    _extent,
    _summarise_overcost,
    notes=(
        _NOTE_STORE,
        "The paper's times are those of a graphics card, ours of one processor core; the plain net "
        "has batch norm and dropout, AdaCap has neither.",
        _NOTE_CLOCK,
    ),
    reads_store=True,
)
