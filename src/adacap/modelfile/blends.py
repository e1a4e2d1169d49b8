"""A blend in a file: the groups and the weight of each member."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

from adacap.encodings import ENCODING_TYPES
from adacap.estimators.quality import KINDS_OF_NETS, NETS_ALONE
from adacap.estimators.settings import Settings
from adacap.modelfile.archive import Json, require
from adacap.modelfile.nets import NetGroup
from adacap.modelfile.predictors import PredictorGroup
from adacap.predictors import PREDICTOR_TYPES

__all__ = ["StoredGroup", "Weighed", "check_blend"]

StoredGroup: TypeAlias = NetGroup | PredictorGroup

_MOST_TIMES = 1e6  # that a member counts; weights of a blend are near 1


class Weighed(NamedTuple):
    """A member of a blend: its mean output counts ``factor`` times."""

    name: str
    factor: float
    groups: tuple[int, ...]


def check_blend(
    model: Json, groups: Sequence[StoredGroup], settings: Settings
) -> tuple[Weighed, ...]:
    """Members of a blend, checked against groups and settings; nets alone are one member."""
    parts: list[Json] = model["blend"]
    _check_shares(parts, settings)
    if not parts:
        are_nets = all(isinstance(group, NetGroup) for group in groups)
        require(are_nets, "it has members that are not nets, but no blend.")
        return (Weighed("nets", 1.0, tuple(range(len(groups)))),)
    order = [g for part in parts for g in part["groups"]]
    require(order == list(range(len(groups))), f"the members of its blend are the groups {order}.")
    for part in parts:
        _check_part(part, [groups[g] for g in part["groups"]], settings.n_estimators)
    of_nets = [member["group"] for member in model["members"]]
    owner = {g: i for i, part in enumerate(parts) for g in part["groups"]}
    in_order = [owner[g] for g in of_nets] == sorted(owner[g] for g in of_nets)
    require(in_order, "its nets do not stand in the order of the members of its blend.")
    return tuple(
        Weighed(part["name"], float(part["factor"]), tuple(part["groups"])) for part in parts
    )


def _check_shares(parts: Sequence[Json], settings: Settings) -> None:
    """Refuse a blend that contradicts the settings."""
    for share in settings.blend:
        numbers = (share.weight, share.error, share.seconds)
        fits = all(0 <= number < math.inf for number in numbers)
        require(fits, f"member {share.name!r:.40} of its blend has the numbers {numbers}.")
    told = [share for share in settings.blend if share.weight > 0]
    found = [tuple(part[key] for key in ("name", "weight", "error", "seconds")) for part in parts]
    same = found == [(one.name, one.weight, one.error, one.seconds) for one in told]
    names = {share.name for share in settings.blend}
    same = same and names <= set(settings.members)
    same = same and bool(parts) == (settings.members != NETS_ALONE)
    require(same, "its settings describe another blend.")


def _check_part(part: Json, groups: Sequence[Any], n_folds: int) -> None:
    """Refuse a member whose groups are of another kind or encoding than its name says."""
    kind, _, encoding = part["name"].partition(":")
    if kind in KINDS_OF_NETS:
        fits = len(groups) > 0 and all(isinstance(group, NetGroup) for group in groups)
    else:
        fits = len(groups) == 1 and isinstance(groups[0], PredictorGroup)
        fits = fits and isinstance(groups[0].predictor, PREDICTOR_TYPES[kind])
    for group in groups:
        own = None if group.encoding is None else group.encoding.encoding
        fits = fits and isinstance(own, ENCODING_TYPES.get(encoding, NoneType))
    require(fits, f"the groups of member {part['name']} do not make such a member.")
    n_models = sum(group.n_members for group in groups)
    fits = n_models == n_folds
    require(fits, f"member {part['name']} has {n_models} models for {n_folds} folds.")
    fits = 0 <= part["factor"] <= _MOST_TIMES
    require(fits, f"member {part['name']} counts {part['factor']} times.")
