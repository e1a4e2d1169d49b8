"""Cholesky factorisation that fails with a reason."""

import math
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from adacap.exceptions import NonFiniteError, NotPositiveDefiniteError, NumericalWarning

__all__ = ["cholesky_in_float64", "gram", "safe_cholesky", "solve_in_float64"]

_FIRST_JITTER = 1e-8  # relative to the mean diagonal
_MAX_JITTER_TRIES = 3  # 1e-8, 1e-7, 1e-6


def gram(factor: Tensor, lam: Tensor) -> Tensor:
    """Regularised Gram matrix ``FᵀF + λI`` (..., k, k) of the columns of ``factor`` (..., m, k).

    Examples
    --------
    >>> gram(torch.tensor([[1.0, 2.0]]), torch.tensor(0.5))
    tensor([[1.5000, 2.0000],
            [2.0000, 4.5000]])
    """
    M = factor.mT @ factor
    M.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))
    return M


def cholesky_in_float64(factor: Tensor, lam: Tensor) -> Tensor:
    """Lower Cholesky factor of ``FᵀF + λI``, formed in float64, in the dtype of ``factor``."""
    return safe_cholesky(gram(factor.double(), lam.double()), lam).to(factor.dtype)


def solve_in_float64(ridge: Any, targets: Tensor) -> Iterator[Tensor]:
    """The parts of ``ridge.solve``, computed in float64 and returned as float32.

    The Gram matrix of a ridge in float32 has lost the digits that a small λ would need.
    """
    w = None if ridge.w is None else ridge.w.squeeze(-1).double()
    wide = type(ridge)(
        ridge.hidden.double(),
        ridge.lam.double(),
        sample_weight=w,
        fit_intercept=ridge.mean is not None,
    )
    return (part.to(targets.dtype) for part in wide.solve(targets.double()))


def safe_cholesky(matrix: Tensor, lam: Tensor | float | None = None) -> Tensor:
    """Lower Cholesky factor of a symmetric positive definite matrix.

    The plain factorisation is tried first. When it fails, NaN input is distinguished from a matrix
    that is not positive definite; the latter is retried in float64 and then with a growing,
    reported jitter on a copy. The caller's matrix and λ are never changed.

    Parameters
    ----------
    matrix : Tensor of shape (..., k, k)
    lam : Tensor or float, optional
        Regularisation already on the diagonal; only quoted in messages.

    Returns
    -------
    Tensor of shape (..., k, k)

    Raises
    ------
    NonFiniteError
        If ``matrix`` holds NaN or infinite values.
    NotPositiveDefiniteError
        If no attempt succeeds.

    Warns
    -----
    NumericalWarning
        If a jitter was needed; the message gives its size.

    Examples
    --------
    >>> safe_cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    L, succeeded = _try(matrix)
    return L if succeeded else _rescue(matrix, lam)


def _try(matrix: Tensor) -> tuple[Tensor, bool]:
    L, info = torch.linalg.cholesky_ex(matrix)
    # LAPACK lets some NaN matrices through; whatever is not finite reaches a diagonal entry.
    is_finite = math.isfinite(L.detach().diagonal(dim1=-2, dim2=-1).sum())
    return L, is_finite and not bool(info.any())


def _rescue(matrix: Tensor, lam: Tensor | float | None) -> Tensor:
    n_bad = int((~torch.isfinite(matrix)).sum())
    if n_bad:
        raise NonFiniteError(
            f"Cannot factorise AᵀA + λI: {n_bad} of its {matrix.numel()} entries are NaN or "
            "infinite, so the hidden features are. Training has diverged; try a smaller max_lr."
        )
    wide = matrix.double()
    L, succeeded = _try(wide)
    if succeeded:
        return L.to(matrix.dtype)
    scale = wide.diagonal(dim1=-2, dim2=-1).abs().mean(-1, keepdim=True)
    jitter = _FIRST_JITTER
    for _ in range(_MAX_JITTER_TRIES):
        shifted = wide.clone()
        shifted.diagonal(dim1=-2, dim2=-1).add_(jitter * scale)
        L, succeeded = _try(shifted)
        if succeeded:
            warnings.warn(
                f"A matrix of size {matrix.shape[-1]} was not positive definite{_with(lam)}; it "
                f"was factorised with a relative jitter of {jitter:.0e} on its diagonal.",
                NumericalWarning,
                stacklevel=3,
            )
            return L.to(matrix.dtype)
        jitter *= 10
    raise NotPositiveDefiniteError(
        f"Matrix of size {matrix.shape[-1]} is not positive definite{_with(lam)}, even after a "
        f"relative jitter of {jitter / 10:.0e}. Use float64 or a larger lambda_init."
    )


def _with(lam: Tensor | float | None) -> str:
    if lam is None:
        return ""
    smallest = float(torch.as_tensor(lam).detach().min())
    return f" with λ={smallest:.3g}"
