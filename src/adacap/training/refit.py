"""Solve the output layer once more, on more rows than a minibatch holds."""

import torch
from torch import Tensor, nn

from adacap.core.leave_one_out import SolvedLayer, solve_layer
from adacap.core.linalg import safe_cholesky, solve_with
from adacap.core.tikhonov import RidgeFit

__all__ = ["MOST_REFIT", "narrow", "solve_head"]

MOST_REFIT = 50_000  # rows beyond which a re-solved output layer no longer changes


@torch.no_grad()
def solve_head(
    backbone: nn.Module,
    x: Tensor,
    targets: Tensor,
    lam: float,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
    chunk_size: int = 8192,
) -> tuple[RidgeFit, float]:
    """Ridge solution on any number of rows, and its effective degrees of freedom.

    The normal equations are accumulated chunk by chunk in float64, so memory does not grow with
    the number of rows.

    Parameters
    ----------
    backbone : nn.Module
        Put in evaluation mode by the caller.
    x : Tensor of shape (n, ...)
    targets : Tensor of shape (n, c)
    lam : float
    sample_weight : Tensor of shape (n,), optional
    fit_intercept : bool, default=False
    chunk_size : int, default=8192

    Returns
    -------
    RidgeFit
        In the dtype of ``targets``; ``fitted`` is empty.
    float
        ``tr H`` on these rows.

    Examples
    --------
    >>> fit, dof = solve_head(nn.Identity(), torch.eye(3), torch.ones(3, 1), 1.0)
    >>> fit.coef.flatten().tolist(), round(dof, 6)
    ([0.5, 0.5, 0.5], 1.5)
    """
    if len(x) <= chunk_size:
        A = backbone(x)
        if len(x) < A.shape[1]:  # the Gram matrix of the rows is the smaller one
            layer = solve_layer(
                A, targets, lam, sample_weight=sample_weight, fit_intercept=fit_intercept
            )
            return narrow(layer, targets), float(layer.dof)
    blocks: tuple[Tensor, ...] | None = None
    for start in range(0, len(x), chunk_size):
        rows = slice(start, start + chunk_size)
        A, Y = backbone(x[rows]).double(), targets[rows].double()
        w = (
            torch.ones_like(Y[:, :1])
            if sample_weight is None
            else sample_weight[rows, None].double()
        )
        wA = w * A
        part = (wA.T @ A, wA.T @ Y, wA.sum(0), (w * Y).sum(0), w.sum())
        blocks = part if blocks is None else tuple(a + b for a, b in zip(blocks, part, strict=True))
    assert blocks is not None
    M, C, a_sum, y_sum, total = blocks
    if fit_intercept:  # centring as a rank-one correction of the accumulated moments
        M -= torch.outer(a_sum, a_sum) / total
        C -= torch.outer(a_sum, y_sum) / total
    M.diagonal().add_(lam)
    L = safe_cholesky(M, lam)
    coef = solve_with(L, C)
    intercept = (y_sum - a_sum @ coef) / total if fit_intercept else torch.zeros_like(y_sum)
    inverse = torch.linalg.solve_triangular(L, torch.eye(len(L)).to(L), upper=False)
    dof = len(L) - lam * float(inverse.square().sum())
    return RidgeFit(coef.to(targets), intercept.to(targets), targets.new_empty(0)), dof


def narrow(layer: SolvedLayer, targets: Tensor) -> RidgeFit:
    """The weights of a solved layer, in the dtype of the targets."""
    return RidgeFit(layer.coef.to(targets), layer.intercept.to(targets), targets.new_empty(0))
