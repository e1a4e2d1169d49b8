"""Root mean squared residuals of the Tikhonov layer as one graph node: the regression fast path.

For the squared error the gradient at the fitted values is the residual itself, and the normal
equations say what the hidden layer makes of it: ``AᵀR = λB``. So neither the fitted values nor
their gradient enter the graph, and one product with ``A`` is saved. Other losses go through
:func:`adacap.core.tikhonov.ridge_fit`.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from adacap.core.linalg import cholesky_of_gram, solve_with
from adacap.core.normal_equations import block_width, solve_twice
from adacap.core.tikhonov import aligned, weighted_mean

__all__ = ["OutputLayer", "ridge_rmse"]

_FLOOR = 1e-12  # of a root mean square, as in core.losses.rmse


class OutputLayer(NamedTuple):
    """Weights ``(..., J, c)`` and offsets ``(..., c)`` of the output layer.

    ``factor`` is the lower Cholesky factor of the Gram matrix that gave them, where it was kept.
    """

    coef: Tensor
    intercept: Tensor
    factor: Tensor | None = None


class _RidgeRMSE(torch.autograd.Function):
    """``(A, Y, λ) ↦ ρ`` with ``ρ_s = ‖Y_s − A·B_s‖ / √N`` for every label set s.

    Here ``A`` is the hidden layer less ``mean`` and times ``root``, neither of which is a node of
    the graph. Also gives ``B`` of the first set and the Cholesky factor, without gradient. What the
    backward pass needs of ``A`` is computed beside ``A·B``, in one product.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        Y: Tensor,
        lam: Tensor,
        mean: Tensor | None,
        root: Tensor | None,
        count: Tensor | float,
        n_sets: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        n_samples, d_hidden = hidden.shape[-2:]
        primal = d_hidden < n_samples
        q = Y.shape[-1]
        n_targets = q // n_sets
        if primal:  # M = AᵀA + λI,  B = M⁻¹AᵀY,  S = M⁻¹B,  −R = AB − Y
            block = hidden.new_empty(*hidden.shape[:-1], block_width(d_hidden, q))  # [A, Y, 0]
            A = _prepare(hidden, mean, root, out=block[..., :d_hidden])
            block[..., d_hidden : d_hidden + q] = Y
            block[..., d_hidden + q :].zero_()
            B, S, L = solve_twice(block, d_hidden, q, lam)
            product = A @ _beside(B, S)  # [AB, AS]
            norms = product[..., :q].sub_(Y).square().sum(-2).sqrt()
            coef = B[..., :n_targets]
        else:  # K = AAᵀ + λI,  α = K⁻¹Y,  S = K⁻¹α,  R = λα
            A = _prepare(hidden, mean, root)
            L = cholesky_of_gram(A.mT, lam)
            B = solve_with(L, Y)  # α
            S, columns = None, B[..., :n_targets]
            if any(ctx.needs_input_grad):
                S = solve_with(L, B)
                columns = _beside(B, S)
            product = columns.mT @ A  # [α, S]ᵀA
            norms = torch.linalg.vector_norm(B, dim=-2) * lam.unsqueeze(-1)
            coef = product[..., :n_targets, :].mT
        rho = _per_set(norms, count, n_sets)
        ctx.mark_non_differentiable(coef, L)
        ctx.primal, ctx.count, ctx.n_targets = primal, count, n_targets
        ctx.save_for_backward(lam, rho, B, S, product, root)
        return rho, coef, L

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        lam, rho, B, S, product, root = ctx.saved_tensors
        # ∂ρ_s/∂(AB) = −a·R with a = 1/(N ρ_s), and AᵀR = λB
        a = (grad / (rho * _column(ctx.count))).unsqueeze(-2)
        if ctx.n_targets > 1:
            a = a.repeat_interleave(ctx.n_targets, -1)
        lam_ = lam[..., None, None]
        lam_a = lam_ * a
        lam_aB = lam_a * B  # in the dual form B is α
        need_A, _, need_lam = ctx.needs_input_grad[:3]
        grad_A = grad_lam = None
        if ctx.primal:
            if need_lam:  # λ⟨aB, S⟩
                grad_lam = (lam_aB * S).sum((-2, -1))
            if need_A:  # −R(aB + λaS)ᵀ + (AS)(λaB)ᵀ
                grad_A = product @ _beside(torch.addcmul(a * B, lam_a, S), lam_aB).mT
        else:
            if need_lam:  # λ⟨aα, α − λS⟩
                grad_lam = (lam_aB * torch.addcmul(B, -lam_, S)).sum((-2, -1))
            if need_A:  # −λ²(aS)(αᵀA) − λ²(aα)(SᵀA)
                grad_A = _beside(lam_a * S, lam_aB) @ (product * -lam_)
        if grad_A is not None and root is not None:
            grad_A = grad_A.mul_(root)
        return grad_A, None, grad_lam, None, None, None, None


def _beside(left: Tensor, right: Tensor) -> Tensor:
    """``[left, right]`` of two blocks whose columns follow each other in memory, as LAPACK's do."""
    return torch.cat([left.mT, right.mT], -2).mT


def _prepare(
    hidden: Tensor, mean: Tensor | None, root: Tensor | None, out: Tensor | None = None
) -> Tensor:
    """``root · (hidden − mean)``, written to ``out`` if there is one."""
    if mean is not None:
        A = torch.sub(hidden, mean, out=out)
    elif out is not None:
        A = out.copy_(hidden)
    else:
        A = hidden
    return A if root is None else torch.mul(A, root, out=out)


def _per_set(norms: Tensor, count: Tensor | float, n_sets: int) -> Tensor:
    """Norms of residual columns as root mean squares of label sets."""
    if norms.shape[-1] > n_sets:
        norms = torch.linalg.vector_norm(norms.unflatten(-1, (n_sets, -1)), dim=-1)
    root = math.sqrt(count) if isinstance(count, float) else count.sqrt().unsqueeze(-1)
    return (norms / root).clamp_min(_FLOOR)


def _column(count: Tensor | float) -> Tensor | float:
    return count if isinstance(count, float) else count.unsqueeze(-1)


def ridge_rmse(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor | float,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> tuple[Tensor, OutputLayer]:
    """RMSE of every label set under its own ridge solution, and the output layer of the first set.

    The same numbers as :func:`adacap.core.ridge_fit` followed by :func:`adacap.core.losses.rmse`,
    in one node of the graph. Labels are constants; the output layer carries no gradient.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
    labels : Tensor of shape (..., n_samples, n_sets, n_targets)
    lam : Tensor of shape (...) or float
    sample_weight : Tensor of shape (..., n_samples), optional
    fit_intercept : bool, default=False

    Returns
    -------
    Tensor of shape (..., n_sets)
    OutputLayer

    Examples
    --------
    >>> y = torch.tensor([[[2.0]], [[4.0]]])
    >>> rho, layer = ridge_rmse(torch.eye(2), y, torch.tensor(1.0))
    >>> rho, layer.coef.flatten()
    (tensor([1.5811]), tensor([1., 2.]))
    """
    n_sets, n_targets = labels.shape[-2:]
    A, Y, lam = aligned(hidden, labels.flatten(-2), lam)
    w = None if sample_weight is None else sample_weight.unsqueeze(-1).to(A.dtype)
    a_mean = y_mean = root = None
    if fit_intercept:
        # Residuals and A·S have weighted mean zero, so that the mean needs no gradient.
        a_mean, y_mean = weighted_mean(A.detach(), w), weighted_mean(Y, w)
        Y = Y - y_mean
    count: Tensor | float = float(A.shape[-2] * n_targets)
    if w is not None:
        root, count = w.sqrt(), w.sum((-2, -1)) * n_targets
        Y = root * Y
    rho, coef, L = _RidgeRMSE.apply(A, Y, lam, a_mean, root, count, n_sets)  # type: ignore[no-untyped-call]
    if a_mean is None or y_mean is None:
        return rho, OutputLayer(coef, coef.new_zeros(*coef.shape[:-2], n_targets), L)
    return rho, OutputLayer(coef, (y_mean[..., :n_targets] - a_mean @ coef).squeeze(-2), L)
