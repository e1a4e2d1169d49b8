"""Ridge with λ chosen by a rule, as methods of the benchmark."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from adacap._typing import Floats
from adacap_bench.methods import Method
from adacap_bench.reproduce.ridge_data import cv_path, error_path
from adacap_bench.split import Split

__all__ = ["BY_FOLDS", "BY_MLR", "BY_ONE", "FIGURE_GRID", "THEOREM_METHODS", "RidgeByFolds"]

FIGURE_GRID = np.geomspace(1e-1, 1e5, 61)


class RidgeByFolds:
    """Ridge whose λ has the lowest mean RMSE over ten folds."""

    def __init__(self, alphas: Floats) -> None:
        self.alphas = alphas

    def fit(self, X: Any, y: Any) -> Self:
        """Choose λ, then fit on all rows."""
        from sklearn.linear_model import Ridge

        self.path_ = cv_path(X, y, self.alphas)
        self.model_ = Ridge(alpha=float(self.alphas[self.path_.argmin()])).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Values."""
        return self.model_.predict(X)


def _by_mlr(kind: str, seed: int) -> Any:
    from adacap.model_selection import RidgeMLR

    return RidgeMLR(FIGURE_GRID, random_state=seed)


def _by_one(kind: str, seed: int) -> Any:
    from adacap.model_selection import RidgeMLR

    return RidgeMLR(FIGURE_GRID, n_permutations=1, random_state=seed)


def _by_folds(kind: str, seed: int) -> Any:
    return RidgeByFolds(FIGURE_GRID)


def _landscape(estimator: Any, split: Split) -> dict[str, Any]:
    """Criterion and test error over the grid, and the best that the grid offers."""
    errors = error_path(
        np.asarray(split.X_train), split.y_train, np.asarray(split.X_test), split.y_test,
        FIGURE_GRID,
    )  # fmt: skip
    return {
        "criterion": estimator.criterion_path_.tolist(),
        "test_path": errors.tolist(),
        "oracle_rmse": float(errors.min()),
        "alpha": float(estimator.alpha_),
        "oracle_alpha": float(FIGURE_GRID[errors.argmin()]),
    }


def _fold_landscape(estimator: Any, split: Split) -> dict[str, Any]:
    return {"criterion": estimator.path_.tolist(), "alpha": float(estimator.model_.alpha)}


_REGRESSION = frozenset({"regression"})
BY_MLR = Method("ridge-by-mlr", "Linear", _REGRESSION, _by_mlr, probe=_landscape)
BY_ONE = Method("ridge-by-mlr-t1", "Linear", _REGRESSION, _by_one, probe=_landscape)
BY_FOLDS = Method("ridge-by-folds", "Linear", _REGRESSION, _by_folds, probe=_fold_landscape)


# λ in units of n. From ε_n on the theorem is about every λ; these are 10⁻³ n … 10³ n.
_SHARES = np.geomspace(1e-3, 1e3, 61)


class _Criterion:
    """``build`` of RidgeMLR without intercept, its grid in units of n."""

    def __init__(self, n_permutations: int) -> None:
        self.n_permutations = n_permutations

    def __call__(self, kind: str, seed: int) -> Any:
        return TheoremRidge(self.n_permutations, seed)


class TheoremRidge:
    """RidgeMLR in the setting of Theorem 1: no intercept, λ/n on a fixed grid."""

    def __init__(self, n_permutations: int, seed: int) -> None:
        self.n_permutations = n_permutations
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Evaluate the criterion, as a sum over rows, at every λ."""
        from adacap.model_selection import RidgeMLR

        self.alphas_ = len(X) * _SHARES
        self.model_ = RidgeMLR(
            self.alphas_, n_permutations=self.n_permutations, fit_intercept=False,
            random_state=self.seed,
        ).fit(X, y)  # fmt: skip
        self.criterion_ = len(X) * self.model_.criterion_path_
        return self

    def predict(self, X: Any) -> Any:
        """Fit at the chosen λ."""
        return self.model_.predict(X)


def _theorem_error(estimator: Any, split: Split) -> dict[str, Any]:
    """Relative error of MLR(λ) + ‖P Y_perm‖² against R(λ), at every λ above ε_n.

    The appendix writes the residuals inside the span of x alone. Whole residuals, as the criterion
    has them, differ by ‖Y − PY‖² − ‖Y_perm − PY_perm‖² = ‖PY_perm‖² − ‖PY‖², whatever λ is; so
    what the theorem is about is the criterion plus ‖PY‖².
    """
    x, signal = np.asarray(split.X_train), np.asarray(split.y_test)
    n, rank = x.shape
    kept = 1 / (1 + _SHARES)
    power = float(signal @ signal)
    risk = (1 - kept) ** 2 * power + kept**2 * rank  # R(λ) of the appendix, σ² = 1
    projected = x.T @ split.y_train / np.sqrt(n)
    shown = estimator.criterion_ + float(projected @ projected)
    rate = (rank / power) ** 0.5 + (power / n) ** 0.5
    errors = np.abs(shown / risk - 1)[estimator.alphas_ > rate]
    return {"error": float(errors.mean()), "worst": float(errors.max()), "rate": rate}


THEOREM_METHODS = {
    T: Method(f"mlr-criterion-t{T}", "Linear", _REGRESSION, _Criterion(T), probe=_theorem_error)
    for T in (1, 16)
}
