"""Classification half of the table of first places, and AdaCap's place in it (C5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adacap_bench.reproduce.item import Claim, Outcome, Row, Scale
from adacap_bench.reproduce.means import mean_of
from adacap_bench.reproduce.results import Results, row_of
from adacap_bench.reproduce.studies import contest
from adacap_bench.reproduce.verdicts import contrast, effect_of

if TYPE_CHECKING:
    from adacap_bench.metrics import ScoreTable

__all__ = ["TOP_CLASSES"]

# Category: share of first places in per cent by AUC and by error rate, without AdaCap.
_PAPER = {
    "GBDT": (61.666, 73.888),
    "DNN": (16.666, 5.5555),
    "RF": (15.0, 10.0),
    "SVM": (0.0, 0.0),
    "GLM": (6.6666, 7.7777),
    "CART": (0.0, 2.7777),
}
_METRICS = {"auc": "AUC", "accuracy": "error rate"}
_NETS = ("mlp", "resblock", "snn", "glu-mlp")
_N_TASKS = 18

_QUICK = (*_NETS, *(f"adacap-{net}" for net in _NETS), "sk-gbdt", "rf", "cart", "svm", "logreg")


def _table(results: Results, metric: str) -> ScoreTable:
    """Experiments on which all eight nets have a result."""
    return contest.whole(contest.score_table(results, metric), _QUICK[:8])


def _net_rows(table: ScoreTable) -> dict[str, Row]:
    """Mean of the metric over the four nets, without and with AdaCap."""
    rows = {}
    for prefix, name in (("", "without"), ("adacap-", "with")):
        columns = [table.column(f"{prefix}{net}") for net in _NETS]
        means = table.values[:, columns].mean(axis=1)
        label = f"{table.metric.label} of four networks, {name} AdaCap"
        rows[label] = row_of(label, contest.named(table, means))
    return rows


def _share_rows(won: Mapping[str, contest.Points]) -> dict[str, Row]:
    """Share of first places by category and column; the paper has those without AdaCap."""
    rows = {}
    for column, points in won.items():
        metric, _, held = column.partition(", ")
        place = [*_METRICS.values()].index(metric)
        for category, paper in _PAPER.items():
            label, found = f"{category}, {column}", points[category]
            known = paper[place] if held == "without AdaCap" else None
            rows[label] = Row(label, 100 * mean_of(found), known, n=len(found), digits=1)
    return rows


def _summarise(results: Results, scale: Scale) -> Outcome:
    from adacap_bench.metrics import CONTESTS

    tables = {metric: _table(results, metric) for metric in _METRICS}
    won = {
        f"{_METRICS[metric]}, {held.name}": contest.wins(table, held, _PAPER)
        for metric, table in tables.items()
        for held in CONTESTS
    }
    nets = {metric: _net_rows(table) for metric, table in tables.items()}
    rows = _share_rows(won)
    shares = contest.shares_of(won)
    paper = {
        f"{name}, without AdaCap": {c: numbers[place] for c, numbers in _PAPER.items()}
        for place, name in enumerate(_METRICS.values())
    }
    every = [*rows.values(), *(row for found in nets.values() for row in found.values())]
    figure = contest.first_figure(shares, paper, [*_PAPER])
    n_all = len(contest.score_table(results, "auc").experiments)
    remark = contest.tasks_remark(tables["auc"], _N_TASKS, n_all)
    return Outcome(every, figure, [remark], _claims(won, shares, nets))


def _claims(
    won: Mapping[str, contest.Points],
    shares: Mapping[str, Mapping[str, float]],
    nets: Mapping[str, Mapping[str, Row]],
) -> list[Claim]:
    claims = []
    for metric, rows in nets.items():
        without, with_it = rows.values()
        claims.append(
            Claim(
                f"AdaCap under-performs regular networks on classes, by {_LABELS[metric]}",
                [contrast([(1, without), (-1, with_it)])],
                f"mean of four networks {without.ours:.4f} without, {with_it.ours:.4f} with AdaCap",
            )
        )
    for name in _METRICS.values():
        column = f"{name}, without AdaCap"
        best = max((c for c in _PAPER if c != "GBDT"), key=lambda c: shares[column][c])
        claims.append(
            Claim(
                f"Boosted trees take the most first places on classes, by {name}",
                contest.leads("GBDT", won[column]),
                f"GBDT {shares[column]['GBDT']:.1f} %, next {best} {shares[column][best]:.1f} %",
            )
        )
    plain, adacap = won["AUC, without AdaCap"]["DNN"], won["AUC, with AdaCap"]["DNN"]
    claims.append(
        Claim(
            "AdaCap lowers the share of first places of networks on classes, by AUC",
            [effect_of({name: points - adacap[name] for name, points in plain.items()})],
            f"{100 * mean_of(plain):.1f} % without, {100 * mean_of(adacap):.1f} % with AdaCap",
        )
    )
    return claims


_LABELS = {"auc": "AUC", "accuracy": "accuracy"}

TOP_CLASSES = contest.item(
    "c5-classes",
    "First places by category, classification",
    "Table of the share of experiments won by each category, classification",
    "Share of first places, in per cent; then the mean score of four networks",
    _summarise,
    "Networks without AdaCap: mlp, resblock, snn, glu-mlp. The paper has no column with "
    "AdaCap; ours holds the contest of the regression columns, mlp and three with AdaCap. The "
    "mean score is of all four, without and with.",
    "The paper says that AdaCap under-performs vastly on classes, and elsewhere that it is "
    "almost irrelevant there; the first is judged.",
    "Tasks whose data are absent are left out; the last note counts the others.",
    "Methods that tie for the best divide the point, which happens often with error rates of "
    "small tests.",
    scales={
        "quick": Scale(1, 1, {"tasks": ("paper-0", "paper-4"), "methods": _QUICK}),
        "ledger": Scale(3, 1, {"tasks": ("paper-classification",), "methods": ("paper",)}),
        "paper": Scale(3, 1, {"tasks": ("paper-classification",), "methods": ("paper",)}),
    },
)
