"""Leave-one-out residuals of the closed-form output layer, without solving it n times.

Leaving row i out of a ridge solve with fixed features and fixed λ changes its residual from
``(Y − HY)ᵢ`` to ``(Y − HY)ᵢ / (1 − hᵢ)`` with the leverage ``hᵢ = Hᵢᵢ``, exactly. The features
themselves have seen every row, so these residuals speak of the output layer alone.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from adacap.core.linalg import gram, safe_cholesky, solve_with
from adacap.core.tikhonov import weighted_mean

__all__ = ["SolvedLayer", "loo_residuals", "solve_layer"]

_LEAST = 1e-10  # smallest 1 − h: a row that fits itself whatever the others say


class SolvedLayer(NamedTuple):
    """An output layer and what one factorisation says of it, all in float64."""

    coef: Tensor  # (J, c)
    intercept: Tensor  # (c,), zeros without one
    residuals: Tensor  # (n, c), of each row under the layer solved without it
    leverage: Tensor  # (n,), the intercept's share included
    dof: Tensor  # (), tr H without the intercept


@torch.no_grad()
def solve_layer(
    hidden: Tensor,
    targets: Tensor,
    lam: Tensor | float,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = True,
) -> SolvedLayer:
    """Output layer, leave-one-out residuals, leverage and degrees of freedom at once.

    Parameters
    ----------
    hidden, targets, lam, sample_weight, fit_intercept
        As in :func:`loo_residuals`; a single row will do.

    Returns
    -------
    SolvedLayer

    Examples
    --------
    >>> layer = solve_layer(torch.eye(2), torch.tensor([[2.0], [4.0]]), 3.0, fit_intercept=False)
    >>> layer.coef.flatten().tolist(), layer.residuals.flatten().tolist(), layer.dof.item()
    ([0.5, 1.0], [2.0, 4.0], 0.5)
    """
    A, Y = hidden.double(), targets.double()
    lam = torch.as_tensor(lam).to(A)
    w = torch.ones_like(A[:, :1]) if sample_weight is None else sample_weight.unsqueeze(-1).to(A)
    slack = torch.ones_like(w[:, 0])
    intercept, a_mean = Y.new_zeros(Y.shape[1]), None
    if fit_intercept:  # the intercept alone has the leverage wᵢ / Σw
        a_mean, y_mean = weighted_mean(A, w), weighted_mean(Y, w)
        A, Y = A - a_mean, Y - y_mean
        slack = slack - w[:, 0] / w.sum()
        intercept = y_mean[0]
    root = w.sqrt()
    coef, leverage = _coef_and_leverage(root * A, root * Y, lam)
    if a_mean is not None:
        intercept = intercept - a_mean[0] @ coef
    slack = (slack - leverage).clamp(min=_LEAST)
    residuals = (Y - A @ coef) / slack.unsqueeze(-1)
    return SolvedLayer(coef, intercept, residuals, 1 - slack, leverage.sum())


def _coef_and_leverage(A: Tensor, Y: Tensor, lam: Tensor) -> tuple[Tensor, Tensor]:
    """``P·Y`` and the diagonal of ``H = A(AᵀA + λI)⁻¹Aᵀ``, through the smaller Gram matrix."""
    if A.shape[1] < A.shape[0]:  # hᵢ = ‖L⁻¹aᵢ‖² with LLᵀ = AᵀA + λI
        L = safe_cholesky(gram(A, lam), lam)
        half: Tensor = torch.linalg.solve_triangular(L, A.mT, upper=False)
        return solve_with(L, A.mT @ Y), half.square().sum(0)
    L = safe_cholesky(gram(A.mT, lam), lam)  # I − H = λK⁻¹ with LLᵀ = K = AAᵀ + λI
    inverse: Tensor = torch.linalg.solve_triangular(L, torch.eye(len(A)).to(L), upper=False)
    return A.mT @ solve_with(L, Y), 1 - lam * inverse.square().sum(0)


@torch.no_grad()
def loo_residuals(
    hidden: Tensor,
    targets: Tensor,
    lam: Tensor | float,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = True,
) -> tuple[Tensor, Tensor]:
    """Residual of each row under the output layer solved without it, and its leverage.

    A row that carries a weight is left out whole: a weight of 2 takes both copies away.

    Parameters
    ----------
    hidden : Tensor of shape (n_samples, d_hidden)
        Last hidden representation, ``A`` in the paper.
    targets : Tensor of shape (n_samples, n_columns)
    lam : Tensor of shape () or float
        Regularisation ``λ > 0``.
    sample_weight : Tensor of shape (n_samples,), optional
        Non-negative.
    fit_intercept : bool, default=True
        Whether the layer has an unpenalised intercept.

    Returns
    -------
    residuals : Tensor of shape (n_samples, n_columns), float64
        ``yᵢ − ŷᵢ`` with ``ŷᵢ`` predicted by the layer solved on all rows but i.
    leverage : Tensor of shape (n_samples,), float64
        ``Hᵢᵢ``, the intercept's share included; its sum is the degrees of freedom with the
        intercept counted as one.

    Raises
    ------
    ValueError
        If there are fewer than two rows, or shapes that do not go together.

    Examples
    --------
    The mean of two numbers, each left out in turn: no feature, only an intercept.

    >>> residuals, leverage = loo_residuals(torch.zeros(2, 1), torch.tensor([[1.0], [5.0]]), 1.0)
    >>> residuals.flatten().tolist(), leverage.tolist()
    ([-4.0, 4.0], [0.5, 0.5])
    """
    if hidden.ndim != 2 or targets.ndim != 2 or len(hidden) != len(targets):
        raise ValueError(
            "hidden must be (n_samples, d_hidden) and targets (n_samples, n_columns) with the same "
            f"n_samples, got {tuple(hidden.shape)} and {tuple(targets.shape)}."
        )
    if len(hidden) < 2:
        raise ValueError(f"Leaving one row out needs at least 2 rows, got {len(hidden)}.")
    layer = solve_layer(
        hidden, targets, lam, sample_weight=sample_weight, fit_intercept=fit_intercept
    )
    return layer.residuals, layer.leverage
