"""Questions left open: what Tikhonov and MLR each give (N1), label noise (N2), λ (N3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import Figure, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap_bench.reproduce.methods import training, variant
from adacap_bench.reproduce.results import NoResultError, Results
from adacap_bench.reproduce.verdicts import contrast, effect_of
from adacap_bench.sources import Source
from adacap_bench.split import Split

__all__ = ["LABEL_NOISE", "LAMBDA_MOVES", "SCHEMES"]

# Six of the smallest regression tasks, and the others of the paper's table of bags.
_SMALLEST = ("paper-1", "paper-2", "paper-3", "paper-8", "paper-9", "paper-12")
_CATEGORIES = {"plain": "DNN", "tikhonov": "Tikhonov", "adacap": "AdaCap"}
_NETS = ("mlp", "resblock", "snn", "glu-mlp", "fast-mlp", "fast-snn", "batch-mlp", "batch-resblock")


def _preset(scheme: str, net: str) -> str:
    return net if scheme == "plain" else f"{scheme}-{net}"


def _keys(scale: Scale) -> list[str]:
    from adacap_bench.datasets import find_tasks

    return [task.key for task in find_tasks(list(scale["tasks"]))]


def _scheme_grids(scale: Scale) -> list[Grid]:
    methods = [_preset(scheme, net) for net in scale["nets"] for scheme in _CATEGORIES]
    return [Grid(_keys(scale), methods, range(scale.splits), range(scale.seeds))]


def _ratio(above: Mapping[str, float], below: Mapping[str, float], label: str) -> Row:
    """Geometric mean of a ratio over experiments; its values are the logarithms."""
    logs = {key: float(np.log(above[key] / below[key])) for key in above if key in below}
    if not logs:
        raise NoResultError(f"No experiment has both errors of {label}.")
    values = np.array(list(logs.values()))
    mean = float(np.exp(values.mean()))
    spread = mean * float(values.std(ddof=1)) if len(values) > 1 else None  # of the ratio
    won = {"lower on, %": 100 * float((values < 0).mean())}
    return Row(label, mean, None, spread, len(values), 3, won, logs)


def _scheme_rows(results: Results, scale: Scale) -> dict[str, Row]:
    rows = {}
    for net in scale["nets"]:
        errors = {
            scheme: results.by_experiment(_preset(scheme, net))
            for scheme in _CATEGORIES
            if results.has(_preset(scheme, net))
        }
        for above, below in (("tikhonov", "plain"), ("adacap", "tikhonov"), ("adacap", "plain")):
            if above in errors and below in errors:
                label = f"{net}: {above} / {below}"
                rows[label] = _ratio(errors[above], errors[below], label)
    return rows


def _scheme_claims(rows: Mapping[str, Row]) -> list[Claim]:
    claims = []
    for net in _NETS:
        for above, below, text in (
            ("tikhonov", "plain", "Tikhonov lowers the error of the plain net"),
            ("adacap", "tikhonov", "The MLR loss lowers the error of Tikhonov alone"),
        ):
            if (row := rows.get(f"{net}: {above} / {below}")) is not None:
                effect = effect_of([-value for value in row.values.values()])
                shown = f"ratio of errors {row.ours:.3f}, lower on {row.extra['lower on, %']:.0f} %"
                claims.append(Claim(f"{text}: {net}", [effect], f"{shown} of the experiments"))
    return claims


def _summarise_schemes(results: Results, scale: Scale) -> Outcome:
    rows = _scheme_rows(results, scale)
    nets = [net for net in scale["nets"] if f"{net}: tikhonov / plain" in rows]
    series = tuple(
        Series(
            pair, tuple(nets), tuple(rows[f"{net}: {pair}"].ours for net in nets),
            tuple(rows[f"{net}: {pair}"].error or 0.0 for net in nets), "bar",
        )
        for pair in ("tikhonov / plain", "adacap / tikhonov")
    )  # fmt: skip
    figure = Figure(
        "Ratio of test errors, geometric mean over experiments; below 1 the first is better.",
        (Panel("ratio of RMSE", "ratio of RMSE", "", series),),
    )
    return Outcome(list(rows.values()), _scheme_claims(rows), figure)


SCHEMES = Item(
    "n1",
    "What Tikhonov gives, and what the MLR loss adds",
    "Not in the paper: its central claim, tested per architecture over tasks",
    "Ratio of test RMSE on the same split, geometric mean over experiments",
    {
        "quick": Scale(1, 1, {"tasks": ("paper-1", "paper-9"), "nets": ("fast-mlp",)}),
        "ledger": Scale(5, 1, {"tasks": _SMALLEST, "nets": ("fast-mlp",)}),
        "paper": Scale(5, 1, {"tasks": ("paper-regression-small",), "nets": _NETS}),
    },
    _scheme_grids,
    lambda scale: f"{', '.join(scale['nets'])}: {len(_keys(scale))} tasks × {scale.splits} splits",
    _summarise_schemes,
    notes=(
        "Presets of the paper's table, three schemes on the same splits. The effect of a claim is "
        "the mean of −log of the ratio; ± in the table is the deviation of the ratio.",
    ),
    claims=_scheme_claims,
)


# ── Label noise ──────────────────────────────────────────────────────────────────────────────────

_KINDS = ("permuted", "noised")


def corrupted(y: Any, kind: str, share: float, seed: int) -> Any:
    """Labels of which a share is permuted among themselves, or has Gaussian noise added.

    Parameters
    ----------
    y : ndarray of shape (n,)
    kind : {"permuted", "noised"}
    share : float
        Of the rows, drawn without replacement.
    seed : int

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


def _noisy(task: str, kind: str, share: float, folder: Path | None) -> Source:
    def make(index: int) -> Split:
        from adacap_bench.split import make_split

        split = make_split(_table(task, folder), index)
        y = corrupted(split.y_train, kind, share, index)
        return Split(split.X_train, split.X_test, y, split.y_test, split.kind, split.n_classes)

    settings = {"data": task, "corruption": kind, "share": share}
    name = f"{task}, {share:.0%} {kind}"
    return Source(_noisy_key(task, kind, share), name, "regression", make, settings)


def _noisy_key(task: str, kind: str, share: float) -> str:
    return f"{task}-{kind}-{round(100 * share)}"


def _noise_grids(scale: Scale) -> list[Grid]:
    sources = [
        _noisy(task, kind, share, scale.folder)
        for task in _keys(scale)
        for kind in scale["kinds"]
        for share in scale["shares"]
    ]
    methods = [_preset(scheme, scale["net"]) for scheme in _CATEGORIES]
    return [Grid(sources, methods, range(scale.splits), range(scale.seeds))]


def _noise_label(scheme: str, kind: str, share: float) -> str:
    return f"{scheme}, {share:.0%} {kind}"


def _noise_rows(results: Results, scale: Scale) -> dict[str, Row]:
    rows = {}
    for kind in scale["kinds"]:
        for scheme in _CATEGORIES:
            for share in scale["shares"]:
                values = {
                    f"{task}, {name}": value
                    for task in _keys(scale)
                    for name, value in results.by_experiment(
                        _preset(scheme, scale["net"]), task=_noisy_key(task, kind, share)
                    ).items()
                }
                label = _noise_label(scheme, kind, share)
                mean = float(np.mean(list(values.values())))
                # No spread: that between tasks is not an error of a mean over the same tasks.
                rows[label] = Row(label, mean, None, None, len(values), values=values)
    return rows


def _noise_claims(rows: Mapping[str, Row]) -> list[Claim]:
    claims = []
    for above, below, text in (
        ("plain", "tikhonov", "Tikhonov lowers the error of the plain net"),
        ("tikhonov", "adacap", "The MLR loss lowers the error of Tikhonov alone"),
    ):
        for kind in _KINDS:
            effects, shown = [], []
            for label, row in rows.items():
                scheme, _, where = label.partition(", ")
                if scheme != below or not where.endswith(kind) or where.startswith("0%"):
                    continue
                effect = contrast([(1, rows[f"{above}, {where}"]), (-1, row)])
                effects.append(effect)
                shown.append(f"{effect.value:+.4f} ± {effect.error or 0:.4f} at {where.split()[0]}")
            if effects:
                said = f"{text} at every share of {kind} labels"
                claims.append(Claim(said, effects, f"gain in RMSE {', '.join(shown)}"))
    return claims


def _summarise_noise(results: Results, scale: Scale) -> Outcome:
    rows = _noise_rows(results, scale)
    shares = tuple(scale["shares"])
    panels = tuple(
        Panel(
            kind, "share of labels", "test RMSE",
            tuple(
                Series(
                    scheme, shares, tuple(rows[_noise_label(scheme, kind, s)].ours for s in shares)
                )
                for scheme in _CATEGORIES
            ),
        )
        for kind in scale["kinds"]
    )  # fmt: skip
    figure = Figure("Test RMSE against the share of training labels that are corrupted.", panels)
    return Outcome(list(rows.values()), _noise_claims(rows), figure)


LABEL_NOISE = Item(
    "n2",
    "Label corruption",
    "Not in the paper: its introduction claims gains under label noise",
    "Test RMSE on clean labels, mean over experiments",
    {
        "quick": Scale(
            1, 1, {"tasks": ("paper-1",), "net": "fast-mlp", "kinds": _KINDS, "shares": (0.0, 0.5)}
        ),
        "ledger": Scale(
            5, 1,
            {
                "tasks": ("paper-1", "paper-9"), "net": "fast-mlp", "kinds": _KINDS,
                "shares": (0.0, 0.2, 0.5),
            },
        ),
        "paper": Scale(
            5, 1,
            {
                "tasks": _SMALLEST, "net": "fast-mlp", "kinds": _KINDS,
                "shares": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
            },
        ),
    },
    _noise_grids,
    lambda scale: (
        f"{scale['net']}: {', '.join(scale['tasks'])} × {scale.splits} splits, "
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
            _preset(scheme, scale["net"]), _CATEGORIES[scheme], probe=_lambda_path, **settings,
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
            row = results.row(label, method.name, metric=metric)
            rows[label] = row
    return Outcome(list(rows.values()), _lambda_claims(rows), _lambda_figure(rows))


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


def _lambda_figure(rows: Mapping[str, Row]) -> Figure:
    names: Sequence[str] = [label for label in rows if label.endswith("|")]
    series = Series(
        "ours",
        tuple(label.split(":")[0] for label in names),
        tuple(rows[label].ours for label in names),
        (),
        "bar",
    )
    panel = Panel("λ", "greatest |log λ/λ_init|", "", (series,))
    return Figure("How far λ moves from its start, mean over experiments.", (panel,))


LAMBDA_MOVES = Item(
    "n3",
    "How far λ moves",
    "Not in the paper: λ is trained with the weights, at their rate",
    "Per experiment: the greatest |log λ/λ_init| of the training, and the test RMSE",
    {
        "quick": Scale(1, 1, {"tasks": ("paper-1",), "net": "fast-mlp"}),
        "ledger": Scale(5, 1, {"tasks": ("paper-1", "paper-9"), "net": "fast-mlp"}),
        "paper": Scale(10, 1, {"tasks": _SMALLEST, "net": "fast-mlp"}),
    },
    lambda scale: [
        Grid(_keys(scale), list(_moving(scale).values()), range(scale.splits), range(scale.seeds))
    ],
    lambda scale: f"{scale['net']}: {', '.join(scale['tasks'])} × {scale.splits} splits",
    _summarise_lambda,
    notes=(
        "The step is in log λ. One rate for all is the paper's; the other is ten times as large "
        "for λ, both with the same One-Cycle schedule.",
    ),
    claims=_lambda_claims,
)
