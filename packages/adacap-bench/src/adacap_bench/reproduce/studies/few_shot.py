"""Few-shot learning on MNIST with the small ConvNet (C3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import FigureData, Panel
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale, series_of
from adacap_bench.reproduce.results import Results
from adacap_bench.reproduce.studies.schemes import PaperScheme
from adacap_bench.reproduce.table_item import RowsByLabel
from adacap_bench.reproduce.verdicts import contrast
from adacap_bench.sources import MadeTask
from adacap_bench.split import Split

if TYPE_CHECKING:
    from adacap import AdaCapClassifier

__all__ = ["FEW_SHOT", "digits_source", "tutorial_classifier"]

_EPOCHS = 14

_MEAN, _DEVIATION = 0.1307, 0.3081  # of MNIST's pixels, as in the PyTorch example


@dataclass(frozen=True)
class _Backbone:
    """Builder of the net for images of a shape; a plain class so that workers can unpack it."""

    dropout: tuple[float, float]

    def __call__(self, shape: tuple[int, int, int]) -> Any:
        from adacap.nn import ConvNet

        return ConvNet(shape, dropout=self.dropout)


def tutorial_classifier(
    backbone: Any, scheme: PaperScheme, seed: int, max_iter: int | None = None
) -> AdaCapClassifier:
    """Net trained as in the tutorial: Adadelta of rate 1, batches of 64, no hold-out.

    The backbone makes a module for the shape of an image. Steps in ``max_iter`` are at a constant
    rate; without it there are the tutorial's 14 epochs and their schedule.

    Examples
    --------
    >>> from adacap.nn import ConvNet
    >>> tutorial_classifier(ConvNet, "plain", seed=0).max_iter
    '14 epochs'
    """
    from adacap.estimators import AdaCapClassifier
    from adacap.training.config import StepDecay

    return AdaCapClassifier(
        architecture=backbone,
        scheme=scheme,
        optimizer=("adadelta", "constant" if max_iter else StepDecay(_EPOCHS)),
        max_lr=1.0,
        weight_decay=0.0,
        batch_size=64,
        max_iter=max_iter or f"{_EPOCHS} epochs",
        validation=0.0,
        fit_intercept=False,
        preprocessing="none",
        random_state=seed,
    )


@dataclass(frozen=True)
class _Build:
    """The tutorial's net, with its dropout or with AdaCap."""

    scheme: PaperScheme
    max_iter: int | None

    def __call__(self, kind: str, seed: int) -> Any:
        backbone = _Backbone((0.25, 0.5) if self.scheme == "plain" else (0.0, 0.0))
        return tutorial_classifier(backbone, self.scheme, seed, self.max_iter)


_CATEGORIES: dict[PaperScheme, str] = {"plain": "DNN", "adacap": "AdaCap"}
_TUTORIAL, _LONGER = "", ", longer"


def _name(scheme: str, reading: str) -> str:
    return f"{scheme}-convnet{reading.replace(', ', '-')}"


def _methods(scale: Scale) -> list[Method]:
    kinds = frozenset({"multiclass"})
    return [
        Method(_name(scheme, reading), category, kinds, _Build(scheme, max_iter), ("torch",))
        for reading, max_iter in ((_TUTORIAL, None), (_LONGER, scale["max_iter"]))
        for scheme, category in _CATEGORIES.items()
    ]


@cache
def _images(folder: Path | None) -> tuple[str, Any]:
    """MNIST, or scikit-learn's digits where it is absent."""
    from adacap_bench.datasets import MissingDataError, load_digit_images, load_mnist

    try:
        return "mnist", load_mnist(folder)
    except MissingDataError:
        return "digits", load_digit_images()


def digits_source(per_class: int, n_test: int, folder: Path | None) -> MadeTask:
    """Draws of some images per class of MNIST, or of scikit-learn's digits where it is absent."""
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
    return MadeTask(f"{name}-{per_class}", title, "multiclass", make, settings, 10 * per_class)


def _pixels(images: Any) -> Any:
    scaled = (images.astype(np.float32) / 255 - _MEAN) / _DEVIATION
    return scaled[:, None]  # one channel


def _grids(scale: Scale) -> list[Grid]:
    sources = [digits_source(size, scale["n_test"], scale.folder) for size in scale["sizes"]]
    return [Grid(sources, _methods(scale), range(scale.splits))]


def _claims(rows: RowsByLabel) -> list[Claim]:
    sizes = _sizes(rows)
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
        _longer_claim(rows),
    ]


def _sizes(rows: RowsByLabel) -> list[int]:
    shown = [label for label in rows if label.startswith("plain, ") and label.endswith("class")]
    return [int(label.split()[1]) for label in shown]


def _longer_claim(rows: RowsByLabel) -> Claim:
    """That AdaCap gains at the mean of all sizes where 14 epochs do not end the training."""
    sizes = _sizes(rows)
    plain, adacap = (
        [rows[f"{scheme}, {n} per class{_LONGER}"] for n in sizes] for scheme in _CATEGORIES
    )
    terms = [(1 / len(sizes), row) for row in adacap] + [(-1 / len(sizes), row) for row in plain]
    means = [np.mean([row.ours for row in some]) for some in (adacap, plain)]
    return Claim(
        "AdaCap is better also where both train longer, at a constant rate: mean of all sizes",
        [contrast(terms)],
        f"accuracy {means[0]:.3f} against {means[1]:.3f}",
    )


def _summarise(results: Results, scale: Scale) -> Outcome:
    data = results.records[0].job.task.rpartition("-")[0]
    curves = {
        f"{scheme}{reading}": {
            size: results.row(
                f"{scheme}, {size} per class{reading}", _name(scheme, reading),
                metric="test_accuracy", task=f"{data}-{size}",
            )
            for size in scale["sizes"]
        }
        for reading in (_TUTORIAL, _LONGER)
        for scheme in _CATEGORIES
    }  # fmt: skip
    rows = [row for curve in curves.values() for row in curve.values()]
    series = tuple(series_of(name, curve) for name, curve in curves.items())
    panel = Panel(data, "samples per class", "test accuracy", series, log_x=True)
    figure = FigureData("Accuracy of a small ConvNet against samples per class.", (panel,))
    return Outcome(rows, figure, [f"Data: {data}."])


FEW_SHOT = Item(
    "c3",
    "Few-shot learning on MNIST",
    "Figure of accuracy against samples per class",
    "Test accuracy",
    {
        "quick": Scale(1, 1, {"sizes": (2, 5), "n_test": 1000, "max_iter": 30}),
        "ledger": Scale(10, 1, {"sizes": (2, 3, 5, 10, 20, 50), "n_test": 2000, "max_iter": 60}),
        "paper": Scale(20, 1, {"sizes": (2, 3, 5, 10, 20, 50), "n_test": 10000, "max_iter": 220}),
    },
    _grids,
    lambda scale: (
        f"{scale.splits} draws at {len(scale['sizes'])} sample sizes, {scale['n_test']} test images"
    ),
    _summarise,
    notes=(
        "The figure has no numbers. Net, optimiser, learning rate, its steps by 0.7, batches of 64 "
        "and 14 epochs are those of the PyTorch tutorial; both nets end at the last iteration. "
        "The plain net has the tutorial's dropout, 0.25 and 0.5, AdaCap none.",
        "14 epochs of 64 images or fewer are 14 steps, after which neither net is done. So both "
        "are trained longer as well, at a constant rate.",
        "The smallest sample is two per class. With one per class a permutation of the labels only "
        "renames the classes, so the fit of true and of permuted labels is the same and the MLR "
        "loss is zero whatever the net does.",
        "Without a copy of MNIST, scikit-learn's 8 × 8 digits are used.",
    ),
    claims=_claims,
)
