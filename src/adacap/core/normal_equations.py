"""The two ridge solves behind the loss and its gradient, from one factorisation.

With ``M = AᵀA + λI`` the loss needs ``B = M⁻¹AᵀY``, its gradient ``S = M⁻¹B``. Where rows are not
divided among threads, ``A`` and ``Y`` are put side by side, so that one product gives ``AᵀA`` and
``AᵀY``. From some size on, both are factorised together as well,

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
    has_wide_vectors,
    row_parts,
    solve_with,
    upper_products,
)

__all__ = ["solve_twice"]

_LEAST_TOGETHER = 128  # features from which labels are factorised along
_MULTIPLE = 32  # of which the width of a block is one: rows that start where vectors do
_LEAST_ODD = 256  # size from which a matrix has an odd number of cache lines in a column
_LINE = 16  # float32 numbers in a cache line
_LARGE = 1e30  # c; its square root is far from overflow and from what labels may reach


def solve_twice(A: Tensor, Y: Tensor, lam: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``M⁻¹AᵀY`` and ``M⁻²AᵀY`` with ``M = AᵀA + λI``, and the factor of ``M``.

    Parameters
    ----------
    A : Tensor of shape (..., n, d)
    Y : Tensor of shape (..., n, q)
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
    >>> B, S, L = solve_twice(torch.tensor([[1.0]]), torch.tensor([[4.0]]), torch.tensor(3.0))
    >>> B.item(), S.item(), L.item()
    (1.0, 0.25, 2.0)
    """
    d, q = A.shape[-1], Y.shape[-1]
    together = d >= _LEAST_TOGETHER
    size = _matrix_size(d, q) if together else d + q
    M = A.new_empty(*A.shape[:-2], size if together else d, size)
    n_set = d + q  # columns of M that are products
    if row_parts(A) > 1:
        upper_products(A, d, M)
        M[..., :d, d : d + q] = (Y.mT @ A).mT  # faster than AᵀY: few rows times many columns
    else:
        block = _side_by_side(A, Y)
        upper_products(block, d, M)
        n_set = block.shape[-1]
    if n_set < size:
        M[..., :d, n_set:] = 0
    found = _together(M, d, q, lam) if together else _apart(M, d, lam)
    return _one_by_one(cholesky_in_float64(A, lam), A.mT @ Y) if found is None else found


def _side_by_side(A: Tensor, Y: Tensor) -> Tensor:
    """``[A, Y]``, and zeros up to where vectors start, if it is wide."""
    d, q = A.shape[-1], Y.shape[-1]
    if d < _LEAST_TOGETHER:
        return torch.cat([A, Y], -1)
    block = A.new_empty(*A.shape[:-1], _width(d, q))
    block[..., :d] = A
    block[..., d : d + q] = Y
    block[..., d + q :].zero_()
    return block


def _matrix_size(d: int, q: int) -> int:
    """Size of the matrix to factorise, labels included, rounded up.

    Columns that lie an even number of cache lines apart compete for the same places in the cache;
    with wide vectors it pays to put them an odd number apart.

    Examples
    --------
    >>> _matrix_size(512, 17) in (544, 560), _matrix_size(128, 17)
    (True, 160)
    """
    width = _width(d, q)
    if width < _LEAST_ODD or not has_wide_vectors():
        return width
    return (width // _LINE | 1) * _LINE


def _width(d: int, q: int) -> int:
    """Features and labels side by side, rounded up to where rows start as vectors do."""
    return -(-(d + q) // _MULTIPLE) * _MULTIPLE


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
    M[..., d:, d:] = _corner(M.shape[-1] - d, M.dtype, M.device)
    M.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))  # c does not notice
    L = cholesky_in_place(M.mT)
    if L is None:
        return None
    right = _right(d, q, M.shape[-1], M.dtype, M.device).expand(*M.shape[:-2], -1, -1)
    first: Tensor = torch.linalg.solve_triangular(L.mT, right.mT, upper=True)  # [B; −I]
    return first[..., :d, :], solve_with(L, first)[..., :d, :], L[..., :d, :d]


@lru_cache(maxsize=32)
@torch.inference_mode(False)  # kept for callers in any mode
def _corner(size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``cI``."""
    return _LARGE * torch.eye(size, dtype=dtype, device=device)


@lru_cache(maxsize=32)
@torch.inference_mode(False)  # kept for callers in any mode
def _right(d: int, q: int, size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``[0; −√c·I]``, transposed."""
    rows = torch.zeros(q, size, dtype=dtype, device=device)
    rows[:, d : d + q] = -_corner(q, dtype, device).sqrt()
    return rows
