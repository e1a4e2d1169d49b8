"""Tables of the benchmark, from its store: first places (C5), overcost (C12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from adacap_bench.reproduce.figure import FigureData, Panel
from adacap_bench.reproduce.item import Claim, Outcome, Row, Scale, bars
from adacap_bench.reproduce.results import NoResultError, Results
from adacap_bench.reproduce.studies import contest
from adacap_bench.reproduce.studies.schemes import ratio
from adacap_bench.reproduce.studies.ten_best import PAPER_BEST, SECONDS
from adacap_bench.reproduce.table_item import RowsByLabel
from adacap_bench.reproduce.verdicts import contrast, effect_of

if TYPE_CHECKING:
    from adacap_bench.metrics import ScoreTable

__all__ = ["OVERCOST", "TOP_ONE"]

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


def _columns(table: ScoreTable) -> dict[str, dict[str, dict[str, float]]]:
    """Per column of the table and category: points of each experiment; none without experiments."""
    from adacap_bench.metrics import CONTESTS, easy_subset

    return {
        f"{held.name}, {name}": contest.wins(subset, held, _PAPER_TOP)
        for subset, name in ((table, "all"), (easy_subset(table), "min RMSE < 0.25"))
        for held in CONTESTS
        if len(subset.experiments)
    }


def _summarise_top(results: Results, scale: Scale) -> Outcome:
    scores = contest.score_table(results)
    table = contest.whole(scores, contest.contest_nets())
    won = _columns(table)
    shares = contest.shares_of(won)
    paper = {
        column: {category: numbers[place] for category, numbers in _PAPER_TOP.items()}
        for place, column in enumerate(won)
    }
    rows = [
        Row(
            f"{category}, {column}", shares[column][category], number,
            n=len(won[column][category]), digits=1,
        )
        for column, numbers in paper.items()
        for category, number in numbers.items()
    ]  # fmt: skip
    figure = contest.first_figure(shares, paper, [*_PAPER_TOP])
    remark = contest.tasks_remark(table, contest.N_REGRESSION, len(scores.experiments))
    return Outcome(rows, figure, [remark], _top_claims(won, shares))


_EASY = "with AdaCap, min RMSE < 0.25"


def _top_claims(
    won: Mapping[str, contest.Points], shares: Mapping[str, Mapping[str, float]]
) -> list[Claim]:
    before, after = shares["without AdaCap, all"], shares["with AdaCap, all"]
    plain, adacap = won["without AdaCap, all"], won["with AdaCap, all"]
    claims = [
        Claim(
            "AdaCap raises the share of first places of networks",
            [effect_of({name: won - plain["DNN"][name] for name, won in adacap["DNN"].items()})],
            f"{before['DNN']:.1f} % without, {after['DNN']:.1f} % with AdaCap",
        ),
        Claim(
            "Boosted trees take the most first places, with and without AdaCap",
            [*contest.leads("GBDT", plain), *contest.leads("GBDT", adacap)],
            f"GBDT {before['GBDT']:.1f} % and {after['GBDT']:.1f} %, networks "
            f"{before['DNN']:.1f} % and {after['DNN']:.1f} %",
        ),
    ]
    if (easy := shares.get(_EASY)) is not None:
        claims.append(
            Claim(
                "Where the best RMSE is below 0.25, networks with AdaCap lead",
                contest.leads("DNN", won[_EASY]),
                f"networks {easy['DNN']:.1f} %, GBDT {easy['GBDT']:.1f} %",
            )
        )
    return claims


TOP_ONE = contest.item(
    "c5",
    "First places by category",
    "Table of the share of experiments won by each category, regression",
    "Share of first places, in per cent",
    _summarise_top,
    "Four networks stand for the category DNN, as in the paper.",
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


_ALONE = ", per experiment"
_MODERATE = 2.0


def _summarise_overcost(results: Results, scale: Scale) -> Outcome:
    table = contest.score_table(results)
    rows = []
    for net in _PAIRS:
        if net not in table.methods or f"adacap-{net}" not in table.methods:
            continue
        plain, ours = (table.seconds[:, table.column(name)] for name in (net, f"adacap-{net}"))
        both = ~np.isnan(plain) & ~np.isnan(ours)
        if not both.any():
            continue
        measured = table.take_experiments(both)
        mean = {"plain s": float(plain[both].mean()), "AdaCap s": float(ours[both].mean())}
        over = mean["AdaCap s"] / mean["plain s"]
        rows.append(Row(net, over, _paper_ratio(net), n=int(both.sum()), digits=2, extra=mean))
        above, below = (contest.named(measured, seconds[both]) for seconds in (ours, plain))
        rows.append(replace(ratio(above, below, f"{net}{_ALONE}"), digits=2, extra={}))
    if not rows:
        raise NoResultError("No network was run both with and without AdaCap on the same split.")
    means = {row.label: row for row in rows if not row.label.endswith(_ALONE)}
    panel = Panel("overcost", "seconds with AdaCap / without", "", bars(means))
    figure = FigureData("Time of fit with AdaCap, as a multiple of that without.", (panel,))
    return Outcome(rows, figure, [contest.tasks_remark(table, contest.N_REGRESSION)])


def _overcost_claims(rows: RowsByLabel) -> list[Claim]:
    each = [row for label, row in rows.items() if label.endswith(_ALONE)]
    if not each:
        raise KeyError(_ALONE)
    terms = [(-1 / len(each), row) for row in each]
    mean = float(np.exp(np.mean([np.log(row.ours) for row in each])))
    return [
        Claim(
            "The overcost of AdaCap is that of more depth: a fit takes less than twice as long",
            [contrast(terms, float(np.log(_MODERATE)))],
            f"time of fit with AdaCap over that without: {mean:.2f}, the geometric mean of "
            f"{len(each)} nets, at most {max(row.ours for row in each):.2f}; the paper's own table "
            f"has {_shown_ratios()}",
        )
    ]


def _shown_ratios() -> str:
    found = {net: _paper_ratio(net) for net in _PAIRS}
    return ", ".join(f"{known:.2f} ({net})" for net, known in found.items() if known is not None)


def _paper_ratio(net: str) -> float | None:
    if net in PAPER_BEST and f"adacap-{net}" in PAPER_BEST:
        return PAPER_BEST[f"adacap-{net}"][SECONDS] / PAPER_BEST[net][SECONDS]
    return None


OVERCOST = contest.item(
    "c12",
    "Runtime overcost of AdaCap",
    "Column of runtimes in the table of the ten best methods",
    "Time of fit with AdaCap over that of the same net without, on the same experiments: of the "
    "means, then the geometric mean per experiment",
    _summarise_overcost,
    "The paper's times are those of a graphics card, ours of one processor core; the plain net "
    "has batch norm and dropout, AdaCap has neither.",
    'The paper calls the overcost "akin to increasing the depth of the network" and '
    '"comparable" to dropout and batch norm on each layer of a net of depth 3 and more. A net '
    "of twice the depth takes at most about twice as long, so a factor of two is judged. The "
    "ratios of the paper's own table are above it.",
    contest.NOTE_CLOCK,
    claims=_overcost_claims,
)
