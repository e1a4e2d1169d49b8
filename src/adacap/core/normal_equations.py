"""The two ridge solves behind the loss and its gradient, from one factorisation.

With ``M = AᵀA + λI`` the loss needs ``B = M⁻¹AᵀY`` and its gradient ``S = M⁻¹B``. ``A`` and ``Y``
stand side by side in one block of memory, so that one product gives ``AᵀA`` and ``AᵀY``. From some
size on, both are factorised together as well,

    [ M    AᵀY ]   [ L     0  ] [ Lᵀ  Zᵀ ]
    [ YᵀA   cI ] = [ Z   √c·I ] [ 0  √c·I ],   Zᵀ = L⁻¹AᵀY,

which gives the first of the four triangular solves for nothing: the second, ``B = L⁻ᵀZᵀ``, is the
upper part of what the whole factor, transposed, makes of ``[0; −√c·I]``. With a very large ``c``
the second row of blocks takes no part in the other two.
"""

from functools import lru_cache

import torch
from torch import Tensor

from adacap.core.linalg import (
    cholesky_in_float64,
    cholesky_in_place,
    solve_with,
    upper_products,
)

__all__ = ["block_width", "solve_twice"]

_LEAST_TOGETHER = 128  # features from which labels are factorised along
_MULTIPLE = 32  # of which the width of a block is one: rows that start where vectors do
_LEAST_ODD = 256  # size from which a matrix has an odd number of cache lines in a column
_LINE = 16  # float32 numbers in a cache line
_LARGE = 1e30  # c; its square root is far from overflow and from what labels may reach


def block_width(d: int, q: int) -> int:
    """Columns to set aside for ``d`` features and ``q`` label columns.

    Examples
    --------
    >>> block_width(512, 17), block_width(64, 17)
    (544, 81)
    """
    if d < _LEAST_TOGETHER:
        return d + q
    return -(-(d + q) // _MULTIPLE) * _MULTIPLE


def _matrix_size(width: int) -> int:
    """Size of the matrix to factorise, at least ``width``.

    Columns that lie an even number of cache lines apart compete for the same places in the cache,
    those a multiple of 4096 bytes apart most of all.
    """
    if width < _LEAST_ODD:
        return width
    return (-(-width // _LINE) | 1) * _LINE


def solve_twice(block: Tensor, d: int, q: int, lam: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``M⁻¹AᵀY`` and ``M⁻²AᵀY`` with ``M = AᵀA + λI``, and the factor of ``M``.

    Parameters
    ----------
    block : Tensor of shape (..., n, block_width(d, q))
        ``[A, Y, 0]``.
    d, q : int
        Columns of ``A`` and of ``Y``.
    lam : Tensor of shape (...)

    Returns
    -------
    B, S : Tensor of shape (..., d, q)
    L : Tensor of shape (..., d, d)
        Lower Cholesky factor of ``M``.

    Raises
    ------
    NonFiniteError, NotPositiveDefiniteError
        As :func:`adacap.core.linalg.safe_cholesky`.

    Examples
    --------
    >>> B, S, L = solve_twice(torch.tensor([[1.0, 4.0]]), 1, 1, torch.tensor(3.0))
    >>> B.item(), S.item(), L.item()
    (1.0, 0.25, 2.0)
    """
    width = block.shape[-1]
    together = d >= _LEAST_TOGETHER
    size = _matrix_size(width) if together else width
    M = block.new_empty(*block.shape[:-2], size if together else d, size)
    upper_products(block, d, M)
    found = _together(M, d, q, lam) if together else _apart(M, d, lam)
    if found is not None:
        return found
    A, Y = block[..., :d], block[..., d : d + q]
    return _one_by_one(cholesky_in_float64(A, lam), A.mT @ Y)


def _one_by_one(L: Tensor, right: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first = solve_with(L, right)
    return first, solve_with(L, first), L


def _apart(M: Tensor, d: int, lam: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Both solves from the upper triangle of ``[AᵀA, R]``; None where it is not definite."""
    square = M[..., :d]
    square.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))
    L = cholesky_in_place(square.mT)
    return None if L is None else _one_by_one(L, M[..., d:])


def _together(M: Tensor, d: int, q: int, lam: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """The same with room for the label block below; ``R`` has ``q`` columns, then zeros."""
    M[..., :d, block_width(d, q) :] = 0
    M[..., d:, d:] = _corner(M.shape[-1] - d, M.dtype, M.device)
    M.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))  # c does not notice
    L = cholesky_in_place(M.mT)
    if L is None:
        return None
    right = _right(d, q, M.dtype, M.device).expand(*M.shape[:-2], -1, -1)
    first: Tensor = torch.linalg.solve_triangular(L.mT, right.mT, upper=True)  # [B; −I]
    return first[..., :d, :], solve_with(L, first)[..., :d, :], L[..., :d, :d]


@lru_cache(maxsize=32)
@torch.inference_mode(False)  # kept for callers in any mode
def _corner(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``cI``."""
    return _LARGE * torch.eye(size, dtype=dtype, device=device)


@lru_cache(maxsize=32)
@torch.inference_mode(False)  # kept for callers in any mode
def _right(d: int, q: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``[0; −√c·I]``, transposed."""
    rows = torch.zeros(q, _matrix_size(block_width(d, q)), dtype=dtype, device=device)
    rows[:, d : d + q] = -_corner(q, dtype, device).sqrt()
    return rows
