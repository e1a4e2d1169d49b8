"""Plain data with tensors in it, as JSON beside a list of tensors, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

__all__ = ["Packed", "pack", "unpack"]


class Packed(NamedTuple):
    """A value as JSON, in which a number stands for each of the tensors."""

    json: Any
    tensors: list[Tensor]


def pack(value: Any) -> Packed:
    """Copy a value that is made of dictionaries, lists, tuples, tensors, numbers and text.

    Raises
    ------
    TypeError
        If there is anything else in it.

    Examples
    --------
    >>> import torch
    >>> pack({"step": 3, 0: (torch.zeros(2), None)}).json
    {'dict': [['step', 3], [0, {'tuple': [{'tensor': 0}, None]}]]}
    >>> pack(print)
    Traceback (most recent call last):
    TypeError: A checkpoint cannot hold a builtin_function_or_method.
    """
    tensors: list[Tensor] = []
    return Packed(_plain(value, tensors), tensors)


def _plain(value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value.detach().to("cpu", copy=True).contiguous())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, dict):
        return {"dict": [[_plain(k, tensors), _plain(v, tensors)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(part, tensors) for part in value]}
    if isinstance(value, list):
        return [_plain(part, tensors) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"A checkpoint cannot hold a {type(value).__name__}.")


def unpack(packed: Packed) -> Any:
    """The value that was packed; its tensors are on the CPU.

    Examples
    --------
    >>> unpack(pack({"betas": (0.9, 0.99), "names": ["a"]}))
    {'betas': (0.9, 0.99), 'names': ['a']}
    """
    return _value(packed.json, packed.tensors)


def _value(plain: Any, tensors: list[Tensor]) -> Any:
    if isinstance(plain, list):
        return [_value(part, tensors) for part in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(_value(part, tensors) for part in content)
    return {_value(key, tensors): _value(part, tensors) for key, part in content}
