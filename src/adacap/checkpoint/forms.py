"""Whether a value from a file has the same form as one that this process made."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

__all__ = ["is_alike", "is_number"]


def is_number(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is an integer or a float between two others; NaN is not.

    Examples
    --------
    >>> is_number(3, 0, 5), is_number(True), is_number("3"), is_number(math.nan)
    (True, False, False, False)
    """
    return type(value) in (int, float) and least <= value <= most


def is_alike(value: Any, own: Any) -> bool:
    """Whether a value has the form of one's own: types, keys, lengths, shapes.

    An integer may stand for a float, and a float for an integer.

    Examples
    --------
    >>> import torch
    >>> is_alike({"step": 3, "x": torch.ones(2)}, {"step": 0.0, "x": torch.zeros(2)})
    True
    >>> is_alike([torch.ones(3)], [torch.ones(2)]), is_alike((1, "a"), (1, 2))
    (False, False)
    """
    if isinstance(own, Tensor):
        is_same = isinstance(value, Tensor) and value.dtype == own.dtype
        return is_same and value.shape == own.shape
    if type(own) in (int, float):
        return type(value) in (int, float)
    if type(value) is not type(own):
        return False
    if isinstance(own, dict):
        return value.keys() == own.keys() and all(is_alike(value[key], own[key]) for key in own)
    if isinstance(own, list | tuple):
        return len(value) == len(own) and all(map(is_alike, value, own))
    return True
