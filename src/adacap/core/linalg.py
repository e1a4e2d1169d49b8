"""Cholesky factorisation that fails with a reason."""

import math
import warnings
from functools import cache

import torch
from torch import Tensor

from adacap.exceptions import NonFiniteError, NotPositiveDefiniteError, NumericalWarning

__all__ = [
    "cholesky_in_float64",
    "cholesky_in_place",
    "cholesky_of_gram",
    "gram",
    "has_wide_vectors",
    "row_parts",
    "safe_cholesky",
    "solve_with",
    "try_cholesky",
    "upper_products",
]

_BLOCK = 128  # columns of a Gram product formed at a time, upper blocks left out
_LEAST_BY_BLOCKS = 256  # columns from which that is cheaper than the whole product
_BLOCK_OF_PARTS = 64  # the same where rows are divided among threads
_LEAST_ROWS = 512  # of the part of a thread
_FIRST_JITTER = 1e-8  # relative to the mean diagonal
_MAX_JITTER_TRIES = 3  # 1e-8, 1e-7, 1e-6


def gram(factor: Tensor, lam: Tensor) -> Tensor:
    """Regularised Gram matrix ``FᵀF + λI`` of the columns of ``factor``.

    Parameters
    ----------
    factor : Tensor of shape (..., m, k)
    lam : Tensor of shape (...) or ()

    Returns
    -------
    Tensor of shape (..., k, k)

    Examples
    --------
    >>> gram(torch.tensor([[1.0, 2.0]]), torch.tensor(0.5))
    tensor([[1.5000, 2.0000],
            [2.0000, 4.5000]])
    """
    M = factor.mT @ factor
    M.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))
    return M


def upper_products(factor: Tensor, d: int, out: Tensor) -> None:
    """Products of the first ``d`` columns with all columns, those below the diagonal left out.

    A block of columns at a time, for half the price of the whole.

    Parameters
    ----------
    factor : Tensor of shape (..., m, k)
    d : int
    out : Tensor, at least (..., d, k)
        Its upper left corner takes the products; what is left out stays as it was.
    """
    width, n_parts = factor.shape[-1], row_parts(factor)
    if n_parts > 1:
        _upper_products_by_parts(factor, d, n_parts, out)
        return
    for start in range(0, d, _BLOCK):
        stop = min(start + _BLOCK, d)
        end = width if stop == d else stop
        part = out[..., :stop, start:end]
        torch.matmul(factor[..., :stop].mT, factor[..., start:end], out=part)


def row_parts(factor: Tensor) -> int:
    """Parts into which to divide the rows ``(..., m, k)`` of a product ``FᵀF``; 1 for undivided.

    Many rows of a single net are divided among the threads: each forms the products of its own
    part, which stays in its cache, and waits for no other. That pays where arithmetic is fast
    beside waiting, for which wide vectors are the sign; elsewhere threads share columns.
    """
    n_rows, width = factor.shape[-2:]
    if not has_wide_vectors() or factor.device.type != "cpu" or factor.numel() > n_rows * width:
        return 1
    return min(torch.get_num_threads(), n_rows // _LEAST_ROWS)


@cache
def has_wide_vectors() -> bool:
    """Whether torch computes with vectors of 512 bits on this machine's processor."""
    return "AVX512" in torch.backends.cpu.get_cpu_capability()


def _upper_products_by_parts(factor: Tensor, d: int, n_parts: int, out: Tensor) -> None:
    """The same for a single matrix, as the sum over parts of its rows."""
    factor, out = (t[0] if t.ndim == 3 else t for t in (factor, out))
    n_rows, width = factor.shape
    most = n_rows - n_rows % n_parts
    parts = factor[:most].unflatten(0, (n_parts, -1))
    left, rest = parts.mT, factor[most:]
    for start in range(0, d, _BLOCK_OF_PARTS):
        stop = min(start + _BLOCK_OF_PARTS, d)
        place = out[start:stop, start:width]
        torch.sum(torch.bmm(left[:, start:stop], parts[..., start:]), 0, out=place)
        if most < n_rows:
            place.addmm_(rest[:, start:stop].mT, rest[:, start:])


def _lower_gram(factor: Tensor, lam: Tensor) -> Tensor:
    """As :func:`gram`, but only the lower triangle, which is all a Cholesky factorisation reads."""
    k = factor.shape[-1]
    M = factor.new_empty(*factor.shape[:-2], k, k)
    upper_products(factor, k, M)
    M.diagonal(dim1=-2, dim2=-1).add_(lam.unsqueeze(-1))
    return M.mT  # column-major, as LAPACK wants it


def cholesky_of_gram(factor: Tensor, lam: Tensor) -> Tensor:
    """Lower Cholesky factor of ``FᵀF + λI``.

    Columns that depend on each other leave eigenvalues λ, which the rounding of a float32 product
    can bury; the product is then formed anew in float64.

    Parameters
    ----------
    factor : Tensor of shape (..., m, k)
    lam : Tensor of shape (...) or ()

    Returns
    -------
    Tensor of shape (..., k, k)

    Raises
    ------
    NonFiniteError, NotPositiveDefiniteError
        As :func:`safe_cholesky`.

    Examples
    --------
    >>> cholesky_of_gram(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor(0.0))
    tensor([[1., 0.],
            [0., 2.]])
    """
    small = factor.shape[-1] < _LEAST_BY_BLOCKS
    return _factorised(gram(factor, lam).mT if small else _lower_gram(factor, lam), factor, lam)


def _factorised(matrix: Tensor, factor: Tensor, lam: Tensor) -> Tensor:
    L = cholesky_in_place(matrix)
    return cholesky_in_float64(factor, lam) if L is None else L


def cholesky_in_float64(factor: Tensor, lam: Tensor) -> Tensor:
    """Lower Cholesky factor of ``FᵀF + λI``, formed in float64, in the dtype of ``factor``."""
    return safe_cholesky(gram(factor.double(), lam.double()), lam).to(factor.dtype)


def try_cholesky(matrix: Tensor) -> Tensor | None:
    """Lower Cholesky factor, of which only the lower triangle is read; None where it fails."""
    L, succeeded = _try(matrix)
    return L if succeeded and _is_finite(L) else None


def cholesky_in_place(matrix: Tensor) -> Tensor | None:
    """As :func:`try_cholesky`, with the factor in the memory of the matrix where that is possible.

    It is where columns follow each other in memory, as LAPACK wants them, and no gradient is asked.
    """
    if matrix.requires_grad or not matrix.mT.is_contiguous():
        return try_cholesky(matrix)
    place = matrix[0] if matrix.ndim == 3 and len(matrix) == 1 else matrix  # torch's shorter way
    info = torch.empty(place.shape[:-2], dtype=torch.int32, device=matrix.device)
    torch.linalg.cholesky_ex(place, out=(place, info))
    failed = info.any() if info.ndim else info
    return None if failed.item() or not _is_finite(place) else matrix


def solve_with(L: Tensor, right: Tensor) -> Tensor:
    """``(LLᵀ)⁻¹ · right`` by two triangular solves, cheaper here than ``torch.cholesky_solve``.

    Examples
    --------
    >>> solve_with(torch.tensor([[2.0, 0.0], [1.0, 2.0]]), torch.tensor([[4.0], [7.0]]))
    tensor([[0.3750],
            [1.2500]])
    """
    half = torch.linalg.solve_triangular(L, right, upper=False)
    solution: Tensor = torch.linalg.solve_triangular(L.mT, half, upper=True)
    return solution


def safe_cholesky(matrix: Tensor, lam: Tensor | float | None = None) -> Tensor:
    """Lower Cholesky factor of a symmetric positive definite matrix.

    The plain factorisation is tried first. When it fails, NaN input is told apart from a
    lack of definiteness; the latter is retried in float64 and then with a growing, reported
    jitter on a copy. The caller's matrix and λ are never changed.

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
    L = try_cholesky(matrix)
    return _rescue(matrix, lam) if L is None else L


def _try(matrix: Tensor) -> tuple[Tensor, bool]:
    L, info = torch.linalg.cholesky_ex(matrix)
    return L, not bool(info.any())


def _is_finite(L: Tensor) -> bool:
    # LAPACK lets some NaN matrices through; whatever is not finite reaches a diagonal entry.
    return math.isfinite(L.detach().diagonal(dim1=-2, dim2=-1).sum())


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
