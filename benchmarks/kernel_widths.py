"""Does the kernel's own variance say how wide an interval should be?

    ADACAP_DATA=<folder> python benchmarks/kernel_widths.py [--draws 5]

A kernel is trained in five folds, and its errors out of fold are divided by a scale per row: one
for all, the scale that intervals use (trees and the level of the prediction), the kernel's own
standard deviation, or both together. What each counts is found on half of the rows; the table has
the mean width that holds 90 % of the other half, over the width of one scale for all. Sets of the
paper need ADACAP_DATA and are left out where it does not name a folder.
"""

import argparse
import os
from collections.abc import Iterator

import numpy as np
import torch
from intervals import SETS
from scipy.optimize import minimize_scalar
from shared import error_of

from adacap._typing import Floats
from adacap.core.ridge import Ridge
from adacap.estimators.adaptive import learn_widths
from adacap.estimators.blending import out_of_fold
from adacap.members.fold_data import FoldData
from adacap.members.kernel import FittedKernel, fit_kernel
from adacap.nn.predictors import Frozen
from adacap_bench.markdown import markdown_lines

N_FOLDS, N_ROWS, COVERAGE, HALVES = 5, 300, 0.9, 40
TASKS = ("paper-1", "paper-9", "paper-12", "paper-16", "paper-17", "paper-18", "paper-19")


def deviation(kernel: FittedKernel, data: FoldData) -> Floats:
    """Standard deviation of a new value at each row, by the kernel of its fold.

    As ridge regression on the kernel's features it is ``λ·φ'(Φ'Φ + λI)⁻¹φ + λ``.
    """
    found = np.zeros(data.n_rows)
    for k in range(data.k):
        held, rows = data.fold == k, data.x[data.fold != k]
        features, lam = kernel.features(k, rows), kernel.lam[k]
        factor = Ridge(features(rows), lam, fit_intercept=False).factor
        reach = torch.linalg.solve_triangular(factor, features(data.x[held]).T, upper=False)
        found[held.numpy()] = (lam * reach.square().sum(0) + lam).sqrt().numpy()
    return found


def widths(X: Floats, y: Floats, seed: int) -> tuple[float, float, float]:
    """Width of the learnt scale, of the kernel's, and of both, over that of one for all."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy((X - X.mean(0)) / np.maximum(X.std(0), 1e-12))
    targets = torch.from_numpy((y - y.mean()) / y.std())[:, None]
    fold = torch.from_numpy(rng.permutation(len(y)) % N_FOLDS)
    data = FoldData(x, targets, None, fold, N_FOLDS, seed)
    kernel = fit_kernel(data)
    outputs = out_of_fold(Frozen(*kernel[:2]).eval(), x, fold, N_FOLDS)
    errors = (outputs - targets).numpy()
    learnt = learn_widths(x, errors, outputs.numpy(), None, fold.numpy())
    by_trees = np.zeros(len(y)) if learnt is None else np.log(learnt[1][:, 0])
    by_kernel, sizes = np.log(deviation(kernel, data)), np.abs(errors[:, 0])
    found = np.zeros((HALVES, 3))
    for i in range(HALVES):
        one, other = np.array_split(rng.permutation(len(y)), 2)
        none = np.zeros(len(y))
        base = at_coverage(sizes[other], none[other])
        for j, (fixed, free) in enumerate(
            [(by_trees, none), (none, by_kernel), (by_trees, by_kernel)]
        ):
            logs = fixed + power(sizes[one], fixed[one], free[one]) * free
            found[i, j] = at_coverage(sizes[other], logs[other]) / base
    a, b, c = found.mean(0).tolist()
    return a, b, c


def power(sizes: Floats, fixed: Floats, free: Floats) -> float:
    """How much the second scale counts beside the first, by the likelihood of Laplacian errors."""
    if not free.any():
        return 0.0

    def cost(p: float) -> float:
        logs = fixed + p * free
        return float(np.log(np.mean(sizes * np.exp(-logs))) + logs.mean())

    return float(minimize_scalar(cost, bounds=(0.0, 3.0), method="bounded").x)


def at_coverage(sizes: Floats, logs: Floats) -> float:
    """Mean width that holds the asked share of the errors."""
    scale = np.exp(logs)
    return float(np.quantile(sizes / scale, COVERAGE) * scale.mean())


def tables(draws: int) -> Iterator[tuple[str, Floats, Floats, int]]:
    """Name, columns, target and seed."""
    for seed in range(draws):
        for name, make in SETS.items():
            X, y = make(N_ROWS, np.random.default_rng(seed))
            yield name, X[:N_ROWS], y[:N_ROWS], seed
        if os.environ.get("ADACAP_DATA"):
            from adacap_bench.datasets import load_table
            from adacap_bench.split import make_split

            for name in TASKS:
                part = make_split(load_table(name), 40 + seed)
                yield name, np.asarray(part.X_train, float), np.asarray(part.y_train, float), seed


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--draws", type=int, default=5)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for name, X, y, seed in tables(parser.parse_args().draws):
        found.setdefault(name, []).append(widths(X, y, seed))
    means = np.array([np.mean(rows, axis=0) for rows in found.values()])
    rows = zip([*found, "**mean**"], [*means, means.mean(0)], strict=True)
    cells = ([name, *(f"{one:.3f}" for one in row)] for name, row in rows)
    titles = ("data set", "learnt scale", "kernel's deviation", "both")
    print(*markdown_lines(titles, cells), sep="\n")
    apart = means[:, 2] - means[:, 0]
    print(
        f"both against the learnt scale: {apart.mean():+.3f}, standard error {error_of(apart):.3f}"
    )


if __name__ == "__main__":
    main()
