"""From a fitted estimator to its description and tensors.

Nets of one shape form a group and share tensors, nets first: those of the backbone, of the head
they train with and of the output layer they predict with, and a probe: the hidden features of a row
of zeros, by which a rebuilt backbone shows that it computes what the saved one did.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from adacap._version import __version__
from adacap.architectures import describe
from adacap.estimators._base import AdaCapBase
from adacap.estimators.backbone import BackboneSpec
from adacap.estimators.bag import FittedMember, Group, groups_of
from adacap.estimators.fitting import probe
from adacap.estimators.preparing import Codec
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.targets import RegressionCodec
from adacap.exceptions import refuse_existing
from adacap.nn.adapter import Stacked
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Backbone
from adacap.persistence.description import (
    ESTIMATORS,
    FORMAT,
    FORMAT_VERSION,
    MEMBER,
    Json,
    check_parameters,
    parse,
    plain,
)
from adacap.persistence.diagnostics import capacity_tensors
from adacap.persistence.files import write
from adacap.persistence.intervals import interval_tensors

__all__ = ["hidden_of_zeros", "save"]


def save(estimator: AdaCapBase, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a fitted estimator to one file.

    Parameters
    ----------
    estimator : AdaCapRegressor, AdaCapClassifier, MLRNetRegressor or MLRNetClassifier
    path : str or path-like
        The file appears when it is complete.
    force : bool, default=False
        Replace a file that exists.

    Raises
    ------
    OutputExistsError
        If the file exists and ``force`` is not set.

    Warns
    -----
    UserWarning
        If a parameter is no plain data, such as a callback: it is not stored, and the loaded
        estimator has the default in its place.
    """
    check_is_fitted(estimator)
    refuse_existing(path, force)
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(
            f"Only {', '.join(ESTIMATORS)} can be saved, got {name}. Use pickle for a class of "
            "your own."
        )
    model = _describe(estimator)
    text = json.dumps(plain(model), allow_nan=False).encode()
    check_parameters(parse(text))  # what load would refuse is refused now
    is_own = not isinstance(estimator.backbone_, tuple) and estimator.backbone_.name is None
    asked_for = {"architecture"} if is_own else set()
    if lost := [key for key in model["not_stored"] if key not in asked_for]:
        warnings.warn(
            f"Not plain data, hence not stored in the model file: {', '.join(lost)}. The loaded "
            f"estimator has the default of {name} there.",
            stacklevel=3,
        )
    write(path, text, dict(_collect(estimator)))


def _describe(estimator: AdaCapBase) -> Json:
    parameters, not_stored = {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            parameters[name] = plain(value)
        except TypeError:
            not_stored.append(name)
    first: FittedMember = estimator.members_[0]
    head, groups = first.group.nets.head, groups_of(estimator.members_)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "adacap_version": __version__,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "not_stored": not_stored,
        "settings": estimator.settings_.to_dict(),
        "encoder": estimator.encoder_.to_dict(),
        "codec": _describe_codec(estimator.codec_),
        "scheme": estimator.scheme_,
        "sample_shape": estimator.sample_shape_,
        "groups": [_describe_group(group, _spec_of(estimator, group)) for group in groups],
        "head": {
            "kind": "linear" if isinstance(head, LinearHead) else "tikhonov",
            "fit_intercept": bool(getattr(head, "fit_intercept", True)),
        },
        "earlier_history": estimator.history_[: len(estimator.history_) - len(first.history)],
        "members": [
            {"seed": seed, "group": groups.index(member.group)}
            | {key: getattr(member, key) for key in MEMBER if key not in ("seed", "group")}
            for seed, member in zip(estimator.seeds_, estimator.members_, strict=True)
        ],
        "provenance": asdict(estimator.provenance_),
    }


def _spec_of(estimator: AdaCapBase, group: Group) -> BackboneSpec:
    """Backbone of the nets of a group."""
    specs = estimator.backbone_
    if isinstance(specs, BackboneSpec):
        return specs
    found: BackboneSpec = specs[[m.group for m in estimator.members_].index(group)]
    return found


def _describe_group(group: Group, spec: BackboneSpec) -> Json:
    backbone, own = group.nets.backbone, spec.architecture
    return {
        "name": spec.name,
        "options": {} if own is None else dict(own.options),
        "width": spec.width,
        "depth": spec.depth,
        "factory": spec.factory,
        "layers": describe(backbone.layers) if isinstance(backbone, Backbone) else None,
    }


def _describe_codec(codec: Codec) -> Json:
    if isinstance(codec, RegressionCodec):
        return {"mean": codec.mean, "scale": codec.scale, "is_1d": codec.is_1d}
    dtype = codec.classes.dtype
    name = {"U": "str", "O": "object", "T": "object"}.get(dtype.kind, dtype.name)
    return {"dtype": name, "classes": codec.classes, "temperature": codec.temperature}


def _collect(estimator: AdaCapBase) -> Iterator[tuple[str, Tensor]]:
    shape = estimator.sample_shape_ or (max(1, estimator.encoder_.n_features_out_),)
    for g, group in enumerate(groups_of(estimator.members_)):
        tensors = dict(group.nets.state())
        tensors |= {f"output.{name}": tensor for name, tensor in group.output.named_parameters()}
        tensors["probe"] = hidden_of_zeros(group.nets.backbone, shape)
        for name, tensor in tensors.items():
            yield f"groups.{g}.{name}", tensor.detach().cpu().clone().contiguous()
    yield from capacity_tensors(estimator.capacity_)
    if isinstance(estimator, AdaCapRegressor):
        yield from interval_tensors(estimator.intervals_)


def hidden_of_zeros(backbone: Backbone | Stacked, shape: Sequence[int]) -> Tensor:
    """Features ``(K, J)`` of an input of zeros, which every backbone can be given."""
    device = next(backbone.parameters(), torch.empty(0)).device
    return probe(backbone, torch.zeros(2, *shape, device=device))[:, 0]
