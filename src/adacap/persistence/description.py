"""The description of a model: plain data, and the type that each of its values must have."""

from __future__ import annotations

import functools
import json
import math
import types
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from torch import Tensor

from adacap._version import __version__
from adacap.architectures import Architecture
from adacap.estimators import constraints
from adacap.estimators._base import AdaCapBase
from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.encoder import POLICIES
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
from adacap.estimators.provenance import Provenance
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.settings import SCHEMES, Settings
from adacap.exceptions import ModelFileError
from adacap.persistence.files import DESCRIPTION, MOST_TEXT, refuse, refusing, require
from adacap.tables.plan import ColumnPlan, Part
from adacap.training.history import History

__all__ = [
    "ESTIMATORS",
    "FORMAT",
    "FORMAT_VERSION",
    "MEMBER",
    "Json",
    "check",
    "check_parameters",
    "make_estimator",
    "parse",
    "plain",
]

Json = dict[str, Any]

ESTIMATORS: dict[str, type[AdaCapBase]] = {
    "AdaCapRegressor": AdaCapRegressor,
    "AdaCapClassifier": AdaCapClassifier,
    "MLRNetRegressor": MLRNetRegressor,
    "MLRNetClassifier": MLRNetClassifier,
}

FORMAT, FORMAT_VERSION = "adacap-model", 2
_MOST_DIGITS = 300  # of an integer; a seed may have many
_MOST_WHOLE = 2**53  # of an integer in the place of a float, which it equals up to here
_SPECIAL = {repr(value): value for value in (math.nan, math.inf, -math.inf)}

# A dict here names all keys, a list has items of one kind, a set gives the texts to choose from;
# the rest are types as in annotations. A dataclass is the dict of its fields.
MEMBER = {
    "seed": int,
    "group": int,  # of nets that share tensors
    "index": int,  # in the group
    "lam": float | None,
    "effective_dof": float | None,
    "best_iter": int,
    "best_score": float,
    "history": list[dict[str, float]],
}
_GROUP = {
    "name": str | None,  # of the architecture; None for a user's own
    "options": dict[str, Any],
    "width": int | None,
    "depth": int | None,
    "factory": str | None,  # of a user's own
    "layers": list[Any] | None,
}
_ENCODER = {
    "policy": set(POLICIES),
    "max_levels": int,
    "one_hot_numeric": bool,
    "read_text": bool | str,
    "names": list[str] | None,
    "columns": list[ColumnPlan],
    "layout": list[int],
}
_MODEL = {
    "format": {FORMAT},
    "format_version": int,
    "adacap_version": str,
    "estimator": set(ESTIMATORS),
    "parameters": dict[str, Any],
    "not_stored": list[str],  # parameters that are no plain data
    "settings": Settings,
    "encoder": _ENCODER,
    "codec": dict[str, Any],
    "scheme": set(SCHEMES),
    "sample_shape": list[int] | None,
    "groups": [_GROUP],
    "head": {"kind": {"tikhonov", "linear"}, "fit_intercept": bool},
    "earlier_history": list[dict[str, float]],  # before the last warm start
    "members": [MEMBER],
    "provenance": Provenance,
}
_NUMBERS = {"mean": list[float], "scale": list[float], "is_1d": bool}
_CLASSES = {"dtype": str, "classes": list[Any], "temperature": float}


def plain(value: Any) -> Any:
    """Value as JSON can hold it; a number that is not finite becomes ``{"float": "nan"}``.

    Examples
    --------
    >>> plain((1, np.float64(0.5), math.inf))
    [1, 0.5, {'float': 'inf'}]
    >>> plain(print)
    Traceback (most recent call last):
    TypeError: builtin_function_or_method is no plain data.
    """
    if isinstance(value, np.generic | np.ndarray | Tensor):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | History):
        return [plain(item) for item in value]
    if isinstance(value, Architecture):
        return {"name": value.name, "options": plain(dict(value.options))}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    raise TypeError(f"{type(value).__name__} is no plain data.")


def parse(text: bytes) -> Json:
    """Description in which every value has its type; parameters are not looked at.

    Raises
    ------
    ModelFileError
    """
    require(len(text) <= MOST_TEXT, f"{DESCRIPTION} has {len(text)} bytes, more than {MOST_TEXT}.")
    with refusing(f"{DESCRIPTION} is no valid JSON", ValueError, RecursionError):
        model = json.loads(
            text.decode(),
            object_pairs_hook=_object,
            parse_constant=lambda token: refuse(f"{DESCRIPTION} holds {token}."),
            parse_float=_finite,
            parse_int=_integer,
        )
    version = model.get("format_version") if isinstance(model, dict) else None
    if type(version) is int and version != FORMAT_VERSION:
        refuse(
            f"it has format_version {version}, and adacap {__version__} reads {FORMAT_VERSION} "
            "only. Upgrade adacap."
        )
    check(model, _MODEL, DESCRIPTION)
    is_classifier = issubclass(ESTIMATORS[model["estimator"]], AdaCapClassifier)
    check(model["codec"], _CLASSES if is_classifier else _NUMBERS, "codec")
    return dict(model)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    names = [name for name, _ in pairs]
    require(len(set(names)) == len(names), f"{DESCRIPTION} gives a name twice, among {names[:9]}.")
    if names == ["float"] and isinstance(pairs[0][1], str):
        return _SPECIAL.get(pairs[0][1])
    return dict(pairs)


def _finite(digits: str) -> float:
    require(math.isfinite(float(digits)), f"{DESCRIPTION} holds {digits[:20]}, too large a number.")
    return float(digits)


def _integer(digits: str) -> int:
    require(len(digits) <= _MOST_DIGITS, f"{DESCRIPTION} holds an integer of {len(digits)} digits.")
    return int(digits)


def check(value: Any, kind: Any, where: str) -> None:
    """Refuse a value read from JSON that is not of this kind.

    Examples
    --------
    >>> check([1, 2.5], tuple[float, ...], "scale")
    >>> check([1, None], tuple[float, ...], "scale")
    Traceback (most recent call last):
    adacap.exceptions.ModelFileError: scale[1] is not float: None.
    """
    if is_dataclass(kind):
        kind = _fields_of(cast(type, kind))
    if not _looks_like(value, kind):
        refuse(f"{where} is not {_name(kind)}: {value!r:.80}.")
    for place, part, part_kind in _inside(value, kind):
        check(part, part_kind, where + place)


def _name(kind: Any) -> str:
    if isinstance(kind, dict):
        return f"an object of {', '.join(sorted(kind))}"
    if isinstance(kind, set):
        return f"one of {', '.join(sorted(kind))}"
    return str(getattr(kind, "__name__", kind))


def _looks_like(value: Any, kind: Any) -> bool:
    """Whether a value is of this kind, leaving aside what a container holds."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, dict):
        return isinstance(value, dict) and value.keys() == kind.keys()
    if isinstance(kind, list) or origin in (list, tuple, Sequence):
        return isinstance(value, list)
    if origin is dict:
        return isinstance(value, dict)
    if origin in (Union, types.UnionType):
        return any(_is(value, option) for option in args)
    if origin is Literal or isinstance(kind, set):
        return isinstance(value, str) and value in (args or kind)
    if kind is float:
        return type(value) is float or (type(value) is int and abs(value) <= _MOST_WHOLE)
    return kind is Any or (kind in (int, str, bool, types.NoneType) and type(value) is kind)


def _inside(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Place, value and kind of each item of a container."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, dict):
        yield from ((f".{name}", value[name], kind[name]) for name in kind)
    elif origin is dict:
        yield from ((f".{name}", part, args[1]) for name, part in value.items())
    elif isinstance(kind, list) or origin in (list, tuple, Sequence):
        yield from ((f"[{i}]", part, (args or kind)[0]) for i, part in enumerate(value))


def _is(value: Any, kind: Any) -> bool:
    try:
        check(value, kind, "")
    except ModelFileError:
        return False
    return True


@functools.cache
def _fields_of(kind: Any) -> Json:
    """Fields in JSON, where the part of a column plan carries its name besides."""
    if kind is Architecture:
        return {"name": str, "options": dict[str, Any]}
    hints = get_type_hints(kind)
    tag: Json = {"part": {kind.__name__}} if kind in get_args(Part) else {}
    return tag | {field.name: hints[field.name] for field in fields(kind)}


def check_parameters(model: Json) -> None:
    """Hold the parameters against the signature of the estimator and its own checks."""
    cls, stored = ESTIMATORS[model["estimator"]], model["parameters"]
    hints = {name: hint for name, hint in get_type_hints(cls.__init__).items() if name != "return"}
    require(
        sorted([*stored, *model["not_stored"]]) == sorted(hints),
        f"its parameters are not those of {cls.__name__}: {', '.join(stored)}.",
    )
    for name, value in stored.items():
        check(value, hints[name], f"parameter {name}")
    with refusing("a parameter is invalid", TypeError, ValueError):
        constraints.check_parameters(make_estimator(model))


def make_estimator(model: Json) -> AdaCapBase:
    """Unfitted estimator with the parameters of a description."""
    parameters = {
        name: value if name == "preprocessing" else _parameter(value)
        for name, value in model["parameters"].items()
    }
    return ESTIMATORS[model["estimator"]](**parameters)


def _parameter(value: Any) -> Any:
    """A parameter as the constructor takes it; an object in JSON is an architecture."""
    if isinstance(value, dict):
        return Architecture(value["name"], **value["options"])
    return tuple(map(_parameter, value)) if isinstance(value, list) else value
