"""The description in a model file, ``model.json``: one parser for every reader.

Each value must have its type, and parameters must be ones that the estimator accepts.
:mod:`adacap.modelfile.contents` checks that values are consistent with each other and the tensors.
"""

from __future__ import annotations

import functools
import json
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from adacap.architectures import BACKBONES, Architecture
from adacap.estimators.constraints import (
    CLASSIFIER,
    MLR_CLASSIFIER,
    MLR_CONSTRAINTS,
    REGRESSOR,
    Constraint,
)
from adacap.estimators.provenance import Provenance
from adacap.estimators.quality import MEMBERS
from adacap.estimators.settings import SCHEMES, Settings
from adacap.estimators.transforms import TargetTransform
from adacap.modelfile.archive import (
    DESCRIPTION,
    FORMAT,
    MOST_TEXT,
    Json,
    refuse,
    refusing,
    require,
    shown,
    unique_names,
)
from adacap.modelfile.evidence import Readings
from adacap.modelfile.nets import GROUPS, Option
from adacap.modelfile.versions import check_version, upgraded
from adacap.tables.encoder import POLICY_NAMES
from adacap.tables.plan import ColumnPart, ColumnPlan

__all__ = ["MEMBER", "PARAMETERS", "PART", "check", "parameter", "parse"]

PARAMETERS: dict[str, Mapping[str, Constraint]] = {
    "AdaCapRegressor": REGRESSOR,
    "AdaCapClassifier": CLASSIFIER,
    "MLRNetRegressor": MLR_CONSTRAINTS,
    "MLRNetClassifier": MLR_CLASSIFIER,
}
"""Estimators that a file may hold, and what their parameters accept."""

_MOST_VALUES = 1_000_000  # some 200 MB, however few bytes each takes in the file
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_MOST_DIGITS = 300  # of an integer; a seed may have many
_MOST_WHOLE = 2**53  # of an integer in the place of a float, which it equals up to here
# Texts that may not fit a number type: without any, the parser's own faster functions are used.
_LONG_NUMBER = re.compile(rb"[eE]\+?\d{3}|\d{300}")
_MOST_LEVELS = 60  # of lists and objects within each other
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
PART = {
    "name": set(MEMBERS),
    "weight": float,
    "error": float,
    "seconds": float,
    "factor": float,  # of its mean output
    "groups": list[int],
}
_ENCODER = {
    "policy": set(POLICY_NAMES),
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
    "needs": str,  # the first release that reads this version
    "estimator": set(PARAMETERS),
    "parameters": dict[str, Any],
    "not_stored": list[str],  # parameters that are not plain data
    "settings": Settings,
    "encoder": _ENCODER,
    "codec": dict[str, Any],
    "scheme": Literal[SCHEMES] | None,  # None where no nets were trained
    "sample_shape": list[int] | None,
    "groups": [dict[str, Any]],
    "head": {"kind": {"tikhonov", "linear"}, "fit_intercept": bool},
    "earlier_history": list[dict[str, float]],  # before the last warm start
    "members": [MEMBER],  # nets
    "blend": [PART],  # empty for nets alone
    "readings": Readings | None,  # None for nets alone
    "widths": dict[str, Any] | None,  # trees behind the width of intervals
    "provenance": Provenance,
}
_NUMBERS = {
    "mean": list[float],
    "scale": list[float],
    "is_1d": bool,
    "transforms": list[TargetTransform],  # empty for none
}
_CLASSES = {"dtype": str, "classes": list[Any], "temperature": float}


def parse(text: bytes) -> Json:
    """Description in which every value has its type and every parameter is acceptable."""
    require(len(text) <= MOST_TEXT, f"{DESCRIPTION} has {len(text)} bytes, more than {MOST_TEXT}.")
    n_values = _count_values(text)
    require(
        n_values <= _MOST_VALUES, f"{DESCRIPTION} has {n_values} values, more than {_MOST_VALUES}."
    )
    with refusing(f"{DESCRIPTION} is not valid JSON", ValueError, RecursionError):
        has_long = _LONG_NUMBER.search(text) is not None
        model = json.loads(
            text.decode(),
            object_pairs_hook=_object,
            parse_constant=lambda token: refuse(f"{DESCRIPTION} holds {token}."),
            parse_float=_finite if has_long else None,
            parse_int=_integer if has_long else None,
        )
    check_version(model)
    if isinstance(model, dict) and type(model.get("format_version")) is int:
        model = upgraded(model)
    check(model, _MODEL, DESCRIPTION)
    is_classifier = model["estimator"].endswith("Classifier")
    check(model["codec"], _CLASSES if is_classifier else _NUMBERS, "codec")
    for g, group in enumerate(model["groups"]):
        kind = group.get("kind")
        is_kind = isinstance(kind, str) and kind in GROUPS
        require(is_kind, f"groups[{g}] is of kind {shown(kind, 40)}.")
        check(group, GROUPS[str(kind)].fields, f"groups[{g}]")
    for name in ("parameters", "codec", "groups"):
        require(_is_shallow(model[name]), f"{name} holds more than {_MOST_LEVELS} levels.")
    if model["widths"] is not None:
        check(model["widths"], GROUPS["predictor"].fields, "widths")
    _check_parameters(model)
    return dict(model)


def _count_values(text: bytes) -> int:
    """Values of a JSON text, or up to twice as many: a comma or bracket stands before each."""
    count = _count_signs(text)
    return count if count <= _MOST_VALUES else _count_signs(_TEXT.sub(b"", text))


def _count_signs(text: bytes) -> int:
    return sum(text.count(sign) for sign in (b",", b"[", b"{"))


def _is_shallow(value: Any) -> bool:
    """Whether containers are not nested too deeply; found without recursion."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        inside = [v.values() if isinstance(v, dict) else v for v in level]
        level = [x for items in inside for x in items if isinstance(x, dict | list)]
        if not level:
            return True
    return False


def _object(pairs: list[tuple[str, Any]]) -> Any:
    found = unique_names(pairs, DESCRIPTION)
    if len(found) == 1 and isinstance(found.get("float"), str):
        return _SPECIAL.get(found["float"])
    return found


def _finite(digits: str) -> float:
    require(math.isfinite(float(digits)), f"{DESCRIPTION} holds {digits[:20]}, too large a number.")
    return float(digits)


def _integer(digits: str) -> int:
    require(len(digits) <= _MOST_DIGITS, f"{DESCRIPTION} holds an integer of {len(digits)} digits.")
    return int(digits)


# ----------------------------------------------------------------------------------- types

_PLAIN = (int, str, bool, types.NoneType)


def check(value: Any, kind: Any, where: str) -> None:
    """Refuse a value read from JSON that is not of this kind.

    Examples
    --------
    >>> check([1, 2.5], tuple[float, ...], "scale")
    >>> check([1, None], tuple[float, ...], "scale")
    Traceback (most recent call last):
    adacap.exceptions.ModelFileError: scale[1] is not float: None.
    """
    if not _fits(kind)(value):
        _explain(value, kind, where)


def _explain(value: Any, kind: Any, where: str) -> None:
    """Refuse the first value within a value that is not of its kind."""
    if is_dataclass(kind):
        kind = _fields_of(cast(type, kind))
    if not _looks_like(value, kind):
        refuse(f"{where} is not {_name(kind)}: {shown(value)}.")
    for place, part, part_kind in _inside(value, kind):
        _explain(part, part_kind, where + place)


def _fits(kind: Any) -> Callable[[Any], bool]:
    """Whether a value and all that it holds are of a kind: built once, used for many values."""
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _fits_of(cast(type, kind))
    if isinstance(kind, dict):
        return _fits_each({name: _fits(part) for name, part in kind.items()})
    if isinstance(kind, list) or origin in (list, tuple, Sequence):
        of_item = _fits((args or kind)[0])
        return lambda value: isinstance(value, list) and all(map(of_item, value))
    if origin is dict:
        of_value = _fits(args[1])
        return lambda value: isinstance(value, dict) and all(map(of_value, value.values()))
    if origin in (Union, types.UnionType):
        options = [_fits(option) for option in args]
        return lambda value: any(fits(value) for fits in options)
    return lambda value: _looks_like(value, kind)


@functools.cache
def _fits_of(kind: type) -> Callable[[Any], bool]:
    return _fits(_fields_of(kind))


def _fits_each(parts: Mapping[str, Callable[[Any], bool]]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        same = isinstance(value, dict) and value.keys() == parts.keys()
        return same and all(of_part(value[name]) for name, of_part in parts.items())

    return fits


def _name(kind: Any) -> str:
    if isinstance(kind, dict):
        return f"an object of {', '.join(sorted(kind))}"
    if isinstance(kind, set):
        return f"one of {', '.join(sorted(kind))}"
    return str(getattr(kind, "__name__", kind))


def _looks_like(value: Any, kind: Any) -> bool:
    """Whether a value is of this kind, regardless of what a container holds."""
    if kind is float:
        return type(value) is float or (type(value) is int and abs(value) <= _MOST_WHOLE)
    if kind in _PLAIN:
        return type(value) is kind
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, dict):
        return isinstance(value, dict) and value.keys() == kind.keys()
    if isinstance(kind, list) or origin in (list, tuple, Sequence):
        return isinstance(value, list)
    if origin is dict:
        return isinstance(value, dict)
    if origin in (Union, types.UnionType):
        return _fits(kind)(value)
    if origin is Literal or isinstance(kind, set):
        return isinstance(value, str) and value in (args or kind)
    return kind is Any


def _inside(value: Any, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Place, value and kind of each item of a container."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, dict):
        yield from ((f".{name}", value[name], kind[name]) for name in kind)
    elif origin is dict:
        yield from ((f".{name}", part, args[1]) for name, part in value.items())
    elif isinstance(kind, list) or origin in (list, tuple, Sequence):
        yield from ((f"[{i}]", part, (args or kind)[0]) for i, part in enumerate(value))


@functools.cache
def _fields_of(kind: Any) -> Json:
    """Fields in JSON, where the part of a column plan carries its name besides."""
    if kind is Architecture:
        return {"name": str, "options": dict[str, Option]}
    hints = get_type_hints(kind)
    tag: Json = {"part": {kind.__name__}} if kind in get_args(ColumnPart) else {}
    return tag | {field.name: hints[field.name] for field in fields(kind)}


# ------------------------------------------------------------------------------ parameters

# What only the machine that resumes training can judge: it has the devices, the optimisers of its
# torch and the backbones that were registered.
_BY_TYPE = {
    "architecture": str | Architecture | list[str | Architecture],
    "device": str | None,
    "optimizer": str | list[str | None],
}
_DEVICE = re.compile(r"[a-z]\w*(:\d+)?")


def _check_parameters(model: Json) -> None:
    """Check the parameters against those of the estimator."""
    name, stored = model["estimator"], model["parameters"]
    constraints = PARAMETERS[name]
    require(
        sorted([*stored, *model["not_stored"]]) == sorted(constraints),
        f"its parameters are not those of {name}: {', '.join(stored):.200}.",
    )
    for key, value in stored.items():
        if key in _BY_TYPE:
            check(value, _BY_TYPE[key], f"parameter {key}")
        with refusing("a parameter is invalid", TypeError, ValueError, OverflowError):
            _check_parameter(key, value, constraints[key])


def _check_parameter(name: str, value: Any, constraint: Constraint) -> None:
    if name == "architecture":
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and one["name"] in BACKBONES:
                Architecture(one["name"], **one["options"])
        require(value != [], "parameter architecture names no architecture.")
    elif name == "device":
        fits = value is None or _DEVICE.fullmatch(value) is not None
        require(fits, f"parameter device is not a device: {shown(value, 40)}.")
    elif name == "optimizer":
        fits = isinstance(value, str) or (len(value) == 2 and value[0] is not None)
        require(fits, f"parameter optimizer is neither a name nor a pair: {shown(value, 40)}.")
    else:
        constraint.check(name, parameter(name, value))


def parameter(name: str, value: Any) -> Any:
    """A parameter as the constructor takes it: lists are tuples, objects are architectures.

    Of a backbone that is not registered here there is the name: it predicts, but cannot be trained.
    """
    if name == "architecture" and isinstance(value, dict):
        is_known = value["name"] in BACKBONES
        return Architecture(value["name"], **value["options"]) if is_known else value["name"]
    is_many = isinstance(value, list) and name != "preprocessing"
    return tuple(parameter(name, item) for item in value) if is_many else value
