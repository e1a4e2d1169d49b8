"""Groups of members on NumPy: how a file stores them, and what they compute, in float64.

A kind of group is one class in ``GROUPS``, with ``fields``, ``read``, ``n_members`` and ``total``.
Its twin on torch is in :mod:`adacap.modelfile.groups`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.architectures import BACKBONES, Architecture, restore
from adacap.encodings import FittedEncoding
from adacap.layers import Layer, Residual, run, tensors
from adacap.modelfile.archive import Tensors, refusing, require, shown
from adacap.modelfile.numpy_operations import ArrayTree, NumpyOperations, sigmoid
from adacap.modelfile.predictors import Facts, PredictorGroup, encoded, read_encoding

__all__ = [
    "GROUPS", "Facts", "NetGroup", "NumpyOperations", "Option", "PredictorGroup", "sigmoid",
]  # fmt: skip

Option: TypeAlias = float | int | bool | str | None
"""Of an architecture, as a file may hold it."""

_LARGEST = np.float32(1e30)  # output: the sum over nets is a float32 yet
_FAR = 100.0  # from 0, further than standardised cells are
_CLOSE = 1e-2  # of the largest feature: what another machine may round differently


@dataclass(frozen=True, eq=False)
class NetGroup:
    """Nets that share arrays: their layers, their tensors as a tree, their output layer.

    ``layers`` is None for the user's own networks, which only torch can run.
    """

    fields: ClassVar[dict[str, Any]] = {
        "kind": {"nets"},
        "name": str | None,  # of the architecture; None for a user's own
        "options": dict[str, Option],
        "width": int | None,
        "depth": int | None,
        "factory": str | None,  # of a user's own
        "layers": list[Any] | None,
        "encoding": dict[str, Any] | None,  # applied to rows first
    }
    """Keys of the description of a group, and the types of their values."""

    layers: tuple[Layer, ...] | None
    tree: ArrayTree
    weight: Floats  # (K, J, c)
    bias: Floats  # (K, c)
    factory: str | None = None
    encoding: FittedEncoding | None = None

    @classmethod
    def read(cls, description: Mapping[str, Any], stored: Tensors, facts: Facts) -> NetGroup:
        """Nets from a description and tensors of a file, checked against each other.

        Refuses what is inconsistent, and nets of known layers that give another result on a row of
        zeros than the saved ones did.
        """
        _check_name(description)
        encoding, stored = read_encoding(description["encoding"], stored, facts.shape)
        if encoding is not None:
            facts = facts._replace(shape=(encoding.encoding.d_out,))
        k = facts.n_members
        width = _output_width(stored, facts)
        expected = {"output.weight": (k, width, facts.n_out), "output.bias": (k, facts.n_out)}
        expected |= _head_shapes(facts, width)
        layers = None
        if description["factory"] is None:
            with refusing("its layers are malformed", ValueError):
                layers = restore(description["layers"])
            expected["probe"] = (k, width)
            expected |= {f"backbone.{name}": (k, *s) for name, s in tensors(layers).items()}
        _check_tensors(stored, expected, is_whole=layers is not None)
        weight, bias = _float64(stored, "output.weight"), _float64(stored, "output.bias")
        if layers is None:
            return cls(None, {}, weight, bias, description["factory"], encoding)
        for name in expected:
            _check_numbers(stored, name)
        found = {name: _float64(stored, f"backbone.{name}") for name in tensors(layers)}
        group = cls(layers, _nested(layers, found), weight, bias, None, encoding)
        group._check_probe(_float64(stored, "probe"), facts.shape)
        _check_range(layers, stored, facts.shape)
        return group

    @property
    def n_members(self) -> int:
        """Number K of nets."""
        return len(self.weight)

    @property
    def width(self) -> int:
        """Number J of features that the output layers read."""
        return int(self.weight.shape[1])

    @property
    def held_per_row(self) -> int:
        """Numbers that prediction keeps in memory per row, at least."""
        n_ramps = 0 if self.encoding is None else self.encoding.encoding.n_ramps
        return max(self.n_members * self.width, n_ramps)

    def hidden(self, x: Floats) -> Floats:
        """Features ``(K, n, J)`` of rows ``(n, d)`` that went through the encoding."""
        assert self.layers is not None
        return run(self.layers, x, self.tree, NumpyOperations())

    def total(self, x: Floats) -> Floats:
        """Sum of the outputs of all nets, ``(n, c)``."""
        outputs = self.hidden(encoded(x, self.encoding)) @ self.weight + self.bias[:, None, :]
        return np.asarray(outputs.sum(0))

    def _check_probe(self, probe: Floats, shape: tuple[int, ...]) -> None:
        """Refuse nets that do not run, or differ from the saved ones."""
        with refusing("the network fails on a row of zeros", ValueError, IndexError):
            with np.errstate(all="ignore"):
                hidden = self.hidden(np.zeros((1, *shape)))
        hidden = np.broadcast_to(hidden, (self.n_members, *hidden.shape[-2:]))[:, 0]
        found = hidden.shape[1]
        require(found == self.width, f"its nets have {found} features, not {self.width}.")
        room = _CLOSE * float(np.abs(probe).max())
        close = bool(np.allclose(hidden, probe, _CLOSE, room))
        require(close, "the network computes different features from the saved one.")


GROUPS: dict[str, type[NetGroup] | type[PredictorGroup]] = {
    "nets": NetGroup,
    "predictor": PredictorGroup,
}
"""Kinds of groups of members that a file may hold, by name, each as it runs on NumPy."""


def _check_name(description: Mapping[str, Any]) -> None:
    """A backbone is known by name, size and layers, or is the user's own by its function."""
    name, options = description["name"], description["options"]
    missing = [description[key] is None for key in ("layers", "name", "width", "depth")]
    is_own = description["factory"] is not None
    fits = all(missing) and not options if is_own else not any(missing)
    require(fits, f"backbone {shown(name, 40)} contradicts itself.")
    if name in BACKBONES:  # else registered elsewhere
        with refusing("its backbone is malformed", ValueError):
            Architecture(name, **options)


def _output_width(stored: Tensors, facts: Facts) -> int:
    weight = stored.get("output.weight", np.empty(0))
    fits = weight.ndim == 3 and weight.shape[::2] == (facts.n_members, facts.n_out) and weight.size
    require(
        bool(fits),
        f"output.weight is missing or not of {facts.n_members} nets and {facts.n_out} outputs.",
    )
    return int(weight.shape[1])


def _head_shapes(facts: Facts, width: int) -> dict[str, tuple[int, ...]]:
    k, c = facts.n_members, facts.n_out
    if facts.head["kind"] == "linear":
        return {"head.weight": (k, width, c), "head.bias": (k, c)}
    return {"head.log_lambda": (k,)}


def _check_tensors(
    stored: Tensors, expected: Mapping[str, tuple[int, ...]], is_whole: bool
) -> None:
    """Each expected tensor is float32 of its shape; a user's own network may have others."""
    for name, shape in expected.items():
        require(name in stored, f"the file has no tensor {name}.")
        found = stored[name]
        fits = found.dtype == np.float32 and found.shape == shape
        require(
            fits, f"{name} is {found.dtype} of shape {found.shape}, not float32 of shape {shape}."
        )
    more = sorted(name for name in stored.keys() - expected.keys() if is_whole or not _is_own(name))
    require(not more, f"the network has no tensor {more[:1]}.")


def _is_own(name: str) -> bool:
    return name.startswith("backbone.") or name == "probe"


def _float64(stored: Tensors, name: str) -> Floats:
    _check_numbers(stored, name)
    return stored[name].astype(np.float64)


def _check_numbers(stored: Tensors, name: str) -> None:
    is_finite = bool(np.isfinite(stored[name]).all())
    require(is_finite, f"tensor {name} holds NaN or infinite values.")
    if name.endswith(".running_var"):
        require(bool((stored[name] >= 0).all()), f"tensor {name} has a variance below 0.")


def _check_range(layers: tuple[Layer, ...], stored: Tensors, shape: tuple[int, ...]) -> None:
    """Refuse nets that leave the range of float32, in which torch computes, on plain rows."""
    arrays = {name: stored[f"backbone.{name}"] for name in tensors(layers)}
    rows: npt.NDArray[Any] = np.full((2, *shape), _FAR, dtype=np.float32)
    rows[1] = -_FAR
    with np.errstate(all="ignore"):
        hidden: Any = run(layers, rows, _nested(layers, arrays), NumpyOperations())
        outputs = hidden @ stored["output.weight"] + stored["output.bias"][:, None, :]
    fits = bool((np.abs(outputs) <= _LARGEST).all())  # not so of NaN
    require(fits, f"its nets give {_LARGEST:g} or no number for a row of {_FAR:g}.")


def _nested(layers: tuple[Layer, ...], arrays: Mapping[str, Floats], prefix: str = "") -> ArrayTree:
    """Arrays by dotted names as a mapping for every layer, within mappings for those of blocks."""
    return {
        str(i): _nested(layer.block, arrays, f"{prefix}{i}.")
        if isinstance(layer, Residual)
        else {name: arrays[f"{prefix}{i}.{name}"] for name in layer.tensors}
        for i, layer in enumerate(layers)
    }
