"""From the description and tensors of a model to the fitted estimator."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from adacap.estimators._base import AdaCapBase
from adacap.estimators.backbone import BackboneSpec, one_or_each
from adacap.estimators.building import seeded
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.ensemble import summary
from adacap.estimators.fitting import FittedMember
from adacap.estimators.inputs import device_of, feature_names
from adacap.estimators.preparing import Codec
from adacap.estimators.provenance import Provenance
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.exceptions import ModelFileError
from adacap.nn.heads import LinearHead, TikhonovHead
from adacap.nn.presets import BACKBONES
from adacap.persistence.description import Json, check, check_parameters, make_estimator, parse
from adacap.persistence.diagnostics import restore_capacity
from adacap.persistence.files import WEIGHTS, read, refuse, refusing, require
from adacap.persistence.intervals import restore_intervals
from adacap.persistence.saving import hidden_of_zeros, tensors_of
from adacap.training.data import MemberRows
from adacap.training.history import History
from adacap.training.members import Net

__all__ = ["load"]

Factory = Callable[[Any], nn.Module]

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
        for spec in _specs(model):
            _check_factory(spec, architecture)
        return _restore(model, tensors, device, architecture)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {os.fspath(path)!r}: {error}") from error.__cause__


def _specs(model: Json) -> list[BackboneSpec]:
    """Backbone of each member."""
    stored, n_members = model["backbone"], len(model["members"])
    require(n_members > 0, "it has no members.")
    if isinstance(stored, dict):
        return [BackboneSpec(**stored)] * n_members
    require(len(stored) == n_members, f"it has {len(stored)} backbones, {n_members} members.")
    specs = [BackboneSpec(**spec) for spec in stored]
    require(all(spec.factory is None for spec in specs), "a mixed bag has backbones by name only.")
    return specs


def _check_factory(spec: BackboneSpec, architecture: Factory | None) -> None:
    name = spec.factory
    is_known = spec.name in BACKBONES if name is None else spec.name is None
    require(is_known, f"backbone {spec.name!r} is unknown.")
    if name is not None and architecture is None:
        raise ValueError(
            f"The model was trained with a backbone of the user's own, built by {name!r}, which a "
            f"file cannot hold. Pass it: adacap.load(path, architecture={name.split('.')[-1]})."
        )
    if name is None and architecture is not None:
        raise ValueError(
            f"The model has the backbone {spec.name!r}, which load builds itself. Leave "
            "architecture out."
        )


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
    specs = _specs(model)
    if architecture is not None:  # by the name of this function
        specs = [BackboneSpec.resolve(architecture, width=1)] * len(specs)
    builder = _Builder(
        spec=specs[0],
        head=model["head"],
        shape=tuple(shape or [max(1, encoder.n_features_out_)]),
        n_targets=codec.n_targets,
        architecture=architecture,
        device=place,
    )
    members = [
        replace(builder, spec=spec).member(data, _take(tensors, f"members.{k}."))
        for k, (data, spec) in enumerate(zip(model["members"], specs, strict=True))
    ]
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
        "scheme_": model["scheme"],
        "backbone_": one_or_each(specs),
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


@dataclass(frozen=True)
class _Builder:
    """What all members share when they are built again."""

    spec: BackboneSpec
    head: Json
    shape: tuple[int, ...]
    n_targets: int
    architecture: Factory | None
    device: torch.device

    def member(self, data: Json, stored: dict[str, Tensor]) -> FittedMember:
        seed, lam = data["seed"], data["lam"]
        is_plain = self.head["kind"] == "linear"
        require(0 <= seed < 2**63, f"a member has the seed {seed}.")
        require(
            lam is None if is_plain else lam is not None and lam >= 0,
            f"a member has lam {lam} and a {self.head['kind']} head.",
        )
        weight = stored.get("linear.weight", torch.empty(0))
        fits = weight.ndim == 2 and len(weight) == self.n_targets and weight.numel() > 0
        require(fits, f"linear.weight is missing or not of {self.n_targets} outputs.")
        width = weight.shape[1]
        with seeded(seed):  # as in fit: what is drawn but not stored comes out the same
            backbone = self._backbone(width, len(stored))
            linear = nn.Linear(width, self.n_targets)
            head: TikhonovHead | LinearHead = TikhonovHead(fit_intercept=self.head["fit_intercept"])
            if is_plain:
                head = LinearHead(width, self.n_targets)
        probe = stored.pop("probe", torch.empty(0))
        _check_tensors(tensors_of(backbone, head, linear), stored)
        if self.architecture is None:
            backbone.to_empty(device="cpu")
        with torch.no_grad():
            for name, tensor in tensors_of(backbone, head, linear).items():
                tensor.copy_(stored[name])
        network = nn.Sequential(backbone, linear).to(self.device).eval()
        net = Net(backbone, head.to(self.device)).eval()
        self._check_probe(backbone, probe)
        no_rows = MemberRows(torch.arange(0), torch.arange(0), seed)
        history = History(data["history"])
        rest = (data["effective_dof"], history, data["best_iter"], data["best_score"], no_rows)
        return FittedMember(network, net, lam, *rest)

    def _backbone(self, width: int, n_tensors: int) -> nn.Module:
        spec, shape = self.spec, self.shape
        if self.architecture is None:
            fits = spec.width == width and 1 <= (spec.depth or 0) <= n_tensors
            require(fits and 0 <= spec.dropout < 1, f"{spec} does not fit the tensors.")
            with torch.device("meta"):  # no memory is taken before the shapes are compared
                return spec.build(shape)
        with refusing(f"architecture fails to build a network for {shape}", Exception):
            backbone = spec.build(shape, self.architecture)
            if any(map(is_lazy, (*backbone.parameters(), *backbone.buffers()))):
                hidden_of_zeros(backbone, shape, torch.device("cpu"))
        return backbone

    def _check_probe(self, backbone: nn.Module, probe: Tensor) -> None:
        with refusing("the network fails on a row of zeros", Exception):
            hidden = hidden_of_zeros(backbone, self.shape, self.device).cpu()
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
