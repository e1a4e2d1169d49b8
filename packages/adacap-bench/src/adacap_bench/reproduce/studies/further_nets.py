"""Backbones beyond the paper's, to be passed as architecture: attention, convolutions."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["ColumnAttention", "ResidualConvNet"]


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

    Tokens have a size, the output a width, and depth counts the blocks.

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


class _ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a 1×1 one that fits sizes."""

    def __init__(self, d_in: int, d_out: int, stride: int, batch_norm: bool) -> None:
        super().__init__()
        norms = [nn.BatchNorm2d(d_out) if batch_norm else nn.Identity() for _ in range(3)]
        self.body = nn.Sequential(
            nn.Conv2d(d_in, d_out, 3, stride, padding=1), norms[0], nn.ReLU(),
            nn.Conv2d(d_out, d_out, 3, padding=1), norms[1],
        )  # fmt: skip
        self.skip = nn.Sequential(nn.Conv2d(d_in, d_out, 1, stride), norms[2])

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = (self.body(images) + self.skip(images)).relu()
        return found


class ResidualConvNet(nn.Module):
    """Small ResNet: a convolution, a residual block per entry of ``channels``, a mean, a layer.

    Images are of shape (channels, height, width); ``width`` is the size of the output.

    Examples
    --------
    >>> ResidualConvNet((1, 8, 8), channels=(2, 3, 4), width=6)(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 6])
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        channels: tuple[int, ...] = (16, 32, 64),
        width: int = 128,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        first = channels[0]
        norm = nn.BatchNorm2d(first) if batch_norm else nn.Identity()
        sizes = zip((first, *channels), channels, strict=False)
        self.features = nn.Sequential(
            nn.Conv2d(image_shape[0], first, 3, 2, padding=1), norm, nn.ReLU(),
            *(_ResidualBlock(a, b, 1 + (a != b), batch_norm) for a, b in sizes),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels[-1], width), nn.ReLU(),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        """Map images ``(n, channels, height, width)`` to features ``(n, width)``."""
        found: Tensor = self.features(images)
        return found
