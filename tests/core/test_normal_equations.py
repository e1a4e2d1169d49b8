"""Both solves of a block against solves by the book, on either side of every threshold."""

import pytest
import torch

from adacap.core import linalg, normal_equations
from adacap.core.linalg import gram, row_parts
from adacap.core.normal_equations import _LEAST_TOGETHER, solve_twice
from adacap.exceptions import NonFiniteError

SIZES = [1, 3, 64, 65, _LEAST_TOGETHER - 1, _LEAST_TOGETHER, _LEAST_TOGETHER + 1, 200, 256]


@pytest.fixture(params=[True, False], ids=["wide", "narrow"])
def wide(request, monkeypatch):
    """Both ways of forming the products, whatever the vectors of this machine."""
    monkeypatch.setattr(linalg, "has_wide_vectors", lambda: request.param)
    monkeypatch.setattr(normal_equations, "has_wide_vectors", lambda: request.param)
    return request.param


def assert_solved(A, Y, lam):
    """Both solutions and the factor obey their equations."""
    B, S, L = solve_twice(A, Y, lam)
    M = gram(A, lam)
    torch.testing.assert_close(M @ B, A.mT @ Y, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(M @ S, B, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(L, torch.linalg.cholesky(M), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("q", [1, 17, 33])
@pytest.mark.parametrize("batch", [(), (2,)], ids=["one", "two"])
def test_both_solves(normal, wide, d, q, batch):
    A, Y = normal(*batch, d + 7, d), normal(*batch, d + 7, q)
    lam = torch.tensor([0.3, 2.0] if batch else 0.7, dtype=A.dtype)
    assert_solved(A, Y, lam)


@pytest.mark.parametrize("n", [1024, 1639])
@pytest.mark.parametrize("d", [64, 200, 300])
@pytest.mark.parametrize("batch", [(), (1,)], ids=["none", "one"])
def test_rows_divided_among_threads(normal, two_threads, wide, n, d, batch):
    A, Y = normal(*batch, n, d), normal(*batch, n, 5)
    lam = torch.full(batch, 0.7, dtype=A.dtype)
    assert row_parts(A) == (2 if wide else 1)
    assert_solved(A, Y, lam)


@pytest.mark.parametrize("d", [64, 160])
def test_large_labels_are_solved_as_small_ones(normal, d):
    """Scaling labels scales the solution, up to any size that training could meet."""
    A, Y = normal(2 * d, d, dtype=torch.float32), normal(2 * d, 3, dtype=torch.float32)
    lam = torch.tensor(1.0)
    B, S, _ = solve_twice(A, Y, lam)
    for scale in (1e-8, 1e8):
        more = solve_twice(A, scale * Y, lam)
        torch.testing.assert_close(more[0] / scale, B, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(more[1] / scale, S, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("d", [40, 160])
def test_dependent_features_are_rescued(normal, d):
    """In float32 the rounding of AᵀA hides λ; the solves then go through float64."""
    A = 30 * normal(300, 2, dtype=torch.float32) @ normal(2, d, dtype=torch.float32)
    Y, lam = normal(300, 2, dtype=torch.float32), torch.tensor(1e-3)
    assert torch.linalg.cholesky_ex(gram(A, lam)).info
    B, _, _ = solve_twice(A, Y, lam)
    expected = torch.linalg.solve(gram(A.double(), lam.double()), A.mT.double() @ Y.double())
    torch.testing.assert_close((A @ B).double(), A.double() @ expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("d", [40, 160])
def test_features_that_are_not_finite_are_named(normal, d):
    A = normal(300, d)
    A[5, 7] = float("nan")
    with pytest.raises(NonFiniteError, match="entries are NaN"):
        solve_twice(A, normal(300, 2), torch.tensor(1.0, dtype=A.dtype))
