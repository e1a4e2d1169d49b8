"""From a fitted estimator to its description and tensors."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import safetensors.torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from adacap._version import __version__
from adacap.architectures import Architecture
from adacap.estimators._base import AdaCapBase
from adacap.estimators.backbone import BackboneSpec
from adacap.estimators.bag import FittedMember, Group, groups_of
from adacap.estimators.blending import Part
from adacap.estimators.constraints import check_parameters
from adacap.estimators.inputs import usual_torch
from adacap.estimators.preparing import Codec
from adacap.estimators.quality import FOURIER
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.targets import RegressionCodec
from adacap.exceptions import warn_caller
from adacap.files.atomic import check_writable
from adacap.modelfile.archive import FORMAT, FORMAT_VERSION, Json, read_tensors, refusing, write
from adacap.modelfile.contents import ModelFile
from adacap.modelfile.diagnostics import (
    background_tensors,
    capacity_tensors,
    interval_tensors,
    seen_tensors,
)
from adacap.modelfile.evidence import WIDTHS_PREFIX, Readings, Studied
from adacap.modelfile.groups import NetsInFile, PredictorsInFile
from adacap.modelfile.loading import ESTIMATORS
from adacap.modelfile.schema import MEMBER, PART
from adacap.modelfile.signing import Key, sign
from adacap.modelfile.versions import NEEDS
from adacap.nn.linear import LinearHead
from adacap.nn.predictors import Frozen
from adacap.training.history import History

__all__ = ["plain", "save"]

_MOST_RECORDS = 60_000  # of all histories; each holds some ten values of the million in a file


def save(
    estimator: AdaCapBase,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    key: Key | None = None,
) -> None:
    """Write a fitted estimator to one file.

    It is refused now if :func:`~adacap.modelfile.loading.load` would refuse it. A parameter that is
    not plain data, such as a callback, is not stored, with a warning: the loaded estimator has the
    default in its place.
    """
    check_is_fitted(estimator)
    check_writable(path, force)
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(
            f"Only {', '.join(ESTIMATORS)} can be saved, got {name}. Use pickle for a class of "
            "your own."
        )
    check_parameters(estimator)
    with usual_torch():
        model = _describe(estimator)
        with refusing("there is no way to store a tensor of this type", KeyError):
            weights = safetensors.torch.save(dict(_collect(estimator)))
    text = json.dumps(plain(model), allow_nan=False).encode()
    ModelFile.of(text, read_tensors(weights))  # refuse now what load would refuse
    is_own = any(group.get("factory") is not None for group in model["groups"])
    asked_for = {"architecture"} if is_own else set()
    if lost := [key for key in model["not_stored"] if key not in asked_for]:
        warnings.warn(
            f"Not plain data, hence not stored in the model file: {', '.join(lost)}. The loaded "
            f"estimator has the default of {name} there.",
            stacklevel=3,
        )
    signature = b"" if key is None else sign(text, weights, key)
    write(path, text, weights, force=force, signature=signature)


def plain(value: Any) -> Any:
    """Value as JSON can hold it; a number that is not finite becomes ``{"float": "nan"}``.

    Examples
    --------
    >>> plain((1, np.float64(0.5), math.inf))
    [1, 0.5, {'float': 'inf'}]
    >>> plain(print)
    Traceback (most recent call last):
    TypeError: builtin_function_or_method is not plain data.
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
    raise TypeError(f"{type(value).__name__} is not plain data.")


def _describe(estimator: AdaCapBase) -> Json:
    parameters, not_stored = {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
                raise TypeError("keys that JSON does not have")  # weights of classes 0, 1, ...
            parameters[name] = plain(value)
        except TypeError:
            not_stored.append(name)
    groups = _groups(estimator)
    places = {id(group): g for g, group in enumerate(groups)}
    most = _MOST_RECORDS // (1 + len(estimator.members_))
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "adacap_version": __version__,
        "needs": NEEDS,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "not_stored": not_stored,
        "settings": estimator.settings_.to_dict(),
        "encoder": estimator.encoder_.to_dict(),
        "codec": _describe_codec(estimator.codec_),
        "scheme": estimator.scheme_,
        "sample_shape": estimator.sample_shape_,
        "groups": [_describe_group(estimator, group) for group in groups],
        "head": _describe_head(estimator),
        "earlier_history": _thinned(_earlier_history(estimator), most),
        "members": [
            {"seed": seed, "group": places[id(member.group)]}
            | {key: getattr(member, key) for key in MEMBER if key not in ("seed", "group")}
            | {"history": _thinned(member.history, most)}
            for seed, member in zip(estimator.seeds_, estimator.members_, strict=True)
        ],
        "blend": _describe_blend(estimator.blend_),
        "readings": asdict(_readings(estimator, most)) if estimator.blend_ else None,
        "widths": None
        if (trees := _width_trees(estimator)) is None
        else PredictorsInFile().describe(trees),
        "provenance": asdict(estimator.provenance_),
    }


def _groups(estimator: AdaCapBase) -> list[Group | Frozen]:
    """Groups of nets, and for a blend also the other members, in its order."""
    if not estimator.blend_:
        return list(groups_of(estimator.members_))
    return [group for part in estimator.blend_ for group in _groups_of_part(part)]


def _groups_of_part(part: Part) -> list[Group | Frozen]:
    return list(groups_of(part.nets)) if part.frozen is None else [part.frozen]


def _describe_group(estimator: AdaCapBase, group: Group | Frozen) -> Json:
    if isinstance(group, Frozen):
        return PredictorsInFile().describe(group)
    return _writer(estimator).describe(group, _spec_of(estimator, group))


def _describe_head(estimator: AdaCapBase) -> Json:
    if not estimator.members_:
        kind = "linear" if estimator.scheme_ == "plain" else "tikhonov"
        return {"kind": kind, "fit_intercept": estimator.settings_.fit_intercept is not False}
    head = estimator.members_[0].group.nets.head
    return {
        "kind": "linear" if isinstance(head, LinearHead) else "tikhonov",
        "fit_intercept": bool(getattr(head, "fit_intercept", True)),
    }


def _earlier_history(estimator: AdaCapBase) -> list[Any]:
    """History before the last warm start, which a blend does not have."""
    if estimator.blend_:
        return []
    first: FittedMember = estimator.members_[0]
    return list(estimator.history_)[: len(estimator.history_) - len(first.history)]


def _thinned(history: Sequence[Any], most: int) -> list[Any]:
    """Every k-th record, the last among them, where all would exceed what a reader accepts."""
    every = -(-len(history) // most)
    if every > 1:
        warn_caller(
            f"The training took {len(history)} iterations: the file keeps 1 record of "
            f"{every} in history_, and n_iter_ counts those."
        )
    return list(history)[:: -max(every, 1)][::-1]


def _describe_blend(parts: Sequence[Part]) -> list[Json]:
    found, taken = [], 0
    for part in parts:
        n_groups = len(_groups_of_part(part))
        own = {key: getattr(part, key) for key in PART if key != "groups"}
        found.append(own | {"groups": list(range(taken, taken + n_groups))})
        taken += n_groups
    return found


def _readings(estimator: AdaCapBase, most: int) -> Readings:
    capacity = estimator.capacity_
    return Readings(
        lambda_=estimator.lambda_,
        effective_dof=estimator.effective_dof_,
        history=_thinned(estimator.history_, most),
        n_iter=estimator.n_iter_,
        best_iter=estimator.best_iter_,
        n_features=capacity.n_features,
        studied=[Studied(one.lam, one.effective_dof) for one in capacity.members],
    )


def _spec_of(estimator: AdaCapBase, group: Group) -> BackboneSpec:
    """Backbone of the nets of a group."""
    for part in estimator.blend_:
        if part.name.startswith("fourier") and group in groups_of(part.nets):
            return BackboneSpec.resolve("fourier", **FOURIER)
    specs = estimator.backbone_
    if isinstance(specs, BackboneSpec):
        return specs
    turn = [member.group for member in estimator.members_].index(group)
    found: BackboneSpec = specs[turn % len(specs)]
    return found


def _describe_codec(codec: Codec) -> Json:
    if isinstance(codec, RegressionCodec):
        transforms = [asdict(one) for one in codec.transforms]
        return {
            "mean": codec.mean, "scale": codec.scale, "is_1d": codec.is_1d,
            "transforms": transforms,
        }  # fmt: skip
    dtype = codec.classes.dtype
    name = {"U": "str", "O": "object", "T": "object"}.get(dtype.kind, dtype.name)
    return {"dtype": name, "classes": codec.classes, "temperature": codec.temperature}


def _collect(estimator: AdaCapBase) -> Iterator[tuple[str, Tensor]]:
    nets, others = _writer(estimator), PredictorsInFile()
    for g, group in enumerate(_groups(estimator)):
        own = others.tensors(group) if isinstance(group, Frozen) else nets.tensors(group)
        for name, tensor in own.items():
            yield f"groups.{g}.{name}", tensor
    yield from capacity_tensors(estimator.capacity_)
    yield from background_tensors(estimator)
    is_regressor = isinstance(estimator, AdaCapRegressor)
    fitted: Any = estimator
    yield from interval_tensors(fitted.intervals_ if is_regressor else fitted.sets_)
    if (trees := _width_trees(estimator)) is not None:
        for name, tensor in others.tensors(trees).items():
            yield WIDTHS_PREFIX + name, tensor
    yield from seen_tensors(estimator.seen_)


def _width_trees(estimator: AdaCapBase) -> Frozen | None:
    """Trees behind the width of intervals."""
    if not isinstance(estimator, AdaCapRegressor) or estimator.intervals_.widths is None:
        return None
    return estimator.intervals_.widths.trees


def _writer(estimator: AdaCapBase) -> NetsInFile:
    """What writes the groups of nets of this estimator."""
    shape = estimator.sample_shape_ or (max(1, estimator.encoder_.n_features_out_),)
    return NetsInFile(tuple(shape))
