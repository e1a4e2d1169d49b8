"""Made data for ridge: the appendix's synthetic regression, and the setting of Theorem 1."""

from __future__ import annotations

import numpy as np

from adacap._typing import Floats
from adacap_bench.sources import MadeTask
from adacap_bench.split import Split

__all__ = ["appendix", "appendix_rows", "covariance", "cv_path", "error_path", "theorem"]


N_TRAIN, N_TEST, N_FEATURES, SIGMA = 100, 1000, 80, 100.0


def appendix(reading: str) -> MadeTask:
    """80 features of covariance I + H, all coefficients 1, noise of deviation 100.

    Read "entrywise", H = 0.8^ρ has one ρ per entry, is made symmetric and clipped to be positive
    semi-definite; read "shared", it has one ρ for all entries.
    """

    def make(index: int) -> Split:
        X, y = appendix_rows(index, reading)
        return _split(X[:N_TRAIN], X[N_TRAIN:], y[:N_TRAIN], y[N_TRAIN:])

    settings = {"data": "ridge appendix", "reading": reading}
    return MadeTask(
        f"ridge-{reading}", f"Synthetic, H {reading}", "regression", make, settings, N_TRAIN
    )


def appendix_rows(
    seed: int, reading: str = "entrywise", standardise: str = "train"
) -> tuple[Floats, Floats]:
    """Features and target, the rows to train on first, standardised by these or by ``"all"``.

    Examples
    --------
    >>> X, y = appendix_rows(0)
    >>> X.shape, round(float(y[:100].std()), 6)
    ((1100, 80), 1.0)
    """
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(covariance(rng, reading))
    X = rng.standard_normal((N_TRAIN + N_TEST, N_FEATURES)) @ root.T
    y = X.sum(axis=1) + SIGMA * rng.standard_normal(len(X))
    seen = slice(N_TRAIN) if standardise == "train" else slice(None)
    return (X - X[seen].mean(0)) / X[seen].std(0), (y - y[seen].mean()) / y[seen].std()


def covariance(rng: np.random.Generator, reading: str) -> Floats:
    """I + H, under one of the two readings of the appendix."""
    if reading == "shared":
        return np.asarray(np.eye(N_FEATURES) + 0.8 ** rng.uniform(1, 2))
    H = 0.8 ** rng.uniform(1, 2, size=(N_FEATURES, N_FEATURES))
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    return np.asarray(np.eye(N_FEATURES) + (vectors * values.clip(0)) @ vectors.T)


def theorem(regime: str, n: int) -> MadeTask:
    """Rows with xᵀx/n a projection of rank r = √n, noise of variance 1, signal by regime.

    ‖xβ*‖² is √(rn), in the middle of the theorem's band ("intermediate"), r/4 ("low") or 4n
    ("high"). The test part is the training rows with their signal as target: the risk of the
    theorem.
    """
    rank = round(n**0.5)
    power = {"intermediate": (rank * n) ** 0.5, "low": rank / 4, "high": 4.0 * n}[regime]

    def make(index: int) -> Split:
        rng = np.random.default_rng([index, n])
        x = np.sqrt(n) * np.linalg.qr(rng.standard_normal((n, rank)))[0]
        signal = x @ rng.standard_normal(rank)
        signal *= np.sqrt(power) / np.linalg.norm(signal)
        return _split(x, x, signal + rng.standard_normal(n), signal)

    settings = {"data": "theorem 1", "regime": regime, "n": n}
    return MadeTask(f"theorem-{regime}-{n}", f"{regime}, n = {n}", "regression", make, settings, n)


def _split(X_train: Floats, X_test: Floats, y_train: Floats, y_test: Floats) -> Split:
    """Arrays in double precision: these criteria are compared to their last digits."""
    return Split(X_train, X_test, y_train, y_test, "regression", 0)  # type: ignore[arg-type]


def error_path(X: Floats, y: Floats, X_test: Floats, y_test: Floats, alphas: Floats) -> Floats:
    """Test RMSE of ridge at every λ, by one decomposition.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> error_path(X, y, X, y, np.array([2.0]))  # half of the slope is lost
    array([0.5])
    """
    x_mean, y_mean = X.mean(0), y.mean()
    U, s, Vt = np.linalg.svd(X - x_mean, full_matrices=False)
    gains = s / (s**2 + alphas[:, None])  # (n_alphas, r)
    coef = (gains * (U.T @ (y - y_mean))) @ Vt
    errors = y_test - y_mean - coef @ (X_test - x_mean).T
    return np.asarray(np.sqrt((errors**2).mean(1)))


def cv_path(X: Floats, y: Floats, alphas: Floats, n_folds: int = 10) -> Floats:
    """Mean over folds of the validation RMSE at every λ."""
    from sklearn.model_selection import KFold

    folds = KFold(n_folds).split(X)
    errors = [error_path(X[i], y[i], X[j], y[j], alphas) for i, j in folds]
    return np.asarray(np.mean(errors, axis=0))
