"""The Tikhonov operator: the output layer as a closed-form ridge solution.

With ``A`` the last hidden activations (n×J), the paper's operators are
``P = (AᵀA + λI)⁻¹Aᵀ`` and ``H = A·P``. Neither is formed: ``ridge_coef`` applies P and
``smooth`` applies H to a block of label columns, through one Cholesky factor of the
smaller Gram matrix, with the backward pass written by hand on the same factor.

Every function takes optional leading batch dimensions, so several nets share one call.
"""

from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from adacap.core.linalg import cholesky_of_gram, solve_with

__all__ = [
    "RidgeFit",
    "dof_of_factor",
    "effective_dof",
    "ridge_coef",
    "ridge_fit",
    "smooth",
    "smoother_matrix",
]


class RidgeFit(NamedTuple):
    """Result of one closed-form solve: weights, offsets and fitted values."""

    coef: Tensor
    intercept: Tensor
    fitted: Tensor


class _TikhonovSolve(torch.autograd.Function):
    """``(A, Y, λ) ↦ (B, AB)`` with ``B = (AᵀA + λI)⁻¹AᵀY``; exact gradients, one factorisation."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, Y: Tensor, lam: Tensor) -> tuple[Tensor, Tensor]:
        n_samples, d_hidden = A.shape[-2:]
        ctx.primal = d_hidden < n_samples
        if ctx.primal:  # M = AᵀA + λI,  B = M⁻¹AᵀY
            L = cholesky_of_gram(A, lam)
            B = solve_with(L, A.mT @ Y)
            fitted = A @ B
            ctx.save_for_backward(A, Y, lam, L, B, fitted)
        else:  # K = AAᵀ + λI,  α = K⁻¹Y,  B = Aᵀα,  AB = Y − λα
            L = cholesky_of_gram(A.mT, lam)
            alpha = solve_with(L, Y)
            B = A.mT @ alpha
            fitted = Y - lam[..., None, None] * alpha
            ctx.save_for_backward(A, lam, L, alpha)
        ctx.set_materialize_grads(False)
        return B, fitted

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_B: Tensor | None, G: Tensor | None) -> tuple[Tensor | None, ...]:
        if grad_B is None and G is None:
            return None, None, None
        return (_backward_primal if ctx.primal else _backward_dual)(ctx, grad_B, G)


def _backward_primal(
    ctx: Any, grad_B: Tensor | None, G: Tensor | None
) -> tuple[Tensor | None, ...]:
    A, Y, _, L, B, fitted = ctx.saved_tensors
    total = _sum(grad_B, None if G is None else A.mT @ G)
    S = solve_with(L, total)  # S = M⁻¹(∂B + AᵀG)
    AS = A @ S
    need_A, need_Y, need_lam = ctx.needs_input_grad
    grad_A = grad_lam = None
    if need_A:  # (G − AS)Bᵀ + (Y − AB)Sᵀ
        outer = -AS if G is None else G - AS
        grad_A = torch.cat([outer, Y - fitted], -1) @ torch.cat([B, S], -1).mT
    if need_lam:  # −⟨S, B⟩
        grad_lam = -(S * B).sum((-2, -1))
    return grad_A, AS if need_Y else None, grad_lam


def _backward_dual(ctx: Any, grad_B: Tensor | None, G: Tensor | None) -> tuple[Tensor | None, ...]:
    A, lam, L, alpha = ctx.saved_tensors
    lam_ = lam[..., None, None]
    inner = _sum(None if grad_B is None else A @ grad_B, None if G is None else -lam_ * G)
    S = solve_with(L, inner)  # S = K⁻¹(A∂B − λG)
    need_A, need_Y, need_lam = ctx.needs_input_grad
    grad_A = grad_Y = grad_lam = None
    if need_A:  # α∂Bᵀ − (Sαᵀ + αSᵀ)A
        SA = A.mT @ S  # (J, q)
        right = -SA if grad_B is None else grad_B - SA
        grad_A = torch.cat([alpha, S], -1) @ torch.cat([right, -(A.mT @ alpha)], -1).mT
    if need_Y:
        grad_Y = S if G is None else G + S
    if need_lam:  # −⟨S, α⟩ − ⟨G, α⟩
        grad_lam = -(S * alpha).sum((-2, -1))
        if G is not None:
            grad_lam = grad_lam - (G * alpha).sum((-2, -1))
    return grad_A, grad_Y, grad_lam


def _sum(*terms: Tensor | None) -> Tensor:
    """Sum of the gradients that exist; at least one does."""
    return reduce(torch.add, [term for term in terms if term is not None])


def _solve(A: Tensor, Y: Tensor, lam: Tensor | float) -> tuple[Tensor, Tensor]:
    B, fitted = _TikhonovSolve.apply(*aligned(A, Y, lam))  # type: ignore[no-untyped-call]
    return B, fitted


def aligned(A: Tensor, Y: Tensor, lam: Tensor | float) -> tuple[Tensor, Tensor, Tensor]:
    """The three arguments of a solve, checked, with the same leading dimensions."""
    lam = torch.as_tensor(lam, dtype=A.dtype, device=A.device)
    if A.ndim < 2 or Y.ndim < 2 or A.shape[-2] != Y.shape[-2]:
        raise ValueError(
            "hidden must be (..., n_samples, d_hidden) and targets (..., n_samples, n_columns) "
            f"with the same n_samples, got {tuple(A.shape)} and {tuple(Y.shape)}."
        )
    if A.dtype != Y.dtype:
        raise TypeError(f"hidden and targets must share one dtype, got {A.dtype} and {Y.dtype}.")
    if not A.is_floating_point():
        raise TypeError(f"hidden must hold floating point numbers, got {A.dtype}.")
    if A.shape[:-2] == Y.shape[:-2] == lam.shape:
        return A, Y, lam
    batch = torch.broadcast_shapes(A.shape[:-2], Y.shape[:-2], lam.shape)
    A, Y = A.expand(*batch, *A.shape[-2:]), Y.expand(*batch, *Y.shape[-2:])
    return A, Y, lam.expand(batch)


def ridge_fit(
    hidden: Tensor,
    targets: Tensor,
    lam: Tensor | float,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> RidgeFit:
    """Closed-form output layer: weights, intercept and fitted values at once.

    Minimises ``Σᵢ wᵢ‖yᵢ − b − aᵢW‖² + λ‖W‖²``, differentiably in every argument. The smaller
    of the two Gram matrices is factorised, once for all columns of ``targets``.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
        Last hidden representation, ``A`` in the paper.
    targets : Tensor of shape (..., n_samples, n_columns)
        True and permuted labels side by side; all columns share one factorisation.
    lam : Tensor of shape (...) or float
        Regularisation ``λ > 0``.
    sample_weight : Tensor of shape (..., n_samples), optional
        Non-negative; a weight of 2 is the row twice, 0 is the row absent.
    fit_intercept : bool, default=False
        Fit an unpenalised intercept by centring; the paper has none.

    Returns
    -------
    RidgeFit
        ``coef (..., d_hidden, n_columns)``, ``intercept (..., n_columns)`` (zeros without one) and
        ``fitted (..., n_samples, n_columns)``.

    Raises
    ------
    NonFiniteError, NotPositiveDefiniteError
        If the regularised Gram matrix cannot be factorised.

    Examples
    --------
    >>> fit = ridge_fit(
    ...     torch.tensor([[-1.0], [1.0]]), torch.tensor([[1.0], [5.0]]), 2.0, fit_intercept=True
    ... )
    >>> fit.coef.item(), fit.intercept.item(), fit.fitted.flatten().tolist()
    (1.0, 3.0, [2.0, 4.0])
    """
    A, Y = hidden, targets
    if not fit_intercept and sample_weight is None:
        coef, fitted = _solve(A, Y, lam)
        return RidgeFit(coef, _no_intercept(coef), fitted)
    w = None if sample_weight is None else sample_weight.unsqueeze(-1).to(A.dtype)
    if fit_intercept:
        a_mean, y_mean = weighted_mean(A, w), weighted_mean(Y, w)
        A, Y = A - a_mean, Y - y_mean
    if w is None:
        coef, fitted = _solve(A, Y, lam)
    else:  # √w on both sides gives the weighted normal equations
        root = w.sqrt()
        coef, _ = _solve(root * A, root * Y, lam)
        fitted = A @ coef
    if not fit_intercept:
        return RidgeFit(coef, _no_intercept(coef), fitted)
    return RidgeFit(coef, (y_mean - a_mean @ coef).squeeze(-2), fitted + y_mean)


def _no_intercept(coef: Tensor) -> Tensor:
    return coef.new_zeros(*coef.shape[:-2], coef.shape[-1])


def weighted_mean(block: Tensor, w: Tensor | None) -> Tensor:
    """Mean over rows of (..., n, q), kept as one row; ``w`` is (..., n, 1) or None."""
    if w is None:
        return block.mean(-2, keepdim=True)
    return (w * block).sum(-2, keepdim=True) / w.sum(-2, keepdim=True)


def ridge_coef(
    hidden: Tensor, targets: Tensor, lam: Tensor | float, *, sample_weight: Tensor | None = None
) -> Tensor:
    """Output weights of the Tikhonov layer, ``P·Y`` (paper, eq. 2).

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
    targets : Tensor of shape (..., n_samples, n_columns)
    lam : Tensor of shape (...) or float
    sample_weight : Tensor of shape (..., n_samples), optional

    Returns
    -------
    Tensor of shape (..., d_hidden, n_columns)

    Examples
    --------
    >>> ridge_coef(torch.eye(2), torch.tensor([[2.0], [4.0]]), 1.0)
    tensor([[1.],
            [2.]])
    """
    return ridge_fit(hidden, targets, lam, sample_weight=sample_weight).coef


def smooth(
    hidden: Tensor, targets: Tensor, lam: Tensor | float, *, sample_weight: Tensor | None = None
) -> Tensor:
    """Fitted labels ``H·Y`` of the Tikhonov layer (paper, eq. 4), without forming H.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
    targets : Tensor of shape (..., n_samples, n_columns)
    lam : Tensor of shape (...) or float
    sample_weight : Tensor of shape (..., n_samples), optional

    Returns
    -------
    Tensor of shape (..., n_samples, n_columns)

    Examples
    --------
    >>> smooth(torch.eye(2), torch.tensor([[2.0], [4.0]]), 1.0)
    tensor([[1.],
            [2.]])
    """
    return ridge_fit(hidden, targets, lam, sample_weight=sample_weight).fitted


def smoother_matrix(hidden: Tensor, lam: Tensor | float) -> Tensor:
    """The n×n operator ``H`` itself; for diagnostics and figures, never used in training.

    Parameters
    ----------
    hidden : Tensor of shape (n_samples, d_hidden)
    lam : Tensor of shape () or float

    Returns
    -------
    Tensor of shape (n_samples, n_samples)

    Examples
    --------
    >>> smoother_matrix(torch.tensor([[1.0], [1.0]]), 2.0)
    tensor([[0.2500, 0.2500],
            [0.2500, 0.2500]])
    """
    identity = torch.eye(hidden.shape[-2], dtype=hidden.dtype, device=hidden.device)
    return smooth(hidden, identity, lam)


def effective_dof(hidden: Tensor, lam: Tensor | float) -> Tensor:
    """Effective degrees of freedom ``tr H = Σ s²/(s² + λ)`` of the Tikhonov layer.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
        Centred by the caller when an intercept is fitted; rows scaled by √weight when weighted.
    lam : Tensor of shape (...) or float

    Returns
    -------
    Tensor of shape (...)

    Examples
    --------
    >>> effective_dof(torch.eye(3), 1.0)
    tensor(1.5000)
    """
    lam = torch.as_tensor(lam, dtype=hidden.dtype, device=hidden.device)
    factor = hidden if hidden.shape[-1] <= hidden.shape[-2] else hidden.mT
    return dof_of_factor(cholesky_of_gram(factor, lam), lam)


def dof_of_factor(L: Tensor, lam: Tensor) -> Tensor:
    """As :func:`effective_dof`, from the Cholesky factor of the smaller Gram matrix plus λI.

    Parameters
    ----------
    L : Tensor of shape (..., k, k)
    lam : Tensor of shape (...)

    Returns
    -------
    Tensor of shape (...)

    Examples
    --------
    >>> dof_of_factor(torch.diag(torch.tensor([2.0, 1.0])), torch.tensor(1.0))
    tensor(0.7500)
    """
    # tr H = k − λ tr(M⁻¹) with tr(M⁻¹) = ‖L⁻¹‖², a third of the price of the eigenvalues
    identity = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand_as(L)
    inverse: Tensor = torch.linalg.solve_triangular(L, identity, upper=False)
    return L.shape[-1] - lam * inverse.square().sum((-2, -1))
