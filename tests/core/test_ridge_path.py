"""Ridge regression at many λ: at each it is the ridge of that λ."""

import pytest
import torch

from adacap.core.ridge import Ridge
from adacap.core.ridge_path import RidgePath

LAMS = torch.tensor([1e-2, 0.5, 10.0, 1e4], dtype=torch.float64)


@pytest.fixture(params=[(9, 4), (4, 9), (5, 5)], ids=["long", "wide", "square"])
def shape(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["no intercept", "intercept"])
def intercept(request):
    return request.param


@pytest.fixture(params=["none", "all", "one row absent"])
def w(request, shape):
    weight = torch.linspace(0.3, 2.0, shape[0], dtype=torch.float64)
    if request.param == "one row absent":
        weight[1] = 0
    return None if request.param == "none" else weight


@pytest.mark.parametrize("rank", [1, 9], ids=["dependent", "full"])
def test_every_answer_is_that_of_each_lambda(normal, shape, intercept, w, rank):
    A, Y = normal(shape[0], rank) @ normal(rank, shape[1]), normal(shape[0], 3)
    path = RidgePath(A, LAMS, sample_weight=w, fit_intercept=intercept)
    each = [Ridge(A, float(lam), sample_weight=w, fit_intercept=intercept) for lam in LAMS]
    compared = [
        *zip(path.solve(Y), zip(*(one.solve(Y) for one in each), strict=True), strict=True),
        *zip(path.loo(Y), zip(*(one.loo(Y) for one in each), strict=True), strict=True),
        (path.leverage(), [one.leverage() for one in each]),
        (path.dof(), [one.dof() for one in each]),
    ]
    for found, expected in compared:
        torch.testing.assert_close(found, torch.stack(list(expected)), rtol=1e-8, atol=1e-8)


def test_each_row_is_predicted_by_the_fit_without_it(normal, shape, w):
    A, Y = normal(*shape), normal(shape[0], 2)
    residuals, _ = RidgePath(A, LAMS, sample_weight=w, fit_intercept=True).loo(Y)
    for lam, found in zip(LAMS, residuals, strict=True):
        for i in range(len(A)):
            rest = torch.arange(len(A)) != i
            own = None if w is None else w[rest]
            fit = Ridge(A[rest], lam, sample_weight=own, fit_intercept=True).solve(Y[rest])
            torch.testing.assert_close(found[i], Y[i] - A[i] @ fit.coef - fit.intercept)


@pytest.mark.parametrize("question", ["solve", "loo"])
def test_what_is_only_read_has_no_graph(normal, question):
    path, Y = RidgePath(normal(9, 4).requires_grad_(), LAMS), normal(9, 1)
    assert not any(part.requires_grad for part in getattr(path, question)(Y))
    assert not path.dof().requires_grad


def test_one_decomposition_answers_every_question(normal, monkeypatch):
    path, Y = RidgePath(normal(9, 4), LAMS, fit_intercept=True), normal(9, 1)
    for name in ("eigh", "cholesky_ex"):
        monkeypatch.setattr(torch.linalg, name, None)
    path.solve(Y), path.loo(Y), path.leverage(), path.dof()
