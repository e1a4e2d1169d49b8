"""Frozen members as torch modules: encodings, kernels, trees, and the blend of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from adacap.core.matern import matern
from adacap.encodings import Encoding, FittedEncoding
from adacap.nn.modules import TorchOperations
from adacap.predictors import LEAST_SHARE, Predictor

__all__ = ["Blend", "EncodingModule", "Frozen", "MemberTorchOperations"]

_FIRST_LEAVES = 5  # steps down a tree before which few rows arrive


class MemberTorchOperations(TorchOperations):
    """The operations of encodings and predictors in torch."""

    def __init__(self) -> None:
        super().__init__(training=False)

    def repeated(self, x: Tensor, k: int) -> Tensor:
        """Rows for each of k folds."""
        return x.expand(k, *x.shape)

    def beside(self, x: Tensor, y: Tensor) -> Tensor:
        """Columns of both."""
        return torch.cat([x, y], -1)

    def ramps(self, x: Tensor, tensors: Any) -> Tensor:
        """``clip((x[:, column] - start) * slope, 0, 1) + shift``."""
        risen = (x[:, tensors["column"]] - tensors["start"]) * tensors["slope"]
        shifted: Tensor = risen.clamp_(0, 1) + tensors["shift"]
        return shifted

    def column_sums(self, ramps: Tensor, tensors: Any) -> Tensor:
        """Sum of the ramps of each column, each times ``weight``, plus ``bias``."""
        heights, place = ramps * tensors["weight"], tensors["column"].expand(len(ramps), -1)
        sums = heights.new_zeros(len(ramps), len(tensors["bias"])).scatter_add_(1, place, heights)
        found: Tensor = sums + tensors["bias"]
        return found

    def matern(self, x: Tensor, rows: Tensor, scale: Tensor) -> Tensor:
        """Matérn-5/2 kernel of rows with other rows."""
        return matern(x, rows, scale)

    def symmetric_trees(self, x: Tensor, tensors: Any) -> Tensor:
        """Sum of the leaves that the answers lead to."""
        column, threshold, leaf = tensors["column"], tensors["threshold"], tensors["leaf"]
        k, n_trees, depth = column.shape
        answers = x[:, column.flatten()].view(-1, k, n_trees, depth) > threshold
        powers = 2 ** torch.arange(depth - 1, -1, -1, device=x.device)
        place = (answers * powers).sum(3) + torch.arange(
            0, k * n_trees * 2**depth, 2**depth, device=x.device
        ).view(k, n_trees)
        found: Tensor = leaf.flatten(0, 2)[place].double().sum(2)  # (n, k, c)
        total: Tensor = found.transpose(0, 1) + tensors["bias"][:, None]
        return total

    def link(self, name: str, x: Tensor) -> Tensor:
        """Logit or logarithm of shares."""
        share = x.clamp(LEAST_SHARE, 1 - LEAST_SHARE)
        return torch.logit(share) if name == "logit" else share.log()

    def forest(self, x: Tensor, tensors: Any, depth: int) -> Tensor:
        """Sum of the leaves that every tree leads to."""
        leaf = tensors["leaf"]
        found = leaf.index_select(0, _arrived(x, tensors, depth))
        found = found.view(*tensors["root"].shape, len(x), leaf.shape[1])
        summed: Tensor = found.permute(2, 0, 1, 3).double().sum(2)  # (n, k, c)
        total: Tensor = summed.transpose(0, 1) + tensors["bias"][:, None]
        return total


def _arrived(x: Tensor, tensors: Any, depth: int) -> Tensor:
    """The leaf of every pair of tree and row, tree by tree.

    Pairs that have arrived are set aside every other step: most leaves are far above the deepest.
    """
    n_nodes = len(tensors["column"])
    numbers = torch.int32 if max(2 * n_nodes, x.numel()) < 2**31 else torch.int64
    threshold, column = tensors["threshold"].to(x.dtype), tensors["column"].to(numbers) * len(x)
    cells = x.t().flatten()  # column by column
    child = torch.cat([tensors["right"], tensors["left"]]).to(numbers)
    is_leaf = (child.view(2, -1) == torch.arange(n_nodes, device=x.device)).all(0)
    own = torch.arange(len(x), dtype=numbers, device=x.device)
    row = own.repeat(tensors["root"].numel())
    node = tensors["root"].flatten().to(numbers).repeat_interleave(len(x))
    place, arrived = torch.arange(len(node), device=x.device), torch.empty_like(node)
    for step in range(1, depth + 1):
        value = cells.index_select(0, column.index_select(0, node) + row)
        goes_left = value <= threshold.index_select(0, node)
        node = child.index_select(0, torch.add(node, goes_left, alpha=n_nodes))
        if step >= _FIRST_LEAVES and step % 2:
            arrived[place] = node
            on = (~is_leaf.index_select(0, node)).nonzero()[:, 0]
            node, row, place = node[on], row[on], place[on]
    arrived[place] = node
    return arrived


_OPERATIONS = MemberTorchOperations()


class _Arrays(nn.Module):
    """Arrays of a description as buffers."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        super().__init__()
        for name, values in arrays.items():
            self.register_buffer(name, torch.as_tensor(values))

    def __getitem__(self, name: str) -> Tensor:
        return getattr(self, name)  # type: ignore[no-any-return]


class EncodingModule(nn.Module):
    """An encoding as a module: rows ``(n, d)`` in, encoded rows out.

    Examples
    --------
    >>> from adacap.encodings import fit_encoding
    >>> x = torch.tensor([[0.0], [1.0], [2.0], [9.0]])
    >>> EncodingModule(fit_encoding("rank", x.numpy()))(x).flatten().numpy().round(2)
    array([-1.36, -0.38,  0.38,  1.36], dtype=float32)
    """

    def __init__(self, fitted: FittedEncoding) -> None:
        super().__init__()
        self.encoding: Encoding = fitted.encoding
        self.arrays = _Arrays(fitted.arrays)

    def forward(self, x: Tensor) -> Tensor:
        """Encoded rows."""
        return self.encoding.apply(x, self.arrays, _OPERATIONS)

    @property
    def fitted(self) -> FittedEncoding:
        """The encoding and its arrays in NumPy."""
        arrays = {name: t.cpu().numpy() for name, t in self.arrays.named_buffers()}
        return FittedEncoding(self.encoding, arrays)


class Frozen(nn.Module):
    """A predictor as a module: rows ``(n, d)`` in, outputs ``(k, n, c)`` of its folds out."""

    def __init__(
        self,
        predictor: Predictor,
        arrays: Mapping[str, Any],
        encoding: EncodingModule | None = None,
    ) -> None:
        super().__init__()
        self.predictor = predictor
        self.arrays = _Arrays(arrays)
        self.encoding = encoding

    def each(self, x: Tensor) -> Tensor:
        """Outputs of the folds, in float64: a sum over many rows or trees needs the digits."""
        x = x if self.encoding is None else self.encoding(x)
        return self.predictor.apply(x.double(), self.arrays, _OPERATIONS)

    def forward(self, x: Tensor) -> Tensor:
        """Mean over the folds."""
        return self.each(x).mean(0)

    def fold(self, k: int) -> Frozen:
        """The predictor of one fold; it shares the arrays."""
        own = self.predictor.per_fold
        arrays = {
            name: array[k : k + 1] if name in own else array
            for name, array in self.arrays.named_buffers()
        }
        return Frozen(replace(self.predictor, k=1), arrays, self.encoding)


class Blend(nn.Module):
    """Weighted sum of members, fold by fold.

    A member's method ``each`` maps rows to the outputs ``(k, n, c)`` of its folds.
    """

    weights: Tensor

    def __init__(self, members: Sequence[nn.Module], weights: Sequence[float]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.register_buffer("weights", torch.tensor(list(weights), dtype=torch.float64))

    def each(self, x: Tensor) -> Tensor:
        """Outputs ``(k, n, c)`` of the folds."""
        total: Any = 0.0
        for weight, member in zip(self.weights, self.members, strict=True):
            total = total + weight * member.each(x)  # type: ignore[operator]
        return total  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """Mean over the folds, in the type of the rows."""
        return self.each(x).mean(0).to(x.dtype)
