"""Ridge regression in closed form: the Tikhonov operator.

    minimise over W and b   Σᵢ wᵢ‖yᵢ − b − aᵢW‖² + λ‖W‖²

With ``A`` the last hidden activations (n×J), the paper's operators are ``P = (AᵀA + λI)⁻¹Aᵀ`` and
``H = A·P``. Neither is formed. :class:`Ridge` centres and weights A once and answers every question
through one Cholesky factor of the smaller Gram matrix: weights, fitted values, leave-one-out
residuals, leverage, degrees of freedom. `core/ridge_path.py` answers them at many λ.

Leading dimensions are nets: K of them share one call.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from adacap.core.linalg import cholesky_in_float64, solve_in_float64

__all__ = ["Ridge", "RidgeFit", "row_mean"]

_BLOCK = 128  # columns of a Gram product formed at a time
_LEAST_BY_BLOCKS = 256  # columns from which half a product is cheaper than the whole
_MOST_SPREAD = 50.0  # of a float32 factor's diagonal: beyond, fitted values lose per cents
_LEAST_SLACK = 1e-10  # smallest 1 − h: a row that determines its own fit


class RidgeFit(NamedTuple):
    """Output layer and what it gives on the rows it was solved on."""

    coef: Tensor = torch.empty(0)  # (..., J, q)
    intercept: Tensor = torch.empty(0)  # (..., q), zeros without one
    fitted: Tensor = torch.empty(0)  # (..., n, q)


class Ridge:
    """Ridge regression of any labels on the rows of one matrix.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
        Last hidden representation, ``A`` in the paper.
    lam : Tensor of shape (...) or float
        Regularisation ``λ > 0``.
    sample_weight : Tensor of shape (..., n_samples), optional
        Not negative. A weight of 2 is the row twice, 0 is the row absent.
    fit_intercept : bool, default=False
        Fit an unpenalised intercept by centring; the paper has none.

    Examples
    --------
    >>> ridge = Ridge(torch.tensor([[-1.0], [1.0]]), 2.0, fit_intercept=True)
    >>> fit = ridge.solve(torch.tensor([[1.0], [5.0]]))
    >>> fit.coef.item(), fit.intercept.item(), fit.fitted.flatten().tolist()
    (1.0, 3.0, [2.0, 4.0])
    >>> ridge.dof().item()
    0.5
    """

    def __init__(
        self,
        hidden: Tensor,
        lam: Tensor | float,
        *,
        sample_weight: Tensor | None = None,
        fit_intercept: bool = False,
    ) -> None:
        if hidden.ndim < 2 or hidden.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                "hidden must be (..., n_samples, d_hidden) of float32 or float64, got "
                f"{tuple(hidden.shape)} of {hidden.dtype}; under autocast pass hidden.float()."
            )
        self.hidden = hidden
        self.lam = torch.as_tensor(lam, dtype=hidden.dtype, device=hidden.device)
        self.lam = self.lam.expand(hidden.shape[:-2])
        self.w = None if sample_weight is None else sample_weight.unsqueeze(-1).to(hidden.dtype)
        self.mean = row_mean(hidden, self.w) if fit_intercept else None
        # C = A − mean of the rows
        self.C = hidden.detach() if self.mean is None else hidden.detach() - self.mean.detach()
        self.is_primal = hidden.shape[-1] < hidden.shape[-2]

    def root_weighted(self, block: Tensor) -> Tensor:
        """Rows times the square roots of their weights."""
        return block if self.w is None else self.w.sqrt() * block

    @cached_property
    def factor(self) -> Tensor:
        """Lower Cholesky factor of the smaller of ``AᵀA + λI`` and ``AAᵀ + λI``.

        Raises
        ------
        NonFiniteError, NotPositiveDefiniteError
            If it cannot be factorised.
        """
        A = self.root_weighted(self.C)
        return _cholesky(A if self.is_primal else A.mT, self.lam.detach())

    def solve(self, targets: Tensor) -> RidgeFit:
        """Output layer and fitted values, ``P·Y`` and ``H·Y``, differentiable in A, Y and λ.

        In float32 with a λ that is tiny beside the features, the solve is done in float64.

        Parameters
        ----------
        targets : Tensor of shape (..., n_samples, n_columns)
            True and permuted labels side by side; all columns share one factorisation.
        """
        Y, C = targets, self.C
        if Y.ndim < 2 or Y.shape[-2] != C.shape[-2] or Y.dtype != C.dtype:
            raise ValueError(
                f"targets must be (..., {C.shape[-2]}, n_columns) of {C.dtype}, like hidden, got "
                f"{tuple(Y.shape)} of {Y.dtype}: see targets[:, None], targets.to(hidden.dtype)."
            )
        Y = Y.expand(*C.shape[:-2], *Y.shape[-2:])
        diagonal = self.factor.diagonal(dim1=-2, dim2=-1)  # its spread bounds the condition
        is_spread = diagonal.amax(-1) > _MOST_SPREAD * diagonal.amin(-1)
        if C.dtype == torch.float32 and is_spread.any():
            return RidgeFit(*solve_in_float64(self, Y))
        if self.mean is None:
            coef, fitted = self._apply(Y)
            return RidgeFit(coef, coef.new_zeros(*coef.shape[:-2], coef.shape[-1]), fitted)
        y_mean = row_mean(Y, self.w)
        coef, fitted = self._apply(Y - y_mean)
        return RidgeFit(coef, (y_mean - self.mean @ coef).squeeze(-2), fitted + y_mean)

    def _apply(self, Y: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and fitted values for labels that are centred if A is."""
        apply: Any = _Solve.apply
        if self.w is None:
            is_centred = self.mean is not None
            coef, fitted = apply(self.hidden, self.C, Y, self.lam, self.factor, is_centred)
            return coef, fitted
        C = self.hidden if self.mean is None else self.hidden - self.mean
        A = self.root_weighted(C)  # √w on both sides gives the weighted normal equations
        coef, _ = apply(A, A.detach(), self.root_weighted(Y), self.lam, self.factor, False)
        return coef, C @ coef

    @torch.no_grad()
    def leverage(self) -> Tensor:
        """Diagonal of H, ``(..., n_samples)``, with the intercept's share ``wᵢ/Σw``."""
        A = self.root_weighted(self.C)
        if self.is_primal:  # hᵢ = ‖L⁻¹aᵢ‖²
            h: Tensor = torch.linalg.solve_triangular(self.factor, A.mT, upper=False)
            h = h.square().sum(-2)
        else:  # I − H = λK⁻¹
            h = 1 - self.lam.unsqueeze(-1) * _inverse(self.factor).square().sum(-2)
        return self._with_intercept(h)

    def _with_intercept(self, leverage: Tensor) -> Tensor:
        if self.mean is None:
            return leverage
        w = torch.ones_like(self.C[..., :1]) if self.w is None else self.w
        return leverage + (w / w.sum(-2, keepdim=True)).squeeze(-1)

    @torch.no_grad()
    def loo(self, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Residual of each row under the layer solved without it, and its leverage.

        Leaving a row out of a solve with fixed features and fixed λ changes its residual from
        ``rᵢ`` to ``rᵢ / (1 − hᵢ)``, exactly. A row that carries a weight is left out whole.
        """
        slack = (1 - self.leverage()).clamp(min=_LEAST_SLACK)
        return (targets - self.solve(targets).fitted) / slack.unsqueeze(-1), 1 - slack

    @torch.no_grad()
    def dof(self) -> Tensor:
        """Effective degrees of freedom ``tr H = Σ s²/(s² + λ)``, without the intercept."""
        inverse = _inverse(self.factor)  # tr H = k − λ tr(M⁻¹) with tr(M⁻¹) = ‖L⁻¹‖²
        return inverse.shape[-1] - self.lam * inverse.square().sum((-2, -1))


class _Solve(torch.autograd.Function):
    """``(A, Y, λ) ↦ (B, AB)`` with ``B = (AᵀA + λI)⁻¹AᵀY``; exact gradients, one factorisation.

    ``L`` is the Cholesky factor of the smaller Gram matrix plus λI; ``A`` is ``hidden``, less the
    mean of its rows if ``is_centred``. That mean needs no gradient of its own: since ``Aᵀ1 = 0``,
    all that is left of it is the mean of the gradient G.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, A: Tensor, Y: Tensor, lam: Tensor, L: Tensor, is_centred: bool
    ) -> tuple[Tensor, Tensor]:
        ctx.primal, ctx.is_centred = L.shape[-1] == A.shape[-1] < A.shape[-2], is_centred
        if ctx.primal:
            B = alpha = _solve_with(L, A.mT @ Y)
            fitted = A @ B
        else:  # K = AAᵀ + λI,  α = K⁻¹Y,  B = Aᵀα,  AB = Y − λα
            alpha = _solve_with(L, Y)
            B = A.mT @ alpha
            fitted = Y - lam[..., None, None] * alpha
        ctx.save_for_backward(A, Y, lam, L, B, alpha, fitted)
        ctx.set_materialize_grads(False)
        return B, fitted

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_B: Tensor | None, G: Tensor | None) -> tuple[Tensor | None, ...]:
        if grad_B is None and G is None:
            return (None,) * 6
        A, Y, lam, L, B, alpha, fitted = ctx.saved_tensors
        if G is not None and ctx.is_centred:
            G = G - G.mean(-2, keepdim=True)
        if ctx.primal:  # S = M⁻¹(∂B + AᵀG),  Q = AS,  R = Y − AB
            at_B: Any = grad_B if G is None else A.mT @ G if grad_B is None else grad_B + A.mT @ G
            s = S = _solve_with(L, at_B)
            Q, R = A @ S, Y - fitted
        else:  # v = K⁻¹(A∂B − λG),  S = ∂B − Aᵀv,  Q = G + v,  R = α
            at_K: Any = 0 if G is None else -lam[..., None, None] * G
            v = _solve_with(L, at_K if grad_B is None else A @ grad_B + at_K)
            S = -(A.mT @ v) if grad_B is None else grad_B - A.mT @ v
            s = Q = v if G is None else G + v
            R = alpha
        grad_A = None
        if ctx.needs_input_grad[0]:  # (G − Q)Bᵀ + RSᵀ
            outer = -Q if G is None else G - Q
            grad_A = _beside(outer, R) @ _beside(B, S).mT
        return grad_A, None, Q, -(s * alpha).sum((-2, -1)), None, None


def _beside(left: Tensor, right: Tensor) -> Tensor:
    """``[left, right]`` of blocks whose columns follow each other in memory, as LAPACK's do."""
    return torch.cat([left.mT, right.mT], -2).mT


def row_mean(block: Tensor, w: Tensor | None) -> Tensor:
    """Mean over rows of (..., n, q), kept as one row; ``w`` is (..., n, 1) or None."""
    if w is None:
        return block.mean(-2, keepdim=True)
    return (w * block).sum(-2, keepdim=True) / w.sum(-2, keepdim=True)


def _solve_with(L: Tensor, right: Tensor) -> Tensor:
    """``(LLᵀ)⁻¹ · right`` by two triangular solves, cheaper here than ``torch.cholesky_solve``."""
    half = torch.linalg.solve_triangular(L, right, upper=False)
    return torch.linalg.solve_triangular(L.mT, half, upper=True)  # type: ignore[no-any-return]


def _inverse(L: Tensor) -> Tensor:
    identity = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand_as(L)
    return torch.linalg.solve_triangular(L, identity, upper=False)  # type: ignore[no-any-return]


def _cholesky(F: Tensor, lam: Tensor) -> Tensor:
    """Lower Cholesky factor of ``FᵀF + λI``; formed again in float64 where float32 fails.

    Columns that depend on each other leave eigenvalues λ, which the rounding of a float32 product
    can bury.
    """
    k = F.shape[-1]
    M = F.new_empty(*F.shape[:-2], k, k)
    block = _BLOCK if k >= _LEAST_BY_BLOCKS else k
    for start in range(0, k, block):  # upper triangle only: half the price
        stop = min(start + block, k)
        torch.matmul(F[..., :stop].mT, F[..., start:stop], out=M[..., :stop, start:stop])
    M.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))
    L, info = torch.linalg.cholesky_ex(M.mT)  # column-major, as LAPACK wants it
    if info.any() or not L.diagonal(dim1=-2, dim2=-1).sum().isfinite():
        return cholesky_in_float64(F, lam)
    return L  # type: ignore[no-any-return]
