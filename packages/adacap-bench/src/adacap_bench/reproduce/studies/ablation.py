"""Questions left open: label noise (N2), how far λ moves (N3)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import FigureData, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale, bars
from adacap_bench.reproduce.means import SPLIT
from adacap_bench.reproduce.methods import training, variant
from adacap_bench.reproduce.results import NoResultError, Results, row_of
from adacap_bench.reproduce.studies.schemes import CATEGORIES, PAIRS, SMALLEST, preset_name
from adacap_bench.reproduce.verdicts import contrast
from adacap_bench.sources import MadeTask
from adacap_bench.split import Split

__all__ = ["LABEL_NOISE", "LAMBDA_MOVES"]

# ── Label noise ──────────────────────────────────────────────────────────────────────────────────

_KINDS = ("permuted", "noised")


def corrupted(y: Any, kind: str, share: float, seed: int) -> Any:
    """Labels of which a share is permuted among themselves, or has Gaussian noise added.

    Examples
    --------
    >>> y = np.arange(10.0)
    >>> sorted(corrupted(y, "permuted", 0.5, 0).tolist()) == y.tolist()
    True
    >>> int((corrupted(y, "noised", 0.3, 0) != y).sum())
    3
    """
    rng = np.random.default_rng([seed, round(1000 * share)])
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    found = np.array(y, dtype=np.float64)
    if kind == "permuted":
        found[rows] = found[rng.permutation(rows)]
    elif kind == "noised":
        found[rows] += found.std() * rng.standard_normal(len(rows))
    else:
        raise ValueError(f"kind must be 'permuted' or 'noised', got {kind!r}.")
    return found


@cache
def _table(task: str, folder: Path | None) -> Any:
    from adacap_bench.datasets import load_table

    return load_table(task, folder=folder)


def _noisy(task: str, kind: str, share: float, folder: Path | None) -> MadeTask:
    def make(index: int) -> Split:
        from adacap_bench.split import make_split

        split = make_split(_table(task, folder), index)
        y = corrupted(split.y_train, kind, share, index)
        return Split(split.X_train, split.X_test, y, split.y_test, split.kind, split.n_classes)

    settings = {"data": task, "corruption": kind, "share": share}
    name = f"{task}, {share:.0%} {kind}"
    key = _noisy_key(task, kind, share)
    return MadeTask(key, name, "regression", make, settings, unit=SPLIT)


def _noisy_key(task: str, kind: str, share: float) -> str:
    return f"{task}-{kind}-{round(100 * share)}"


def _noise_grids(scale: Scale) -> list[Grid]:
    sources = [
        _noisy(task, kind, share, scale.folder)
        for task in scale.tasks
        for kind in scale["kinds"]
        for share in scale["shares"]
    ]
    methods = [preset_name(scheme, net) for net in scale["nets"] for scheme in CATEGORIES]
    return [scale.grid(sources, methods)]


_USUAL = "fast-mlp"  # the net that labels do not name


def _noise_label(scheme: str, kind: str, share: float, net: str = _USUAL) -> str:
    return f"{scheme}, {share:.0%} {kind}{'' if net == _USUAL else f', {net}'}"


def _noise_rows(results: Results, scale: Scale) -> dict[str, Row]:
    """Rows of all that was run so far, over the tasks that have it."""
    rows = {}
    for net, kind, scheme, share in product(
        scale["nets"], scale["kinds"], CATEGORIES, scale["shares"]
    ):
        values: dict[str, float] = {}
        for task in scale.tasks:
            with suppress(NoResultError):
                found = results.by_experiment(
                    preset_name(scheme, net), task=_noisy_key(task, kind, share)
                )
                values |= {f"{task}, {name}": value for name, value in found.items()}
        if values:
            label = _noise_label(scheme, kind, share, net)
            rows[label] = row_of(label, values)
    return rows


def _noise_claims(rows: Mapping[str, Row]) -> list[Claim]:
    places = [label.partition(", ")[2] for label in rows if label.startswith("plain, ")]
    nets = dict.fromkeys(place.partition(", ")[2] for place in places)
    claims = []
    for net, (scheme, other, text), kind in product(nets, PAIRS, _KINDS):
        effects, shown = [], []
        for place in places:
            share, _, of_net = place.partition(", ")
            ours, theirs = (rows.get(f"{one}, {place}") for one in (scheme, other))
            if of_net != net or not share.endswith(kind) or share.startswith("0%"):
                continue
            if ours is not None and theirs is not None:
                effect = contrast([(1, theirs), (-1, ours)])
                effects.append(effect)
                shown.append(f"{effect.value:+.4f} ± {effect.error or 0:.4f} at {share.split()[0]}")
        if effects:
            said = f"{text} at every share of {kind} labels{f': {net}' if net else ''}"
            claims.append(Claim(said, effects, f"gain in RMSE {', '.join(shown)}"))
    return claims


def _summarise_noise(results: Results, scale: Scale) -> Outcome:
    rows = _noise_rows(results, scale)
    panels = tuple(
        _noise_panel(rows, scale, kind, net) for net in scale["nets"] for kind in scale["kinds"]
    )
    caption = "Test RMSE against the share of training labels that are corrupted."
    return Outcome(list(rows.values()), FigureData(caption, panels))


def _noise_panel(rows: Mapping[str, Row], scale: Scale, kind: str, net: str) -> Panel:
    series = []
    for scheme in CATEGORIES:
        labels = {share: _noise_label(scheme, kind, share, net) for share in scale["shares"]}
        found = {share: rows[label].ours for share, label in labels.items() if label in rows}
        series.append(Series(scheme, tuple(found), tuple(found.values())))
    title = kind if len(scale["nets"]) == 1 else f"{net}, {kind}"
    return Panel(title, "share of labels", "test RMSE", tuple(series))


LABEL_NOISE = Item(
    "n2",
    "Label corruption",
    "Not in the paper: its introduction claims gains under label noise",
    "Test RMSE on clean labels, mean over experiments",
    {
        "quick": Scale(
            1, 1, {"tasks": ("paper-1",), "nets": (_USUAL,), "kinds": _KINDS, "shares": (0.0, 0.5)}
        ),
        "ledger": Scale(
            5, 1,
            {
                "tasks": ("paper-1", "paper-9"), "nets": (_USUAL,), "kinds": _KINDS,
                "shares": (0.0, 0.2, 0.5),
            },
        ),
        "paper": Scale(
            5, 1,
            {
                "tasks": SMALLEST, "nets": (_USUAL, "fast-snn"), "kinds": _KINDS,
                "shares": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
            },
        ),
    },
    _noise_grids,
    lambda scale: (
        f"{', '.join(scale['nets'])}: {', '.join(scale['tasks'])} × {scale.splits} splits, "
        f"{len(scale['shares'])} shares, {' and '.join(scale['kinds'])}"
    ),
    _summarise_noise,
    notes=(
        "Labels of the training part alone are corrupted, the hold-out included: a share of them "
        "is permuted among themselves, or gets Gaussian noise of the deviation of the labels.",
    ),
    claims=_noise_claims,
)  # fmt: skip


# ── How far λ moves ──────────────────────────────────────────────────────────────────────────────

_FASTER = 10.0


def adam_with_fast_lambda(groups: Any, lr: float) -> Any:
    """Adam whose last group, the head with λ, has ten times the rate."""
    from adacap.training.config import OPTIMIZERS

    found = [dict(group) for group in groups]
    found[-1]["lr"] = _FASTER * lr
    return OPTIMIZERS["adam"](found, lr=lr)


def one_cycle_by_group(optimizer: Any, n_steps: int) -> Any:
    """One-Cycle that ends at the rate of each group."""
    from adacap.training.config import SCHEDULERS

    rates: Any = [group["lr"] for group in optimizer.param_groups]
    return SCHEDULERS["onecycle"](optimizer, rates, n_steps)


_RATES: dict[str, dict[str, Any]] = {
    "the net's rate": {},
    "ten times the net's rate": {"optimizer": (adam_with_fast_lambda, one_cycle_by_group)},
}


def _moving(scale: Scale) -> dict[tuple[str, str], Method]:
    return {
        (scheme, rate): variant(
            f"{scheme}-{scale['net']}-lambda{'-fast' if settings else ''}",
            preset_name(scheme, scale["net"]), CATEGORIES[scheme], probe=_lambda_path, **settings,
        )
        for scheme in ("tikhonov", "adacap")
        for rate, settings in _RATES.items()
    }  # fmt: skip


def _lambda_path(estimator: Any, split: Any) -> dict[str, float]:
    """Probe: λ at both ends of the training, and how far its logarithm moved."""
    found = training(estimator, split)
    path = np.asarray(estimator.members_[0].history["lambda"], dtype=float)
    found["moved"] = float(np.abs(np.log(path / path[0])).max())
    return found


def _moved_label(scheme: str, rate: str, what: str) -> str:
    return f"{scheme}, λ at {rate}: {what}"


def _summarise_lambda(results: Results, scale: Scale) -> Outcome:
    rows: dict[str, Row] = {}
    for (scheme, rate), method in _moving(scale).items():
        for what, metric in (("greatest |log λ/λ_init|", "moved"), ("test RMSE", "test_rmse")):
            label = _moved_label(scheme, rate, what)
            rows[label] = results.row(label, method.name, metric=metric)
    moved = {label.split(":")[0]: row for label, row in rows.items() if label.endswith("|")}
    panel = Panel("λ", "greatest |log λ/λ_init|", "", bars(moved))
    figure = FigureData("How far λ moves from its start, mean over experiments.", (panel,))
    return Outcome(list(rows.values()), figure)


def _lambda_claims(rows: Mapping[str, Row]) -> list[Claim]:
    slow, fast = _RATES
    moved = rows[_moved_label("adacap", slow, "greatest |log λ/λ_init|")]
    errors = [rows[_moved_label("adacap", rate, "test RMSE")] for rate in (slow, fast)]
    gain = contrast([(1, errors[0]), (-1, errors[1])])
    return [
        Claim(
            "Training moves λ by more than a factor of 1.5 from its start",
            [contrast([(1, moved)], -float(np.log(1.5)))],
            f"|log λ/λ_init| at most {moved.ours:.3f} on average; log 1.5 is 0.405",
        ),
        Claim(
            "A rate of its own for λ lowers the error",
            [gain],
            f"test RMSE {errors[0].ours:.4f} → {errors[1].ours:.4f}",
        ),
    ]


LAMBDA_MOVES = Item(
    "n3",
    "How far λ moves",
    "Not in the paper: λ is trained with the weights, at their rate",
    "Per experiment: the greatest |log λ/λ_init| of the training, and the test RMSE",
    {
        "quick": Scale(1, 1, {"tasks": ("paper-1",), "net": "fast-mlp"}),
        "ledger": Scale(5, 1, {"tasks": ("paper-1", "paper-9"), "net": "fast-mlp"}),
        "paper": Scale(10, 1, {"tasks": SMALLEST, "net": "fast-mlp"}),
    },
    lambda scale: [scale.grid(scale.tasks, [*_moving(scale).values()])],
    lambda scale: f"{scale['net']}: {', '.join(scale['tasks'])} × {scale.splits} splits",
    _summarise_lambda,
    notes=(
        "The step is in log λ. One rate for all is the paper's; the other is ten times as large "
        "for λ, both with the same One-Cycle schedule.",
    ),
    claims=_lambda_claims,
)
