"""λ of ridge by the MLR criterion, by 10-fold cross-validation and by an oracle.

    python benchmarks/ridge_mlr.py [--seeds 100] [--reading shared] [--standardise all]
                                   [--criterion rmse|risk] [--grid 0.1 1e4 12]
    python benchmarks/ridge_mlr.py --timing
    python benchmarks/ridge_mlr.py --band

The first prints the figure of the paper on the appendix's synthetic data: 80 features, covariance
I + H, all coefficients 1, noise of standard deviation 100, 100 rows to train on and 1000 to test.
H = 0.8^ρ with ρ uniform on [1, 2] is read literally, one ρ per entry; it is then made symmetric and
clipped to be positive semi-definite. The other reading has one ρ for all entries.

The second times RidgeMLR against GridSearchCV over the same grid. The third varies the
signal-to-noise ratio, to show where the criterion holds and when the warning comes.
"""

import argparse
import warnings
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from adacap._typing import Floats
from adacap.model_selection import RidgeMLR, SignalWarning
from adacap_bench.reproduce.ridge_data import N_TEST, N_TRAIN, appendix_rows, cv_path, error_path

GRID = np.geomspace(1e-1, 1e5, 61)
WIDE_GRID = np.geomspace(1e-4, 1e6, 101)
PAPER = {"MLR": 0.7128, "10-fold CV": 0.7221, "oracle": 0.7061}


class Split(NamedTuple):
    """Rows to train and to test on."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats


def appendix(seed: int, reading: str = "entrywise", standardise: str = "train") -> Split:
    """The appendix's synthetic data, standardised by the training rows or by all."""
    X, y = appendix_rows(seed, reading, standardise)
    return Split(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])


def correlated(seed: int, n: int, d: int, rho: float, snr: float) -> Split:
    """Features with correlations ρ^|i−j|, random coefficients, unit noise."""
    rng = np.random.default_rng(seed)
    steps = np.arange(d)
    sigma = rho ** np.abs(steps - steps[:, None])
    beta = rng.standard_normal(d)
    beta *= np.sqrt(snr / (beta @ sigma @ beta))
    X = rng.standard_normal((n + N_TEST, d)) @ np.linalg.cholesky(sigma).T
    y = X @ beta + rng.standard_normal(len(X))
    return Split(X[:n], y[:n], X[n:], y[n:])


def fit_mlr(split: Split, alphas: Floats, seed: int, criterion: str = "squared") -> RidgeMLR:
    """RidgeMLR without its warning, which is counted instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignalWarning)
        return RidgeMLR(alphas, criterion=criterion, random_state=seed).fit(split.X, split.y)


def compare(
    seeds: int,
    reading: str = "entrywise",
    standardise: str = "train",
    criterion: str = "squared",
    alphas: Floats = GRID,
) -> Floats:
    """Test RMSE, (seeds, 3): λ by MLR, by 10-fold cross-validation, by the test rows."""
    rows = []
    for seed in range(seeds):
        split = appendix(seed, reading, standardise)
        errors = error_path(*split, alphas)
        mlr = np.searchsorted(alphas, fit_mlr(split, alphas, seed, criterion).alpha_)
        rows.append([errors[mlr], errors[cv_path(split.X, split.y, alphas).argmin()], errors.min()])
    return np.array(rows)


def print_figure(options: argparse.Namespace) -> None:
    """Mean test RMSE beside the paper's, and the paired difference."""
    low, high, n_points = options.grid
    alphas = np.geomspace(low, high, int(n_points))
    errors = compare(options.seeds, options.reading, options.standardise, options.criterion, alphas)
    print(
        f"Test RMSE, {options.seeds} seeds, H {options.reading}, standardised by "
        f"{options.standardise}, {len(alphas)} values of λ, criterion {options.criterion}"
    )
    for (name, paper), mean in zip(PAPER.items(), errors.mean(0), strict=True):
        print(f"  {name:<12}{mean:.4f}   (paper {paper:.4f})")
    gap = errors[:, 0] - errors[:, 1]
    print(f"  MLR − CV    {gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.4f}")


def time_both(repeats: int = 7) -> tuple[float, float]:
    """Median seconds of RidgeMLR and of GridSearchCV, measured in turns."""
    split = appendix(0)
    search = GridSearchCV(
        Ridge(), {"alpha": GRID}, cv=10, scoring="neg_root_mean_squared_error", n_jobs=1
    )
    seconds: tuple[list[float], list[float]] = ([], [])
    for seed in range(repeats):
        start = perf_counter()
        fit_mlr(split, GRID, seed)
        middle = perf_counter()
        search.fit(split.X, split.y)
        seconds[0].append(middle - start)
        seconds[1].append(perf_counter() - middle)
    return float(np.median(seconds[0])), float(np.median(seconds[1]))


def print_timing() -> None:
    """Seconds of both and their ratio."""
    mlr, search = time_both()
    print(
        f"RidgeMLR {mlr * 1e3:.1f} ms, GridSearchCV (10 folds, {len(GRID)} λ) {search * 1e3:.0f} ms"
    )
    print(f"RidgeMLR is {search / mlr:.0f} times faster")


def excess(n: int, d: int, rho: float, snr: float, seeds: int) -> Floats:
    """Test MSE above the oracle's, relative, by MLR, risk and CV; then share of warnings."""
    rows = []
    for seed in range(seeds):
        split = correlated(seed, n, d, rho, snr)
        errors = error_path(*split, WIDE_GRID) ** 2
        mlr = fit_mlr(split, WIDE_GRID, seed)
        risk = fit_mlr(split, WIDE_GRID, seed, "risk")
        chosen = [np.searchsorted(WIDE_GRID, model.alpha_) for model in (mlr, risk)]
        chosen.append(cv_path(split.X, split.y, WIDE_GRID).argmin())
        rows.append([*(errors[chosen] / errors.min() - 1), not mlr.valid_])
    return np.mean(rows, axis=0)


def print_band(seeds: int) -> None:
    """One line per shape and signal-to-noise ratio."""
    print(f"Test MSE above the best λ's, mean of {seeds} seeds")
    print("   n    d    ρ    SNR     MLR    risk  10-fold CV  warned")
    for n, d, rho in [(100, 20, 0.5), (100, 80, 0.95), (400, 80, 0.95), (100, 200, 0.95)]:
        for snr in (0.03, 0.3, 1.0, 3.0, 30.0):
            mlr, risk, cv, warned = excess(n, d, rho, snr, seeds)
            shape = f"{n:4d} {d:4d} {rho:5.2f} {snr:6.2f}"
            print(f"{shape} {mlr:7.1%} {risk:7.1%} {cv:11.1%} {warned:7.0%}")


def main() -> None:
    """Print what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--reading", choices=["entrywise", "shared"], default="entrywise")
    parser.add_argument("--standardise", choices=["train", "all"], default="train")
    parser.add_argument("--criterion", choices=["squared", "rmse", "risk"], default="squared")
    parser.add_argument(
        "--grid", nargs=3, type=float, default=[GRID[0], GRID[-1], len(GRID)],
        metavar=("LOW", "HIGH", "POINTS"), help="geometric grid of λ",
    )  # fmt: skip
    parser.add_argument("--timing", action="store_true", help="time instead")
    parser.add_argument(
        "--band", action="store_true", help="vary the signal-to-noise ratio instead"
    )
    options = parser.parse_args()
    if options.timing:
        print_timing()
    elif options.band:
        print_band(options.seeds)
    else:
        print_figure(options)


if __name__ == "__main__":
    main()
