"""Backbones by name: functions from the size of a row to a tuple of layers.

A new backbone is one function under :func:`register`; it can then be trained, bagged, saved, run
with :mod:`adacap.lite` and exported. Nothing here imports torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeAlias, get_args

from adacap.exceptions import suggest
from adacap.layers import (
    Activation,
    BatchNorm,
    Dense,
    Dropout,
    Fourier,
    Gate,
    Layer,
    Residual,
)

__all__ = [
    "BACKBONES", "Architecture", "describe", "fourier", "glu", "mlp", "register", "resnet",
    "restore", "snn",
]  # fmt: skip

BackboneFunction: TypeAlias = Callable[..., tuple[Layer, ...]]
INITIALIZATIONS = ("glorot", "glorot-relu", "he", "kaiming")
"""Initialisations of dense layers, by name."""

_INITIALIZATION = "initialization"  # option of any backbone that has dense layers
BACKBONES: dict[str, BackboneFunction] = {}
"""Backbones by name. Each takes ``d_in`` and, by name, ``width``, ``depth`` and its options."""


def register(name: str) -> Callable[[BackboneFunction], BackboneFunction]:
    """Register a backbone under a name, for ``architecture=name``.

    Parameters
    ----------
    name : str

    Returns
    -------
    callable
        Decorator of a function ``(d_in, *, width, depth=…, **options) -> tuple of Layer``. The
        output has ``width`` columns.

    Examples
    --------
    >>> from adacap.architectures import BACKBONES
    >>> @register("linear")
    ... def linear(d_in, *, width, depth=1):
    ...     return tuple(Dense(width if i else d_in, width) for i in range(depth))
    >>> Architecture("linear").layers(3, width=8)
    (Dense(d_in=3, d_out=8),)
    >>> BACKBONES.pop("linear") is linear  # as if it had never been
    True
    """

    def keep(backbone: BackboneFunction) -> BackboneFunction:
        BACKBONES[name] = backbone
        return backbone

    return keep


def _block(
    d_in: int, d_out: int, after: Layer, dropout: float, batch_norm: bool
) -> tuple[Layer, ...]:
    """Dense → batch norm → activation → dropout, each optional part only when asked for."""
    layers: tuple[Layer, ...] = (Dense(d_in, d_out),)
    if batch_norm:
        layers += (BatchNorm(d_out),)
    layers += (after,)
    return (*layers, Dropout(dropout)) if dropout else layers


@register("mlp")
def mlp(
    d_in: int,
    *,
    width: int = 512,
    depth: int = 2,
    activation: str = "relu",
    dropout: float = 0.0,
    batch_norm: bool = False,
) -> tuple[Layer, ...]:
    """Multi-layer perceptron of ``depth`` hidden layers.

    Examples
    --------
    >>> mlp(3, width=8, depth=1)
    (Dense(d_in=3, d_out=8), Activation(name='relu'))
    """
    layers: tuple[Layer, ...] = ()
    for i in range(depth):
        size = width if i else d_in
        layers += _block(size, width, Activation(activation), dropout, batch_norm)
    return layers


@register("snn")
def snn(d_in: int, *, activation: str = "selu", **options: Any) -> tuple[Layer, ...]:
    """Self-normalising network: an MLP with the SELU activation."""
    return mlp(d_in, activation=activation, **options)


@register("glu")
def glu(
    d_in: int,
    *,
    width: int = 512,
    depth: int = 3,
    activation: str = "identity",
    dropout: float = 0.0,
    batch_norm: bool = False,
) -> tuple[Layer, ...]:
    """Gated linear units: each hidden layer is multiplied by a sigmoid gate of its input.

    ``activation`` acts on the ungated half; ``"relu"`` is what the paper's table prints.
    """
    layers: tuple[Layer, ...] = ()
    for i in range(depth):
        size = width if i else d_in
        layers += _block(size, 2 * width, Gate(activation), dropout, batch_norm)
    return layers


@register("resblock")
def resnet(
    d_in: int,
    *,
    width: int = 512,
    depth: int = 2,
    block_depth: int = 2,
    activation: str = "relu",
    dropout: float = 0.0,
    batch_norm: bool = False,
) -> tuple[Layer, ...]:
    """Residual network for tables: a first layer, then ``depth`` blocks of constant width."""
    act, drop = Activation(activation), (Dropout(dropout),) if dropout else ()
    layers = _block(d_in, width, act, dropout, batch_norm)
    for _ in range(depth):
        block: tuple[Layer, ...] = ()
        for _ in range(block_depth - 1):
            block += _block(width, width, act, dropout, batch_norm)
        block += _block(width, width, Activation("identity"), 0.0, batch_norm)
        layers += (Residual(block), act, *drop)
    return layers


@register("fourier")
def fourier(
    d_in: int,
    *,
    width: int = 512,
    depth: int = 1,
    dropout: float = 0.0,
    batch_norm: bool = False,
) -> tuple[Layer, ...]:
    """Waves with trained frequencies behind a trained scale per column.

    Like the kernel, it learns which columns matter and at what scale. It can fit any labels, so it
    needs the MLR loss more than the other backbones.

    Examples
    --------
    >>> fourier(3, width=8)
    (Fourier(d_in=3, d_out=8),)
    """
    after: tuple[Layer, ...] = (BatchNorm(width),) if batch_norm else ()
    after += (Dropout(dropout),) if dropout else ()
    layers: tuple[Layer, ...] = ()
    for i in range(depth):
        layers += (Fourier(width if i else d_in, width), *after)
    return layers


# ----------------------------------------------------------------------------- by name


@dataclass(frozen=True, init=False)
class Architecture:
    """A backbone by name, with its options.

    Width and depth are parameters of the estimators.

    Parameters
    ----------
    name : str
        Key of ``BACKBONES``: ``"mlp"``, ``"snn"``, ``"glu"``, ``"resblock"``, ``"fourier"``, or one
        added by :func:`register`.
    **options
        Of the backbone: ``dropout``, ``batch_norm``, ``activation``, ``block_depth``. And
        ``initialization`` of the dense layers: ``"kaiming"`` is torch's default, of variance 1/(3
        fan-in); ``"he"`` has He's variance 2/fan-in, ``"glorot"`` Glorot's, ``"glorot-relu"`` twice
        that.

    Examples
    --------
    >>> Architecture("mlp", dropout=0.2)
    Architecture('mlp', dropout=0.2)
    >>> Architecture("mlp", dropuot=0.2)
    Traceback (most recent call last):
    ValueError: Unknown option of architecture 'mlp' 'dropuot'. Did you mean 'dropout'? ...
    >>> Architecture("mlp", initialization="he").initialization
    'he'
    """

    name: str
    options: tuple[tuple[str, Any], ...] = field(default=())

    def __init__(self, name: str, **options: Any) -> None:
        if name not in BACKBONES:
            raise ValueError(suggest(name, BACKBONES, "architecture"))
        known = _options_of(name)
        for option in options:
            if option not in known:
                raise ValueError(suggest(option, known, f"option of architecture {name!r}"))
        start = None if _INITIALIZATION in _parameters(name) else options.get(_INITIALIZATION)
        if start is not None and start not in INITIALIZATIONS:
            raise ValueError(suggest(str(start), INITIALIZATIONS, _INITIALIZATION))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", tuple(sorted(options.items())))

    def __repr__(self) -> str:
        return f"Architecture({', '.join([repr(self.name), *self._texts()])})"

    def _texts(self) -> list[str]:
        return [f"{name}={value!r}" for name, value in self.options]

    @property
    def default_depth(self) -> int:
        """Default depth."""
        depth: int = _parameters(self.name)["depth"].default
        return depth

    @property
    def initialization(self) -> str | None:
        """Initialisation of dense layers; None if it is not set, or left to the backbone."""
        is_own = _INITIALIZATION in _parameters(self.name)
        return None if is_own else dict(self.options).get(_INITIALIZATION)

    def layers(self, d_in: int, *, width: int, depth: int | None = None) -> tuple[Layer, ...]:
        """Layers for rows of ``d_in`` numbers."""
        depth = self.default_depth if depth is None else depth
        known = _parameters(self.name)
        options = {name: value for name, value in self.options if name in known}
        return BACKBONES[self.name](d_in, width=width, depth=depth, **options)


def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """Parameters of a backbone, including those it passes on to the MLP."""
    found = dict(inspect.signature(BACKBONES[name]).parameters)
    passes_on = [key for key, p in found.items() if p.kind is inspect.Parameter.VAR_KEYWORD]
    if passes_on:
        found = {**inspect.signature(mlp).parameters, **found}
    return {key: p for key, p in found.items() if key not in passes_on}


def _options_of(name: str) -> list[str]:
    own = [key for key in _parameters(name) if key not in ("d_in", "width", "depth")]
    return own if name == "fourier" else [*own, _INITIALIZATION]  # which has no dense layers


# ---------------------------------------------------------------------------- as plain data

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Layer)}


def describe(layers: tuple[Layer, ...]) -> list[dict[str, Any]]:
    """Layers as plain data, for a model file.

    Examples
    --------
    >>> describe((Dense(3, 2), Gate()))
    [{'kind': 'Dense', 'd_in': 3, 'd_out': 2}, {'kind': 'Gate', 'activation': 'identity'}]
    """
    return [
        {"kind": "Residual", "block": describe(layer.block)}
        if isinstance(layer, Residual)
        else {"kind": type(layer).__name__, **asdict(layer)}
        for layer in layers
    ]


def restore(data: Any, *, most: int = 1000) -> tuple[Layer, ...]:
    """Layers from the output of :func:`describe`.

    A ``ValueError`` for what does not describe layers, or describes more than ``most``.

    Examples
    --------
    >>> restore([{"kind": "Dense", "d_in": 3, "d_out": 2}])
    (Dense(d_in=3, d_out=2),)
    >>> restore([{"kind": "Dense", "d_in": 3}])
    Traceback (most recent call last):
    ValueError: {'kind': 'Dense', 'd_in': 3} does not describe a layer.
    """
    if not isinstance(data, list) or len(data) > most:
        raise ValueError(f"{data!r:.80} is not a list of at most {most} layers.")
    return tuple(_layer(item, most) for item in data)


_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "str": (str,), "float": (int, float)}


def _layer(item: Any, most: int) -> Layer:
    kind = _KINDS.get(str(item.get("kind"))) if isinstance(item, dict) else None
    if kind is None or item.keys() - {"kind"} != {each.name for each in fields(kind)}:
        raise ValueError(f"{item!r:.80} does not describe a layer.")
    if kind is Residual:
        return Residual(restore(item["block"], most=most // 2))
    values = {each.name: item[each.name] for each in fields(kind)}
    for each in fields(kind):
        value = values[each.name]
        fits = isinstance(value, _TYPES[str(each.type)]) and not isinstance(value, bool)
        if not fits or (each.type == "int" and value < 1):
            raise ValueError(f"{item!r:.80} does not describe a layer.")
    layer: Layer = kind(**values)
    return layer
