"""Whether reported influence is what leaving a row out does, by solving again without the row.

    python benchmarks/influence.py            the study of docs/guides/why.md, about two minutes
    python benchmarks/influence.py --rows 40  fewer rows left out

Features, scales of kernels, questions of trees and every λ stay as they were trained. All that is
solved on top of them, in every fold, is solved again on the rows without the one left out, by plain
solves that know nothing of leverage.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

from adacap import AdaCapRegressor
from adacap.core.ridge import Ridge
from adacap.estimators.blending import BUDGETS, Part, workshop
from adacap.estimators.preparing import Given
from adacap.explain.training_rows import TrainingRows, training_rows
from adacap.members import kernel as kernel_member
from adacap.predictors import Kernel, Linear
from adacap_bench.markdown import markdown_lines

N_TRAIN, N_NEW = 150, 30


def tables() -> dict[str, tuple[Any, Any]]:
    """Tables that need no download, with noise."""
    n = N_TRAIN + N_NEW
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:n]
    return {
        "diabetes": (X[order], y[order]),
        "friedman1": make_friedman1(n, noise=1.0, random_state=0),
        "friedman2": make_friedman2(n, noise=100.0, random_state=0),
        "friedman3": make_friedman3(n, noise=0.1, random_state=0),
    }


@contextmanager
def kernels_kept() -> Iterator[list[Any]]:
    """Kernels in the order in which they are trained, with the λ and amplitudes of training."""
    kept: list[Any] = []
    fit = workshop.fit_kernel

    def keep(*args: Any, **options: Any) -> Any:
        kept.append(fit(*args, **options))
        return kept[-1]

    with patch.object(workshop, "fit_kernel", keep):
        yield kept


def outputs_without(
    model: Any, x: torch.Tensor, rows: TrainingRows, out: int | None, kernels: list[Any]
) -> torch.Tensor:
    """Coded outputs of new rows by a model whose layers are solved without one row, or with all."""
    kept = torch.tensor([i for i in range(len(rows.x)) if i != out])
    parts = model.blend_ or [Part("nets", 1.0, 0, 0, 1.0, tuple(model.members_))]
    total: Any = 0.0
    for part in parts:
        if part.frozen is None:
            each = [_net(net, x, rows, kept) for net in part.nets]
        else:
            each = [_of_fold(model, part.frozen, i, x, rows, kept, kernels)
                    for i in range(part.frozen.predictor.k)]  # fmt: skip
        total = total + part.factor * torch.stack(each).mean(0)
    return total


def _net(net: Any, x: Any, rows: TrainingRows, kept: Any) -> Any:
    with torch.no_grad():
        own, new = net.backbone(rows.x[kept]).double(), net.backbone(x).double()
    return _ridge(own, new, rows.targets[kept], rows.weight[kept], net.lam)


def _ridge(own: Any, new: Any, y: Any, w: Any, lam: float) -> Any:
    fit = Ridge(own, lam, sample_weight=w, fit_intercept=True).solve(y)
    return new @ fit.coef + fit.intercept


def _of_fold(
    model: Any, frozen: Any, i: int, x: Any, rows: TrainingRows, kept: Any, kernels: list[Any]
) -> Any:
    inside = kept[torch.from_numpy(rows.fold)[kept] != i]
    encode = frozen.encoding or (lambda part: part)
    y, w = rows.targets[inside], rows.weight[inside]
    if isinstance(frozen.predictor, Kernel):
        found = next(k for k in kernels if torch.equal(k.arrays["scale"], frozen.arrays["scale"]))
        own, new = encode(rows.x[inside]).double(), encode(x).double()
        mean = (w[:, None] * y).sum(0) / w.sum()
        alpha = kernel_member._solve(found.logs, i, own, y - mean, w)
        return mean + kernel_member._kernel(found.logs, i, new, own) @ alpha
    if isinstance(frozen.predictor, Linear):
        whole = torch.from_numpy(rows.fold != i).nonzero()[:, 0]  # λ is chosen with the row
        own = encode(rows.x).double()
        lam = _chosen(own[whole], rows.targets[whole], rows.weight[whole])
        return _ridge(own[inside], encode(x).double(), y, w, lam)
    return _boosted(model, frozen, i, x, rows.x[inside], y, w)


def _chosen(own: Any, y: Any, w: Any) -> float:
    """λ of least leave-one-out error, by solving without each row in turn."""
    errors = []
    for lam in np.logspace(-2, 4, 13):
        ridge = Ridge(own, float(lam), sample_weight=w, fit_intercept=True)
        errors.append(float(ridge.loo(y)[0].square().sum()))
    return float(np.logspace(-2, 4, 13)[int(np.argmin(errors))])


def _boosted(model: Any, frozen: Any, i: int, x: Any, own: Any, y: Any, w: Any) -> Any:
    settings = BUDGETS[model.settings_.quality].boosting
    base = (w[:, None] * y).sum(0) / w.sum()
    left, predicted = y - base, base.repeat(len(x), 1)
    powers = 2 ** torch.arange(settings.depth - 1, -1, -1)
    for column, threshold in zip(
        frozen.arrays["column"][i], frozen.arrays["threshold"][i], strict=True
    ):
        leaf, new = (((part[:, column] > threshold) * powers).sum(1) for part in (own, x))
        sums = (
            torch.zeros(2**settings.depth, y.shape[1])
            .double()
            .index_add_(0, leaf, w[:, None] * left)
        )
        counts = torch.zeros(2**settings.depth).double().index_add_(0, leaf, w)
        values = settings.rate * sums / (counts[:, None] + settings.l2)
        left, predicted = left - values[leaf], predicted + values[new]
    return predicted


def moves_by_solving(
    model: Any, X: Any, X_train: Any, y_train: Any, left_out: Any, kernels: list[Any]
) -> Any:
    """Prediction less that without each of some rows, ``(m, rows)``, and the error of the former.

    The rows are numbers of those that :class:`Influence` lists.
    """
    rows = training_rows(model, Given(X_train, y_train))
    x = torch.from_numpy(model.encoder_.transform(X))
    whole = outputs_without(model, x, rows, None, kernels)
    scale, mean = float(model.codec_.scale[0]), float(model.codec_.mean[0])
    off = float(np.abs(whole[:, 0].numpy() * scale + mean - model.predict(X)).max())
    moves = [whole - outputs_without(model, x, rows, int(i), kernels) for i in left_out]
    return torch.cat(moves, 1).numpy() * scale, off


def study(quality: Any, X: Any, y: Any, n_rows: int) -> dict[str, float]:
    """Agreement of reported influence and of moves found by solving again."""
    X_train, y_train, X_new = X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]
    with kernels_kept() as kernels:
        model = AdaCapRegressor(quality=quality, random_state=0).fit(X_train, y_train)
    told = model.influence(X_new, X_train, y_train)
    left_out = np.random.default_rng(0).permutation(len(told.labels))[:n_rows]
    moves, off = moves_by_solving(model, X_new, X_train, y_train, left_out, kernels)
    reported = told.values[:, left_out]
    ranks = [spearmanr(a, b).statistic for a, b in zip(reported, moves, strict=True)]
    return {
        "rank correlation": float(np.mean(ranks)),
        "least of a row": float(np.min(ranks)),
        "largest difference": float(np.abs(reported - moves).max() / np.abs(moves).max()),
        "share": told.share,
        "solved again": off / float(np.std(y)),
    }


def main() -> None:
    """Print the study as a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=N_TRAIN, help="training rows to leave out")
    n_rows = parser.parse_args().rows
    titles = ("table", "model", "rank correlation", "least of a prediction", "largest difference",
              "share")  # fmt: skip
    for line in markdown_lines(titles, _rows(n_rows)):
        print(line, flush=True)


def _rows(n_rows: int) -> Iterator[list[str]]:
    formats = {"rank correlation": ".3f", "least of a row": ".3f", "largest difference": ".1e",
               "share": ".0%"}  # fmt: skip
    for name, (X, y) in tables().items():
        for quality, words in (("nets", "nets alone"), ("auto", "default blend")):
            found = study(quality, X, y, n_rows)
            assert found["solved again"] < 1e-3, found
            yield [name, words, *(format(found[key], how) for key, how in formats.items())]


if __name__ == "__main__":
    main()
