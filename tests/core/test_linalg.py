"""Cholesky factors: exact where possible, rescued where not, refused with the reason."""

from contextlib import nullcontext

import pytest
import torch

from adacap.core.linalg import cholesky_in_float64, gram, safe_cholesky, solve_in_float64
from adacap.core.ridge import Ridge
from adacap.exceptions import NonFiniteError, NotPositiveDefiniteError, NumericalWarning


def barely_definite():
    """Whole numbers that float32 holds exactly, and no float32 factorisation can tell from rank 2.

    The smallest eigenvalue is 1; entries go up to 2²⁴, so that each rounding is about as large.
    """
    draws = torch.Generator().manual_seed(0)
    F = torch.randint(-2800, 2800, (2, 100), generator=draws, dtype=torch.int32)
    return (F.T @ F + torch.eye(100, dtype=torch.int32)).float()


def diagonal(*entries, dtype=torch.float64):
    return torch.diag(torch.tensor(entries, dtype=dtype))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 3)])
def test_gram_is_the_product_plus_lambda(normal, shape):
    F = normal(*shape)
    lam = torch.arange(1.0, 3.0, dtype=F.dtype) if len(shape) == 3 else torch.tensor(0.7)
    identity = torch.eye(shape[-1], dtype=F.dtype)
    torch.testing.assert_close(gram(F, lam), F.mT @ F + lam[..., None, None] * identity)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize("factorise", ["matrix", "factor"])
def test_factor_gives_the_matrix_back(normal, batch, factorise):
    F, lam = normal(*batch, 6, 4), torch.full(batch, 0.3, dtype=torch.float64)
    M = gram(F, lam)
    L = safe_cholesky(M) if factorise == "matrix" else cholesky_in_float64(F, lam)
    torch.testing.assert_close(L @ L.mT, M)
    assert torch.equal(L, L.tril())


def test_empty_matrix_has_an_empty_factor():
    assert safe_cholesky(torch.empty(0, 0)).shape == (0, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [(0, 0), (2, 2), (2, 0)])
def test_entries_that_are_not_finite_are_counted(bad, place, dtype):
    M = torch.eye(3, dtype=dtype)
    M[place] = M[place[::-1]] = bad
    n_bad = len({place, place[::-1]})
    with pytest.raises(
        NonFiniteError, match=f"{n_bad} of its 9 entries are NaN or infinite.*max_lr"
    ):
        safe_cholesky(M)


def test_one_bad_matrix_of_a_batch_is_found(normal):
    M = gram(normal(4, 6, 3), torch.tensor(1.0))
    M[2, 1, 1] = float("nan")
    with pytest.raises(NonFiniteError, match="1 of its 36 entries"):
        safe_cholesky(M)


def test_float64_rescues_a_definite_float32_matrix():
    M = barely_definite()
    assert torch.linalg.cholesky_ex(M).info
    L = safe_cholesky(M)  # no warning: nothing was added
    assert L.dtype == torch.float32
    torch.testing.assert_close(L @ L.T, M, rtol=1e-6, atol=10.0)


def test_dependent_columns_are_rescued_without_jitter(normal):
    """In float32 the rounding of FᵀF hides λ; formed in float64 it does not."""
    F = 30 * normal(200, 2, dtype=torch.float32) @ normal(2, 40, dtype=torch.float32)
    lam = torch.tensor(1e-3)
    assert torch.linalg.cholesky_ex(gram(F, lam)).info
    L = cholesky_in_float64(F, lam)
    assert L.dtype == torch.float32
    M = gram(F.double(), lam.double())
    torch.testing.assert_close(L.double() @ L.mT.double(), M, rtol=1e-5, atol=1e-5 * float(M.max()))


@pytest.mark.parametrize(
    ("entry", "jitter"), [(-1e-9, "1e-08"), (-3e-8, "1e-07"), (-3e-7, "1e-06")]
)
def test_jitter_is_reported_with_its_size(entry, jitter):
    M = diagonal(1.0, entry)
    with pytest.warns(NumericalWarning, match=f"size 2 .* with λ=1e-09; .* jitter of {jitter} "):
        L = safe_cholesky(M, 1e-9)
    torch.testing.assert_close(L @ L.T, M, rtol=0, atol=2e-6)


def test_singular_float32_matrix_is_factorised_with_a_warning():
    M = torch.ones(2, 2)
    with pytest.warns(NumericalWarning, match="size 2 was not positive definite; .* 1e-08"):
        L = safe_cholesky(M)
    assert L.dtype == torch.float32
    torch.testing.assert_close(L @ L.T, M)


@pytest.mark.parametrize("lam", [0.5, torch.tensor([0.5, 2.0])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_indefinite_matrix_is_refused(lam, dtype):
    text = (
        r"size 2 is not positive definite with λ=0\.5, even after a relative jitter of 1e-06\. "
        r"Use float64 or a larger lambda_init\."
    )
    with pytest.raises(NotPositiveDefiniteError, match=text):
        safe_cholesky(diagonal(1.0, -1.0, dtype=dtype), lam)


@pytest.mark.parametrize(
    ("entry", "expectation"),
    [
        (1.0, nullcontext()),
        (-1e-9, pytest.warns(NumericalWarning)),
        (-1.0, pytest.raises(NotPositiveDefiniteError)),
    ],
)
def test_the_matrix_and_lambda_of_the_caller_stay(entry, expectation):
    M, lam = diagonal(1.0, entry), torch.tensor(0.1)
    before = M.clone()
    with expectation:
        safe_cholesky(M, lam)
    assert torch.equal(M, before)
    assert lam == 0.1


def test_each_matrix_of_a_batch_gets_a_jitter_of_its_own_scale():
    small = diagonal(1.0, 1.0, -1e-8 / 2)
    batch = torch.stack([small, 1e6 * small])
    with pytest.warns(NumericalWarning, match="jitter of 1e-08"):
        L = safe_cholesky(batch)
    for factor, matrix in zip(L, batch, strict=True):
        added = (factor @ factor.mT - matrix).diagonal() / matrix[0, 0]
        torch.testing.assert_close(added, torch.full((3,), 2e-8 / 3).to(added), rtol=1e-3, atol=0)


@pytest.mark.parametrize("n_nets", [1, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nets_with_weights_are_solved_in_float64_as_each_alone(normal, n_nets, fit_intercept):
    A, Y, w = normal(n_nets, 9, 4), normal(n_nets, 9, 2), normal(n_nets, 9).abs()
    lam = torch.full((n_nets,), 1e-7)
    ridge = Ridge(A.float(), lam, sample_weight=w.float(), fit_intercept=fit_intercept)
    for part, *alone in zip(
        solve_in_float64(ridge, Y.float()),
        *(
            Ridge(A[k], 1e-7, sample_weight=w[k], fit_intercept=fit_intercept).solve(Y[k])
            for k in range(n_nets)
        ),
        strict=True,
    ):
        assert part.dtype == torch.float32
        torch.testing.assert_close(part.double(), torch.stack(alone), rtol=1e-4, atol=1e-4)
