"""The fast path of regression: the same numbers and gradients as the general operator."""

import pytest
import torch

from adacap.core import ridge_fit, rmse, stack_labels
from adacap.core.linalg import _BLOCK, _lower_gram, cholesky_of_gram, gram, solve_with
from adacap.core.mlr import mlr_loss
from adacap.core.residual import ridge_rmse, ridge_rmse_pullback

SHAPES = pytest.mark.parametrize(
    "shape", [(30, 7), (9, 20), (12, 12)], ids=["long", "wide", "square"]
)
OPTIONS = pytest.mark.parametrize(
    ("weighted", "fit_intercept"), [(False, False), (True, False), (False, True), (True, True)]
)


def problem(shape, normal, n_targets=2, n_sets=4):
    A = normal(*shape)
    labels = normal(shape[0], n_sets, n_targets)
    return A, labels, normal(shape[0]).abs()


def general(A, labels, lam, weight, fit_intercept):
    """The same through fitted values."""
    fit = ridge_fit(A, labels.flatten(-2), lam, sample_weight=weight, fit_intercept=fit_intercept)
    return rmse(fit.fitted.unflatten(-1, labels.shape[-2:]), labels, weight), fit


@SHAPES
@OPTIONS
def test_values_and_output_layer(shape, weighted, fit_intercept, normal):
    A, labels, w = problem(shape, normal)
    w = w if weighted else None
    lam = torch.tensor(0.7, dtype=torch.float64)
    rho, layer = ridge_rmse(A, labels, lam, sample_weight=w, fit_intercept=fit_intercept)
    expected, fit = general(A, labels, lam, w, fit_intercept)
    torch.testing.assert_close(rho, expected)
    torch.testing.assert_close(layer.coef, fit.coef[:, :2])
    torch.testing.assert_close(layer.intercept, fit.intercept[:2])


@SHAPES
@OPTIONS
def test_gradients(shape, weighted, fit_intercept, normal):
    A, labels, w = problem(shape, normal)
    w = w if weighted else None
    direction = normal(4)
    grads = []
    for function in (ridge_rmse, general):
        A_, lam = A.clone().requires_grad_(), torch.tensor(0.7).double().requires_grad_()
        if function is general:
            rho, _ = general(A_, labels, lam, w, fit_intercept)
        else:
            rho, _ = ridge_rmse(A_, labels, lam, sample_weight=w, fit_intercept=fit_intercept)
        grads.append(torch.autograd.grad(rho @ direction, (A_, lam)))
    for ours, expected in zip(*grads, strict=True):
        torch.testing.assert_close(ours, expected)


@SHAPES
def test_gradients_by_finite_differences(shape, normal):
    A, labels, w = problem(shape, normal, n_targets=1)
    lam = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

    def fits(A, lam):
        return ridge_rmse(A, labels, lam, sample_weight=w, fit_intercept=True)[0]

    assert torch.autograd.gradcheck(fits, (A.requires_grad_(), lam))


@SHAPES
def test_members_do_not_mix(shape, normal):
    A, labels = normal(3, *shape), normal(3, shape[0], 4, 1)
    lam = torch.tensor([0.1, 1.0, 10.0], dtype=torch.float64)
    together, layer = ridge_rmse(A, labels, lam, fit_intercept=True)
    for k in range(3):
        alone, own = ridge_rmse(A[k], labels[k], lam[k], fit_intercept=True)
        torch.testing.assert_close(together[k], alone)
        torch.testing.assert_close(layer.coef[k], own.coef)


def test_labels_that_need_a_gradient_get_one(normal):
    A, labels = normal(8, 3), normal(8, 3, 1).requires_grad_()
    mlr_loss(A, labels, 1.0).value.backward()
    assert labels.grad.abs().sum() > 0


def test_an_exact_fit_has_a_finite_gradient():
    y = torch.zeros(4, 1)
    labels = stack_labels(y, torch.arange(4).expand(2, 4))
    A = torch.eye(4, requires_grad=True)
    mlr_loss(A, labels, torch.tensor(1.0)).value.backward()
    assert torch.isfinite(A.grad).all()


@pytest.mark.parametrize("k", [_BLOCK, 2 * _BLOCK, 2 * _BLOCK + 37])
def test_half_of_the_gram_matrix_is_half_of_the_gram_matrix(k, normal):
    factor, lam = normal(2, 300, k), torch.tensor([0.5, 2.0], dtype=torch.float64)
    full, half = gram(factor, lam), _lower_gram(factor, lam)
    torch.testing.assert_close(half.tril(), full.tril())
    torch.testing.assert_close(cholesky_of_gram(factor, lam), torch.linalg.cholesky(full))


def test_solve_with(normal):
    M, right = gram(normal(9, 5), torch.tensor(1.0).double()), normal(5, 3)
    solution = solve_with(torch.linalg.cholesky(M), right)
    torch.testing.assert_close(solution, torch.linalg.solve(M, right))


@SHAPES
@OPTIONS
@pytest.mark.parametrize("batch", [(), (1,), (3,)], ids=["none", "one", "three"])
def test_the_gradient_as_a_function_is_that_of_the_graph(
    shape, weighted, fit_intercept, batch, normal
):
    A, labels = normal(*batch, *shape), normal(*batch, shape[0], 4, 2)
    options = {"fit_intercept": fit_intercept}
    if weighted:
        options["sample_weight"] = normal(*batch, shape[0]).abs()
    lam, direction = normal(*batch, 1)[..., 0].abs() + 0.1, normal(*batch, 4)
    rho, layer, pull = ridge_rmse_pullback(A, labels, lam, **options)
    A_, lam_ = A.clone().requires_grad_(), lam.clone().requires_grad_()
    expected, expected_layer = ridge_rmse(A_, labels, lam_, **options)
    torch.testing.assert_close(rho, expected)
    for ours, other in zip(layer, expected_layer, strict=True):
        torch.testing.assert_close(ours, other)
    gradients = torch.autograd.grad((expected * direction).sum(), (A_, lam_))
    for ours, other in zip(pull(direction), gradients, strict=True):
        assert ours.shape == other.shape
        torch.testing.assert_close(ours, other)
