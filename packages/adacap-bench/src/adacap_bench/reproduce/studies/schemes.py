"""What Tikhonov gives and what the MLR loss adds, per architecture (N1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import FigureData, Panel
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale, series_of
from adacap_bench.reproduce.means import mean_of
from adacap_bench.reproduce.methods import variant
from adacap_bench.reproduce.results import NoResultError, Results
from adacap_bench.reproduce.verdicts import ClaimEffect, contrast

__all__ = [
    "CATEGORIES", "PAIRS", "SCHEME_GAINS", "SMALLEST", "PaperScheme", "preset_name", "ratio",
    "ratio_claim",
]  # fmt: skip

PaperScheme = Literal["plain", "tikhonov", "adacap"]
SMALLEST = ("paper-1", "paper-2", "paper-3", "paper-8", "paper-9", "paper-12")
"""Six of the smallest regression tasks."""
CATEGORIES: dict[PaperScheme, str] = {"plain": "DNN", "tikhonov": "Tikhonov", "adacap": "AdaCap"}
"""Schemes, with the benchmark's name of their category."""
PAIRS = (
    ("tikhonov", "plain", "Tikhonov lowers the error of the plain net"),
    ("adacap", "tikhonov", "The MLR loss lowers the error of Tikhonov alone"),
    ("adacap", "plain", "AdaCap lowers the error of the plain net"),
)
"""A scheme, the one it is compared with, and what is claimed of the two."""

_NETS = ("mlp", "resblock", "snn", "glu-mlp", "fast-mlp", "fast-snn", "batch-mlp", "batch-resblock")
_FOURIER, _USUAL = "fourier", "fast-mlp"


def preset_name(scheme: str, net: str) -> str:
    """Name of a preset of the paper's table.

    Examples
    --------
    >>> preset_name("plain", "snn"), preset_name("tikhonov", "snn")
    ('snn', 'tikhonov-snn')
    """
    return net if scheme == "plain" else f"{scheme}-{net}"


def ratio(above: Mapping[str, float], below: Mapping[str, float], label: str) -> Row:
    """Geometric mean of a ratio over experiments; its values are the logarithms.

    Examples
    --------
    >>> row = ratio({"a": 1.0, "b": 4.0}, {"a": 1.0, "b": 1.0}, "first / second")
    >>> row.ours, row.extra
    (2.0, {'lower on, %': 0.0})
    """
    logs = {key: float(np.log(above[key] / below[key])) for key in above if key in below}
    if not logs:
        raise NoResultError(f"No experiment has both errors of {label}.")
    values = np.array(list(logs.values()))
    mean = float(np.exp(mean_of(logs)))
    spread = mean * float(values.std(ddof=1)) if len(values) > 1 else None  # of the ratio
    won = {"lower on, %": 100 * float((values < 0).mean())}
    return Row(label, mean, None, spread, len(values), 3, won, logs, log_values=True)


def ratio_claim(text: str, row: Row) -> Claim:
    """That a ratio of errors is below 1."""
    shown = f"ratio of errors {row.ours:.3f}, lower on {row.extra['lower on, %']:.0f} %"
    return Claim(text, [_gain(row)], f"{shown} of the experiments")


def _gain(row: Row) -> ClaimEffect:
    """Mean of −log of a ratio."""
    return contrast([(-1, row)])


def _method(scheme: PaperScheme, net: str) -> str | Method:
    """A preset; nets of Fourier features are trained and, if plain, regularised as fast-mlp is."""
    name = preset_name(scheme, net)
    if net != _FOURIER:
        return name
    from adacap import Architecture

    regular = {"dropout": 0.2, "batch_norm": True} if scheme == "plain" else {}
    return variant(
        name, preset_name(scheme, _USUAL), CATEGORIES[scheme],
        architecture=Architecture(_FOURIER, **regular), width=256, depth=1, lambda_init=0.1,
    )  # fmt: skip


def _grids(scale: Scale) -> list[Grid]:
    methods = [_method(scheme, net) for net in scale["nets"] for scheme in CATEGORIES]
    return [scale.grid(scale.tasks, methods)]


def _rows(results: Results, nets: Sequence[str]) -> dict[str, Row]:
    rows = {}
    for net in nets:
        errors = {
            scheme: results.by_experiment(preset_name(scheme, net))
            for scheme in CATEGORIES
            if results.has(preset_name(scheme, net))
        }
        for above, below, _ in PAIRS:
            if above in errors and below in errors:
                label = f"{net}: {above} / {below}"
                rows[label] = ratio(errors[above], errors[below], label)
    return rows


def _claims(rows: Mapping[str, Row]) -> list[Claim]:
    claims = []
    for net in (*_NETS, _FOURIER):
        for above, below, text in PAIRS[:2]:
            if (row := rows.get(f"{net}: {above} / {below}")) is not None:
                claims.append(ratio_claim(f"{text}: {net}", row))
    waves, usual = (rows.get(f"{net}: adacap / tikhonov") for net in (_FOURIER, _USUAL))
    if waves is not None and usual is not None:
        claims.append(
            Claim(
                "Where features can memorise, the MLR loss decides: it gains with Fourier "
                f"features, and more than with {_USUAL}",
                [_gain(waves), contrast([(1, usual), (-1, waves)])],
                f"AdaCap over Tikhonov {waves.ours:.3f} with Fourier features, {usual.ours:.3f} "
                f"with {_USUAL}",
            )
        )
    return claims


def _summarise(results: Results, scale: Scale) -> Outcome:
    rows = _rows(results, scale["nets"])
    nets = [net for net in scale["nets"] if f"{net}: tikhonov / plain" in rows]
    series = tuple(
        series_of(pair, {net: rows[f"{net}: {pair}"] for net in nets}, "bar")
        for pair in ("tikhonov / plain", "adacap / tikhonov")
    )
    figure = FigureData(
        "Ratio of test errors, geometric mean over experiments; below 1 the first is better.",
        (Panel("ratio of RMSE", "ratio of RMSE", "", series),),
    )
    return Outcome(list(rows.values()), figure, _by_task(rows))


def _by_task(rows: Mapping[str, Row]) -> list[str]:
    """What a mean over tasks hides: where the MLR loss helps Fourier features, and where not."""
    row = rows.get(f"{_FOURIER}: adacap / tikhonov")
    if row is None:
        return []
    tasks: dict[str, list[float]] = {}
    for experiment, value in row.values.items():
        tasks.setdefault(experiment.rpartition(", ")[0], []).append(value)
    shown = ", ".join(f"{task} {np.exp(np.mean(logs)):.2f}" for task, logs in tasks.items())
    return [f"AdaCap over Tikhonov with Fourier features, by task: {shown}."]


_FAST = ("fast-mlp", "fast-snn", _FOURIER)

SCHEME_GAINS = Item(
    "n1",
    "What Tikhonov gives, and what the MLR loss adds",
    "Not in the paper: its central claim, tested per architecture over tasks",
    "Ratio of test RMSE on the same split, geometric mean over experiments",
    {
        "quick": Scale(1, 1, {"tasks": ("paper-1", "paper-9"), "nets": (_USUAL, _FOURIER)}),
        "ledger": Scale(5, 1, {"tasks": SMALLEST, "nets": _FAST}),
        "paper": Scale(
            5, 1, {"tasks": ("paper-regression-small",), "nets": (*_NETS, _FOURIER)}
        ),
    },
    _grids,
    lambda scale: (
        f"{', '.join(scale['nets'])}: {len(scale.tasks)} tasks × {scale.splits} splits"
    ),
    _summarise,
    notes=(
        "Presets of the paper's table, three schemes on the same splits. The effect of a claim is "
        "the mean of −log of the ratio; ± in the table is the deviation of the ratio.",
        "fourier: 256 waves with trained frequencies behind a trained scale per column, which can "
        "fit any labels; otherwise trained as fast-mlp, λ starts at 0.1.",
    ),
    claims=_claims,
)  # fmt: skip
