"""The Matérn-5/2 kernel, with a scale per column."""

import math

from torch import Tensor, baddbmm

__all__ = ["matern", "matern_and_slope"]

_ROOT5 = math.sqrt(5.0)


def matern(a: Tensor, b: Tensor, scale: Tensor) -> Tensor:
    """Kernel ``(1 + r + r²/3)·exp(-r)`` with ``r = √5·‖(a - b)·scale‖``, (k, n, m).

    Rows ``a`` (n, d) and ``b`` (m, d) may differ by kernel; ``scale`` (k, d) multiplies the columns
    in each of k kernels.

    Examples
    --------
    >>> import torch
    >>> matern(torch.zeros(1, 2), torch.zeros(3, 2), torch.ones(4, 2)).shape
    torch.Size([4, 1, 3])
    """
    squares = _squares(a, b, scale)
    r = squares.sqrt()
    return squares.div_(3).add_(r).add_(1).mul_(r.neg_().exp_())  # in place: memory costs more


def matern_and_slope(a: Tensor, b: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """:func:`matern`, and its derivative by the squared distance of scaled rows."""
    squares = _squares(a, b, scale)
    r = squares.sqrt()
    near, fade = 1 + r, r.neg_().exp_()
    return squares.div_(3).add_(near).mul_(fade), near.mul_(fade).mul_(-5 / 6)


def _squares(a: Tensor, b: Tensor, scale: Tensor) -> Tensor:
    """``r²``."""
    scale = _ROOT5 * scale[:, None]
    a, b = a * scale, b * scale
    squares = a.square().sum(2)[:, :, None] + b.square().sum(2)[:, None]
    return baddbmm(squares, a, b.mT, alpha=-2).clamp_(min=0)
