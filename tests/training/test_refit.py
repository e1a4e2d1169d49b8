"""The head solved on many rows equals the head solved at once."""

import pytest
import torch
from adacap.training.refit import solve_head
from torch import nn

from adacap.core import effective_dof, ridge_fit
from adacap.nn import MLP

SHAPES = pytest.mark.parametrize("shape", [(41, 6), (9, 20)], ids=["long", "wide"])


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunk_size", [1, 7, 8192])
def test_chunks_add_up_to_one_solve(shape, fit_intercept, weighted, chunk_size, normal):
    A, Y = normal(*shape) + 1, normal(shape[0], 2) - 3
    w = torch.linspace(0, 2, shape[0], dtype=A.dtype) if weighted else None
    options = {"sample_weight": w, "fit_intercept": fit_intercept}
    fit, dof = solve_head(nn.Identity(), A, Y, 0.7, chunk_size=chunk_size, **options)
    expected = ridge_fit(A, Y, 0.7, **options)
    exact = {"rtol": 1e-8, "atol": 1e-8}
    torch.testing.assert_close(fit.coef, expected.coef, **exact)
    torch.testing.assert_close(fit.intercept, expected.intercept, **exact)
    assert fit.fitted.numel() == 0
    root = torch.ones(shape[0], 1, dtype=A.dtype) if w is None else w.sqrt().unsqueeze(1)
    if fit_intercept:
        A = A - (root.square() * A).sum(0) / root.square().sum()
    assert dof == pytest.approx(effective_dof(root * A, 0.7).item(), abs=1e-8)


@SHAPES
def test_the_backbone_is_applied(shape, normal):
    backbone = MLP(shape[1], width=10).double().eval()
    x, Y = normal(*shape), normal(shape[0], 1)
    fit, dof = solve_head(backbone, x, Y, 0.7, chunk_size=4)
    hidden = backbone(x).detach()
    torch.testing.assert_close(fit.coef, ridge_fit(hidden, Y, 0.7).coef)
    assert dof == pytest.approx(effective_dof(hidden, 0.7).item())
    assert not fit.coef.requires_grad


def test_float32_data_is_solved_in_float64(normal):
    """Features almost equal to each other: float32 alone would lose the difference."""
    A = normal(200, 1) + 1e-3 * normal(200, 5)
    Y, A = normal(200, 1).float(), A.float()
    fit, _ = solve_head(nn.Identity(), A, Y, 1e-6)
    assert fit.coef.dtype == fit.intercept.dtype == torch.float32
    expected = ridge_fit(A.double(), Y.double(), 1e-6).coef
    torch.testing.assert_close(fit.coef.double(), expected, rtol=1e-5, atol=1e-5)


def test_integer_inputs_give_real_weights():
    tokens = torch.arange(12).remainder(4).unsqueeze(1)
    backbone = nn.Sequential(nn.Embedding(4, 3), nn.Flatten()).eval()
    fit, _ = solve_head(backbone, tokens, tokens.float() / 3, 0.1)
    assert fit.coef.dtype == torch.float32
    assert fit.coef.abs().max() > 0
