"""The appendix on ridge: its Fact, exactly, and the two rates of its Lemma 1."""

import numpy as np
import pytest
import torch

from adacap.core import Ridge

LAMBDAS = [0.1, 1.0, 30.0, 1000.0]


def projection_design(n, r, seed):
    """Rows with ``XᵀX/n`` a projection of rank r, and an orthonormal basis of their span."""
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.normal(size=(n, r)))
    V, _ = np.linalg.qr(rng.normal(size=(r + 2, r)))
    return np.sqrt(n) * U @ V.T, U


def labels(U, signal, seed, sigma=1.0):
    """A target of signal energy ``signal`` in the span of U, with noise, and a permutation."""
    rng = np.random.default_rng([seed, 1])
    n, r = U.shape
    beta = rng.normal(size=r)
    mean = np.sqrt(signal) * U @ beta / np.linalg.norm(beta)
    y = mean + sigma * rng.normal(size=n)
    return y, rng.permutation(y)


def energy(U, y):
    """``‖P_X y‖²``."""
    return float(np.sum((U.T @ y) ** 2))


@pytest.mark.parametrize("lam", LAMBDAS)
def test_the_fact_is_an_identity(lam):
    """``MLR(λ) + ‖P Y_π‖² = ((1 + λ/n + a)/(1 + λ/n))² R̂(λ + na) − a‖P Y_π‖²/(1 + λ/n)²``.

    The appendix leaves out the residual outside the span of X, which does not depend on λ.
    """
    n = 60
    X, U = projection_design(n, 5, seed=0)
    y, permuted = labels(U, signal=40.0, seed=0)
    targets = torch.from_numpy(np.stack([y, permuted], 1))
    residual = targets - Ridge(torch.from_numpy(X), lam).solve(targets).fitted
    inside = [energy(U, residual[:, j].numpy()) for j in range(2)]
    true, perm = energy(U, y), energy(U, permuted)
    a, t = perm / true, lam / n

    def risk(u):  # R̂ at λ/n = u
        return (u**2 * true + perm) / (1 + u) ** 2

    right = ((1 + t + a) / (1 + t)) ** 2 * risk(t + a) - a * perm / (1 + t) ** 2
    assert inside[0] - inside[1] + perm == pytest.approx(right, rel=1e-10)


def test_outside_the_span_the_mlr_loss_does_not_depend_on_lambda():
    X, U = projection_design(60, 5, seed=1)
    y, permuted = labels(U, signal=40.0, seed=1)
    targets = torch.from_numpy(np.stack([y, permuted], 1))
    outside = []
    for lam in LAMBDAS:
        residual = (targets - Ridge(torch.from_numpy(X), lam).solve(targets).fitted).numpy()
        rest = residual - U @ (U.T @ residual)
        outside.append(np.sum(rest**2, 0))
    for other in outside[1:]:
        np.testing.assert_allclose(other, outside[0], rtol=1e-10)


@pytest.mark.parametrize(("n", "r"), [(2_000, 20), (8_000, 40), (32_000, 80)])
def test_lemma_1_within_its_rates(n, r):
    """``‖PY‖²`` is the signal and ``‖P Y_π‖²`` is rσ², up to the rates of the lemma.

    The signal is in the band of the theorem, at ``√(r n)`` between r and n for σ = 1. Quadratic
    forms in r normal numbers vary by ``√(2/r)`` besides, which the O of the lemma takes in.
    """
    signal = float(np.sqrt(r * n))
    for seed in range(5):
        _, U = projection_design(n, r, seed)
        y, permuted = labels(U, signal, seed)
        assert abs(energy(U, y) / signal - 1) <= 4 * np.sqrt(r / signal)
        wide = np.sqrt(signal / n) + np.sqrt(2 / r)
        assert abs(energy(U, permuted) / r - 1) <= 3 * wide
        assert energy(U, permuted) / energy(U, y) == pytest.approx(r / signal, rel=1.0)


def test_lemma_1_closes_in_as_the_band_widens():
    def worst(n, r):
        signal = float(np.sqrt(r * n))
        gaps = []
        for seed in range(5):
            _, U = projection_design(n, r, seed)
            y, permuted = labels(U, signal, seed)
            gaps.append((abs(energy(U, y) / signal - 1), abs(energy(U, permuted) / r - 1)))
        return np.mean(gaps, 0)

    few, many = worst(1_000, 10), worst(32_000, 80)
    assert (many < few).all()
