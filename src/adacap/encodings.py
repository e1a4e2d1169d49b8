"""Encodings of a row: other coordinates of the same numbers, in which a member may learn more.

A net on standardised columns finds what is smooth, one on ranks what outliers hide, one on bins
where a column bends. Each encoding is fitted on the encoded table, described by a few arrays, and
written once in the operations of :mod:`adacap.operations`; nothing here imports torch.

Both are made of *ramps*: a ramp of a column rises from 0 to 1 between two of its values and is flat
on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Index
from adacap.exceptions import suggest

if TYPE_CHECKING:
    from adacap.operations import MemberOperations

__all__ = [
    "ENCODINGS", "ENCODING_TYPES", "Bins", "Encoding", "FittedEncoding", "Ranks", "fit_encoding",
]  # fmt: skip

T = TypeVar("T")
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Shapes: TypeAlias = dict[str, tuple[int, ...]]

_N_KNOTS = 64  # of a column sent through its ranks
_N_BINS = 8
_TAIL = 3.0  # standard deviations, beyond which ranks are not distinguished


@dataclass(frozen=True)
class Ranks:
    """Columns mapped to normal scores of their ranks: each is a sum of ramps."""

    d_in: int
    n_ramps: int

    @property
    def d_out(self) -> int:
        """Number of output columns."""
        return self.d_in

    @property
    def tensors(self) -> Shapes:
        """Shapes of the arrays."""
        return _ramps(self.n_ramps) | {"weight": (self.n_ramps,), "bias": (self.d_in,)}

    def apply(self, x: T, tensors: Any, op: MemberOperations[T]) -> T:
        """Encoded rows."""
        return op.column_sums(op.ramps(x, tensors), tensors)


@dataclass(frozen=True)
class Bins:
    """The columns, plus the ramps between their quantiles."""

    d_in: int
    n_ramps: int

    @property
    def d_out(self) -> int:
        """Number of output columns."""
        return self.d_in + self.n_ramps

    @property
    def tensors(self) -> Shapes:
        """Shapes of the arrays."""
        return _ramps(self.n_ramps)

    def apply(self, x: T, tensors: Any, op: MemberOperations[T]) -> T:
        """Encoded rows."""
        return op.beside(x, op.ramps(x, tensors))


Encoding: TypeAlias = Ranks | Bins


def _ramps(n_ramps: int) -> Shapes:
    return dict.fromkeys(("column", "start", "slope", "shift"), (n_ramps,))


class FittedEncoding(NamedTuple):
    """An encoding and its arrays."""

    encoding: Encoding
    arrays: Arrays


def fit_encoding(
    name: str, X: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None = None
) -> FittedEncoding:
    """Fit an encoding, a key of ``ENCODINGS``, to rows (n, d) of finite numbers.

    Examples
    --------
    >>> found = fit_encoding("bins", np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> found.encoding
    Bins(d_in=1, n_ramps=6)
    >>> fit_encoding("rnak", np.zeros((2, 1)))
    Traceback (most recent call last):
    ValueError: Unknown encoding 'rnak'. Did you mean 'rank'? ...
    """
    if name not in ENCODINGS:
        raise ValueError(suggest(name, ENCODINGS, "encoding"))
    X = np.asarray(X, dtype=np.float64)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    return ENCODINGS[name](X, weight)


class _Column(NamedTuple):
    """Distinct values of a column, and the mean rank of each, scaled to (0, 1)."""

    values: Floats
    middle: Floats

    @classmethod
    def of(cls, x: Floats, weight: Floats) -> _Column:
        values, place = np.unique(x, return_inverse=True)
        counts = np.bincount(place, weight)
        return cls(values, (np.cumsum(counts) - counts / 2) / counts.sum())


def _fit_ranks(X: Floats, weight: Floats) -> FittedEncoding:
    from scipy.special import ndtri

    parts, heights, offsets = [], [], []
    for j, x in enumerate(X.T):
        column = _Column.of(x, weight)
        knots, levels = column.values, column.values
        if len(knots) > 2:
            levels = np.clip(ndtri(column.middle), -_TAIL, _TAIL)
            kept = _spread(column, _N_KNOTS)
            knots, levels = knots[kept], levels[kept]
        seen = np.interp(x, knots, levels)
        mean = np.average(seen, weights=weight)
        scale = np.sqrt(np.average((seen - mean) ** 2, weights=weight)) or 1.0
        levels = (levels - mean) / scale
        parts.append(_between(j, knots))
        heights.append(np.diff(levels))
        offsets.append(levels[0])
    arrays = _joined(parts)
    arrays |= {"weight": np.concatenate([*heights, []]), "bias": np.array(offsets)}
    return FittedEncoding(Ranks(X.shape[1], len(arrays["column"])), _narrow(arrays))


def _spread(column: _Column, most: int) -> Index:
    """Values to keep as knots: the ends, and those nearest to evenly spaced ranks."""
    wanted = np.linspace(column.middle[0], column.middle[-1], most)
    found = np.searchsorted(column.middle, wanted).clip(0, len(column.values) - 1)
    return np.unique([0, *found, len(column.values) - 1])


def _fit_bins(X: Floats, weight: Floats) -> FittedEncoding:
    parts, shifts = [], []
    for j, x in enumerate(X.T):
        column = _Column.of(x, weight)
        if len(column.values) <= 2:
            continue
        ends = np.interp(np.linspace(0, 1, _N_BINS + 1), column.middle, column.values)
        part = _between(j, np.unique(ends))
        ramps = np.clip((x[:, None] - part["start"]) * part["slope"], 0, 1)
        parts.append(part)
        shifts.append(-np.average(ramps, axis=0, weights=weight))
    arrays = _joined(parts) | {"shift": np.concatenate([*shifts, []])}
    return FittedEncoding(Bins(X.shape[1], len(arrays["column"])), _narrow(arrays))


def _between(j: int, knots: Floats) -> Arrays:
    """Ramps of column j from each knot to the next; values too close for float32 share one."""
    start = knots[:-1].astype(np.float32)
    width = knots[1:].astype(np.float32) - start
    slope = 1.0 / np.maximum(width, np.float32(1e-30))
    return {"column": np.full(len(start), j), "start": start, "slope": slope}


def _joined(parts: list[Arrays]) -> Arrays:
    empty = {"column": np.empty(0, int), "start": np.empty(0), "slope": np.empty(0)}
    found = {name: np.concatenate([*(p[name] for p in parts), empty[name]]) for name in empty}
    return found | {"shift": np.zeros(len(found["column"]))}


def _narrow(arrays: Arrays) -> Arrays:
    """Arrays as nets see them."""
    return {
        name: values.astype(np.int64 if name == "column" else np.float32)
        for name, values in arrays.items()
    }


ENCODINGS: Mapping[str, Callable[[Floats, Floats], FittedEncoding]] = {
    "rank": _fit_ranks,
    "bins": _fit_bins,
}
"""How to fit each encoding, by name."""
ENCODING_TYPES: Mapping[str, type[Encoding]] = {"rank": Ranks, "bins": Bins}
"""What each encoding is, by name."""
