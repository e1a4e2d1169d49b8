"""Layers, each described once: torch trains them, NumPy predicts with them, ONNX stores them.

A layer names the tensors it holds and says what it computes in a few operations
(:mod:`adacap.operations`). Whoever runs it supplies those: :mod:`adacap.nn` (torch),
:mod:`adacap.lite` (NumPy), :mod:`adacap.export` (ONNX). Nothing here imports torch.

All nets of a bag live in the same arrays: weights are ``(K, d_in, d_out)``, features ``(K, n, J)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from adacap.exceptions import suggest

if TYPE_CHECKING:
    from adacap.operations import Operations

__all__ = [
    "ACTIVATIONS", "Activation", "BatchNorm", "Dense", "Dropout", "Fourier", "Gate", "Layer",
    "Residual", "run", "tensors",
]  # fmt: skip

T = TypeVar("T")
Tree: TypeAlias = Any  # tensors by name: a mapping, or a torch module that looks like one
Shapes: TypeAlias = dict[str, tuple[int, ...]]

ACTIVATIONS = ("identity", "relu", "selu", "gelu", "silu", "tanh", "mish", "sigmoid")


@dataclass(frozen=True)
class Dense:
    """``x @ weight + bias``."""

    d_in: int
    d_out: int

    @property
    def tensors(self) -> Shapes:
        """Shapes of the tensors of one net."""
        return {"weight": (self.d_in, self.d_out), "bias": (self.d_out,)}

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        return op.affine(x, tensors["weight"], tensors["bias"])


@dataclass(frozen=True)
class Fourier(Dense):
    """``cos((x · scale) @ weight + bias)``: waves, and a scale for each column."""

    @property
    def tensors(self) -> Shapes:
        """Shapes of the tensors of one net."""
        return {"scale": (self.d_in,), **super().tensors}

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        scaled = op.scaled(x, tensors["scale"])
        return op.activation("cos", op.affine(scaled, tensors["weight"], tensors["bias"]))


@dataclass(frozen=True)
class BatchNorm:
    """Batch normalisation with running statistics."""

    width: int

    @property
    def tensors(self) -> Shapes:
        """Shapes of the tensors of one net."""
        names = ("weight", "bias", "running_mean", "running_var")
        return dict.fromkeys(names, (self.width,))

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        return op.batch_norm(x, tensors)


@dataclass(frozen=True)
class _NoTensors:
    @property
    def tensors(self) -> Shapes:
        """There are none."""
        return {}


@dataclass(frozen=True)
class Activation(_NoTensors):
    """An elementwise function."""

    name: str

    def __post_init__(self) -> None:
        _known_activation(self.name)

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        return op.activation(self.name, x)


@dataclass(frozen=True)
class Gate(_NoTensors):
    """``activation(a) · sigmoid(b)`` of an input whose columns are ``[a | b]``."""

    activation: str = "identity"

    def __post_init__(self) -> None:
        _known_activation(self.activation)

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        if self.activation == "identity":
            return op.glu(x)
        a, b = op.halves(x)
        return op.multiply(op.activation(self.activation, a), op.activation("sigmoid", b))


@dataclass(frozen=True)
class Dropout(_NoTensors):
    """Numbers set to 0 at random while training."""

    rate: float

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.rate!r}.")

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        return op.dropout(x, self.rate)


@dataclass(frozen=True)
class Residual:
    """``x + block(x)``."""

    block: tuple[Layer, ...]

    @property
    def tensors(self) -> Shapes:
        """Shapes of the tensors of one net."""
        return tensors(self.block)

    def apply(self, x: T, tensors: Tree, op: Operations[T]) -> T:
        """Output for ``x``."""
        return op.add(x, run(self.block, x, tensors, op))


Layer: TypeAlias = Dense | Fourier | BatchNorm | Activation | Gate | Dropout | Residual


def run(layers: tuple[Layer, ...], x: T, tensors: Tree, op: Operations[T]) -> T:
    """Output of layers, one after another; ``tensors[str(i)]`` holds those of layer i."""
    for i, layer in enumerate(layers):
        x = layer.apply(x, tensors[str(i)], op)
    return x


def tensors(layers: tuple[Layer, ...]) -> Shapes:
    """Shapes of all tensors of one net, by their dotted names.

    Examples
    --------
    >>> tensors((Dense(3, 2), Activation("relu")))
    {'0.weight': (3, 2), '0.bias': (2,)}
    """
    return {
        f"{i}.{name}": shape
        for i, layer in enumerate(layers)
        for name, shape in layer.tensors.items()
    }


def _known_activation(name: str) -> None:
    if name not in ACTIVATIONS:
        raise ValueError(suggest(name, ACTIVATIONS, "activation"))
