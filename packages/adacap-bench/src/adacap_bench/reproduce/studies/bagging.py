"""Bags of ten seeds of one method (C7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from adacap_bench.reproduce.figure import FigureData, Panel
from adacap_bench.reproduce.item import Claim, Item, Outcome, Row, Scale, bars
from adacap_bench.reproduce.means import SPLIT
from adacap_bench.reproduce.results import Results, row_of
from adacap_bench.reproduce.verdicts import ClaimEffect, contrast

__all__ = ["BAGGING", "bagged"]

# Method: RMSE of one, of a bag of ten, variation in per cent.
_PAPER = {
    "adacap-snn": (0.3532, 0.3322, -5.933),
    "adacap-glu-mlp": (0.3482, 0.3330, -4.362),
    "snn": (0.3615, 0.3374, -6.671),
    "glu-mlp": (0.3593, 0.3402, -5.296),
    "fast-mlp": (0.3698, 0.3492, -5.562),
    "catboost": (0.3638, 0.3610, -0.782),
    "fast-catboost": (0.3879, 0.3689, -4.884),
    "xrf": (0.3813, 0.3799, -0.363),
}


def bagged(
    results: Results, method: str, task: str | None = None, metric: str = "rmse"
) -> tuple[list[float], list[float]]:
    """Score of single runs and of the mean of their predictions, per task and split.

    The metric is "rmse" or "r2"; the results need several seeds on each split, with predictions.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    records = results.of(method, task)
    for place, record in enumerate(records):
        groups.setdefault((record.job.task, record.job.split), []).append(place)
    single, bag = [], []
    for (key, split), places in groups.items():
        members = [records[place] for place in places]
        kept = [member.predictions for member in members if member.predictions is not None]
        mean = np.mean(kept, axis=0)
        y = results.targets(key, split)
        squares = float(((y - mean) ** 2).mean())
        spread = float(((y - y.mean()) ** 2).mean())
        bag.append(squares**0.5 if metric == "rmse" else 1 - squares / spread)
        single.append(float(np.mean([member.metrics[f"test_{metric}"] for member in members])))
    return single, bag


def _summarise(results: Results, scale: Scale) -> Outcome:
    rows: list[Row] = []
    for method, (one, ten, percent) in _PAPER.items():
        if not results.has(method):
            continue
        single, bag = bagged(results, method)
        change = 100 * (fmean(bag) / fmean(single) - 1)
        names = dict.fromkeys(f"{r.job.task}, {SPLIT} {r.job.split}" for r in results.of(method))
        for what, values, paper in ((_SINGLE, single, one), (f"bag of {scale.seeds}", bag, ten)):
            by = dict(zip(names, values, strict=True))
            rows.append(row_of(f"{method}, {what}", by, paper))
        rows.append(Row(f"{method}, {_CHANGE}", change, percent, digits=1))
    return _judge(rows)


def _judge(rows: Sequence[Row]) -> Outcome:
    order = list(_PAPER)
    rows = sorted(rows, key=lambda row: order.index(_method(row)))
    changes = {_method(row): row for row in rows if row.label.endswith(_CHANGE)}
    change = {method: row.ours for method, row in changes.items()}
    shown = ", ".join(f"{method} {value:+.1f} %" for method, value in change.items())
    left_out = [method for method in _PAPER if method not in change]
    missing = f"; not run: {', '.join(left_out)}" if left_out else ""
    single = {_method(row): row for row in rows if row.label.endswith(f", {_SINGLE}")}
    bags = {_method(row): row for row in rows if ", bag of" in row.label}
    nets = [method for method in _NETS if method in bags]
    first = min(bags, key=lambda method: bags[method].ours)
    ours = [method for method in bags if method.startswith("adacap-")]
    best = min(ours, key=lambda method: bags[method].ours) if ours else ""
    claims = [
        Claim(
            "Bagging lowers the error of every network",
            [] if left_out else [contrast([(1, single[m]), (-1, bags[m])]) for m in nets],
            shown + missing,
        ),
        Claim(
            "AdaCap benefits as much from bagging as other nets",
            [] if left_out else [_benefit(single, bags)],
            f"mean change {_mean([change[m] for m in _NETS[:2] if m in change])} with AdaCap, "
            f"{_mean([change[m] for m in _NETS[2:] if m in change])} of the other nets, of "
            f"which at least {_AS_MUCH:.0%} is asked{missing}",
        ),
        Claim(
            "Of the bags, one of AdaCap nets has the lowest error",
            []
            if left_out
            else [
                contrast([(1, bags[m]), (-1, bags[best])], trials=len(ours))  # the best was picked
                for m in bags
                if m not in ours
            ],
            f"the lowest is {first} with {bags[first].ours:.4f}{missing}",
        ),
    ]
    panel = Panel("bagging", "variation of RMSE, %", "", bars(changes))
    return Outcome(rows, FigureData("Change of RMSE by bagging seeds.", (panel,)), claims=claims)


def _method(row: Row) -> str:
    return row.label.split(",")[0]


def _mean(changes: list[float]) -> str:
    return f"{fmean(changes):+.1f} %" if changes else "not known"


_CHANGE, _SINGLE = "variation %", "single"
_NETS = ("adacap-snn", "adacap-glu-mlp", "snn", "glu-mlp", "fast-mlp")
_AS_MUCH = 0.75  # share of the other nets' gain; 0.88 in the paper's table


def _benefit(single: Mapping[str, Row], bags: Mapping[str, Row]) -> ClaimEffect:
    """Mean gain of the AdaCap nets less the share asked of that of the others."""
    terms: list[tuple[float, Row]] = []
    for nets, weight in ((_NETS[:2], 1.0), (_NETS[2:], -_AS_MUCH)):
        for net in nets:
            part = weight / len(nets)
            terms += [(part, single[net]), (-part, bags[net])]
    return contrast(terms)


BAGGING = Item(
    "c7",
    "Bagging",
    "Table of bags of ten seeds on 15 regression tasks",
    "Test RMSE, mean over tasks",
    {
        "quick": Scale(1, 3, {"tasks": ("paper-1",)}),
        "ledger": Scale(1, 10, {"tasks": ("paper-regression-small",)}),
        "paper": Scale(1, 10, {"tasks": ("paper-regression-small",)}),
    },
    lambda scale: [scale.grid(scale.tasks, [*_PAPER])],
    lambda scale: f"{', '.join(scale['tasks'])}, {scale.splits} split × {scale.seeds} members",
    _summarise,
    notes=(
        "Members differ by their seed alone; 'single' is the mean error of the members, the bag "
        "the error of the mean of their predictions.",
    ),
    judge=_judge,
    claims=lambda rows: _judge(list(rows.values())).claims,
)
