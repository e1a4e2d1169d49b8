"""Ablation of MLR-NN, single nets and bags (D6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import Figure, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap_bench.reproduce.methods import training, variant
from adacap_bench.reproduce.results import Results
from adacap_bench.reproduce.studies.bagging import bagged
from adacap_bench.reproduce.studies.mlr_numbers import ABLATION, BIKE, NAMES, QSAR, SLUMP
from adacap_bench.reproduce.table_item import Rows
from adacap_bench.reproduce.verdicts import contrast

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
        values = {f"split {place}": float(mean) for place, mean in enumerate(means)}
        row = Row(step, float(means.mean()), paper, spread, len(means), 3, extra, values)
        found[step] = row, extra
    return found


def _figure(rows: dict[str, Row], caption: str) -> Figure:
    names = tuple(rows)
    ours = tuple(row.ours for row in rows.values())
    paper = tuple(float(row.paper or 0.0) for row in rows.values())
    errors = tuple(row.error or 0.0 for row in rows.values())
    series = (Series("ours", names, ours, errors, "bar"), Series("paper", names, paper, (), "bar"))
    return Figure(caption, (Panel("ablation", "mean test R²", "", series),))


def _single_claims(rows: Rows) -> list[Claim]:
    plain, ridge, dithered, permuted, full = (rows[step] for step in _SETTINGS)
    return [
        Claim(
            "A wide net learns nothing without Ridge and much with it: R² rises by 0.1",
            [contrast([(1, ridge), (-1, plain)], -0.1)],
            f"R² {plain.ours:.3f} → {ridge.ours:.3f}",
        ),
        Claim(
            "Permutations improve on Ridge",
            [contrast([(1, permuted), (-1, ridge)])],
            f"R² {ridge.ours:.3f} → {permuted.ours:.3f}",
        ),
        Claim(
            "Permutations give more than structured dithering",
            [contrast([(1, permuted), (-1, dithered)])],
            f"R² {permuted.ours:.3f} against {dithered.ours:.3f}",
        ),
        Claim(
            "All ingredients together are best",
            [contrast([(1, full), (-1, rows[step])]) for step in _SETTINGS if step != "MLR"],
            _best(rows),
        ),
    ]


def _best(rows: Rows) -> str:
    best = max(_SETTINGS, key=lambda step: rows[step].ours)
    return f"MLR {rows['MLR'].ours:.3f}, best {best} {rows[best].ours:.3f}"


def _summarise_single(results: Results, scale: Scale) -> Outcome:
    rows = {step: row for step, (row, _) in _outcome(results, scale, bag=False).items()}
    figure = _figure(rows, "Test R² of single nets, mean over data sets.")
    return Outcome(list(rows.values()), _single_claims(rows), figure)


def _bagged_claims(rows: Rows, single: Rows) -> list[Claim]:
    gain = {step: contrast([(1, rows[step]), (-1, single[step])]) for step in _SETTINGS}
    shown = ", ".join(f"{step} {effect.value:+.3f}" for step, effect in gain.items())
    return [
        Claim(
            "Bagging helps every net with Ridge",
            [effect for step, effect in gain.items() if step != "NN"],
            shown,
        ),
        Claim(
            "Bagging does not rescue the plain net",
            [contrast([(1, single["NN + Ridge"]), (-1, rows["NN"])])],
            f"single plain net {single['NN'].ours:.3f}, bag of them {rows['NN'].ours:.3f}, "
            f"single net with Ridge {single['NN + Ridge'].ours:.3f}",
        ),
        Claim(
            "The bag of MLR nets is the best: within 0.005",
            [contrast([(1, rows["MLR"]), (-1, rows[s])], 0.005) for s in _SETTINGS if s != "MLR"],
            _best(rows),
        ),
    ]


def _summarise_bagged(results: Results, scale: Scale) -> Outcome:
    rows = {step: row for step, (row, _) in _outcome(results, scale, bag=True).items()}
    single = {step: row for step, (row, _) in _outcome(results, scale, bag=False).items()}
    figure = _figure(rows, "Test R² of bags, mean over data sets.")
    means = {step: row.ours for step, row in single.items()}
    return Outcome(
        list(rows.values()), _bagged_claims(rows, single), figure, [_single_remark(means)]
    )


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
    claims: Callable[[Rows], list[Claim]] | None = None,
) -> Item:
    return Item(
        key, title, "Supplement of 2021, table of the ablation", "Test R², mean over data sets",
        scales, _grids, _extent, summarise, _NOTES, claims=claims,
    )  # fmt: skip


SINGLE = _item(
    "d6-ablation",
    "Ablation, single nets",
    {
        "quick": Scale(2, 1, {"tasks": (SLUMP,)}),
        "ledger": Scale(5, 1, {"tasks": (SLUMP, QSAR, BIKE)}),
        "paper": Scale(100, 1, {"tasks": (SLUMP, QSAR, BIKE)}),
    },
    _summarise_single,
    _single_claims,
)
BAGGED = _item(
    "d6-ablation-bagged",
    "Ablation, bags",
    {
        "quick": Scale(1, 3, {"tasks": (SLUMP,)}),
        "ledger": Scale(2, 10, {"tasks": (SLUMP, QSAR)}),
        "paper": Scale(100, 10, {"tasks": (SLUMP, QSAR, BIKE)}),
    },
    _summarise_bagged,
)
