"""AdaCap on the backbones of the paper's future work: attention, a residual image net (N4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import FigureData, Panel
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale, series_of
from adacap_bench.reproduce.methods import variant
from adacap_bench.reproduce.results import Results, row_of
from adacap_bench.reproduce.studies.few_shot import digits_source, tutorial_classifier
from adacap_bench.reproduce.studies.schemes import (
    CATEGORIES,
    PAIRS,
    SMALLEST,
    PaperScheme,
    preset_name,
    ratio,
    ratio_claim,
)
from adacap_bench.reproduce.verdicts import contrast

__all__ = ["BACKBONES"]

_ATTENTION, _IMAGES = "attention", "residual image net"


@dataclass(frozen=True)
class _Columns:
    """Builder of the net for tables; a plain class so that workers can unpack it."""

    dropout: float

    def __call__(self, d_in: int) -> Any:
        from adacap_bench.reproduce.studies.further_nets import ColumnAttention

        return ColumnAttention(d_in, dropout=self.dropout)


@dataclass(frozen=True)
class _Images:
    """Builder of the net for images."""

    batch_norm: bool

    def __call__(self, shape: tuple[int, int, int]) -> Any:
        from adacap_bench.reproduce.studies.further_nets import ResidualConvNet

        return ResidualConvNet(shape, batch_norm=self.batch_norm)


@dataclass(frozen=True)
class _ImageBuild:
    """The training of the few-shot figure, at a constant rate."""

    scheme: PaperScheme
    max_iter: int

    def __call__(self, kind: str, seed: int) -> Any:
        backbone = _Images(batch_norm=self.scheme == "plain")
        return tutorial_classifier(backbone, self.scheme, seed, self.max_iter)


def _on_tables() -> list[Method]:
    return [
        variant(
            f"{scheme}-attention", preset_name(scheme, "fast-mlp"), category,
            architecture=_Columns(0.2 if scheme == "plain" else 0.0),
        )
        for scheme, category in CATEGORIES.items()
    ]  # fmt: skip


def _on_images(scale: Scale) -> list[Method]:
    return [
        Method(
            f"{scheme}-residual", category, frozenset({"multiclass"}),
            _ImageBuild(scheme, scale["max_iter"]), ("torch",),
        )
        for scheme, category in CATEGORIES.items()
    ]  # fmt: skip


def _grids(scale: Scale) -> list[Grid]:
    images = [digits_source(size, scale["n_test"], scale.folder) for size in scale["sizes"]]
    return [
        scale.grid(scale.tasks, _on_tables()),
        Grid(images, _on_images(scale), range(scale["draws"]), range(scale.seeds)),
    ]


def _rows(results: Results) -> dict[str, Row]:
    """Ratios of RMSE on tables, mean gains in accuracy on images."""
    errors: dict[str, dict[str, float]] = {}
    for scheme in CATEGORIES:
        errors[scheme] = results.by_experiment(f"{scheme}-attention")
    rows = {}
    for above, below, _ in PAIRS:
        label = f"{_ATTENTION}: RMSE, {above} / {below}"
        rows[label] = ratio(errors[above], errors[below], label)
    for scheme in CATEGORIES:
        label = f"{_IMAGES}: accuracy, {scheme}"
        values = results.by_experiment(f"{scheme}-residual", "test_accuracy")
        rows[label] = row_of(label, values)
    return rows


def _claims(rows: Mapping[str, Row]) -> list[Claim]:
    claims = [
        ratio_claim(f"{text}: {_ATTENTION}", rows[f"{_ATTENTION}: RMSE, {above} / {below}"])
        for above, below, text in PAIRS
    ]
    for above, below, text in PAIRS:
        first, second = (rows[f"{_IMAGES}: accuracy, {scheme}"] for scheme in (above, below))
        shown = f"accuracy {first.ours:.3f} against {second.ours:.3f}"
        claims.append(Claim(f"{text}: {_IMAGES}", [contrast([(1, first), (-1, second)])], shown))
    return claims


def _summarise(results: Results, scale: Scale) -> Outcome:
    rows = _rows(results)
    figure = FigureData(
        "Ratio of test errors of a net with attention over columns, below 1 the first is better; "
        "accuracy of a residual net on few images per class.",
        (_ratio_panel(rows), _accuracy_panel(results, scale)),
    )
    return Outcome(list(rows.values()), figure, [f"Images: {_data(results)}."])


def _data(results: Results) -> str:
    return results.of("plain-residual")[0].job.task.rpartition("-")[0]


def _ratio_panel(rows: Mapping[str, Row]) -> Panel:
    pairs = [f"{above} / {below}" for above, below, _ in PAIRS]
    found = {pair: rows[f"{_ATTENTION}: RMSE, {pair}"] for pair in pairs}
    return Panel("attention", "ratio of RMSE", "", (series_of("ours", found, "bar"),))


def _accuracy_panel(results: Results, scale: Scale) -> Panel:
    data, series = _data(results), []
    for scheme in CATEGORIES:
        name = f"{scheme}-residual"
        found = {
            size: results.row(name, name, metric="test_accuracy", task=f"{data}-{size}")
            for size in scale["sizes"]
        }
        series.append(series_of(scheme, found))
    return Panel(data, "samples per class", "test accuracy", tuple(series), log_x=True)


def _scale(splits: int, tasks: tuple[str, ...], draws: int, **images: Any) -> Scale:
    return Scale(splits, 1, {"tasks": tasks, "draws": draws, **images})


BACKBONES = Item(
    "n4",
    "Attention and a residual image net",
    "Future work of the paper's conclusion: attention, images beyond the small ConvNet",
    "Attention: ratio of test RMSE on the same split, geometric mean over experiments; "
    "images: test accuracy, mean over draws and sample sizes",
    {
        "quick": _scale(1, ("paper-1",), 1, sizes=(2,), n_test=500, max_iter=10),
        "ledger": _scale(5, SMALLEST, 10, sizes=(2, 5, 20), n_test=2000, max_iter=60),
        "paper": _scale(
            10, ("paper-regression-small",), 20, sizes=(2, 5, 10, 20, 50), n_test=10000,
            max_iter=200,
        ),
    },
    _grids,
    lambda scale: (
        f"{len(scale.tasks)} tasks × {scale.splits} splits; {scale['draws']} draws of "
        f"{', '.join(map(str, scale['sizes']))} images per class, {scale['n_test']} test images"
    ),
    _summarise,
    notes=(
        "Attention: a token of 32 numbers per column, one block of self-attention with four heads, "
        "the mean of the tokens, 256 features; trained as fast-mlp, with dropout 0.2 in the plain "
        "net alone.",
        "Images: three residual blocks of 16, 32 and 64 channels, the mean over places, 128 "
        "features; optimiser, rate and batches of C3, batch norm in the plain net alone, a "
        "constant rate, and the last iteration.",
        "Both nets are modules outside the named architectures, trained as a user's own would be.",
    ),
    claims=_claims,
)  # fmt: skip
