"""From the description and tensors of a model to the fitted estimator."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap import layers as descriptions
from adacap.architectures import Architecture, restore
from adacap.estimators._base import AdaCapBase
from adacap.estimators.backbone import BackboneSpec, Factory, one_or_each
from adacap.estimators.bag import FittedMember, Group, summary
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.inputs import device_of, feature_names
from adacap.estimators.preparing import Codec
from adacap.estimators.provenance import Provenance
from adacap.estimators.settings import Settings
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.exceptions import ModelFileError
from adacap.nn.adapter import Stacked
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Backbone, Nets, TikhonovHead
from adacap.persistence.description import Json, check, check_parameters, make_estimator, parse
from adacap.persistence.diagnostics import restore_capacity
from adacap.persistence.files import WEIGHTS, read, refuse, refusing, require
from adacap.persistence.intervals import restore_intervals
from adacap.persistence.saving import hidden_of_zeros
from adacap.training.data import MemberRows
from adacap.training.history import History

__all__ = ["load"]

_LABELS = {
    "str": str,
    "object": str,
    "bool": bool,
    **{f"{sign}int{bits}": int for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": float for bits in (16, 32, 64)},
}
_MOST_CHARACTERS = 2**26  # of an array of text labels, all as long as the longest


def load(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    architecture: Factory | None = None,
) -> Any:
    """Read a fitted estimator from a file that its method ``save`` wrote.

    Predictions are those of the saved estimator, bit for bit on the same machine, and
    ``warm_start`` goes on from there.

    Parameters
    ----------
    path : str or path-like
    device : str, optional
        Device of the networks, and parameter ``device`` of the estimator; the saved one if not
        given.
    architecture : callable, optional
        The function ``d_in -> nn.Module`` of a model trained with a backbone of the user's own,
        which a file cannot hold.

    Returns
    -------
    AdaCapRegressor, AdaCapClassifier, MLRNetRegressor or MLRNetClassifier

    Raises
    ------
    ModelFileError
        If the file is malformed in any way, of an unknown version, or does not fit
        ``architecture``.
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
    try:
        text, tensors = read(path)
        model = parse(text)
        check_parameters(model)
        for group in model["groups"]:
            _check_factory(group, architecture)
        return _restore(model, tensors, device, architecture)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {os.fspath(path)!r}: {error}") from error.__cause__


def _check_factory(group: Json, architecture: Factory | None) -> None:
    name = group["factory"]
    own = [group[key] is None for key in ("layers", "name", "width", "depth")]
    is_own = all(own) and not group["options"]
    is_known = not any(own) if name is None else is_own
    require(is_known, f"backbone {group['name']!r} contradicts itself.")
    if name is not None and architecture is None:
        raise ValueError(
            f"The model was trained with a backbone of the user's own, built by {name!r}, which a "
            f"file cannot hold. Pass it: adacap.load(path, architecture={name.split('.')[-1]})."
        )
    if name is None and architecture is not None:
        raise ValueError(
            f"The model has the backbone {group['name']!r}, which load builds itself. Leave "
            "architecture out."
        )


def _spec(group: Json, architecture: Factory | None) -> BackboneSpec:
    """Backbone of a group; that of a user's function goes by the name of the one given now."""
    if architecture is not None:
        return BackboneSpec.resolve(architecture, width=1)
    with refusing("its backbone is unknown here", ValueError):
        own = Architecture(group["name"], **group["options"])
    return BackboneSpec(own, group["width"], group["depth"])


def _restore(
    model: Json, tensors: dict[str, Tensor], device: str | None, architecture: Factory | None
) -> AdaCapBase:
    estimator = make_estimator(model)
    if architecture is not None and "architecture" in model["not_stored"]:
        estimator.architecture = architecture
    if device is not None:
        estimator.device = device
    with refusing("its device is not usable here, pass device='cpu'", RuntimeError, AssertionError):
        place = device_of(estimator.device)
        torch.zeros(1, device=place).cpu()
    encoder = _restore_encoder(model["encoder"], model["estimator"])
    codec = _restore_codec(model["codec"])
    shape = model["sample_shape"]
    if shape is not None:
        fits = len(shape) > 1 and min(shape) > 0 and math.prod(shape) == encoder.n_features_out_
        require(fits and architecture is not None, f"sample_shape {shape} fits nothing else in it.")
    specs = [_spec(group, architecture) for group in model["groups"]]
    members = _restore_members(
        model, tensors, specs,
        shape=tuple(shape or [max(1, encoder.n_features_out_)]), n_targets=codec.n_targets,
        architecture=architecture, device=place,
    )  # fmt: skip
    provenance = Provenance(**model["provenance"])
    capacity = restore_capacity(
        tensors, members, codec.n_targets, provenance,
        estimator=model["estimator"], scheme=model["scheme"], loss=codec.loss,
    )  # fmt: skip
    calibrated = {}
    if isinstance(codec, RegressionCodec):
        calibrated["intervals_"] = restore_intervals(tensors, members, codec.n_targets)
    require(not tensors, f"{WEIGHTS} has tensors of no layer: {sorted(tensors)[:3]}.")
    fitted = {
        **summary(members, History(model["earlier_history"])),
        "codec_": codec,
        "encoder_": encoder,
        "seeds_": [member["seed"] for member in model["members"]],
        "settings_": _restore_settings(model),
        "scheme_": model["scheme"],
        "backbone_": one_or_each([specs[member["group"]] for member in model["members"]]),
        "sample_shape_": None if shape is None else tuple(shape),
        "n_features_in_": len(encoder.columns_),
        "capacity_": capacity,
        "provenance_": provenance,
        **calibrated,
    }
    if isinstance(codec, ClassCodec):
        fitted["classes_"] = codec.classes
    if encoder.names_ is not None:
        fitted["feature_names_in_"] = feature_names(encoder)
    for name, value in fitted.items():
        setattr(estimator, name, value)
    return estimator


def _take(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors.pop(name) for name in names}


def _restore_settings(model: Json) -> Settings:
    """Settings, held against the nets that there are."""
    with refusing("its settings are invalid", TypeError, ValueError, LookupError):
        settings = Settings.from_dict(model["settings"])
        of_nets = [settings.of_net(k).to_dict() for k in range(len(model["members"]))]
    for own, member in zip(of_nets, model["members"], strict=True):
        group = model["groups"][member["group"]]
        named = {"name": group["name"], "options": group["options"]}
        architecture = named if group["factory"] is None else group["factory"]
        fits = own["architecture"] == architecture
        fits = fits and all(own[name] == group[name] for name in ("width", "depth"))
        require(fits, f"its settings have the architecture {own['architecture']!r:.80}.")
    return settings


def _restore_encoder(data: Json, owner: str) -> TableEncoder:
    require(data["max_levels"] >= 2, f"encoder.max_levels is {data['max_levels']}.")
    names, n_columns = data["names"], len(data["columns"])
    is_named = names is None or len(set(names)) == len(names) == n_columns
    require(is_named and n_columns > 0, "encoder.names do not fit encoder.columns.")
    is_order = sorted(data["layout"]) == list(range(n_columns))
    require(is_order, "encoder.layout is no order of encoder.columns.")
    encoder = TableEncoder.from_dict(data, owner)
    for plan in encoder.columns_:
        require(plan.is_consistent, f"the plan of column {plan.name!r} contradicts itself.")
    return encoder


def _restore_codec(data: Json) -> Codec:
    if "classes" in data:
        heat = data["temperature"]
        require(0 < heat < math.inf, f"codec has the temperature {heat}.")
        return ClassCodec(_restore_classes(data["classes"], data["dtype"]), float(heat))
    mean, scale = (np.array(data[name], dtype=np.float64) for name in ("mean", "scale"))
    fits = len(mean) == len(scale) > 0 and (len(mean) == 1 or not data["is_1d"])
    require(fits, f"codec contradicts itself: {len(mean)} means, {len(scale)} scales.")
    return RegressionCodec(mean, scale, data["is_1d"])


def _restore_classes(labels: list[Any], dtype: str) -> npt.NDArray[Any]:
    require(dtype in _LABELS and len(labels) >= 2, f"codec has {len(labels)} labels of {dtype!r}.")
    check(labels, [_LABELS[dtype]], "codec.classes")
    if dtype == "str":
        size = len(labels) * max(map(len, labels))
        require(size <= _MOST_CHARACTERS, f"codec.classes would take {size} characters.")
    with refusing(f"codec.classes are not of dtype {dtype}", OverflowError):
        classes = np.array(labels, dtype=dtype)
    is_exact = classes.tolist() == labels
    is_sorted = all(a < b for a, b in pairwise(labels))
    require(is_exact and is_sorted, f"codec.classes are not distinct sorted labels of {dtype}.")
    return classes


# --------------------------------------------------------------------------------- members


def _restore_members(
    model: Json,
    tensors: dict[str, Tensor],
    specs: Sequence[BackboneSpec],
    *,
    architecture: Factory | None,
    **facts: Any,
) -> list[FittedMember]:
    """Members in their order, from the groups that hold their nets."""
    stored: list[Json] = model["members"]
    require(len(stored) > 0, "it has no members.")
    groups = []
    for g, (group, spec) in enumerate(zip(model["groups"], specs, strict=True)):
        own = [member for member in stored if member["group"] == g]
        is_whole = sorted(member["index"] for member in own) == list(range(len(own))) and own
        require(bool(is_whole), f"the members of group {g} are not numbered from 0.")
        seeds = [member["seed"] for member in sorted(own, key=lambda member: member["index"])]
        require(all(0 <= seed < 2**63 for seed in seeds), f"group {g} has the seeds {seeds}.")
        builder = _Builder(model["head"], spec, group["layers"], seeds, architecture, **facts)
        groups.append(builder.group(_take(tensors, f"groups.{g}.")))
    known = all(0 <= member["group"] < len(groups) for member in stored)
    require(known, "a member belongs to no group.")
    return [_member(groups[data["group"]], data) for data in stored]


def _member(group: Group, data: Json) -> FittedMember:
    lam, is_plain = data["lam"], isinstance(group.nets.head, LinearHead)
    fits = lam is None if is_plain else lam is not None and lam >= 0
    require(fits, f"a member has lam {lam} and a {type(group.nets.head).__name__}.")
    history = History(data["history"])
    no_rows = MemberRows(torch.arange(0), torch.arange(0), data["seed"])
    rest = (data["effective_dof"], history, data["best_iter"], data["best_score"], no_rows)
    return FittedMember(group, data["index"], lam, *rest)


@dataclass(frozen=True)
class _Builder:
    """What it takes to build the nets of a group again."""

    head: Json
    spec: BackboneSpec
    layers: list[Any] | None
    seeds: list[int]
    architecture: Factory | None
    shape: tuple[int, ...]
    n_targets: int
    device: torch.device

    def group(self, stored: dict[str, Tensor]) -> Group:
        weight, bias = self._output(stored)
        backbone = self._backbone(stored)
        probe = stored.pop("probe", torch.empty(0))
        nets = Nets(backbone, self._head(weight.shape[1]))
        own = nets.state()
        _check_tensors(own, stored)
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(stored[name])
        nets = nets.to(self.device).eval()
        self._check_probe(backbone, probe, weight.shape[1])
        return Group(nets, LinearHead.of(weight, bias).to(self.device).eval())

    def _output(self, stored: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        weight, bias = (stored.pop(f"output.{name}", torch.empty(0)) for name in ("weight", "bias"))
        k = len(self.seeds)
        fits = weight.ndim == 3 and weight.shape[::2] == (k, self.n_targets) and weight.numel() > 0
        fits = fits and bias.shape == (k, self.n_targets) and weight.dtype == bias.dtype
        fits = fits and weight.dtype == torch.float32
        require(fits, f"output is missing or not of {k} nets and {self.n_targets} outputs.")
        return weight, bias

    def _head(self, width: int) -> TikhonovHead | LinearHead:
        k = len(self.seeds)
        if self.head["kind"] == "linear":
            shape = (k, width, self.n_targets)
            return LinearHead.of(torch.empty(shape), torch.empty(k, self.n_targets))
        return TikhonovHead(fit_intercept=self.head["fit_intercept"], k=k)

    def _backbone(self, stored: dict[str, Tensor]) -> Backbone | Stacked:
        if self.architecture is not None:
            with refusing(f"architecture fails to build a network for {self.shape}", Exception):
                return self.spec.build(self.shape, self.seeds, self.architecture)
        with refusing("its layers are malformed", ValueError):
            layers = restore(self.layers)
        for name, shape in descriptions.tensors(layers).items():
            found = stored.get(f"backbone.{name}", torch.empty(0)).shape
            expected = (len(self.seeds), *shape)
            require(found == expected, f"backbone.{name} is {tuple(found)}, not {expected}.")
        with torch.device("meta"):
            backbone = Backbone(layers, k=len(self.seeds))
        return backbone.to_empty(device="cpu")

    def _check_probe(self, backbone: Backbone | Stacked, probe: Tensor, width: int) -> None:
        """Refuse nets that do not run, or compute something else than the saved ones did."""
        with refusing("the network fails on a row of zeros", Exception):
            hidden = hidden_of_zeros(backbone, self.shape).cpu()
        require(hidden.shape[1] == width, f"its nets have {hidden.shape[1]} features, not {width}.")
        fits = hidden.shape == probe.shape and hidden.dtype == probe.dtype and _close(hidden, probe)
        require(fits, "the network computes other features than the saved one did.")


def _close(a: Tensor, b: Tensor) -> bool:
    """Equal up to what another machine may round differently."""
    a, b = a.double(), b.double()
    return torch.allclose(a, b, 1e-2, 1e-2 * float(b.abs().max()), equal_nan=True)


def _check_tensors(own: dict[str, Tensor], stored: dict[str, Tensor]) -> None:
    for name in sorted(own.keys() ^ stored.keys()):
        refuse(f"{'the file' if name in own else 'the network'} has no tensor {name}.")
    for name, tensor in own.items():
        there, here = ((tuple(t.shape), t.dtype) for t in (stored[name], tensor))
        require(there == here, f"tensor {name} is {there} in the file, {here} in the network.")
