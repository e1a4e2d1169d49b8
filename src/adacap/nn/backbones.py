"""The named backbones as torch classes, and a small image net.

Any ``nn.Module`` that maps a batch to an ``(n, J)`` tensor can replace them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from adacap import architectures
from adacap.layers import Dense
from adacap.nn.modules import Backbone
from adacap.nn.weights import Generators, StartBound, holders

__all__ = ["GLU", "MLP", "SNN", "ConvNet", "ResNet", "glorot_uniform", "he_uniform"]


class MLP(Backbone):
    """Multi-layer perceptron of ``depth`` hidden layers.

    Parameters
    ----------
    d_in : int
    k : int, optional
        Number of nets; None for a single one.
    generators : sequence of k Generator, or one Generator, optional
    **options
        ``width=512``, ``depth=2``, ``activation="relu"``, ``dropout=0.0``, ``batch_norm=False``.

    Examples
    --------
    >>> MLP(d_in=3, width=8)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    _describe = staticmethod(architectures.mlp)

    def __init__(
        self, d_in: int, *, k: int | None = None, generators: Generators = None, **options: Any
    ) -> None:
        super().__init__(self._describe(d_in, **options), k=k, generators=generators)

    def extra_repr(self) -> str:
        """Show the number of nets and their layers."""
        return ", ".join([f"k={self.k}", *map(repr, self.layers)])


class SNN(MLP):
    """Self-normalising network: an MLP with the SELU activation.

    Examples
    --------
    >>> SNN(d_in=3, width=8, depth=3)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    _describe = staticmethod(architectures.snn)


class GLU(MLP):
    """Gated linear units: each hidden layer is multiplied by a sigmoid gate of its input.

    Options as in :class:`MLP`; ``depth=3`` counts gated blocks, ``activation="identity"`` acts on
    the ungated half.

    Examples
    --------
    >>> GLU(d_in=3, width=8)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    _describe = staticmethod(architectures.glu)


class ResNet(MLP):
    """Residual network for tables: a first layer, then ``depth`` residual blocks.

    Options as in :class:`MLP`, and ``block_depth=2`` linear layers per block.

    Examples
    --------
    >>> ResNet(d_in=3, width=8)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    _describe = staticmethod(architectures.resnet)


def glorot_uniform(backbone: Backbone, generators: Generators = None, gain: float = 1.0) -> None:
    """Initialise the dense layers uniformly in ``±gain·√(6 / (d_in + d_out))``, with zero biases.

    Parameters
    ----------
    backbone : Backbone
        Changed in place.
    generators : sequence of k Generator, or one Generator, optional
    gain : float, default=1.0
        √2 compensates for the ReLU.

    Examples
    --------
    >>> net = MLP(2, width=4, depth=1)
    >>> glorot_uniform(net)
    >>> bool(net["0"]["weight"].abs().max() <= 1.0), net["0"]["bias"].abs().max().item()
    (True, 0.0)
    """
    _start(backbone, generators, lambda d_in, d_out: gain * (6 / (d_in + d_out)) ** 0.5)


def he_uniform(backbone: Backbone, generators: Generators = None) -> None:
    """Initialise the dense layers uniformly in ``±√(6 / d_in)``, with zero biases.

    The variance is ``2 / d_in``, as He et al. (2015) derive it for ReLU; torch's default for linear
    layers, also named after Kaiming He, has a sixth of that.

    Parameters
    ----------
    backbone : Backbone
        Changed in place.
    generators : sequence of k Generator, or one Generator, optional

    Examples
    --------
    >>> net = MLP(6, width=4, depth=1)
    >>> he_uniform(net)
    >>> bool(net["0"]["weight"].abs().max() <= 1.0), net["0"]["bias"].abs().max().item()
    (True, 0.0)
    """
    _start(backbone, generators, lambda d_in, d_out: (6 / d_in) ** 0.5)


def _start(backbone: Backbone, generators: Generators, bound: StartBound) -> None:
    """Dense layers uniform up to a bound, with zero biases."""
    backbone.reset_parameters(generators, start=bound)
    with torch.no_grad():
        for layer, held in holders(backbone, backbone.layers):
            if isinstance(layer, Dense):
                held["bias"].zero_()


class ConvNet(nn.Module):
    """Small image network: two 3×3 convolutions, max-pooling, one dense layer.

    The shape of the paper's few-shot experiment. Rows may be images ``(n, c, h, w)`` or flat.

    Parameters
    ----------
    image_shape : tuple (channels, height, width), default=(1, 28, 28)
    channels : tuple of two int, default=(32, 64)
    width : int, default=128
        Size of the output.
    dropout : float or tuple of two float, default=0.0
        After the pooling and after the dense layer; one number is for both.

    Examples
    --------
    >>> ConvNet((1, 8, 8), channels=(4, 8), width=16)(torch.zeros(5, 64)).shape
    torch.Size([5, 16])
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int] = (1, 28, 28),
        *,
        channels: tuple[int, int] = (32, 64),
        width: int = 128,
        dropout: float | tuple[float, float] = 0.0,
    ) -> None:
        super().__init__()
        self.image_shape = tuple(image_shape)
        depth, height, breadth = image_shape
        if min(height, breadth) < 6:
            raise ValueError(
                f"ConvNet needs images of at least 6×6, got image_shape={image_shape}."
            )
        first, second = channels
        flat = second * ((height - 4) // 2) * ((breadth - 4) // 2)
        shares = dropout if isinstance(dropout, tuple) else (dropout, dropout)
        pooled, dense = ([nn.Dropout(share)] if share else [] for share in shares)
        self.features = nn.Sequential(
            nn.Conv2d(depth, first, 3), nn.ReLU(),
            nn.Conv2d(first, second, 3), nn.ReLU(),
            nn.MaxPool2d(2), *pooled, nn.Flatten(),
            nn.Linear(flat, width), nn.ReLU(), *dense,
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Map images, or rows of pixels, to features."""
        out: Tensor = self.features(x.reshape(x.shape[0], *self.image_shape))
        return out
