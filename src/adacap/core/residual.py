"""Root mean squared residuals of the Tikhonov layer with their gradient: the regression fast path.

For the squared error the gradient at the fitted values is the residual itself, and the normal
equations say what the hidden layer makes of it: ``AᵀR = λB``. So neither the fitted values nor
their gradient enter the graph, and one product with ``A`` is saved. Other losses go through
:func:`adacap.core.tikhonov.ridge_fit`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from adacap.core.linalg import cholesky_of_gram, solve_with
from adacap.core.normal_equations import solve_twice
from adacap.core.tikhonov import aligned, weighted_mean

__all__ = ["OutputLayer", "Pullback", "ridge_rmse", "ridge_rmse_pullback"]

_FLOOR = 1e-12  # of a root mean square, as in core.losses.rmse


class OutputLayer(NamedTuple):
    """Weights ``(..., J, c)`` and offsets ``(..., c)`` of the output layer.

    ``factor`` is the lower Cholesky factor of the Gram matrix that gave them, where it was kept.
    """

    coef: Tensor
    intercept: Tensor
    factor: Tensor | None = None


class _Solved(NamedTuple):
    """Root mean squared residuals ``ρ`` of all label sets, and what their gradient needs."""

    rho: Tensor  # (..., n_sets)
    coef: Tensor  # (..., J, c), of the first set
    factor: Tensor  # (..., k, k), Cholesky factor of the smaller Gram matrix plus λI
    lam: Tensor
    solution: Tensor  # B = M⁻¹AᵀY, or α = K⁻¹Y in the dual form
    twice: Tensor | None  # S = M⁻¹B, or K⁻¹α; None where no gradient is wanted
    product: Tensor  # [AB − Y, AS], or [α, S]ᵀA
    root: Tensor | None
    size: Tensor | float  # N, a sum of weights where rows have weights
    n_targets: int
    primal: bool
    room: Tensor | None = None  # memory of A, where it is a copy, for the gradient at it


def _solve(
    hidden: Tensor,
    Y: Tensor,
    lam: Tensor,
    mean: Tensor | None,
    root: Tensor | None,
    count: Tensor | float,
    n_sets: int,
    *,
    wants_gradient: bool,
) -> _Solved:
    """``ρ_s = ‖Y_s − A·B_s‖ / √N`` for every label set s, with ``A = root · (hidden − mean)``.

    What the gradient needs of ``A`` is computed beside ``A·B``, in one product.
    """
    n_samples, d_hidden = hidden.shape[-2:]
    q = Y.shape[-1]
    n_targets = q // n_sets
    A = _prepare(hidden, mean, root)
    room = None if A is hidden else A
    if d_hidden < n_samples:  # M = AᵀA + λI,  B = M⁻¹AᵀY,  S = M⁻¹B,  −R = AB − Y
        B, S, L = solve_twice(A, Y, lam)
        product = A @ _beside(B, S)  # [AB, AS]
        norms = product[..., :q].sub_(Y).square().sum(-2).sqrt()
        coef = B[..., :n_targets]
        rho = _per_set(norms, count, n_sets)
        return _Solved(rho, coef, L, lam, B, S, product, root, count, n_targets, True, room)
    # K = AAᵀ + λI,  α = K⁻¹Y,  S = K⁻¹α,  R = λα
    L = cholesky_of_gram(A.mT, lam)
    alpha = solve_with(L, Y)
    twice, columns = None, alpha[..., :n_targets]
    if wants_gradient:
        twice = solve_with(L, alpha)
        columns = _beside(alpha, twice)
    product = columns.mT @ A  # [α, S]ᵀA
    norms = torch.linalg.vector_norm(alpha, dim=-2) * lam.unsqueeze(-1)
    coef = product[..., :n_targets, :].mT
    rho = _per_set(norms, count, n_sets)
    return _Solved(rho, coef, L, lam, alpha, twice, product, root, count, n_targets, False, room)


def _gradients(solved: _Solved, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients at the hidden layer and at λ, given those at ``ρ``."""
    lam, rho, B, S, product = (
        solved.lam, solved.rho, solved.solution, solved.twice, solved.product,
    )  # fmt: skip
    assert S is not None
    # ∂ρ_s/∂(AB) = −a·R with a = 1/(N ρ_s), and AᵀR = λB
    a = grad / (rho * _column(solved.size))
    if solved.n_targets > 1:
        a = a.repeat_interleave(solved.n_targets, -1)
    lam_a = (a * lam.unsqueeze(-1)).unsqueeze(-2)
    if solved.primal:  # λ⟨aB, S⟩ and −R(aB + λaS)ᵀ + (AS)(λaB)ᵀ
        lam_aB = lam_a * B
        grad_lam = (lam_aB * S).sum((-2, -1))
        right = _beside(torch.addcmul(a.unsqueeze(-2) * B, lam_a, S), lam_aB).mT
        grad_A = torch.matmul(product, right, out=solved.room)
    else:  # with α in place of B: λ⟨aα, α − λS⟩, where λ²‖α‖² = Nρ², and −λ²(aS·αᵀ + aα·Sᵀ)A
        factor = lam_a * -lam[..., None, None]
        left = factor * S
        grad_lam = (left * B).sum((-2, -1)) + (grad * rho).sum(-1) / lam
        grad_A = torch.matmul(_beside(left, factor * B), product, out=solved.room)
    return grad_A if solved.root is None else grad_A.mul_(solved.root), grad_lam


_N_TENSORS = 8  # of the fields above, then come those that are not always tensors


class _RidgeRMSE(torch.autograd.Function):
    """``(A, Y, λ) ↦ ρ`` as one node of the graph; also gives the layer and the Cholesky factor."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        solved = _solve(*arguments, wants_gradient=any(ctx.needs_input_grad))
        ctx.mark_non_differentiable(solved.coef, solved.factor)
        ctx.save_for_backward(*solved[:_N_TENSORS])
        ctx.facts = solved[_N_TENSORS:-1]  # a graph may be gone through twice: no room is shared
        return solved[:3]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        solved = _Solved(*ctx.saved_tensors, *ctx.facts)
        grad_A, grad_lam = _gradients(solved, grad)
        return grad_A, None, grad_lam, None, None, None, None


def _beside(left: Tensor, right: Tensor) -> Tensor:
    """``[left, right]`` of two blocks whose columns follow each other in memory, as LAPACK's do."""
    return torch.cat([left.mT, right.mT], -2).mT


def _prepare(hidden: Tensor, mean: Tensor | None, root: Tensor | None) -> Tensor:
    """``root · (hidden − mean)``."""
    A = hidden if mean is None else hidden - mean
    return A if root is None else A * root


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
    arguments, y_mean = _arguments(hidden, labels, lam, sample_weight, fit_intercept)
    rho, coef, L = _RidgeRMSE.apply(*arguments)  # type: ignore[no-untyped-call]
    return rho, _layer(coef, L, arguments[3], y_mean)


Pullback = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From a gradient at the RMSE of all label sets to those at the hidden layer and at λ.

What a call gives may stand where that of the call before stood.
"""


def ridge_rmse_pullback(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> tuple[Tensor, OutputLayer, Pullback]:
    """As :func:`ridge_rmse`, with the gradient as a function in place of a graph.

    Parameters
    ----------
    hidden, labels, lam, sample_weight, fit_intercept
        As there; λ as a tensor of shape (...) without gradient.

    Returns
    -------
    Tensor of shape (..., n_sets)
    OutputLayer
    callable

    Examples
    --------
    >>> y = torch.tensor([[[2.0]], [[4.0]]])
    >>> rho, _, pull = ridge_rmse_pullback(torch.eye(2), y, torch.tensor(1.0))
    >>> rho, pull(torch.ones(1))[1]
    (tensor([1.5811]), tensor(0.7906))
    """
    arguments, y_mean = _arguments(hidden.detach(), labels, lam, sample_weight, fit_intercept)
    solved = _solve(*arguments, wants_gradient=True)
    layer = _layer(solved.coef, solved.factor, arguments[3], y_mean)
    return solved.rho, layer, partial(_gradients, solved)


_Arguments = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None, Tensor | float, int]


def _arguments(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor | float,
    sample_weight: Tensor | None,
    fit_intercept: bool,
) -> tuple[_Arguments, Tensor | None]:
    """What :func:`_solve` takes, and the mean of the labels where an intercept is fitted."""
    n_sets, n_targets = labels.shape[-2:]
    A, Y, lam = aligned(hidden, labels.flatten(-2), lam)
    w = None if sample_weight is None else sample_weight.unsqueeze(-1).to(A.dtype)
    a_mean = y_mean = root = None
    if fit_intercept:
        # Residuals and A·S have weighted mean zero, so that the mean needs no gradient.
        a_mean, y_mean = weighted_mean(A.detach(), w), weighted_mean(Y, w)
        Y = Y - y_mean
        y_mean = y_mean[..., :n_targets]
    count: Tensor | float = float(A.shape[-2] * n_targets)
    if w is not None:
        root, count = w.sqrt(), w.sum((-2, -1)) * n_targets
        Y = root * Y
    return (A, Y, lam, a_mean, root, count, n_sets), y_mean


def _layer(coef: Tensor, L: Tensor, a_mean: Tensor | None, y_mean: Tensor | None) -> OutputLayer:
    if a_mean is None or y_mean is None:
        return OutputLayer(coef, coef.new_zeros(*coef.shape[:-2], coef.shape[-1]), L)
    return OutputLayer(coef, (y_mean - a_mean @ coef).squeeze(-2), L)
