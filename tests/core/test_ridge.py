"""The Tikhonov operator: identities, gradients by finite differences, leave-one-out, cost."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as ReferenceRidge
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from adacap.core.linalg import gram
from adacap.core.ridge import _BLOCK, _LEAST_BY_BLOCKS, Ridge, _cholesky, row_mean
from adacap.core.ridge_path import RidgePath
from adacap.exceptions import NonFiniteError, NumericalWarning

LONG, WIDE, SQUARE = (9, 4), (4, 9), (5, 5)
SHAPES = pytest.mark.parametrize("shape", [LONG, WIDE, SQUARE], ids=["long", "wide", "square"])
INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
EXACT = {"rtol": 1e-8, "atol": 1e-8}


def weights(n_samples, batch=()):
    return torch.linspace(0.3, 2.0, n_samples, dtype=torch.float64).expand(*batch, n_samples)


def solve(A, Y, lam, w=None, fit_intercept=False):
    return Ridge(A, lam, sample_weight=w, fit_intercept=fit_intercept).solve(Y)


def smoother(A, lam):
    """H, column by column: the fit of the identity."""
    return solve(A, torch.eye(A.shape[-2], dtype=A.dtype), lam).fitted


# ----------------------------------------------------------------------------- gradients


@SHAPES
@INTERCEPT
@WEIGHTED
@pytest.mark.parametrize("batch", [(), (2,)], ids=["single", "batched"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_gradients(normal, shape, fit_intercept, weighted, batch, n_columns):
    A, Y = normal(*batch, *shape), normal(*batch, shape[0], n_columns)
    lam = torch.tensor([0.4, 1.5] if batch else 0.9, dtype=A.dtype)
    w = weights(shape[0], batch) if weighted else None

    def fit(A, Y, lam):
        found = solve(A, Y, lam, w, fit_intercept)
        return found if fit_intercept else (found.coef, found.fitted)

    assert gradcheck(fit, [argument.requires_grad_() for argument in (A, Y, lam)])


@SHAPES
@WEIGHTED
@INTERCEPT
@pytest.mark.parametrize("output", ["coef", "fitted"])
def test_gradients_of_one_output_alone(normal, shape, output, weighted, fit_intercept):
    A, Y, lam = normal(*shape), normal(shape[0], 2), torch.tensor(0.6, dtype=torch.float64)
    w = weights(shape[0]) if weighted else None
    inputs = [argument.requires_grad_() for argument in (A, Y, lam)]
    assert gradcheck(lambda A, Y, lam: getattr(solve(A, Y, lam, w, fit_intercept), output), inputs)


@SHAPES
@INTERCEPT
@pytest.mark.parametrize("wanted", [0, 1, 2], ids=["features", "labels", "lambda"])
def test_gradients_of_one_argument_alone(normal, shape, wanted, fit_intercept):
    inputs = [normal(*shape), normal(shape[0], 2), torch.tensor(0.6, dtype=torch.float64)]
    inputs[wanted].requires_grad_()
    # Without an intercept there is nothing to differentiate in it.
    step = 1 if fit_intercept else 2
    assert gradcheck(lambda A, Y, lam: solve(A, Y, lam, None, fit_intercept)[::step], inputs)


@SHAPES
@INTERCEPT
def test_gradients_of_what_nets_share(normal, shape, fit_intercept):
    """One λ and one set of labels for several nets: their gradients are the sums over nets."""
    A, Y = normal(3, *shape), normal(shape[0], 2)
    lam = torch.tensor(0.6, dtype=A.dtype)
    inputs = [argument.requires_grad_() for argument in (A, Y, lam)]
    assert gradcheck(lambda A, Y, lam: solve(A, Y, lam, None, fit_intercept).fitted, inputs)


def test_second_derivatives_are_refused(normal):
    A = normal(*LONG).requires_grad_()
    loss = solve(A, normal(9, 1), 1.0).fitted.square().sum()
    (grad,) = torch.autograd.grad(loss, A, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


# ------------------------------------------------------------------------------ identities


@SHAPES
@INTERCEPT
@WEIGHTED
@pytest.mark.parametrize("lam", [1e-2, 1.0, 1e3])
def test_equals_scikit_learn(normal, shape, fit_intercept, weighted, lam):
    A, Y = normal(*shape), normal(shape[0], 3)
    w = weights(shape[0]) if weighted else None
    reference = ReferenceRidge(alpha=lam, fit_intercept=fit_intercept)
    reference.fit(A.numpy(), Y.numpy(), None if w is None else w.numpy())
    fit = solve(A, Y, lam, w, fit_intercept)
    torch.testing.assert_close(fit.coef, torch.tensor(reference.coef_.T), **EXACT)
    torch.testing.assert_close(fit.fitted, torch.tensor(reference.predict(A.numpy())), **EXACT)
    intercept = torch.as_tensor(reference.intercept_, dtype=A.dtype).expand(3)
    torch.testing.assert_close(fit.intercept, intercept, **EXACT)


@SHAPES
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_primal_equals_dual(normal, shape, lam):
    A, Y = normal(*shape), normal(shape[0], 2)
    primal = torch.linalg.solve(A.T @ A + lam * torch.eye(shape[1]), A.T @ Y)
    dual = A.T @ torch.linalg.solve(A @ A.T + lam * torch.eye(shape[0]), Y)
    fit = solve(A, Y, lam)
    torch.testing.assert_close(fit.coef, primal, **EXACT)
    torch.testing.assert_close(fit.coef, dual, **EXACT)
    torch.testing.assert_close(fit.fitted, A @ primal, **EXACT)


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
    weighted = Ridge(A, 0.5, sample_weight=times, fit_intercept=fit_intercept)
    repeated = Ridge(A.repeat_interleave(times, 0), 0.5, fit_intercept=fit_intercept)
    ours = weighted.solve(Y)
    theirs = repeated.solve(Y.repeat_interleave(times, 0))
    torch.testing.assert_close(ours.coef, theirs.coef, **EXACT)
    torch.testing.assert_close(ours.intercept, theirs.intercept, **EXACT)
    torch.testing.assert_close(ours.fitted.repeat_interleave(times, 0), theirs.fitted, **EXACT)
    torch.testing.assert_close(weighted.dof(), repeated.dof(), **EXACT)


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
    H = smoother(A, lam)
    torch.testing.assert_close(H, H.T, rtol=0, atol=1e-9)
    eigenvalues = torch.linalg.eigvalsh(H)
    assert eigenvalues.min() > -1e-9
    assert eigenvalues.max() < 1
    squares = torch.linalg.svdvals(A).square()
    dof = (squares / (squares + lam)).sum()
    torch.testing.assert_close(H.trace(), dof, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(Ridge(A, lam).dof(), dof, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(Ridge(A, lam).leverage(), H.diagonal(), rtol=1e-7, atol=1e-9)


@SHAPES
def test_lambda_to_infinity_gives_zero(normal, shape):
    fit = solve(normal(*shape), normal(shape[0], 2), 1e14)
    assert fit.coef.abs().max() < 1e-10
    assert fit.fitted.abs().max() < 1e-10


@pytest.mark.parametrize("rank", [2, 4])
@SHAPES
def test_lambda_to_zero_gives_the_projection(normal, shape, rank):
    A, Y = normal(shape[0], rank) @ normal(rank, shape[1]), normal(shape[0], 2)
    projection = A @ torch.linalg.pinv(A, rtol=1e-10)
    torch.testing.assert_close(solve(A, Y, 1e-9).fitted, projection @ Y, rtol=1e-5, atol=1e-5)


@SHAPES
@WEIGHTED
@INTERCEPT
def test_nets_do_not_mix(normal, shape, weighted, fit_intercept):
    A, Y = normal(2, 3, *shape), normal(2, 3, shape[0], 2)
    w = weights(shape[0], (2, 3)) if weighted else None
    lam = torch.linspace(0.1, 4.0, 6, dtype=A.dtype).reshape(2, 3)
    many = Ridge(A, lam, sample_weight=w, fit_intercept=fit_intercept)
    fit = many.solve(Y)
    assert fit.coef.shape == (2, 3, shape[1], 2)
    assert fit.intercept.shape == (2, 3, 2)
    assert fit.fitted.shape == (2, 3, shape[0], 2)
    for at in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        i = tuple(at)
        own = None if w is None else w[i]
        one = Ridge(A[i], lam[i], sample_weight=own, fit_intercept=fit_intercept)
        for ours, theirs in zip(fit, one.solve(Y[i]), strict=True):
            torch.testing.assert_close(ours[i], theirs)
        torch.testing.assert_close(many.dof()[i], one.dof())
        for ours, theirs in zip(many.loo(Y), one.loo(Y[i]), strict=True):
            torch.testing.assert_close(ours[i], theirs)


@SHAPES
@pytest.mark.parametrize("shared", ["targets", "lam"])
def test_nets_may_share_labels_and_lambda(normal, shape, shared):
    A, Y, lam = normal(3, *shape), normal(3, shape[0], 2), torch.tensor([0.5, 1.0, 2.0])
    Y, lam = Y[0] if shared == "targets" else Y, 0.7 if shared == "lam" else lam
    fit = solve(A, Y, lam)
    for k in range(3):
        one = solve(A[k], Y if Y.ndim == 2 else Y[k], lam if shared == "lam" else lam[k])
        torch.testing.assert_close(fit.coef[k], one.coef)


@SHAPES
def test_columns_do_not_mix(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 4)
    together = solve(A, Y, 0.3, fit_intercept=True)
    alone = solve(A, Y[:, 2:3], 0.3, fit_intercept=True)
    torch.testing.assert_close(together.coef[:, 2:3], alone.coef)
    torch.testing.assert_close(together.fitted[:, 2:3], alone.fitted)


@SHAPES
@WEIGHTED
def test_residuals_of_a_fit_with_intercept_have_mean_zero(normal, shape, weighted):
    A, Y = normal(*shape) + 5, normal(shape[0], 2) - 3
    w = weights(shape[0]) if weighted else None
    fit = solve(A, Y, 0.3, w, fit_intercept=True)
    torch.testing.assert_close(fit.fitted, A @ fit.coef + fit.intercept)
    mean = row_mean(Y - fit.fitted, None if w is None else w.unsqueeze(-1))
    torch.testing.assert_close(mean, torch.zeros_like(mean), rtol=0, atol=1e-10)


@SHAPES
def test_float32_stays_float32(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 2)
    small = solve(A.float(), Y.float(), torch.tensor(0.5, dtype=torch.float64))
    assert small.coef.dtype == small.fitted.dtype == torch.float32
    torch.testing.assert_close(small.coef.double(), solve(A, Y, 0.5).coef, rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------------------- leave-one-out


def without_each(A, Y, lam, w, fit_intercept):
    """Residual of each row under the layer solved without it, one solve per row."""
    left_out = []
    for i in range(len(A)):
        keep = torch.arange(len(A)) != i
        fit = solve(A[keep], Y[keep], lam, None if w is None else w[keep], fit_intercept)
        left_out.append(Y[i] - (A[i] @ fit.coef + fit.intercept))
    return torch.stack(left_out)


@SHAPES
@INTERCEPT
@WEIGHTED
@pytest.mark.parametrize("lam", [0.05, 3.0])
def test_loo_equals_solving_without_each_row(normal, shape, fit_intercept, weighted, lam):
    A, Y = normal(*shape), normal(shape[0], 2)
    w = weights(shape[0]) if weighted else None
    residuals, _ = Ridge(A, lam, sample_weight=w, fit_intercept=fit_intercept).loo(Y)
    torch.testing.assert_close(residuals, without_each(A, Y, lam, w, fit_intercept))


@SHAPES
@INTERCEPT
@WEIGHTED
def test_leverages_sum_to_the_degrees_of_freedom(normal, shape, fit_intercept, weighted):
    w = weights(shape[0]) if weighted else None
    ridge = Ridge(normal(*shape), 0.7, sample_weight=w, fit_intercept=fit_intercept)
    leverage = ridge.leverage()
    torch.testing.assert_close(leverage.sum(), ridge.dof() + fit_intercept)
    torch.testing.assert_close(ridge.loo(normal(shape[0], 1))[1], leverage)


@SHAPES
def test_a_row_of_weight_zero_is_predicted_by_the_others(normal, shape):
    A, Y = normal(*shape), normal(shape[0], 1)
    w = torch.ones(shape[0], dtype=A.dtype)
    w[1] = 0
    ridge = Ridge(A, 0.7, sample_weight=w, fit_intercept=True)
    residuals, leverage = ridge.loo(Y)
    fit = ridge.solve(Y)
    torch.testing.assert_close(residuals[1], Y[1] - (A[1] @ fit.coef + fit.intercept))
    assert leverage[1].abs() < 1e-12


def test_a_row_that_only_it_explains_stays_finite():
    Y = torch.ones(3, 1, dtype=torch.float64)
    residuals, leverage = Ridge(torch.eye(3, dtype=torch.float64), 1e-14).loo(Y)
    assert residuals.isfinite().all()
    assert (leverage <= 1).all()


@pytest.mark.parametrize("question", ["leverage", "dof", "loo"])
def test_what_is_only_read_has_no_graph(normal, question):
    ridge, Y = Ridge(normal(*LONG).requires_grad_(), 1.0), normal(9, 1)
    answer = {
        "leverage": lambda: ridge.leverage(),
        "dof": lambda: ridge.dof(),
        "loo": lambda: ridge.loo(Y)[0],
    }[question]()
    assert not answer.requires_grad


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


@INTERCEPT
@pytest.mark.parametrize("shape", [(40, 6), (6, 40)], ids=["long", "wide"])
def test_no_matrix_of_the_larger_size_is_formed(normal, shape, fit_intercept):
    A = normal(*shape).requires_grad_()
    lam = torch.tensor(1.0, dtype=A.dtype, requires_grad=True)
    Y, w = normal(shape[0], 3), weights(shape[0])
    with Shapes() as shapes:
        ridge = Ridge(A, lam, sample_weight=w, fit_intercept=fit_intercept)
        fit = ridge.solve(Y)
        (fit.fitted.square().sum() + fit.coef.sum()).backward()
        ridge.dof()
        ridge.loo(Y)
        RidgePath(A, torch.tensor([1.0, 2.0]), sample_weight=w).loo(Y)
    assert (6, 6) in shapes.seen
    assert (40, 40) not in shapes.seen


@SHAPES
def test_one_factorisation_answers_every_question_at_a_lambda(normal, shape, monkeypatch):
    calls = []
    original = torch.linalg.cholesky_ex
    monkeypatch.setattr(
        torch.linalg, "cholesky_ex", lambda *a, **k: calls.append(1) or original(*a, **k)
    )
    for name in ("inv", "solve", "cholesky", "eigh", "svd", "lu_factor"):
        monkeypatch.setattr(torch.linalg, name, None)
    A = normal(*shape).requires_grad_()
    lam = torch.tensor(1.0, dtype=A.dtype, requires_grad=True)
    ridge = Ridge(A, lam, fit_intercept=True)
    fit = ridge.solve(normal(shape[0], 17))
    (fit.fitted.square().sum() + fit.coef.sum()).backward()
    ridge.dof()
    ridge.loo(normal(shape[0], 2))
    assert len(calls) == 1
    assert A.grad is not None
    assert lam.grad is not None


@pytest.mark.parametrize("k", [1, _BLOCK, _LEAST_BY_BLOCKS - 1, _LEAST_BY_BLOCKS, 293])
def test_the_factor_formed_by_blocks_is_the_factor(k, normal):
    factor, lam = normal(2, 300, k), torch.tensor([0.5, 2.0], dtype=torch.float64)
    torch.testing.assert_close(_cholesky(factor, lam), torch.linalg.cholesky(gram(factor, lam)))


# ------------------------------------------------------------------- rescues and refusals


@pytest.mark.parametrize("shape", [(300, 60), (60, 300), (300, 270)])
def test_dependent_features_in_float32_are_solved(normal, shape):
    """Two true dimensions, a small λ: float32 products are indefinite, the solution is not lost."""
    A = 30 * normal(shape[0], 2) @ normal(2, shape[1])
    Y = normal(shape[0], 1)
    fitted = solve(A.float(), Y.float(), 1e-3).fitted
    torch.testing.assert_close(fitted.double(), solve(A, Y, 1e-3).fitted, rtol=0, atol=1e-3)


@pytest.mark.parametrize("d", [40, 160])
def test_large_labels_are_solved_as_small_ones(normal, d):
    A, Y = normal(2 * d, d, dtype=torch.float32), normal(2 * d, 3, dtype=torch.float32)
    expected = solve(A, Y, 1.0).coef
    for scale in (1e-8, 1e8):
        found = solve(A, scale * Y, 1.0).coef / scale
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_overflow_of_a_float32_product_is_rescued(normal):
    A, Y = normal(*LONG), normal(LONG[0], 1)
    A[:, 0] *= 1e25  # its square is infinite in float32, finite in float64
    fitted = solve(A.float(), Y.float(), 1.0).fitted
    torch.testing.assert_close(fitted.double(), solve(A, Y, 1.0).fitted, rtol=0, atol=1e-4)


def test_negligible_lambda_is_reported():
    with pytest.warns(NumericalWarning, match="size 3 was not positive definite with λ=1e-30"):
        solve(torch.ones(6, 3), torch.ones(6, 1), 1e-30)


@pytest.mark.parametrize("shape", [LONG, WIDE, SQUARE, (300, 270)])
def test_nan_features_are_named(normal, shape):
    A = normal(*shape)
    A[0, 0] = float("nan")
    with pytest.raises(NonFiniteError, match="entries are NaN or infinite"):
        solve(A, normal(shape[0], 1), 1.0)


@pytest.mark.parametrize("targets", [(3, 1), (4,), (2, 3, 1)])
def test_labels_must_fit_the_rows(targets):
    text = r"targets must be \(\.\.\., 4, n_columns\) of torch\.float32, like hidden, got \("
    with pytest.raises(ValueError, match=text):
        solve(torch.zeros(4, 2), torch.zeros(targets), 1.0)


def test_dtypes_must_agree(normal):
    with pytest.raises(
        ValueError, match=r"of torch\.float64, like hidden, got .*torch\.float32.*to"
    ):
        solve(normal(4, 2), normal(4, 1, dtype=torch.float32), 1.0)


@pytest.mark.parametrize(
    "hidden",
    [torch.zeros(4), torch.ones(4, 2).long(), torch.ones(4, 2).bfloat16()],
    ids=["row", "int", "bfloat16"],
)
def test_features_must_be_a_table_of_reals(hidden):
    with pytest.raises(
        ValueError, match=r"float32 or float64, got \(4,.*\) of torch\..*pass hidden.float"
    ):
        Ridge(hidden, 1.0)


# ------------------------------------------------------------------- float32 and a tiny lambda


def ill_conditioned(normal, n, d, condition):
    """Matrix in float32 whose singular values fall from 1 to 1 / condition."""
    U, V = torch.linalg.qr(normal(n, min(n, d)))[0], torch.linalg.qr(normal(d, min(n, d)))[0]
    fall = torch.logspace(0, -math.log10(condition), min(n, d), dtype=torch.float64)
    return ((U * fall) @ V.mT).float()


@pytest.mark.finding("L1", before="fitted values off by up to 29 × the largest, no word")
@INTERCEPT
@WEIGHTED
@pytest.mark.parametrize("lam", [1e-8, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("shape", [(20, 20), (30, 20), (20, 30)], ids=["square", "long", "wide"])
def test_float32_is_near_float64_at_any_lambda(normal, shape, lam, fit_intercept, weighted):
    for condition in (1e2, 1e4, 1e6, 1e8):
        A, Y = ill_conditioned(normal, *shape, condition), normal(shape[0], 2).float()
        w = weights(shape[0]) if weighted else None
        exact = solve(A.double(), Y.double(), torch.tensor(lam).double(), w, fit_intercept).fitted
        found = solve(A, Y, lam, w, fit_intercept).fitted
        assert found.dtype == torch.float32
        assert (found - exact).abs().max() < 0.005 * exact.abs().max()


def test_gradients_survive_the_change_to_float64(normal):
    A, Y = ill_conditioned(normal, 20, 20, 1e6).requires_grad_(), normal(20, 1).float()
    lam = torch.tensor(1e-8, requires_grad=True)
    solve(A, Y, lam).coef.square().sum().backward()
    assert A.grad.dtype == torch.float32
    assert A.grad.isfinite().all()
    assert lam.grad.isfinite()
