"""Plans of columns in a file: whether they produce valid numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from adacap.modelfile.archive import Json, require
from adacap.tables.encoder import Encoder
from adacap.tables.plan import Cells, ColumnPlan, Part
from adacap.tables.words import Words

__all__ = ["read_encoder"]

_LARGEST = 1e30  # that a missing cell may become; only the user's own nets may see NaN
_POSITIVE = ("scale", "clip")
_LEAST = {"counts": 0.0, "unseen_idf": 0.0}  # of values that are not positions in a column


def read_encoder(data: Json, owner: str) -> Encoder:
    """Encoder from the description of one, each column of which can be followed.

    Parameters
    ----------
    data : dict
    owner : str
        Class named in messages about the user's data.

    Raises
    ------
    ModelFileError
    """
    require(data["max_levels"] >= 2, f"encoder.max_levels is {data['max_levels']}.")
    names, n_columns = data["names"], len(data["columns"])
    is_named = names is None or len(set(names)) == len(names) == n_columns
    require(is_named and n_columns > 0, "encoder.names do not fit encoder.columns.")
    is_order = sorted(data["layout"]) == list(range(n_columns))
    require(is_order, "encoder.layout is not an order of encoder.columns.")
    for column in data["columns"]:
        plan = ColumnPlan.from_dict(column)
        fits = plan.is_consistent and _is_finite(plan) and _encodes(plan)
        require(fits, f"the plan of column {plan.name!r:.80} contradicts itself.")
    return Encoder.from_dict(data, owner)


def _is_finite(plan: ColumnPlan) -> bool:
    """Whether every number is finite, every scale above 0 and every list of levels in order."""
    centres = all(map(math.isfinite, plan.center))
    scales = all(0 < scale < math.inf for scale in plan.scale)
    return centres and scales and all(map(_is_sound, plan.parts))


def _is_sound(part: Part) -> bool:
    own = {field.name: getattr(part, field.name) for field in fields(part)}
    for name, value in own.items():
        least = math.ulp(0.0) if name in _POSITIVE else _LEAST.get(name, -math.inf)
        if not all(math.isfinite(number) and number >= least for number in _numbers(value)):
            return False
    if isinstance(part, Words):
        return part.has_finite_weights
    return _in_order(own.get("levels", ()))


def _numbers(value: Any) -> Iterator[float]:
    """Floats in a value, however deep."""
    if isinstance(value, float | int):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)


def _in_order(levels: tuple[Any, ...]) -> bool:
    """Levels are distinct; numbers are increasing, as the search for the nearest requires."""
    known = [level for level in levels if level is not None]
    if any(isinstance(level, str) for level in known):
        return len(set(levels)) == len(levels)
    return len(known) >= len(levels) - 1 and all(a < b for a, b in pairwise(known))


def _encodes(plan: ColumnPlan) -> bool:
    """Whether two missing cells come out as numbers, one column per centre and scale."""
    cells = Cells(plan.kind, np.full(2, np.nan), np.full(2, -1, dtype=np.int32))
    with np.errstate(all="ignore"):
        encoded = list(map(np.asarray, plan.encoded(cells)))
    are_numbers = all(x.shape == (2,) and x.dtype == np.float64 for x in encoded)
    return are_numbers and not any((np.abs(x) > _LARGEST).any() for x in encoded)
