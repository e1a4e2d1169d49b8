"""Residual convolutions over images: a backbone beyond the paper's small ConvNet."""

from __future__ import annotations

from torch import Tensor, nn

__all__ = ["ResidualConvNet"]


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
    """Small ResNet: a convolution, residual blocks, mean pooling, a dense layer.

    Parameters
    ----------
    image_shape : tuple (channels, height, width)
    channels : tuple of int, default=(16, 32, 64)
        Of the blocks.
    width : int, default=128
        Size of the output.
    batch_norm : bool, default=False

    Examples
    --------
    >>> import torch
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
