"""From a model file to the fitted estimator."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import torch

from adacap.architectures import Architecture
from adacap.estimators._base import AdaCapBase
from adacap.estimators.backbone import BackboneSpec, ModuleFactory, one_or_each
from adacap.estimators.bag import FittedMember, Group, summary
from adacap.estimators.blending import Part, blend_module
from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.inputs import device_of, feature_names, usual_torch
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
from adacap.estimators.preparing import Codec
from adacap.estimators.provenance import Provenance
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.settings import Settings
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.modelfile.archive import Json, refusing
from adacap.modelfile.contents import ModelFile, Numbers, loading, read_model
from adacap.modelfile.diagnostics import (
    restore_background,
    restore_capacity,
    restore_intervals,
    restore_seen,
    restore_sets,
)
from adacap.modelfile.groups import NetsInFile, PredictorsInFile
from adacap.modelfile.predictors import PredictorGroup
from adacap.modelfile.schema import PART, parameter
from adacap.modelfile.signing import Key
from adacap.nn.predictors import Frozen
from adacap.training.data import MemberRows
from adacap.training.history import History

__all__ = ["ESTIMATORS", "load"]
_NO_DEVICE = (RuntimeError, AssertionError, ValueError)

ESTIMATORS: dict[str, type[AdaCapBase]] = {
    "AdaCapRegressor": AdaCapRegressor,
    "AdaCapClassifier": AdaCapClassifier,
    "MLRNetRegressor": MLRNetRegressor,
    "MLRNetClassifier": MLRNetClassifier,
}


def load(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    architecture: ModuleFactory | None = None,
    key: Key | None = None,
) -> Any:
    """Read a fitted estimator from a file that its method ``save`` wrote.

    Predictions are those of the saved estimator, bit for bit on the same machine, and
    ``warm_start`` continues from there.

    Parameters
    ----------
    path : str or path-like
    device : str, optional
        Device of the networks, and parameter ``device`` of the estimator; the saved one if not
        given.
    architecture : callable, optional
        The function ``d_in -> nn.Module`` of a model trained with the user's own backbone, which a
        file cannot hold.
    key : str or bytes, optional
        What ``save`` signed the file with. One that is not signed, or not with this key, is
        refused; without a key, signatures are ignored.

    Returns
    -------
    AdaCapRegressor, AdaCapClassifier, MLRNetRegressor or MLRNetClassifier

    Raises
    ------
    ModelFileError
        If the file is malformed in any way, of an unknown version, or does not fit
        ``architecture``.
    SignatureError
        If the file is not signed with ``key``; it is a ModelFileError.
    ValueError
        If ``architecture`` is missing, or not needed.

    Examples
    --------
    >>> import tempfile
    >>> from adacap import AdaCapRegressor, load
    >>> model = AdaCapRegressor(width=4, max_iter=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/m.adacap")
    ...     again = load(f"{folder}/m.adacap")
    >>> bool(again.predict([[3.0]])[0] == model.predict([[3.0]])[0])
    True
    """
    file = read_model(path, key)
    _check_factory(file, architecture)
    with loading(path), usual_torch():
        return _restore(file, device, architecture)


def _check_factory(file: ModelFile, architecture: ModuleFactory | None) -> None:
    if file.factory is not None and architecture is None:
        raise ValueError(
            f"The model was trained with the user's own backbone, built by {file.factory!r}, "
            "which a file cannot hold. Pass it: adacap.load(path, architecture="
            f"{file.factory.split('.')[-1]})."
        )
    if file.factory is None and architecture is not None:
        raise ValueError(f"The model has {_kind_of_nets(file)}. Leave architecture out.")


def _kind_of_nets(file: ModelFile) -> str:
    names = [group["name"] for group in file.description["groups"] if group["kind"] == "nets"]
    return f"the backbone {names[0]!r}, which load builds itself" if names else "no nets"


def _restore(file: ModelFile, device: str | None, architecture: ModuleFactory | None) -> AdaCapBase:
    model = file.description
    with refusing("a parameter is invalid here", ValueError):
        parameters = {name: parameter(name, v) for name, v in model["parameters"].items()}
    estimator = ESTIMATORS[model["estimator"]](**parameters)
    if architecture is not None and "architecture" in model["not_stored"]:
        estimator.architecture = architecture
    if device is not None:
        estimator.device = device
    with refusing("its device is not usable here, pass device='cpu'", *_NO_DEVICE):
        place = device_of(estimator.device)
        torch.zeros(1, device=place).cpu()
    fitted = _fitted(file, _restore_groups(file, architecture, place), place)
    for name, value in fitted.items():
        setattr(estimator, name, value)
    return estimator


class _Made(NamedTuple):
    """Nets in their order, the backbone of each, and the groups that are not nets by number."""

    members: list[FittedMember]
    specs: list[BackboneSpec]
    frozen: dict[int, Frozen]


def _fitted(file: ModelFile, made: _Made, place: torch.device) -> dict[str, Any]:
    """Attributes of the fitted estimator."""
    members = made.members
    model, targets, readings = file.description, file.targets, file.readings
    is_numbers = isinstance(targets, Numbers)
    codec: Codec = RegressionCodec(*targets) if is_numbers else ClassCodec(*targets)
    encoder = TableEncoder.from_dict(model["encoder"], model["estimator"])
    provenance = Provenance(**model["provenance"])
    shape = model["sample_shape"]
    fitted = {
        **_made_of(file, made),
        "codec_": codec,
        "encoder_": encoder,
        "seeds_": [member["seed"] for member in model["members"]],
        "settings_": file.settings,
        "scheme_": model["scheme"],
        "sample_shape_": None if shape is None else tuple(shape),
        "n_features_in_": len(encoder.columns_),
        "capacity_": restore_capacity(
            file.capacity, members if readings is None else readings.studied, provenance,
            estimator=model["estimator"], scheme=model["scheme"], loss=codec.loss,
            n_features=members[0].width if readings is None else readings.n_features,
            read_from=file.settings.read_from,
        ),
        "provenance_": provenance,
        "background_": restore_background(file.background),
        "seen_": restore_seen(file.seen),
    }  # fmt: skip
    if isinstance(codec, RegressionCodec):
        trees = file.width_trees
        own = None if trees is None else PredictorsInFile().restore(trees, place)
        fitted["intervals_"] = restore_intervals(file.intervals, members, own)
    else:
        fitted["classes_"] = codec.classes
        fitted["sets_"] = restore_sets(file.intervals, members)
    if encoder.names_ is not None:
        fitted["feature_names_in_"] = feature_names(encoder)
    return fitted


def _made_of(file: ModelFile, made: _Made) -> dict[str, Any]:
    """Attributes that say what the model is made of."""
    readings, specs = file.readings, made.specs
    if readings is None:
        own = summary(made.members, History(file.description["earlier_history"]))
        return {**own, "blend_": (), "backbone_": one_or_each(specs)}
    parts = _parts(file, made)
    kinds = _specs_in(file.settings)
    return {
        "members_": tuple(made.members),
        "network_": blend_module(parts),
        "blend_": parts,
        "backbone_": specs[0] if file.factory is not None else kinds and one_or_each(kinds),
        "lambda_": readings.lambda_,
        "effective_dof_": readings.effective_dof,
        "history_": History(readings.history),
        "n_iter_": readings.n_iter,
        "best_iter_": readings.best_iter,
    }


def _parts(file: ModelFile, made: _Made) -> tuple[Part, ...]:
    """Members of the blend, in their order."""
    places = [data["group"] for data in file.description["members"]]
    found = []
    for data in file.description["blend"]:
        own = {key: data[key] for key in PART if key != "groups"}
        pairs = zip(made.members, places, strict=True)
        nets = tuple(member for member, g in pairs if g in data["groups"])
        found.append(Part(**own, nets=nets, frozen=made.frozen.get(data["groups"][0])))
    return tuple(found)


def _specs_in(settings: Settings) -> list[BackboneSpec] | None:
    """Backbones of nets, which a blend need not have kept; None where none were trained."""
    if settings.architecture is None:
        return None
    return [_spec_in(settings.of_net(k)) for k in range(settings.n_estimators)]


def _spec_in(settings: Settings) -> BackboneSpec:
    """Backbone of one kind of net."""
    architecture, depth = settings.architecture, settings.depth
    if not isinstance(architecture, Architecture):
        return BackboneSpec(None, factory=str(architecture))
    assert not isinstance(depth, tuple)  # of one net
    return BackboneSpec.resolve(architecture, width=settings.width or 1, depth=depth)


def _restore_groups(
    file: ModelFile, architecture: ModuleFactory | None, device: torch.device
) -> _Made:
    model = file.description
    restored, frozen = {}, {}
    for g, (group, checked) in enumerate(zip(model["groups"], file.groups, strict=True)):
        if isinstance(checked, PredictorGroup):
            frozen[g] = PredictorsInFile().restore(checked, device)
            continue
        own = [member for member in model["members"] if member["group"] == g]
        seeds = [member["seed"] for member in sorted(own, key=lambda member: member["index"])]
        stored = file.group_tensors(g)
        restored[g] = NetsInFile(file.shape).restore(
            group, stored, model["head"], seeds, architecture, device, checked.encoding
        )
    members = [_member(restored[data["group"]][0], data) for data in model["members"]]
    return _Made(members, [restored[data["group"]][1] for data in model["members"]], frozen)


def _member(group: Group, data: Json) -> FittedMember:
    no_rows = MemberRows(torch.arange(0), torch.arange(0), data["seed"])
    rest = (data["effective_dof"], History(data["history"]), data["best_iter"], data["best_score"])
    return FittedMember(group, data["index"], data["lam"], *rest, no_rows)
