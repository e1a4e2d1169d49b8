"""The operations that layers are written in; torch, NumPy and ONNX each have them."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

__all__ = ["MemberOperations", "Operations"]

T = TypeVar("T")
Tree: TypeAlias = Any  # tensors by name: a mapping, or a torch module that looks like one


class Operations(Protocol[T]):
    """What a layer may compute; torch, NumPy and ONNX each have one."""

    def affine(self, x: T, weight: Any, bias: Any) -> T:
        """``x @ weight + bias``, net by net."""
        ...

    def scaled(self, x: T, scale: Any) -> T:
        """Each column times its own number, net by net."""
        ...

    def batch_norm(self, x: T, tensors: Tree) -> T:
        """Scaled to mean 0 and deviation 1, then by ``weight`` and ``bias``."""
        ...

    def activation(self, name: str, x: T) -> T:
        """An entry of ``ACTIVATIONS``, or ``"cos"``."""
        ...

    def halves(self, x: T) -> tuple[T, T]:
        """First and second half of the columns."""
        ...

    def glu(self, x: T) -> T:
        """First half of the columns times the sigmoid of the second."""
        ...

    def multiply(self, x: T, y: T) -> T:
        """Elementwise product."""
        ...

    def add(self, x: T, y: T) -> T:
        """Elementwise sum."""
        ...

    def dropout(self, x: T, rate: float) -> T:
        """Dropout while training; the identity in prediction."""
        ...


class MemberOperations(Operations[T], Protocol[T]):
    """Further operations, for encodings and for members that are not nets."""

    def repeated(self, x: T, k: int) -> T:
        """Rows ``(n, d)`` for each of k folds, ``(k, n, d)``."""
        ...

    def beside(self, x: T, y: T) -> T:
        """Columns of both, one after the other."""
        ...

    def ramps(self, x: T, tensors: Tree) -> T:
        """``clip((x[:, column] - start) * slope, 0, 1) + shift``."""
        ...

    def column_sums(self, ramps: T, tensors: Tree) -> T:
        """Sum of the ramps of each column, each times ``weight``, plus ``bias``."""
        ...

    def matern(self, x: T, rows: Any, scale: Any) -> T:
        """Matérn-5/2 kernel ``(k, n, m)`` of rows with other rows, both times ``scale``."""
        ...

    def symmetric_trees(self, x: T, tensors: Tree) -> T:
        """Sum ``(k, n, c)`` of the leaves of :class:`~adacap.predictors.SymmetricTrees`."""
        ...

    def link(self, name: str, x: T) -> T:
        """Logit or logarithm of shares, kept ``1e-3`` away from 0 and 1."""
        ...

    def forest(self, x: T, tensors: Tree, depth: int) -> T:
        """Sum ``(k, n, c)`` of the leaves of :class:`~adacap.predictors.Forest`."""
        ...
