"""Members of a blend that are not nets, each described once: kernel, trees, linear.

Like a layer (:mod:`adacap.layers`), a predictor names the arrays it holds and says what it computes
in a few operations, which torch, NumPy and ONNX each have. Nothing here imports torch. Arrays carry
the fold first: a predictor of ``k`` folds maps rows ``(n, d)`` to outputs ``(k, n, c)``. Those in
``per_fold`` have one slice per fold; all folds share the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

if TYPE_CHECKING:
    from adacap.operations import MemberOperations

__all__ = [
    "LEAST_SHARE", "LINKS", "PREDICTOR_TYPES", "Forest", "Kernel", "Linear", "Predictor",
    "SymmetricTrees",
]  # fmt: skip

T = TypeVar("T")
Shapes: TypeAlias = dict[str, tuple[int, ...]]

LEAST_SHARE = 1e-3
"""How near to 0 or 1 a class share given by trees may come."""
LINKS = ("identity", "logit", "log")
"""Link functions for the sum of a forest."""


@dataclass(frozen=True)
class Linear:
    """``x @ weight + bias``."""

    per_fold: ClassVar[tuple[str, ...]] = ("weight", "bias")

    k: int
    d_in: int
    n_out: int

    @property
    def tensors(self) -> Shapes:
        """Shapes of the arrays."""
        return {"weight": (self.k, self.d_in, self.n_out), "bias": (self.k, self.n_out)}

    def apply(self, x: T, tensors: Any, op: MemberOperations[T]) -> T:
        """Outputs of rows."""
        return op.affine(op.repeated(x, self.k), tensors["weight"], tensors["bias"])

    @property
    def held_per_row(self) -> int:
        """Numbers that prediction keeps in memory per row."""
        return self.k * (self.d_in + self.n_out)


@dataclass(frozen=True)
class Kernel:
    """An output layer on ``[k(x, x₁) … k(x, x_m) | x]``, with k the Matérn-5/2 kernel.

    ``scale`` multiplies the columns before distances are taken, fold by fold.
    """

    per_fold: ClassVar[tuple[str, ...]] = ("scale", "weight", "bias")

    k: int
    d_in: int
    n_rows: int
    n_out: int

    @property
    def tensors(self) -> Shapes:
        """Shapes of the arrays."""
        return {
            "rows": (self.n_rows, self.d_in),
            "scale": (self.k, self.d_in),
            "weight": (self.k, self.n_rows + self.d_in, self.n_out),
            "bias": (self.k, self.n_out),
        }

    def apply(self, x: T, tensors: Any, op: MemberOperations[T]) -> T:
        """Outputs of rows."""
        similar = op.matern(x, tensors["rows"], tensors["scale"])
        features = op.beside(similar, op.repeated(x, self.k))
        return op.affine(features, tensors["weight"], tensors["bias"])

    @property
    def held_per_row(self) -> int:
        """Numbers that prediction keeps in memory per row."""
        return self.k * (self.n_rows + self.d_in)


@dataclass(frozen=True)
class SymmetricTrees:
    """A sum of trees in which every level asks one question, the same for all rows.

    Level l of tree t is true where column ``column[t, l]`` is above ``threshold[t, l]``; the
    answers, read as a binary number with the first level highest, are the leaf of the row.
    """

    per_fold: ClassVar[tuple[str, ...]] = ("column", "threshold", "leaf", "bias")

    k: int
    d_in: int
    n_trees: int
    depth: int
    n_out: int

    @property
    def tensors(self) -> Shapes:
        """Shapes of the arrays."""
        levels = (self.k, self.n_trees, self.depth)
        return {
            "column": levels,
            "threshold": levels,
            "leaf": (self.k, self.n_trees, 2**self.depth, self.n_out),
            "bias": (self.k, self.n_out),
        }

    def apply(self, x: T, tensors: Any, op: MemberOperations[T]) -> T:
        """Outputs of rows."""
        return op.symmetric_trees(x, tensors)

    @property
    def held_per_row(self) -> int:
        """Numbers that prediction keeps in memory per row."""
        return self.k * self.n_trees * max(self.depth, self.n_out)


@dataclass(frozen=True)
class Forest:
    """A sum of binary trees: a row goes left where its value is at most the threshold.

    All nodes are in one list; a leaf is its own child, so that ``depth`` steps lead every row to a
    leaf. ``root`` has the first node of each tree, fold by fold. ``link`` is ``"logit"`` or
    ``"log"`` where the sum is a share, to be turned into what nets give.
    """

    per_fold: ClassVar[tuple[str, ...]] = ("root", "bias")

    k: int
    d_in: int
    n_trees: int
    n_nodes: int
    depth: int
    n_out: int
    link: str = "identity"

    @property
    def tensors(self) -> Shapes:
        """Shapes of the arrays."""
        node = (self.n_nodes,)
        return {
            "root": (self.k, self.n_trees),
            "column": node,
            "threshold": node,
            "left": node,
            "right": node,
            "leaf": (self.n_nodes, self.n_out),
            "bias": (self.k, self.n_out),
        }

    def apply(self, x: T, tensors: Any, op: MemberOperations[T]) -> T:
        """Outputs of rows."""
        total = op.forest(x, tensors, self.depth)
        return total if self.link == "identity" else op.link(self.link, total)

    @property
    def held_per_row(self) -> int:
        """Numbers that prediction keeps in memory per row."""
        return self.k * self.n_trees * (2 + self.n_out)


Predictor: TypeAlias = Linear | Kernel | SymmetricTrees | Forest

PREDICTOR_TYPES: Mapping[str, tuple[type[Predictor], ...]] = {
    "ridge": (Linear,),
    "kernel": (Kernel,),
    "boosting": (SymmetricTrees, Forest),
    "trees": (Forest,),
}
"""What a member of each kind may be."""
