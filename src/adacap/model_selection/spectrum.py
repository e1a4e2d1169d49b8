"""Ridge at every λ and for every label set, from one singular value decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adacap._typing import Floats, Index
from adacap.model_selection.labels import make_sets

__all__ = ["Spectrum", "decompose", "default_grid"]


@dataclass(frozen=True)
class Spectrum:
    """``X = U diag(s) Vᵀ`` after weighting and centring, and the labels in its coordinates.

    ``singular`` (r,) is s, ``directions`` (r, d) is Vᵀ, ``coordinates`` (r, 1 + T, k) is UᵀY for
    the true and the permuted labels, ``outside`` (1 + T, k) the squares of the labels outside the
    span of U. ``total`` is the sum of weights, ``count`` the number of rows these stand for.
    """

    singular: Floats
    directions: Floats
    coordinates: Floats
    outside: Floats
    x_mean: Floats
    y_mean: Floats
    total: float
    count: float
    centred: bool

    @property
    def free(self) -> float:
        """Dimensions in which labels can vary."""
        return self.count - self.centred

    def kept(self, alphas: Floats) -> Floats:
        """Share ``s²/(s² + λ)`` of each direction that ridge keeps, (n_alphas, r)."""
        squares = self.singular**2
        return np.asarray(squares / (squares + alphas[:, None]))

    def residual_squares(self, alphas: Floats) -> Floats:
        """``‖Y − HY‖²`` for every λ, label set and target, (n_alphas, 1 + T, k)."""
        lost = 1 - self.kept(alphas)  # Σ_j (λ/(s_j² + λ))² ⟨u_j, Y⟩²
        inside = np.tensordot(lost**2, self.coordinates**2, axes=1)
        return np.asarray(inside + self.outside)

    def solve(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients (k, d) and intercepts (k,) for the true labels."""
        gain = self.singular / (self.singular**2 + alpha)
        coef = (gain[:, None] * self.coordinates[:, 0]).T @ self.directions
        return coef, self.y_mean - coef @ self.x_mean


def decompose(
    X: Floats,
    Y: Floats,
    permutations: Index,
    *,
    weight: Floats | None = None,
    fit_intercept: bool = True,
) -> Spectrum:
    """Decompose X once, for all λ and all label sets.

    Examples
    --------
    >>> X, y = np.eye(3), np.array([[1.0], [2.0], [6.0]])
    >>> spectrum = decompose(X, y, np.array([[2, 0, 1]]), fit_intercept=False)
    >>> spectrum.solve(1.0)[0]
    array([[0.5, 1. , 3. ]])
    >>> spectrum.residual_squares(np.array([1.0])).ravel()  # a quarter of 1 + 4 + 36, twice
    array([10.25, 10.25])
    """
    n = len(X)
    w = np.ones(n) if weight is None else weight
    total = float(w.sum())
    x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    if fit_intercept:
        x_mean, y_mean = w @ X / total, w @ Y / total
    sets = make_sets(Y, permutations, weight, centre=fit_intercept)
    U, s, Vt = np.linalg.svd(np.sqrt(w)[:, None] * (X - x_mean), full_matrices=False)
    rank = int((s > s.max(initial=0) * max(X.shape) * np.finfo(float).eps).sum())
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    flat = sets.values.reshape(n, -1)
    C = U.T @ flat
    outside = ((flat - U @ C) ** 2).sum(0).reshape(sets.values.shape[1:])
    outside[1:] += sets.within
    return Spectrum(
        s, Vt, C.reshape(rank, *sets.values.shape[1:]), outside,
        x_mean, y_mean, total, max(total, float(n)), fit_intercept,
    )  # fmt: skip


def default_grid(singular: Floats, n_points: int = 100) -> Floats:
    """Grid of λ from "hardly any shrinkage" to "hardly any fit", in units of the squares of s.

    Examples
    --------
    >>> default_grid(np.array([10.0, 1.0]), 3)
    array([1.00000000e-02, 3.16227766e+01, 1.00000000e+05])
    """
    if len(singular) == 0:  # constant features: every λ gives the same
        return np.geomspace(1e-2, 1e3, n_points)
    high = float(singular[0] ** 2)
    low = max(float(singular[-1] ** 2), 1e-8 * high)
    return np.geomspace(1e-2 * low, 1e3 * high, n_points)
