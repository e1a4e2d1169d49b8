"""Feature extractors: ``(n, d_in) -> (n, d_hidden)``, without a head.

Any ``nn.Module`` that maps a batch to an ``(n, J)`` tensor can stand in their place. Weights start
as torch starts them: Kaiming-uniform, which is the paper's choice.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["ACTIVATIONS", "GLU", "MLP", "SNN", "ConvNet", "ResNet"]

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
    "mish": nn.Mish,
}


def _activation(name: str, *, in_place: bool = True) -> nn.Module:
    """Module by name; in place where its gradient needs the output alone."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}.")
    module = ACTIVATIONS[name]()
    if isinstance(module, nn.ReLU | nn.SELU):
        module.inplace = in_place
    return module


def _dense(
    d_in: int, d_out: int, activation: nn.Module, dropout: float, batch_norm: bool
) -> list[nn.Module]:
    """Linear → batch-norm → activation → dropout, each optional part only when asked for."""
    layers: list[nn.Module] = [nn.Linear(d_in, d_out)]
    if batch_norm:
        layers.append(nn.BatchNorm1d(d_out))
    layers.append(activation)
    if dropout:
        layers.append(nn.Dropout(dropout))
    return layers


class MLP(nn.Sequential):
    """Multi-layer perceptron of ``depth`` hidden layers.

    Parameters
    ----------
    d_in : int
    width : int, default=512
    depth : int, default=2
    activation : str, default="relu"
        A key of ``ACTIVATIONS``.
    dropout : float, default=0.0
    batch_norm : bool, default=False

    Examples
    --------
    >>> MLP(d_in=3, width=8)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        d_in: int,
        *,
        width: int = 512,
        depth: int = 2,
        activation: str = "relu",
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        layers: list[nn.Module] = []
        for i in range(depth):
            size = width if i else d_in
            layers += _dense(size, width, _activation(activation), dropout, batch_norm)
        super().__init__(*layers)


class SNN(MLP):
    """Self-normalising network: an MLP with the SELU activation.

    Examples
    --------
    >>> SNN(d_in=3, width=8, depth=3)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        d_in: int,
        *,
        width: int = 512,
        depth: int = 2,
        activation: str = "selu",
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            d_in,
            width=width,
            depth=depth,
            activation=activation,
            dropout=dropout,
            batch_norm=batch_norm,
        )


class Gate(nn.Module):
    """``activation(a) · sigmoid(b)`` of an input whose columns are ``[a | b]``."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.activation = activation
        self._is_glu = isinstance(activation, nn.Identity)

    def forward(self, x: Tensor) -> Tensor:
        if self._is_glu:  # one kernel
            return F.glu(x)
        a, b = x.chunk(2, dim=-1)
        gated: Tensor = self.activation(a) * torch.sigmoid(b)
        return gated


class GLU(nn.Sequential):
    """Gated linear units: each hidden layer is multiplied by a sigmoid gate of its input.

    Parameters
    ----------
    d_in, width, depth, activation, dropout, batch_norm
        As in :class:`MLP`; ``depth`` counts gated blocks, 3 in the paper. ``activation`` acts on
        the ungated half; ``"relu"`` is what the paper's table prints.

    Examples
    --------
    >>> GLU(d_in=3, width=8)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        d_in: int,
        *,
        width: int = 512,
        depth: int = 3,
        activation: str = "identity",
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        layers: list[nn.Module] = []
        for i in range(depth):
            gate = Gate(_activation(activation, in_place=False))
            layers += _dense(width if i else d_in, 2 * width, gate, dropout, batch_norm)
        super().__init__(*layers)


class Residual(nn.Module):
    """``activation(x + block(x))`` with a block of ``block_depth`` linear layers."""

    def __init__(
        self, width: int, block_depth: int, activation: str, dropout: float, batch_norm: bool
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i in range(block_depth):
            last = i == block_depth - 1
            act = nn.Identity() if last else _activation(activation)
            layers += _dense(width, width, act, 0.0 if last else dropout, batch_norm)
        self.block = nn.Sequential(*layers)
        tail = [_activation(activation)] + ([nn.Dropout(dropout)] if dropout else [])
        self.tail = nn.Sequential(*tail)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.tail(x + self.block(x))
        return out


class ResNet(nn.Sequential):
    """Residual network for tables: a stem layer, then residual blocks of constant width.

    Parameters
    ----------
    d_in, width, activation, dropout, batch_norm
        As in :class:`MLP`.
    depth : int, default=2
        Number of residual blocks.
    block_depth : int, default=2
        Linear layers per block.

    Examples
    --------
    >>> ResNet(d_in=3, width=8)(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        d_in: int,
        *,
        width: int = 512,
        depth: int = 2,
        block_depth: int = 2,
        activation: str = "relu",
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> None:
        stem = _dense(d_in, width, _activation(activation), dropout, batch_norm)
        blocks = [
            Residual(width, block_depth, activation, dropout, batch_norm) for _ in range(depth)
        ]
        super().__init__(*stem, *blocks)


class ConvNet(nn.Module):
    """Small image network: two 3×3 convolutions, max-pooling, one dense layer.

    The shape of the paper's few-shot experiment. Rows may be images ``(n, c, h, w)`` or flat.

    Parameters
    ----------
    image_shape : tuple (channels, height, width), default=(1, 28, 28)
    channels : tuple of two int, default=(32, 64)
    width : int, default=128
        Size of the output.
    dropout : float, default=0.0

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
        dropout: float = 0.0,
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
        drop = [nn.Dropout(dropout) for _ in range(2 if dropout else 0)]
        self.features = nn.Sequential(
            nn.Conv2d(depth, first, 3), nn.ReLU(),
            nn.Conv2d(first, second, 3), nn.ReLU(),
            nn.MaxPool2d(2), *drop[:1], nn.Flatten(),
            nn.Linear(flat, width), nn.ReLU(), *drop[1:],
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Map images, or rows of pixels, to features."""
        out: Tensor = self.features(x.reshape(x.shape[0], *self.image_shape))
        return out
