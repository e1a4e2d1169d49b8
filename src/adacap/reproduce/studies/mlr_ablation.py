"""Ablation of MLR-NN, single nets and bags (D6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adacap.bench.methods import Method
from adacap.reproduce.figure import Figure, Panel, Series
from adacap.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap.reproduce.methods import training, variant
from adacap.reproduce.results import Results
from adacap.reproduce.studies.bagging import bagged
from adacap.reproduce.studies.mlr_numbers import ABLATION, BIKE, NAMES, QSAR, SLUMP

__all__ = ["BAGGED", "SINGLE"]

_SETTINGS: dict[str, dict[str, Any]] = {
    "NN": {"scheme": "plain", "target_dither": 0.0},
    "NN + Ridge": {"n_permutations": 0, "structured_dither": 0.0},
    "NN + Ridge + structured dithering": {"n_permutations": 0},
    "NN + Ridge + permutations": {"structured_dither": 0.0},
    "MLR": {},
}
_CATEGORY = {"NN": "DNN", "NN + Ridge": "Tikhonov", "NN + Ridge + structured dithering": "Tikhonov"}


def _methods() -> dict[str, Method]:
    return {
        step: variant(
            f"mlr-2-ablation-{place}", "mlr-2", _CATEGORY.get(step, "AdaCap"),
            probe=training, **settings,
        )
        for place, (step, settings) in enumerate(_SETTINGS.items())
    }  # fmt: skip


def _grids(scale: Scale) -> list[Grid]:
    methods = list(_methods().values())
    return [
        Grid([task], methods, range(scale.splits), range(scale.seeds)) for task in scale["tasks"]
    ]


def _extent(scale: Scale) -> str:
    names = ", ".join(NAMES[task] for task in scale["tasks"])
    return f"{names}: {scale.splits} splits × {scale.seeds} seeds"


def _scores(results: Results, method: str, task: str, bag: bool) -> list[float]:
    """One R² per split: of a single net, or of the bag of its seeds."""
    single, together = bagged(results, method, task, "r2")
    return together if bag else single


def _outcome(results: Results, scale: Scale, bag: bool) -> dict[str, tuple[Row, dict[str, float]]]:
    """Per step: the mean over data sets as the paper has it, and the mean of each."""
    found = {}
    for step, method in _methods().items():
        by_task = {
            task: np.array(_scores(results, method.name, task, bag)) for task in scale["tasks"]
        }
        means = np.mean([values[: scale.splits] for values in by_task.values()], axis=0)
        spread = float(means.std(ddof=1)) if len(means) > 1 else None
        extra = {NAMES[task]: float(values.mean()) for task, values in by_task.items()}
        paper = ABLATION[step][int(bag)]
        row = Row(step, float(means.mean()), paper, spread, len(means), 3, extra)
        found[step] = row, extra
    return found


def _figure(rows: dict[str, Row], caption: str) -> Figure:
    names = tuple(rows)
    ours = tuple(row.ours for row in rows.values())
    paper = tuple(float(row.paper or 0.0) for row in rows.values())
    errors = tuple(row.error for row in rows.values())
    series = (Series("ours", names, ours, errors, "bar"), Series("paper", names, paper, (), "bar"))
    return Figure(caption, (Panel("ablation", "mean test R²", "", series),))


def _summarise_single(results: Results, scale: Scale) -> Outcome:
    rows = {step: row for step, (row, _) in _outcome(results, scale, bag=False).items()}
    r2 = {step: row.ours for step, row in rows.items()}
    ridge, full = r2["NN + Ridge"], r2["MLR"]
    dithering = r2["NN + Ridge + structured dithering"] - ridge
    permutations = r2["NN + Ridge + permutations"] - ridge
    claims = [
        Claim(
            "A wide net learns nothing without Ridge and much with it",
            ridge > r2["NN"] + 0.1,
            f"R² {r2['NN']:.3f} → {ridge:.3f}",
        ),
        Claim(
            "Permutations improve on Ridge",
            permutations > 0,
            f"R² {ridge:.3f} → {r2['NN + Ridge + permutations']:.3f}",
        ),
        Claim(
            "Permutations give more than structured dithering",
            permutations > dithering,
            f"{permutations:+.3f} against {dithering:+.3f} over Ridge alone",
        ),
        Claim(
            "All ingredients together are best",
            full >= max(r2.values()),
            f"MLR {full:.3f}, best {max(r2, key=lambda step: r2[step])} {max(r2.values()):.3f}",
        ),
    ]
    figure = _figure(rows, "Test R² of single nets, mean over data sets.")
    return Outcome(list(rows.values()), claims, figure)


def _summarise_bagged(results: Results, scale: Scale) -> Outcome:
    rows = {step: row for step, (row, _) in _outcome(results, scale, bag=True).items()}
    single = {step: row.ours for step, (row, _) in _outcome(results, scale, bag=False).items()}
    gain = {step: rows[step].ours - single[step] for step in rows}
    shown = ", ".join(f"{step} {value:+.3f}" for step, value in gain.items())
    r2 = {step: row.ours for step, row in rows.items()}
    best = max(r2, key=lambda step: r2[step])
    claims = [
        Claim("Bagging helps every net with Ridge", min(list(gain.values())[1:]) > 0, shown),
        Claim(
            "Bagging does not rescue the plain net",
            r2["NN"] < single["NN + Ridge"],
            f"single plain net {single['NN']:.3f}, bag of them {r2['NN']:.3f}, "
            f"single net with Ridge {single['NN + Ridge']:.3f}",
        ),
        Claim(
            "The bag of MLR nets is the best",
            r2["MLR"] >= r2[best] - 0.005,
            f"MLR {r2['MLR']:.3f}, best {best} {r2[best]:.3f}",
        ),
    ]
    figure = _figure(rows, "Test R² of bags, mean over data sets.")
    return Outcome(list(rows.values()), claims, figure, [_single_remark(single)])


def _single_remark(single: dict[str, float]) -> str:
    shown = ", ".join(f"{step} {value:.3f}" for step, value in single.items())
    return f"Single nets of the same runs: {shown}."


_NOTES = (
    "The paper's number is one mean over its three data sets, with the settings of the table of "
    "architectures: batches of min(n, J) = 1024 rows. The section above it says min(n, 2^14); for "
    "the two small data sets both are the whole training part.",
    "The plain net has neither dither nor a closed form; it starts and stops like the others.",
)


def _item(
    key: str,
    title: str,
    scales: dict[str, Scale],
    summarise: Callable[[Results, Scale], Outcome],
) -> Item:
    return Item(
        key, title, "Supplement of 2021, table of the ablation", "Test R², mean over data sets",
        scales, _grids, _extent, summarise, _NOTES,
    )  # fmt: skip


SINGLE = _item(
    "d6-ablation",
    "Ablation, single nets",
    {
        "quick": Scale(2, 1, {"tasks": (SLUMP,)}),
        "ledger": Scale(5, 1, {"tasks": (SLUMP, QSAR, BIKE)}),
        "full": Scale(100, 1, {"tasks": (SLUMP, QSAR, BIKE)}),
    },
    _summarise_single,
)
BAGGED = _item(
    "d6-ablation-bagged",
    "Ablation, bags",
    {
        "quick": Scale(1, 3, {"tasks": (SLUMP,)}),
        "ledger": Scale(2, 10, {"tasks": (SLUMP, QSAR)}),
        "full": Scale(100, 10, {"tasks": (SLUMP, QSAR, BIKE)}),
    },
    _summarise_bagged,
)
