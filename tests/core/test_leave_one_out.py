"""Leave-one-out residuals against the layer really solved without each row."""

import pytest
import torch

from adacap.core.leave_one_out import loo_residuals
from adacap.core.tikhonov import effective_dof, ridge_fit

LONG, WIDE, SQUARE = (9, 4), (4, 9), (5, 5)
SHAPES = pytest.mark.parametrize("shape", [LONG, WIDE, SQUARE], ids=["long", "wide", "square"])


def by_hand(A, Y, lam, w, fit_intercept):
    """Solve once per row, without it."""
    left_out = []
    for i in range(len(A)):
        keep = torch.arange(len(A)) != i
        fit = ridge_fit(
            A[keep], Y[keep], lam,
            sample_weight=None if w is None else w[keep], fit_intercept=fit_intercept,
        )  # fmt: skip
        left_out.append(Y[i] - (A[i] @ fit.coef + fit.intercept))
    return torch.stack(left_out)


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [0.05, 3.0])
def test_equals_solving_without_each_row(normal, shape, fit_intercept, weighted, lam):
    A, Y = normal(*shape), normal(shape[0], 2)
    w = torch.linspace(0.3, 2.0, shape[0], dtype=A.dtype) if weighted else None
    residuals, _ = loo_residuals(A, Y, lam, sample_weight=w, fit_intercept=fit_intercept)
    torch.testing.assert_close(residuals, by_hand(A, Y, lam, w, fit_intercept))


@SHAPES
def test_leverages_sum_to_the_degrees_of_freedom(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 1)
    _, leverage = loo_residuals(A, Y, 0.7, fit_intercept=False)
    torch.testing.assert_close(leverage.sum(), effective_dof(A, 0.7))
    _, leverage = loo_residuals(A, Y, 0.7)
    torch.testing.assert_close(leverage.sum(), effective_dof(A - A.mean(0), 0.7) + 1)


@SHAPES
def test_a_row_of_weight_zero_is_predicted_by_the_others(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 1)
    w = torch.ones(shape[0], dtype=A.dtype)
    w[1] = 0
    residuals, leverage = loo_residuals(A, Y, 0.7, sample_weight=w)
    fit = ridge_fit(A, Y, 0.7, sample_weight=w, fit_intercept=True)
    torch.testing.assert_close(residuals[1], Y[1] - (A[1] @ fit.coef + fit.intercept))
    assert leverage[1].abs() < 1e-12


def test_float32_features_are_solved_in_double(normal):
    A, Y = normal(*LONG), normal(LONG[0], 1)
    residuals, leverage = loo_residuals(A.float(), Y.float(), 0.5)
    assert residuals.dtype == leverage.dtype == torch.float64
    torch.testing.assert_close(residuals, loo_residuals(A, Y, 0.5)[0], rtol=1e-5, atol=1e-6)


def test_a_row_that_only_it_explains_stays_finite():
    residuals, leverage = loo_residuals(
        torch.eye(3, dtype=torch.float64), torch.ones(3, 1), 1e-14, fit_intercept=False
    )
    assert residuals.isfinite().all()
    assert (leverage <= 1).all()


def test_refusals(normal):
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        loo_residuals(normal(1, 2), normal(1, 1), 1.0)
    with pytest.raises(ValueError, match=r"same n_samples, got \(4, 2\) and \(3, 1\)"):
        loo_residuals(normal(4, 2), normal(3, 1), 1.0)
