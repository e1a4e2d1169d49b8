"""Encodings, and members of a blend that are not nets: how a file stores them, on NumPy.

Each is described by its fields, with its arrays in the narrowest type that holds them exactly. The
children of a node of a forest are stored by their distance behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.encodings import ENCODING_TYPES, Encoding, FittedEncoding
from adacap.modelfile.archive import Json, Tensors, require, shown
from adacap.modelfile.numpy_operations import NumpyOperations
from adacap.predictors import LINKS, PREDICTOR_TYPES, Forest, Predictor, SymmetricTrees

__all__ = ["Facts", "PredictorGroup", "describe", "encoded", "pack", "read_encoding"]

Described: TypeAlias = Encoding | Predictor

_ENCODINGS: dict[str, Any] = {kind.__name__: kind for kind in ENCODING_TYPES.values()}
_PREDICTORS: dict[str, Any] = {
    kind.__name__: kind for kinds in PREDICTOR_TYPES.values() for kind in kinds
}
_LEAST = {"n_ramps": 0, "depth": 0}  # of a field; 1 of any other
_MOST = 2**40  # of any; tensors are checked against it before anything is allocated
_MOST_LEVELS = 16  # of a symmetric tree, whose leaves are two to this power
_LARGEST = 1e32  # of a number that others are multiplied by, or that is added up
_PLACES = ("rows", "threshold", "start")  # values of columns, as large as they come
_WHOLE = ("column", "root", "left", "right")
_NARROW = ("threshold", "leaf")  # which float32 holds as they are
_POSITIVE = ("scale", "slope")


class Facts(NamedTuple):
    """What the rest of a file says about a group of members."""

    shape: tuple[int, ...]  # of a sample
    n_out: int
    n_members: int
    head: Mapping[str, Any]


# ---------------------------------------------------------------------------------- writing


def describe(one: Described) -> Json:
    """An encoding or predictor as plain data.

    Examples
    --------
    >>> from adacap.encodings import Bins
    >>> describe(Bins(d_in=3, n_ramps=16))
    {'kind': 'Bins', 'd_in': 3, 'n_ramps': 16}
    """
    return {"kind": type(one).__name__, **asdict(one)}


def pack(one: Described, arrays: Mapping[str, Any]) -> Tensors:
    """Arrays as a file holds them.

    Examples
    --------
    >>> from adacap.predictors import Linear
    >>> arrays = {"weight": np.array([[[0.5]]]), "bias": np.array([[0.1]])}
    >>> {name: str(a.dtype) for name, a in pack(Linear(1, 1, 1), arrays).items()}
    {'weight': 'float32', 'bias': 'float64'}
    """
    own = {name: np.asarray(values) for name, values in arrays.items()}
    if isinstance(one, Forest):
        place = np.arange(one.n_nodes)
        own |= {"left": own["left"] - place, "right": own["right"] - place}
    return {name: _narrow(values) for name, values in own.items()}


def _narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in the narrowest type of a file."""
    kinds: tuple[Any, ...] = (np.int16, np.int32) if values.dtype.kind in "iu" else (np.float32,)
    for kind in kinds:
        with np.errstate(over="ignore"):
            found = values.astype(kind)
        if np.array_equal(found, values):
            return found
    return values


# ---------------------------------------------------------------------------------- reading


def read_encoding(
    description: Any, stored: Tensors, shape: tuple[int, ...]
) -> tuple[FittedEncoding | None, Tensors]:
    """The encoding of a group, if it has one, and the tensors that are not its own.

    ``shape`` is that of a sample.
    """
    if description is None:
        return None, stored
    one = _restore(description, _ENCODINGS, "encoding")
    require(shape == (one.d_in,), f"an encoding of {one.d_in} columns is for samples of {shape}.")
    own = {name: array for name, array in stored.items() if name.startswith("encoding.")}
    rest = {name: array for name, array in stored.items() if name not in own}
    return FittedEncoding(one, _unpack(one, own, "encoding.")), rest


def _restore(data: Json, kinds: Mapping[str, Any], what: str) -> Any:
    """An encoding or predictor from its description, whose sizes are all plausible."""
    name = data.get("kind")
    require(isinstance(name, str) and name in kinds, f"there is no {what} {shown(name, 40)}.")
    kind = kinds[str(name)]
    names = [field.name for field in fields(kind)]
    require(data.keys() == {"kind", *names}, f"{what} {name} is not described by {names}.")
    for field in names:
        value = data[field]
        if field == "link":
            fits = isinstance(value, str) and value in LINKS
        else:
            fits = type(value) is int and _LEAST.get(field, 1) <= value <= _MOST
        require(fits, f"{what} {name} has {field} {shown(value, 40)}.")
    one = kind(**{field: data[field] for field in names})
    if isinstance(one, SymmetricTrees):
        fits = 1 <= one.depth <= _MOST_LEVELS
        require(fits, f"{what} {name} has {one.depth} levels, not 1 to {_MOST_LEVELS}.")
    return one


def _unpack(one: Described, stored: Tensors, prefix: str) -> Tensors:
    """Arrays of an encoding or predictor, checked, from all tensors that begin with ``prefix``."""
    shapes = dict(one.tensors)
    names = {prefix + name for name in shapes}
    for name in sorted(names ^ stored.keys()):
        require(name not in names, f"the file has no tensor {name}.")
        require(False, f"{type(one).__name__} has no tensor {name}.")
    own = {
        name: _checked(one, name, stored[prefix + name], shape, prefix)
        for name, shape in shapes.items()
    }
    if isinstance(one, Forest):
        own |= check_forest(one, own)
    return own


def _checked(
    one: Described, name: str, array: npt.NDArray[Any], shape: tuple[int, ...], prefix: str
) -> npt.NDArray[Any]:
    """An array of the right type, shape and range, as it is in memory."""
    allowed, memory = _types(one, name)
    require(
        array.dtype in allowed and array.shape == shape,
        f"{prefix}{name} is {array.dtype} of shape {array.shape}, not "
        f"{' or '.join(map(str, allowed))} of shape {shape}.",
    )
    if name in _WHOLE:
        most = one.d_in if name == "column" else int(array.max(initial=0)) + 1
        fits = array.min(initial=0) >= 0 and array.max(initial=0) < most
        require(bool(fits), f"{prefix}{name} is not within 0 and {most - 1}.")
    else:
        largest = np.inf if name in _PLACES else _LARGEST
        fits = (np.isfinite(array) & (np.abs(array) <= largest)).all()
        require(bool(fits), f"{prefix}{name} holds NaN, infinite or huge values.")
    if name in _POSITIVE:
        require(bool((array > 0).all()), f"{prefix}{name} is not above 0.")
    return array.astype(memory)


def _types(one: Described, name: str) -> tuple[tuple[np.dtype[Any], ...], Any]:
    """Types of an array in a file, and the one in memory."""
    if name in _WHOLE:
        return tuple(map(np.dtype, (np.int16, np.int32, np.int64))), np.int64
    if isinstance(one, Encoding) or name in _NARROW:
        return (np.dtype(np.float32),), np.float32
    return tuple(map(np.dtype, (np.float32, np.float64))), np.float64


def encoded(x: Floats, encoding: FittedEncoding | None) -> Floats:
    """Rows as a member sees them."""
    if encoding is None:
        return x
    return encoding.encoding.apply(x, encoding.arrays, NumpyOperations())


@dataclass(frozen=True, eq=False)
class PredictorGroup:
    """A member that is not a net: a model per fold in the same arrays."""

    fields: ClassVar[dict[str, Any]] = {
        "kind": {"predictor"},
        "predictor": dict[str, Any],
        "encoding": dict[str, Any] | None,  # applied to rows first
    }
    """Keys of the description of a group, and the types of their values."""
    factory: ClassVar[None] = None

    predictor: Predictor
    arrays: Tensors
    encoding: FittedEncoding | None = None

    @classmethod
    def read(cls, description: Mapping[str, Any], stored: Tensors, facts: Facts) -> PredictorGroup:
        """Predictor from a description and tensors of a file, checked against each other."""
        encoding, stored = read_encoding(description["encoding"], stored, facts.shape)
        shape = facts.shape if encoding is None else (encoding.encoding.d_out,)
        one: Predictor = _restore(description["predictor"], _PREDICTORS, "predictor")
        fits = shape == (one.d_in,) and one.n_out == facts.n_out
        require(fits, f"a predictor maps {one.d_in} columns to {one.n_out} outputs.")
        return cls(one, _unpack(one, stored, "predictor."), encoding)

    @property
    def n_members(self) -> int:
        """Number of folds."""
        return self.predictor.k

    @property
    def held_per_row(self) -> int:
        """Numbers that prediction keeps in memory for a row."""
        n_ramps = 0 if self.encoding is None else self.encoding.encoding.n_ramps
        return max(self.predictor.held_per_row, n_ramps)

    def total(self, x: Floats) -> Floats:
        """Sum of the outputs of all folds, ``(n, c)``."""
        rows = encoded(x, self.encoding)
        return np.asarray(self.predictor.apply(rows, self.arrays, NumpyOperations()).sum(0))


# -------------------------------------------------------- trees in which every walk ends

Ints: TypeAlias = npt.NDArray[np.int64]


def check_forest(forest: Forest, own: Tensors) -> Tensors:
    """Children of the nodes, from the distance of each behind its parent.

    Trees follow one another, each with its root first. A node is a leaf, its own child, or has two
    children behind it in its tree, which no other node has. ``own`` holds ``root``, ``left`` and
    ``right`` of its shapes, whole numbers of at least 0; the last two are returned as places in the
    list of nodes.

    Examples
    --------
    >>> stump = {"root": np.array([[0]]), "left": np.array([1, 0, 0]), "right": np.array([2, 0, 0])}
    >>> forest = Forest(k=1, d_in=1, n_trees=1, n_nodes=3, depth=1, n_out=1)
    >>> check_forest(forest, stump)["right"]
    array([2, 1, 2])
    """
    n = forest.n_nodes
    root, left, right = own["root"].ravel(), own["left"], own["right"]
    in_order = root[0] == 0 and bool((np.diff(root) > 0).all()) and root[-1] < n
    require(bool(in_order), "predictor.root does not lead to one tree after another.")
    place, inner = np.arange(n), left > 0
    require(bool((inner == (right > 0)).all()), "a node of predictor has one child.")
    ends = np.append(root[1:], n)[np.searchsorted(root, place, side="right") - 1]
    within = (left < ends - place) & (right < ends - place)  # before a sum that could overflow
    require(bool(within.all()), "a node of predictor has a child outside its tree.")
    left, right = place + left, place + right
    children = np.concatenate([left[inner], right[inner]])
    own_each = len(np.unique(children)) == len(children) == n - len(root)
    require(own_each, "nodes of predictor are not children of one other node each.")
    require(_depth(root, left, right) == forest.depth, f"no tree has {forest.depth} levels.")
    return {"left": left, "right": right}


def _depth(root: Ints, left: Ints, right: Ints) -> int:
    """Steps from a root to the furthest leaf."""
    depth, level = 0, root[left[root] != root]
    while len(level):
        depth += 1
        level = np.concatenate([left[level], right[level]])
        level = level[left[level] != level]
    return depth
