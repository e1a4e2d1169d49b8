"""The Tikhonov operator: identities, gradients by finite differences, cost."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from adacap.core.tikhonov import (
    effective_dof,
    ridge_coef,
    ridge_fit,
    smooth,
    smoother_matrix,
    weighted_mean,
)
from adacap.exceptions import NonFiniteError, NumericalWarning

LONG, WIDE, SQUARE = (9, 4), (4, 9), (5, 5)
SHAPES = pytest.mark.parametrize("shape", [LONG, WIDE, SQUARE], ids=["long", "wide", "square"])


def weights(n_samples, batch=()):
    return torch.linspace(0.3, 2.0, n_samples, dtype=torch.float64).expand(*batch, n_samples)


def dense(A, Y, lam, w=None):
    """Textbook solution through an explicit inverse."""
    w = torch.ones(A.shape[-2], dtype=A.dtype) if w is None else w
    M = A.mT @ (w.unsqueeze(-1) * A)
    identity = torch.eye(A.shape[-1], dtype=A.dtype)
    inverse = torch.linalg.inv(M + torch.as_tensor(lam)[..., None, None] * identity)
    return inverse @ A.mT @ (w.unsqueeze(-1) * Y)


# ----------------------------------------------------------------------------- gradients


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)], ids=["single", "batched"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_gradients_of_ridge_fit(normal, shape, fit_intercept, weighted, batch, n_columns):
    A, Y = normal(*batch, *shape), normal(*batch, shape[0], n_columns)
    lam = torch.tensor([0.4, 1.5] if batch else 0.9, dtype=A.dtype)
    arguments = [A, Y, lam] + ([weights(shape[0], batch).clone()] if weighted else [])

    def solve(A, Y, lam, w=None):
        fit = ridge_fit(A, Y, lam, sample_weight=w, fit_intercept=fit_intercept)
        return fit if fit_intercept else (fit.coef, fit.fitted)

    assert gradcheck(solve, [argument.requires_grad_() for argument in arguments])


@SHAPES
@pytest.mark.parametrize("function", [ridge_coef, smooth])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_one_output_alone(normal, shape, function, weighted):
    A, Y, lam = normal(*shape), normal(shape[0], 2), torch.tensor(0.6, dtype=torch.float64)
    w = weights(shape[0]) if weighted else None
    inputs = [argument.requires_grad_() for argument in (A, Y, lam)]
    assert gradcheck(lambda A, Y, lam: function(A, Y, lam, sample_weight=w), inputs)


@SHAPES
@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_gradients_of_one_argument_alone(normal, shape, wanted):
    inputs = [normal(*shape), normal(shape[0], 2), torch.tensor(0.6, dtype=torch.float64)]
    inputs[wanted].requires_grad_()
    assert gradcheck(lambda *inputs: ridge_fit(*inputs)[::2], inputs)


@SHAPES
def test_gradients_of_shared_features_with_many_lambdas(normal, shape):
    A, Y = normal(*shape).requires_grad_(), normal(shape[0], 2).requires_grad_()
    lam = torch.tensor([0.2, 1.0, 5.0], dtype=A.dtype, requires_grad=True)
    assert gradcheck(lambda *inputs: ridge_fit(*inputs)[::2], [A, Y, lam])


@SHAPES
def test_gradients_of_effective_dof(normal, shape):
    lam = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    assert gradcheck(effective_dof, [normal(*shape).requires_grad_(), lam])


def test_second_derivatives_are_refused(normal):
    A = normal(*LONG).requires_grad_()
    loss = smooth(A, normal(9, 1), 1.0).square().sum()
    (grad,) = torch.autograd.grad(loss, A, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


# ------------------------------------------------------------------------------ identities


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [1e-2, 1.0, 1e3])
def test_equals_scikit_learn(normal, shape, fit_intercept, weighted, lam):
    A, Y = normal(*shape), normal(shape[0], 3)
    w = weights(shape[0]) if weighted else None
    reference = Ridge(alpha=lam, fit_intercept=fit_intercept)
    reference.fit(A.numpy(), Y.numpy(), None if w is None else w.numpy())
    fit = ridge_fit(A, Y, lam, sample_weight=w, fit_intercept=fit_intercept)
    exact = {"rtol": 1e-8, "atol": 1e-8}
    torch.testing.assert_close(fit.coef, torch.tensor(reference.coef_.T), **exact)
    torch.testing.assert_close(fit.fitted, torch.tensor(reference.predict(A.numpy())), **exact)
    intercept = torch.as_tensor(reference.intercept_, dtype=A.dtype).expand(3)
    torch.testing.assert_close(fit.intercept, intercept, **exact)
    if not fit_intercept:
        coef = ridge_coef(A, Y, lam, sample_weight=w)
        torch.testing.assert_close(coef, torch.tensor(reference.coef_.T), **exact)


@SHAPES
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_primal_equals_dual(normal, shape, lam):
    A, Y = normal(*shape), normal(shape[0], 2)
    primal = torch.linalg.solve(A.T @ A + lam * torch.eye(shape[1]), A.T @ Y)
    dual = A.T @ torch.linalg.solve(A @ A.T + lam * torch.eye(shape[0]), Y)
    torch.testing.assert_close(primal, dual, rtol=1e-8, atol=1e-8)
    fit = ridge_fit(A, Y, lam)
    torch.testing.assert_close(fit.coef, primal, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(fit.coef, dual, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(fit.fitted, A @ primal, rtol=1e-8, atol=1e-8)


@given(
    n_samples=st.integers(2, 8),
    d_hidden=st.integers(1, 8),
    data=st.data(),
    fit_intercept=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_integer_weights_are_repeated_rows(n_samples, d_hidden, data, fit_intercept, seed):
    """A weight of 2 is the row twice, 0 is the row absent."""
    counts = data.draw(st.lists(st.integers(0, 3), min_size=n_samples, max_size=n_samples))
    counts[0] = max(counts[0], 1)
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(n_samples, d_hidden, generator=generator, dtype=torch.float64)
    Y = torch.randn(n_samples, 2, generator=generator, dtype=torch.float64)
    times = torch.tensor(counts)
    weighted = ridge_fit(A, Y, 0.5, sample_weight=times, fit_intercept=fit_intercept)
    repeated = ridge_fit(
        A.repeat_interleave(times, 0),
        Y.repeat_interleave(times, 0),
        0.5,
        fit_intercept=fit_intercept,
    )
    exact = {"rtol": 1e-8, "atol": 1e-8}
    torch.testing.assert_close(weighted.coef, repeated.coef, **exact)
    torch.testing.assert_close(weighted.intercept, repeated.intercept, **exact)
    fitted = weighted.fitted.repeat_interleave(times, 0)
    torch.testing.assert_close(fitted, repeated.fitted, **exact)


@given(
    n_samples=st.integers(1, 10),
    d_hidden=st.integers(1, 10),
    log_lambda=st.floats(-3, 4),
    seed=st.integers(0, 2**32),
)
def test_smoother_is_symmetric_with_eigenvalues_below_one(n_samples, d_hidden, log_lambda, seed):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(n_samples, d_hidden, generator=generator, dtype=torch.float64)
    lam = 10**log_lambda
    H = smoother_matrix(A, lam)
    torch.testing.assert_close(H, H.T, rtol=0, atol=1e-9)
    eigenvalues = torch.linalg.eigvalsh(H)
    assert eigenvalues.min() > -1e-9
    assert eigenvalues.max() < 1
    squares = torch.linalg.svdvals(A).square()
    dof = (squares / (squares + lam)).sum()
    torch.testing.assert_close(H.trace(), dof, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(effective_dof(A, lam), dof, rtol=1e-7, atol=1e-9)


@SHAPES
def test_lambda_to_infinity_gives_zero(normal, shape):
    fit = ridge_fit(normal(*shape), normal(shape[0], 2), 1e14)
    assert fit.coef.abs().max() < 1e-10
    assert fit.fitted.abs().max() < 1e-10


@pytest.mark.parametrize("rank", [2, 4])
@SHAPES
def test_lambda_to_zero_gives_the_projection(normal, shape, rank):
    A, Y = normal(shape[0], rank) @ normal(rank, shape[1]), normal(shape[0], 2)
    projection = A @ torch.linalg.pinv(A, rtol=1e-10)
    torch.testing.assert_close(smooth(A, Y, 1e-9), projection @ Y, rtol=1e-5, atol=1e-5)


@SHAPES
def test_batched_equals_one_by_one(normal, shape):
    A, Y, w = normal(2, 3, *shape), normal(2, 3, shape[0], 2), weights(shape[0], (2, 3))
    lam = torch.linspace(0.1, 4.0, 6, dtype=A.dtype).reshape(2, 3)
    fit = ridge_fit(A, Y, lam, sample_weight=w, fit_intercept=True)
    assert fit.coef.shape == (2, 3, shape[1], 2)
    assert fit.intercept.shape == (2, 3, 2)
    assert fit.fitted.shape == (2, 3, shape[0], 2)
    for i in range(2):
        for j in range(3):
            one = ridge_fit(A[i, j], Y[i, j], lam[i, j], sample_weight=w[i, j], fit_intercept=True)
            for many, single in zip(fit, one, strict=True):
                torch.testing.assert_close(many[i, j], single)
    dof = effective_dof(A, lam)
    torch.testing.assert_close(dof[1, 2], effective_dof(A[1, 2], lam[1, 2]))


@SHAPES
@pytest.mark.parametrize("shared", ["hidden", "targets", "lam"])
def test_leading_dimensions_broadcast(normal, shape, shared):
    A, Y, lam = normal(3, *shape), normal(3, shape[0], 2), torch.tensor([0.5, 1.0, 2.0])
    A, Y, lam = (
        A[0] if shared == "hidden" else A,
        Y[0] if shared == "targets" else Y,
        lam[0] if shared == "lam" else lam,
    )
    torch.testing.assert_close(ridge_coef(A, Y, lam), dense(A, Y, lam.double()))


@SHAPES
def test_columns_do_not_mix(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 4)
    together = ridge_fit(A, Y, 0.3, fit_intercept=True)
    alone = ridge_fit(A, Y[:, 2:3], 0.3, fit_intercept=True)
    torch.testing.assert_close(together.coef[:, 2:3], alone.coef)
    torch.testing.assert_close(together.fitted[:, 2:3], alone.fitted)


@SHAPES
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_a_fit_with_intercept_have_mean_zero(normal, shape, weighted):
    A, Y = normal(*shape) + 5, normal(shape[0], 2) - 3
    w = weights(shape[0]) if weighted else None
    fit = ridge_fit(A, Y, 0.3, sample_weight=w, fit_intercept=True)
    torch.testing.assert_close(fit.fitted, A @ fit.coef + fit.intercept)
    mean = weighted_mean(Y - fit.fitted, None if w is None else w.unsqueeze(-1))
    torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0, atol=1e-10)


@SHAPES
def test_float32_stays_float32(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 2)
    small = ridge_fit(A.float(), Y.float(), torch.tensor(0.5, dtype=torch.float64))
    assert small.coef.dtype == small.fitted.dtype == torch.float32
    torch.testing.assert_close(small.coef.double(), ridge_coef(A, Y, 0.5), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(300, 60), (60, 300)], ids=["long", "wide"])
def test_dependent_features_in_float32_are_solved(normal, shape):
    """Two true dimensions, a small λ: float32 products are indefinite, the solution is not lost."""
    A = 30 * normal(shape[0], 2) @ normal(2, shape[1])
    Y = normal(shape[0], 1)
    fitted = smooth(A.float(), Y.float(), 1e-3)
    torch.testing.assert_close(fitted.double(), smooth(A, Y, 1e-3), rtol=0, atol=1e-3)


# ------------------------------------------------------------------------------------ cost


class Shapes(TorchDispatchMode):
    """Shapes of all tensors that any operation returns."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for item in out if isinstance(out, tuple | list) else [out]:
            if isinstance(item, torch.Tensor):
                self.seen.add(tuple(item.shape))
        return out


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(40, 6), (6, 40)], ids=["long", "wide"])
def test_no_matrix_of_the_larger_size_is_formed(normal, shape, fit_intercept):
    A = normal(*shape).requires_grad_()
    lam = torch.tensor(1.0, dtype=A.dtype, requires_grad=True)
    Y, w = normal(shape[0], 3), weights(shape[0])
    with Shapes() as shapes:
        fit = ridge_fit(A, Y, lam, sample_weight=w, fit_intercept=fit_intercept)
        (fit.fitted.square().sum() + fit.coef.sum()).backward()
    assert (6, 6) in shapes.seen
    assert (40, 40) not in shapes.seen
    assert (40, 6) in {tuple(sorted(shape, reverse=True)) for shape in shapes.seen}


@SHAPES
def test_one_factorisation_forward_and_none_backward(normal, shape, monkeypatch):
    calls = []
    original = torch.linalg.cholesky_ex
    monkeypatch.setattr(
        torch.linalg, "cholesky_ex", lambda *a, **k: calls.append(1) or original(*a, **k)
    )
    for name in ("inv", "solve", "cholesky", "eigh", "svd", "lu_factor"):
        monkeypatch.setattr(torch.linalg, name, None)
    A = normal(*shape).requires_grad_()
    lam = torch.tensor(1.0, dtype=A.dtype, requires_grad=True)
    fit = ridge_fit(A, normal(shape[0], 17), lam, fit_intercept=True)
    assert len(calls) == 1
    (fit.fitted.square().sum() + fit.coef.sum()).backward()
    assert len(calls) == 1
    assert A.grad is not None
    assert lam.grad is not None


# ---------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(("hidden", "targets"), [((4, 2), (3, 1)), ((4, 2), (4,)), ((4,), (4, 1))])
def test_shapes_must_fit(hidden, targets):
    with pytest.raises(ValueError, match=r"with the same n_samples, got \(4,.* and \("):
        ridge_fit(torch.zeros(hidden), torch.zeros(targets), 1.0)


def test_dtypes_must_agree(normal):
    with pytest.raises(TypeError, match=r"one dtype, got torch\.float64 and torch\.float32"):
        ridge_coef(normal(4, 2), normal(4, 1, dtype=torch.float32), 1.0)
    with pytest.raises(TypeError, match=r"floating point numbers, got torch\.int64"):
        ridge_coef(torch.ones(4, 2).long(), torch.ones(4, 1).long(), 1.0)


@SHAPES
def test_nan_features_are_named(normal, shape):
    A = normal(*shape)
    A[0, 0] = float("nan")
    with pytest.raises(NonFiniteError, match="entries are NaN or infinite"):
        smooth(A, normal(shape[0], 1), 1.0)


def test_overflow_of_a_float32_product_is_rescued(normal):
    A, Y = normal(*LONG), normal(LONG[0], 1)
    A[:, 0] *= 1e25  # its square is infinite in float32, finite in float64
    fitted = smooth(A.float(), Y.float(), 1.0)
    torch.testing.assert_close(fitted.double(), smooth(A, Y, 1.0), rtol=0, atol=1e-4)


def test_negligible_lambda_is_reported():
    with pytest.warns(NumericalWarning, match="size 3 was not positive definite with λ=1e-30"):
        smooth(torch.ones(6, 3), torch.ones(6, 1), 1e-30)
