"""The operations that layers are written in; torch, NumPy and ONNX each have them."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

__all__ = ["Operations"]

T = TypeVar("T")
Tree: TypeAlias = Any  # tensors by name: a mapping, or a torch module that looks like one


class Operations(Protocol[T]):
    """What a layer may compute; torch, NumPy and ONNX each have one."""

    def affine(self, x: T, weight: Any, bias: Any) -> T:
        """``x @ weight + bias``, net by net."""
        ...

    def batch_norm(self, x: T, tensors: Tree) -> T:
        """Scaled to mean 0 and deviation 1, then by ``weight`` and ``bias``."""
        ...

    def activation(self, name: str, x: T) -> T:
        """An entry of ``ACTIVATIONS``."""
        ...

    def halves(self, x: T) -> tuple[T, T]:
        """First and second half of the columns."""
        ...

    def glu(self, x: T) -> T:
        """First half of the columns times the sigmoid of the second."""
        ...

    def multiply(self, x: T, y: T) -> T:
        """Product, number by number."""
        ...

    def add(self, x: T, y: T) -> T:
        """Sum, number by number."""
        ...

    def dropout(self, x: T, rate: float) -> T:
        """Some numbers set to 0 while training; nothing in prediction."""
        ...
