"""Few-shot learning on MNIST with the small ConvNet (C3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import Figure, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap_bench.reproduce.results import Results
from adacap_bench.reproduce.table_item import Rows
from adacap_bench.reproduce.verdicts import contrast
from adacap_bench.sources import Source
from adacap_bench.split import Split

__all__ = ["FEW_SHOT"]

_MEAN, _DEVIATION = 0.1307, 0.3081  # of MNIST's pixels, as in the PyTorch example


@dataclass(frozen=True)
class _Backbone:
    """Builder of the net for images of a shape; a plain class so that workers can unpack it."""

    dropout: float

    def __call__(self, shape: tuple[int, int, int]) -> Any:
        from adacap.nn import ConvNet

        return ConvNet(shape, dropout=self.dropout)


@dataclass(frozen=True)
class _Build:
    """The example's training: Adadelta of rate 1, batches of 64, no hold-out."""

    scheme: Literal["plain", "adacap"]
    max_iter: int

    def __call__(self, kind: str, seed: int) -> Any:
        from adacap.estimators import AdaCapClassifier

        return AdaCapClassifier(
            architecture=_Backbone(0.25 if self.scheme == "plain" else 0.0),
            scheme=self.scheme,
            optimizer=("adadelta", "constant"),
            max_lr=1.0,
            weight_decay=0.0,
            batch_size=64,
            max_iter=self.max_iter,
            validation=0.0,
            fit_intercept=False,
            preprocessing="none",
            random_state=seed,
        )


_CATEGORIES: dict[Literal["plain", "adacap"], str] = {"plain": "DNN", "adacap": "AdaCap"}


def _methods(scale: Scale) -> dict[str, Method]:
    kinds = frozenset({"multiclass"})
    return {
        scheme: Method(
            f"{scheme}-convnet", category, kinds, _Build(scheme, scale["max_iter"]), ("torch",)
        )
        for scheme, category in _CATEGORIES.items()
    }


@cache
def _images(folder: Path | None) -> tuple[str, Any]:
    """MNIST, or scikit-learn's digits where it is absent."""
    from adacap_bench.datasets import MissingDataError, load_digit_images, load_mnist

    try:
        return "mnist", load_mnist(folder)
    except MissingDataError:
        return "digits", load_digit_images()


def _source(per_class: int, n_test: int, folder: Path | None) -> Source:
    name, (X, y, X_test, y_test) = _images(folder)

    def make(index: int) -> Split:
        rng = np.random.default_rng([index, per_class])
        train = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), per_class, replace=False) for c in range(10)]
        )
        return Split(
            _pixels(X[train]), _pixels(X_test[:n_test]), y[train].astype(np.int64),
            y_test[:n_test].astype(np.int64), "multiclass", 10,
        )  # fmt: skip

    settings = {"data": name, "per_class": per_class, "n_test": n_test}
    title = f"{name}, {per_class} per class"
    return Source(f"{name}-{per_class}", title, "multiclass", make, settings, 10 * per_class)


def _pixels(images: Any) -> Any:
    scaled = (images.astype(np.float32) / 255 - _MEAN) / _DEVIATION
    return scaled[:, None]  # one channel


def _grids(scale: Scale) -> list[Grid]:
    sources = [_source(size, scale["n_test"], scale.folder) for size in scale["sizes"]]
    return [Grid(sources, list(_methods(scale).values()), range(scale.splits))]


def _claims(rows: Rows) -> list[Claim]:
    sizes = [int(label.split()[1]) for label in rows if label.startswith("plain, ")]
    found: dict[tuple[str, int], Row] = {
        (s, n): rows[f"{s}, {n} per class"] for s in _CATEGORIES for n in sizes
    }
    gains = {n: contrast([(1, found["adacap", n]), (-1, found["plain", n])]) for n in sizes}
    shown = ", ".join(
        f"{gain.value:+.3f} ± {gain.error or 0:.3f} at {n}" for n, gain in gains.items()
    )
    few, many = sizes[:2], sizes[2:]
    terms = [
        (sign / len(some) * side, found[scheme, n])
        for side, some in ((1, few), (-1, many))
        for n in some
        for sign, scheme in ((1, "adacap"), (-1, "plain"))
    ]
    return [
        Claim(
            "AdaCap is better than the plain net at the smallest sample",
            [gains[sizes[0]]],
            f"accuracy {found['adacap', sizes[0]].ours:.3f} against "
            f"{found['plain', sizes[0]].ours:.3f} with {sizes[0]} per class",
        ),
        Claim(
            "AdaCap is uniformly better over the whole range",
            list(gains.values()),
            f"gain in accuracy by samples per class: {shown}",
        ),
        Claim(
            "The gain is larger with few samples per class: the two smallest against the others",
            [contrast(terms)] if many else [],
            shown,
        ),
    ]


def _summarise(results: Results, scale: Scale) -> Outcome:
    data = results.records[0].job.task.rpartition("-")[0]
    rows = {
        (scheme, size): results.row(
            f"{scheme}, {size} per class", f"{scheme}-convnet",
            metric="test_accuracy", task=f"{data}-{size}",
        )
        for scheme in _CATEGORIES
        for size in scale["sizes"]
    }  # fmt: skip
    claims = _claims({row.label: row for row in rows.values()})
    series = tuple(
        Series(
            scheme, tuple(scale["sizes"]), tuple(rows[scheme, s].ours for s in scale["sizes"]),
            tuple(rows[scheme, s].error or 0.0 for s in scale["sizes"]),
        )
        for scheme in _CATEGORIES
    )  # fmt: skip
    panel = Panel(data, "samples per class", "test accuracy", series, log_x=True)
    figure = Figure("Accuracy of a small ConvNet against samples per class.", (panel,))
    return Outcome(list(rows.values()), claims, figure, [f"Data: {data}."])


FEW_SHOT = Item(
    "c3",
    "Few-shot learning on MNIST",
    "Figure of accuracy against samples per class",
    "Test accuracy",
    {
        "quick": Scale(1, 1, {"sizes": (2, 5), "n_test": 1000, "max_iter": 30}),
        "ledger": Scale(5, 1, {"sizes": (2, 3, 5, 10, 20), "n_test": 2000, "max_iter": 60}),
        "paper": Scale(
            20, 1, {"sizes": (2, 3, 5, 10, 20, 50, 100), "n_test": 10000, "max_iter": 220}
        ),
    },
    _grids,
    lambda scale: (
        f"{scale.splits} draws at {len(scale['sizes'])} sample sizes, {scale['n_test']} test images"
    ),
    _summarise,
    notes=(
        "The figure has no numbers. Net, optimiser, learning rate and batches are those of the "
        "PyTorch example, its 14 epochs at least; both nets end at the last iteration. Without "
        "AdaCap dropout is 0.25 at both places, where the example has 0.25 and 0.5.",
        "The smallest sample is two per class. With one per class a permutation of the labels only "
        "renames the classes, so the fit of true and of permuted labels is the same and the MLR "
        "loss is zero whatever the net does.",
        "Without a copy of MNIST, scikit-learn's 8 × 8 digits are used.",
    ),
    claims=_claims,
)
