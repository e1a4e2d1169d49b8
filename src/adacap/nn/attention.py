"""Attention over columns: a backbone beyond the paper's, to be passed as architecture."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["ColumnAttention"]


class _Attention(nn.Module):
    """Self-attention of several heads over tokens ``(n, tokens, size)``."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)

    def forward(self, tokens: Tensor) -> Tensor:
        n, length, size = tokens.shape
        parts = self.project(tokens).reshape(n, length, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each (n, heads, tokens, size / heads)
        mixed = scaled_dot_product_attention(query, key, value).transpose(1, 2)
        found: Tensor = self.out(mixed.reshape(n, length, size))
        return found


def _drop(share: float) -> nn.Module:
    return nn.Dropout(share) if share else nn.Identity()


class _Block(nn.Module):
    """Attention, then a dense layer per token, each added to its normalised input."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(size), _Attention(size, heads), _drop(dropout))
        self.dense = nn.Sequential(
            nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.ReLU(), _drop(dropout),
            nn.Linear(2 * size, size), _drop(dropout),
        )  # fmt: skip

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.attention(tokens)
        found: Tensor = tokens + self.dense(tokens)
        return found


class ColumnAttention(nn.Module):
    """Small FT-Transformer: a token per column, blocks of self-attention, their mean, a layer.

    Parameters
    ----------
    d_in : int
        Columns.
    size : int, default=32
        Of a token.
    heads : int, default=4
    depth : int, default=1
        Blocks.
    width : int, default=256
        Size of the output.
    dropout : float, default=0.0

    Examples
    --------
    >>> ColumnAttention(3, width=16)(torch.zeros(5, 3)).shape
    torch.Size([5, 16])
    """

    def __init__(
        self,
        d_in: int,
        *,
        size: int = 32,
        heads: int = 4,
        depth: int = 1,
        width: int = 256,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"heads must divide size, got heads={heads} and size={size}.")
        bound = size**-0.5
        self.scale = nn.Parameter(torch.empty(d_in, size).uniform_(-bound, bound))
        self.shift = nn.Parameter(torch.empty(d_in, size).uniform_(-bound, bound))
        self.blocks = nn.Sequential(*(_Block(size, heads, dropout) for _ in range(depth)))
        self.last = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, width), nn.ReLU())

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows ``(n, d_in)`` to features ``(n, width)``."""
        tokens = rows[..., None] * self.scale + self.shift
        found: Tensor = self.last(self.blocks(tokens).mean(dim=1))
        return found
