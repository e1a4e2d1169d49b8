from itertools import permutations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from adacap.model_selection.labels import draw_orders
from adacap.model_selection.spectrum import decompose, default_grid

ALPHAS = np.array([1e-3, 0.5, 20.0, 1e4])
SHAPES = pytest.mark.parametrize(("n", "d"), [(30, 5), (12, 40), (15, 15)])
INTERCEPTS = pytest.mark.parametrize("fit_intercept", [True, False])


@SHAPES
@INTERCEPTS
def test_residuals_equal_explicit_matrices(rng, n, d, fit_intercept):
    X, Y, orders = rng.normal(size=(n, d)) + 1, rng.normal(size=(n, 2)) - 2, draw_orders(n, 4, rng)
    found = decompose(X, Y, orders, fit_intercept=fit_intercept).residual_squares(ALPHAS)
    centring = np.eye(n) - fit_intercept / n
    A = centring @ X
    for i, alpha in enumerate(ALPHAS):
        H = A @ np.linalg.solve(A.T @ A + alpha * np.eye(d), A.T)
        for t, order in enumerate([np.arange(n), *orders]):
            residual = (np.eye(n) - H) @ centring @ Y[order]
            np.testing.assert_allclose(found[i, t], (residual**2).sum(0), rtol=1e-6)


@SHAPES
@INTERCEPTS
@pytest.mark.parametrize("weighted", [True, False])
def test_coefficients_equal_scikit_learns(rng, n, d, fit_intercept, weighted):
    X, Y = rng.normal(size=(n, d)) + 1, rng.normal(size=(n, 3)) - 2
    w = rng.uniform(0.2, 3, size=n) if weighted else None
    orders = draw_orders(n, 2, rng)
    spectrum = decompose(X, Y, orders, weight=w, fit_intercept=fit_intercept)
    for i, alpha in enumerate(ALPHAS):
        coef, intercept = spectrum.solve(alpha)
        ridge = Ridge(alpha, fit_intercept=fit_intercept, solver="svd").fit(X, Y, w)
        np.testing.assert_allclose(coef, ridge.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(intercept, ridge.intercept_, rtol=1e-6, atol=1e-8)
        squares = (Y - ridge.predict(X)) ** 2 * (1 if w is None else w[:, None])
        true = spectrum.residual_squares(ALPHAS)[i, 0]
        np.testing.assert_allclose(true, squares.sum(0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(6, 2), (6, 9)])
def test_mean_over_all_permutations_is_a_trace(rng, n, d):
    """E‖(I−H)Y_t‖² = s²(n − 1 − r + Σ(λ/(s_j²+λ))²), so T draws estimate a closed form."""
    X, y = rng.normal(size=(n, d)), rng.normal(size=(n, 1))
    spectrum = decompose(X, y, np.array(list(permutations(range(n)))))
    lost = 1 - spectrum.kept(ALPHAS)
    expected = y.var(ddof=1) * (n - 1 - len(spectrum.singular) + (lost**2).sum(1))
    found = spectrum.residual_squares(ALPHAS)[:, 1:, 0].mean(1)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10)


def test_kept_shares_are_the_eigenvalues_of_the_smoother(rng):
    X = rng.normal(size=(10, 4))
    spectrum = decompose(X, rng.normal(size=(10, 1)), draw_orders(10, 1, rng), fit_intercept=False)
    H = X @ np.linalg.solve(X.T @ X + 0.5 * np.eye(4), X.T)
    np.testing.assert_allclose(spectrum.kept(np.array([0.5])).sum(), np.trace(H))


def test_collinear_and_constant_columns_lower_the_rank(rng):
    X = rng.normal(size=(20, 3))
    X = np.c_[X, X[:, 0] + X[:, 1], np.ones(20)]
    spectrum = decompose(X, rng.normal(size=(20, 1)), draw_orders(20, 1, rng))
    assert spectrum.singular.shape == (3,)


def test_features_that_do_not_vary_give_the_mean(rng):
    y = rng.normal(size=(9, 1))
    spectrum = decompose(np.ones((9, 2)), y, draw_orders(9, 1, rng))
    coef, intercept = spectrum.solve(1.0)
    np.testing.assert_allclose(coef, 0)
    np.testing.assert_allclose(intercept, y.mean())
    assert default_grid(spectrum.singular).shape == (100,)


def test_the_default_grid_reaches_from_full_rank_to_nothing(rng):
    spectrum = decompose(
        rng.normal(size=(50, 8)), rng.normal(size=(50, 1)), draw_orders(50, 1, rng)
    )
    dof = spectrum.kept(default_grid(spectrum.singular)).sum(1)
    assert dof[0] > 0.98 * 8
    assert dof[-1] < 0.02 * 8


def test_the_default_grid_scales_with_the_features():
    s = np.array([5.0, 2.0, 0.1])
    np.testing.assert_allclose(default_grid(10 * s), 100 * default_grid(s))
