"""Weights of the members of a blend: non-negative, by out-of-fold error or log-loss."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp, softmax

from adacap._typing import Floats

__all__ = ["SHRINKAGE", "blend_weights", "class_weights", "log_loss"]


SHRINKAGE = 0.02
"""Pull toward equal weights, in units of the smallest member's squared error."""
_LEAST = 0.02  # a member of less weight is left out
_SURE = 1e3  # weight of the condition that weights sum to one


def blend_weights(residuals: Floats, sample_weight: Floats | None = None) -> Floats:
    """Weights that minimise the squared error of the blend, shrunk toward equal ones.

    Minimises ``‖Σ wᵢ rᵢ‖² + s ‖w - 1/m‖²`` over ``w ≥ 0``, ``Σ w = 1``.

    Residuals (m, n) are out of fold, those of several targets side by side. Members that hardly
    count have weight 0.

    Examples
    --------
    >>> good, bad = np.array([0.1, -0.1, 0.1]), np.array([1.0, 1.0, -1.0])
    >>> blend_weights(np.stack([good, bad])).round(2).tolist()
    [0.96, 0.04]
    """
    m = len(residuals)
    if m == 1:
        return np.ones(1)
    w = np.ones(residuals.shape[1]) if sample_weight is None else sample_weight
    products = (residuals * w) @ residuals.T / w.sum()
    unit = float(np.diag(products).min())
    if not unit > 0:  # a member that is never wrong
        is_right = np.diag(products) == 0
        return np.asarray(is_right / is_right.sum())
    weights = _solve(products / unit, m)
    weights[weights < _LEAST] = 0.0
    return np.asarray(weights / weights.sum())


def _solve(products: Floats, m: int) -> Floats:
    """Non-negative least squares on the Cholesky factor, with the sum as one more equation."""
    normal = products + (SHRINKAGE + 1e-10) * np.eye(m)
    factor = np.linalg.cholesky(normal)
    right = np.linalg.solve(factor, np.full(m, SHRINKAGE / m))
    A = np.vstack([factor.T, np.full((1, m), _SURE)])
    weights, _ = nnls(A, np.append(right, _SURE))
    return np.asarray(weights, dtype=np.float64)


def log_loss(outputs: Floats, shares: Floats, sample_weight: Floats | None = None) -> float:
    """Mean log-loss of outputs: logits of one column, or of a column per class.

    Examples
    --------
    >>> round(log_loss(np.zeros((4, 1)), np.array([[0.0], [1.0], [1.0], [1.0]])), 4)
    0.6931
    """
    losses = _normaliser(outputs) - (shares * outputs).sum(1)
    return float(np.average(losses, weights=sample_weight))


def _normaliser(outputs: Floats) -> Floats:
    if outputs.shape[1] == 1:
        return np.logaddexp(0.0, outputs[:, 0])
    return np.asarray(logsumexp(outputs, axis=1))


def _probabilities(outputs: Floats) -> Floats:
    if outputs.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-np.clip(outputs, -500, 500))))
    return np.asarray(softmax(outputs, axis=1))


def class_weights(
    outputs: Floats, shares: Floats, sample_weight: Floats | None = None, *, shrinkage: float = 5.0
) -> Floats:
    """Factors of members' outputs that minimise the log-loss of their sum.

    Factors need not sum to one: together they are a temperature too. Each member is first scaled
    by its own best temperature; then factors are pulled toward equal ones.

    Outputs (m, n, c) are out of fold, shares (n, c) are 0 or 1, and equal factors count as
    ``shrinkage`` rows. Factors are not negative, and 0 for members that hardly count.

    Examples
    --------
    >>> shares = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> good, bad = 2 * shares - 1, np.array([[1.0], [-1.0], [1.0], [-1.0]])
    >>> factors = class_weights(np.stack([good, bad]), shares, shrinkage=1.0)
    >>> bool(factors[0] > 1), bool(factors[1] < factors[0] / 3)
    (True, True)
    """
    m, n, _ = outputs.shape
    w = np.full(n, 1 / n) if sample_weight is None else sample_weight / sample_weight.sum()
    scales = np.array([_descend(one[None], shares, w, np.ones(1), 1.0 / n)[0] for one in outputs])
    scaled = outputs * scales[:, None, None]
    found = _descend(scaled, shares, w, np.full(m, 1 / m), shrinkage / n)
    found[found < _LEAST * found.sum()] = 0.0
    return np.asarray(found * scales)


def _descend(outputs: Floats, shares: Floats, w: Floats, start: Floats, pull: float) -> Floats:
    """Factors of at least 0 for the least log-loss of the sum, near where they start."""

    def cost(factors: Floats) -> tuple[float, Floats]:
        z = np.tensordot(factors, outputs, 1)
        apart = _probabilities(z) - shares
        value = w @ (_normaliser(z) - (shares * z).sum(1)) + pull * ((factors - start) ** 2).sum()
        slope = np.einsum("mnc,nc,n->m", outputs, apart, w) + 2 * pull * (factors - start)
        return float(value), slope

    found = minimize(cost, start, jac=True, bounds=[(0.0, None)] * len(start), method="L-BFGS-B")
    return np.asarray(found.x)
