"""A whole model file: its description and its tensors, checked against each other.

Every reader goes through :func:`read_model`, so all refuse the same files with the same messages.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.estimators.quality import FOURIER
from adacap.estimators.settings import Settings
from adacap.estimators.transforms import TargetTransform
from adacap.exceptions import ModelFileError
from adacap.modelfile.archive import (
    WEIGHTS,
    Json,
    Tensors,
    read,
    read_tensors,
    refusing,
    require,
    shown,
)
from adacap.modelfile.blends import StoredGroup, Weighed, check_blend
from adacap.modelfile.evidence import (
    WIDTHS_PREFIX,
    Readings,
    Studied,
    take_background,
    take_capacity,
    take_intervals,
    take_seen,
)
from adacap.modelfile.nets import GROUPS, Facts, NetGroup, PredictorGroup
from adacap.modelfile.schema import check, parse
from adacap.modelfile.signing import Key, check_signature
from adacap.predictors import Forest
from adacap.tables.encoder import Encoder
from adacap.tables.plan import Cells, ColumnPart, ColumnPlan
from adacap.tables.words import Words

__all__ = ["Classes", "ModelFile", "Numbers", "loading", "read_model"]

_LABELS: dict[str, type] = {
    "str": str,
    "object": str,
    "bool": bool,
    **{f"{sign}int{bits}": int for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": float for bits in (16, 32, 64)},
}
_MOST_CHARACTERS = 2**22  # of an array of text labels, all as long as the longest, and …
_MOST_STRETCHED = 8  # … as a multiple of the characters that the labels have
_TEMPERATURES = (1e-9, 1e9)  # temperatures for which probabilities still differ
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class Numbers(NamedTuple):
    """Targets that are numbers: mean and scale of each, and whether there is one, as a vector."""

    mean: Floats
    scale: Floats
    is_1d: bool
    transforms: tuple[TargetTransform, ...] = ()

    @property
    def n_out(self) -> int:
        """Outputs of a net."""
        return len(self.mean)


class Classes(NamedTuple):
    """Targets that are labels: these in order, and the temperature of their probabilities."""

    labels: npt.NDArray[Any]
    temperature: float

    @property
    def n_out(self) -> int:
        """Outputs of a net."""
        return 1 if len(self.labels) == 2 else len(self.labels)


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a file holds, checked."""

    description: Json  # all of ``model.json``
    tensors: Tensors  # all of ``weights.safetensors``
    settings: Settings
    encoder: Encoder
    targets: Numbers | Classes
    groups: tuple[StoredGroup, ...]
    parts: tuple[Weighed, ...]  # one for nets alone
    readings: Readings | None  # of a blend
    capacity: Tensors
    intervals: Tensors  # behind the sets of a classifier too
    background: Tensors
    width_trees: PredictorGroup | None  # where the width of intervals adapts to the row
    seen: Tensors  # of the training rows; empty in older files

    @classmethod
    def of(cls, text: bytes, tensors: Tensors) -> ModelFile:
        """The content of both parts of a file."""
        model = parse(text)
        with refusing("its description is malformed", *_MALFORMED):
            encoder = _read_encoder(model["encoder"], model["estimator"])
            targets = _targets(model["codec"])
            shape = _shape(model, encoder)
            left = dict(tensors)
            groups = _groups(model, left, shape, targets.n_out)
            settings = _settings(model)
            parts = check_blend(model, groups, settings)
            readings = _readings(model)
            owners = [groups[member["group"]] for member in model["members"]]
            widths = [owner.width for owner in owners if isinstance(owner, NetGroup)]
            n_rows = model["provenance"]["n_rows"]
            n_read = len(widths) if readings is None else len(readings.studied)
            capacity = take_capacity(left, n_read, targets.n_out, n_rows)
            n_folds = sum(groups[g].n_members for g in parts[0].groups)
            is_of_classes = isinstance(targets, Classes)
            fits = model["widths"] is None or not is_of_classes
            require(fits, "it has widths of intervals, but no intervals.")
            trees = _width_trees(model, left, Facts(shape, targets.n_out, n_folds, {}))
            intervals = take_intervals(
                left, widths, targets.n_out, n_folds,
                has_widths=trees is not None, is_of_classes=is_of_classes,
            )  # fmt: skip
            n_distinct = model["provenance"]["n_distinct"]
            background = take_background(left, len(encoder.columns), n_distinct)
            seen = take_seen(left, encoder.columns, encoder.n_features_out)
            require(not left, f"{WEIGHTS} has tensors of no layer: {sorted(left)[:3]}.")
        return cls(
            model, tensors, settings, encoder, targets, groups, parts, readings, capacity,
            intervals, background, trees, seen,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the samples that the nets read."""
        return _shape(self.description, self.encoder)

    @property
    def factory(self) -> str | None:
        """Name of the user's function that builds the networks, if it is one."""
        return next((group.factory for group in self.groups if group.factory is not None), None)

    def group_tensors(self, g: int) -> Tensors:
        """Tensors of a group, by their names in it."""
        return _of_group(self.tensors, g)


def read_model(path: str | os.PathLike[str], key: Key | None = None) -> ModelFile:
    """Read a model file.

    Refuses one that is malformed in any way, of another version or not signed with ``key``; the
    signature is looked at before anything in the file.

    Examples
    --------
    >>> import tempfile
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(width=4, max_iter=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/m.adacap")
    ...     file = read_model(f"{folder}/m.adacap")
    >>> file.description["estimator"], file.encoder.n_features_out
    ('AdaCapRegressor', 1)
    """
    with loading(path):
        text, weights, comment = read(path)
        check_signature(comment, text, weights, key)
        return ModelFile.of(text, read_tensors(weights))


@contextmanager
def loading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in every error."""
    try:
        yield
    except ModelFileError as error:
        raise type(error)(f"Cannot load {os.fspath(path)!r}: {error}") from error.__cause__


# ---------------------------------------------------------------------------------- targets


def _targets(data: Json) -> Numbers | Classes:
    if "classes" in data:
        temperature = data["temperature"]
        require(
            _TEMPERATURES[0] <= temperature <= _TEMPERATURES[1],
            f"codec has the temperature {temperature}.",
        )
        return Classes(_labels(data["classes"], data["dtype"]), float(temperature))
    mean, scale = (np.array(data[name], dtype=np.float64) for name in ("mean", "scale"))
    fits = len(mean) == len(scale) > 0 and (len(mean) == 1 or not data["is_1d"])
    require(fits, f"codec contradicts itself: {len(mean)} means, {len(scale)} scales.")
    require(bool(np.isfinite([mean, scale]).all()), "codec has a mean or scale that is not finite.")
    return Numbers(mean, scale, data["is_1d"], _transforms(data["transforms"], len(mean)))


def _transforms(data: list[Json], n_targets: int) -> tuple[TargetTransform, ...]:
    require(
        len(data) in (0, n_targets), f"codec has {len(data)} transforms of {n_targets} targets."
    )
    found = tuple(TargetTransform(**{**one, "errors": tuple(one["errors"])}) for one in data)
    for one in found:
        fits = one.unit != 0 and 0 < one.power < 2 and one.low <= one.high and one.errors
        require(bool(fits), f"codec has a transform that no target has: {one!r:.80}.")
    return found


def _labels(labels: list[Any], dtype: str) -> npt.NDArray[Any]:
    require(
        dtype in _LABELS and len(labels) >= 2,
        f"codec has {len(labels)} labels of {shown(dtype, 40)}.",
    )
    check(labels, [_LABELS[dtype]], "codec.classes")
    if dtype == "str":
        size = len(labels) * max(map(len, labels))
        most = _MOST_CHARACTERS + _MOST_STRETCHED * sum(map(len, labels))
        require(size <= most, f"codec.classes would take {size} characters.")
    with refusing(f"codec.classes are not of dtype {dtype}", OverflowError):
        if _LABELS[dtype] is int:
            _check_range(labels, dtype)
        found = np.array(labels, dtype=dtype)
    is_exact = found.tolist() == labels
    is_sorted = all(a < b for a, b in pairwise(labels))
    require(is_exact and is_sorted, f"codec.classes are not distinct sorted labels of {dtype}.")
    return found


def _check_range(labels: list[int], dtype: str) -> None:
    """Raise OverflowError for what the dtype does not hold: NumPy 1.26 warns and wraps it."""
    range_ = np.iinfo(dtype)
    for label in labels:
        if not range_.min <= label <= range_.max:
            raise OverflowError(f"Python integer {shown(label, 40)} out of bounds for {dtype}")


# ------------------------------------------------------------------------- groups and members


def _shape(model: Json, encoder: Encoder) -> tuple[int, ...]:
    """Shape of the samples that the nets read; more than one size only for a user's own nets."""
    shape, n_features = model["sample_shape"], encoder.n_features_out
    if shape is None:
        return (max(1, n_features),)
    fits = len(shape) > 1 and min(shape) > 0 and math.prod(shape) == n_features
    fits = fits and all(group.get("factory") is not None for group in model["groups"])
    require(fits, f"sample_shape {shape} fits nothing else in it.")
    return tuple(shape)


def _groups(
    model: Json, left: Tensors, shape: tuple[int, ...], n_out: int
) -> tuple[StoredGroup, ...]:
    """Groups of the members, whose tensors are taken out of ``left``."""
    members: list[Json] = model["members"]
    require(len(members) > 0 or len(model["blend"]) > 0, "it has no members.")
    found: list[StoredGroup] = []
    for g, group in enumerate(model["groups"]):
        own = [member for member in members if member["group"] == g]
        is_whole = sorted(member["index"] for member in own) == list(range(len(own)))
        is_whole = is_whole and bool(own) == (group["kind"] == "nets")
        require(is_whole, f"the members of group {g} are not numbered from 0.")
        seeds = [member["seed"] for member in own]
        require(all(0 <= seed < 2**63 for seed in seeds), f"group {g} has the seeds {seeds}.")
        stored = _of_group(left, g)
        for name in stored:
            del left[f"groups.{g}.{name}"]
        facts = Facts(shape, n_out, len(own), model["head"])
        found.append(GROUPS[group["kind"]].read(group, stored, facts))
    known = all(0 <= member["group"] < len(found) for member in members)
    require(known, "a member belongs to no group.")
    is_one = len({group.factory is None for group in found if isinstance(group, NetGroup)}) <= 1
    require(is_one, "its groups are in part the user's own.")
    for member in members:
        _check_member(member, model["head"]["kind"])
    return tuple(found)


def _width_trees(model: Json, left: Tensors, facts: Facts) -> PredictorGroup | None:
    """Trees behind the width of intervals, whose tensors are taken out of ``left``."""
    if model["widths"] is None:
        return None
    names = [name for name in left if name.startswith(WIDTHS_PREFIX)]
    stored = {name.removeprefix(WIDTHS_PREFIX): left.pop(name) for name in names}
    found = PredictorGroup.read(model["widths"], stored, facts)
    fits = isinstance(found.predictor, Forest) and found.n_members == facts.n_members
    require(fits, "its widths are not trees of every fold.")
    return found


def _of_group(tensors: Tensors, g: int) -> Tensors:
    prefix = f"groups.{g}."
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors[name] for name in names}


def _check_member(member: Json, head: str) -> None:
    lam = member["lam"]
    fits = lam is None if head == "linear" else lam is not None and lam >= 0
    require(fits, f"a member has lam {lam} and a {head} head.")


def _readings(model: Json) -> Readings | None:
    data = model["readings"]
    require((data is None) == (not model["blend"]), "its readings are not those of a blend.")
    if data is None:
        return None
    found = Readings(**{**data, "studied": [Studied(**one) for one in data["studied"]]})
    found.check()
    return found


def _settings(model: Json) -> Settings:
    """Settings, checked against the nets of the file."""
    with refusing("its settings are invalid", TypeError, ValueError, LookupError):
        settings = Settings.from_dict(model["settings"])
        turns = [k % max(1, settings.n_estimators) for k in range(len(model["members"]))]
        turns = turns if model["blend"] else list(range(len(turns)))
        of_nets = [settings.of_net(k) for k in turns]
    scheme = settings.scheme and settings.scheme.removesuffix("-mse")
    require(scheme == model["scheme"], f"its settings have the scheme {shown(scheme)}.")
    stored = model["settings"]["architecture"]
    waves = _groups_of_waves(model)
    for k, own, member in zip(turns, of_nets, model["members"], strict=True):
        group = model["groups"][member["group"]]
        named = {"name": group["name"], "options": group["options"]}
        found = stored[k] if isinstance(stored, list) else stored
        sizes: dict[str, Any] = {"width": own.width, "depth": own.depth}
        if member["group"] in waves:
            found, sizes = {"name": "fourier", "options": {}}, FOURIER
        fits = found == (named if group["factory"] is None else group["factory"])
        fits = fits and all(group[name] == size for name, size in sizes.items())
        require(fits, f"its settings have the architecture {shown(found)}.")
    return settings


def _groups_of_waves(model: Json) -> set[int]:
    """Groups of the members that are Fourier features, by their numbers."""
    parts = [part for part in model["blend"] if part["name"].startswith("fourier")]
    return {number for part in parts for number in part["groups"]}


# -------------------------------------- plans of columns: whether they produce valid numbers


_LARGEST = 1e30  # that a missing cell may become; only the user's own nets may see NaN
_POSITIVE = ("scale", "clip")
_LEAST = {"counts": 0.0, "unseen_idf": 0.0}  # of values that are not positions in a column


def _read_encoder(data: Json, owner: str) -> Encoder:
    """Encoder from the description of one, each column of which can be followed.

    ``owner`` is the class named in messages about the user's data.
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


def _is_sound(part: ColumnPart) -> bool:
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
