"""Groups of members on torch: how one is written to a file, and made again from it.

A kind of group is one class in ``WRITERS``, with ``describe``, ``tensors`` and ``restore``. Its
twin on NumPy, which checks what is read, is in :mod:`adacap.modelfile.nets`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adacap.architectures import Architecture, describe, restore
from adacap.encodings import FittedEncoding
from adacap.estimators.backbone import BackboneSpec, ModuleFactory
from adacap.estimators.bag import Group
from adacap.estimators.fitting import probe
from adacap.modelfile.archive import Json, Tensors, refuse, refusing, require
from adacap.modelfile.predictors import PredictorGroup, pack
from adacap.modelfile.predictors import describe as describe_one
from adacap.nn.adapter import Stacked
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Backbone, Nets, TikhonovHead
from adacap.nn.predictors import EncodingModule, Frozen

__all__ = ["WRITERS", "NetsInFile", "PredictorsInFile", "as_torch"]

_ENCODING_PREFIX = "encoding."

_FOREIGN = {"BF16": torch.bfloat16, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2}


def as_torch(array: Any) -> Tensor:
    """Copy of an array of a file as a tensor, also of types that NumPy lacks."""
    code = (array.dtype.names or (None,))[0]
    plain = array if code is None else array[code]
    tensor = torch.from_numpy(np.array(plain, order="C"))
    return tensor if code is None else tensor.view(_FOREIGN[code])


@dataclass(frozen=True)
class NetsInFile:
    """Nets of one shape, which share tensors, nets first.

    There are those of the backbone, of the head that the nets train with, of the output layer that
    they predict with, and a probe: the hidden features of a row of zeros, by which a rebuilt
    backbone shows that it computes what the saved one did.
    """

    shape: tuple[int, ...]  # of a sample

    def describe(self, group: Group, spec: BackboneSpec) -> Json:
        """Description of a group."""
        backbone, own, encoding = group.nets.backbone, spec.architecture, group.encoding
        return {
            "kind": "nets",
            "name": spec.name,
            "options": {} if own is None else dict(own.options),
            "width": spec.width,
            "depth": spec.depth,
            "factory": spec.factory,
            "layers": describe(backbone.layers) if isinstance(backbone, Backbone) else None,
            "encoding": None if encoding is None else describe_one(encoding.encoding),
        }

    def tensors(self, group: Group) -> dict[str, Tensor]:
        """Tensors of a group, by their names in it."""
        found = dict(group.nets.state())
        found |= {f"output.{name}": tensor for name, tensor in group.output.named_parameters()}
        found["probe"] = self._within(group.encoding)._probe(group.nets.backbone)
        found |= _encoding_tensors(group.encoding)
        return {name: t.detach().cpu().clone().contiguous() for name, t in found.items()}

    def restore(
        self,
        description: Json,
        stored: Tensors,
        head: Json,
        seeds: Sequence[int],
        architecture: ModuleFactory | None,
        device: torch.device,
        encoding: FittedEncoding | None = None,
    ) -> tuple[Group, BackboneSpec]:
        """A group, and its backbone, from what was checked on NumPy.

        ``head`` is the one that the nets train with, ``architecture`` the function of a user's own
        networks, and ``encoding`` what rows go through first.
        """
        own = {
            name: as_torch(array)
            for name, array in stored.items()
            if not name.startswith(_ENCODING_PREFIX)
        }
        before = None if encoding is None else EncodingModule(encoding).to(device)
        inside = self._within(before)
        output = LinearHead.of(own.pop("output.weight"), own.pop("output.bias"))
        saved = own.pop("probe", None)
        spec = _spec(description, architecture)
        backbone = inside._backbone(description, spec, seeds, architecture)
        nets = Nets(backbone, _head(head, output.weight.shape))
        _fill(nets, own)
        nets = nets.to(device).eval()
        if architecture is not None:
            inside._check_probe(backbone, saved, output.weight.shape[1])
        return Group(nets, output.to(device).eval(), before), spec

    def _within(self, encoding: EncodingModule | None) -> NetsInFile:
        """The same for rows that went through an encoding."""
        return self if encoding is None else NetsInFile((encoding.encoding.d_out,))

    def _backbone(
        self,
        description: Json,
        spec: BackboneSpec,
        seeds: Sequence[int],
        architecture: ModuleFactory | None,
    ) -> Backbone | Stacked:
        if architecture is not None:
            with refusing(f"architecture fails to build a network for {self.shape}", Exception):
                return _narrow(spec.build(self.shape, seeds, architecture))
        with torch.device("meta"):
            backbone = Backbone(restore(description["layers"]), k=len(seeds))
        return backbone.to_empty(device="cpu").float()

    def _probe(self, backbone: Backbone | Stacked) -> Tensor:
        """Features ``(K, J)`` of an input of zeros, which every backbone can be given."""
        device = next(backbone.parameters(), torch.empty(0)).device
        return probe(backbone, torch.zeros(2, *self.shape, dtype=torch.float32, device=device))[
            :, 0
        ]

    def _check_probe(self, backbone: Backbone | Stacked, saved: Tensor | None, width: int) -> None:
        """Refuse a user's nets that do not run, or differ from the saved ones."""
        with refusing("the network fails on a row of zeros", Exception):
            hidden = self._probe(backbone).cpu()
        require(hidden.shape[1] == width, f"its nets have {hidden.shape[1]} features, not {width}.")
        fits = saved is not None and hidden.shape == saved.shape and hidden.dtype == saved.dtype
        close = fits and saved is not None and _close(hidden, saved)
        require(close, "the network computes different features from the saved one.")


class PredictorsInFile:
    """A member of a blend that is not a net: its arrays, and those of its encoding."""

    def describe(self, frozen: Frozen) -> Json:
        """Description of a group."""
        encoding = frozen.encoding
        return {
            "kind": "predictor",
            "predictor": describe_one(frozen.predictor),
            "encoding": None if encoding is None else describe_one(encoding.encoding),
        }

    def tensors(self, frozen: Frozen) -> dict[str, Tensor]:
        """Tensors of a group, by their names in it."""
        arrays = {name: t.cpu().numpy() for name, t in frozen.arrays.named_buffers()}
        packed = pack(frozen.predictor, arrays)
        return _tensors(packed, "predictor.") | _encoding_tensors(frozen.encoding)

    def restore(self, group: PredictorGroup, device: torch.device) -> Frozen:
        """A group from what was checked on NumPy."""
        before = None if group.encoding is None else EncodingModule(group.encoding)
        return Frozen(group.predictor, group.arrays, before).to(device).eval()


WRITERS: dict[str, Any] = {"nets": NetsInFile, "predictor": PredictorsInFile}
"""Kinds of groups of members that a file may hold, by name, each as it is on torch."""


def _encoding_tensors(encoding: EncodingModule | None) -> dict[str, Tensor]:
    return {} if encoding is None else _tensors(pack(*encoding.fitted), _ENCODING_PREFIX)


def _tensors(arrays: Tensors, prefix: str) -> dict[str, Tensor]:
    return {
        prefix + name: torch.from_numpy(np.array(array, order="C"))
        for name, array in arrays.items()
    }


def _spec(description: Json, architecture: ModuleFactory | None) -> BackboneSpec:
    """Backbone of a group; for a user's function, with the name of the one given now."""
    if architecture is not None:
        return BackboneSpec.resolve(architecture, width=1)
    with refusing("its backbone is unknown here", ValueError):
        own = Architecture(description["name"], **description["options"])
    return BackboneSpec(own, description["width"], description["depth"])


def _narrow(backbone: Backbone | Stacked) -> Backbone | Stacked:
    """A user's nets in float32, as they were trained, regardless of torch's default dtype."""
    return backbone if torch.get_default_dtype() == torch.float32 else backbone.float()


def _head(head: Json, shape: Sequence[int]) -> TikhonovHead | LinearHead:
    k, _, n_out = shape
    if head["kind"] == "linear":
        empty = functools.partial(torch.empty, dtype=torch.float32)
        return LinearHead.of(empty(*shape), empty(k, n_out))
    return TikhonovHead(fit_intercept=head["fit_intercept"], k=k).float()


@torch.no_grad()
def _fill(nets: Nets, stored: dict[str, Tensor]) -> None:
    """Copy tensors into the nets; a user's function may have built different ones now."""
    own = nets.state()
    for name in sorted(own.keys() ^ stored.keys()):
        refuse(f"{'the file' if name in own else 'the network'} has no tensor {name}.")
    for name, tensor in own.items():
        there, here = ((tuple(t.shape), t.dtype) for t in (stored[name], tensor))
        require(there == here, f"tensor {name} is {there} in the file, {here} in the network.")
        tensor.copy_(stored[name])


def _close(a: Tensor, b: Tensor) -> bool:
    """Equal up to rounding on another machine."""
    a, b = a.double(), b.double()
    return torch.allclose(a, b, 1e-2, 1e-2 * float(b.abs().max()), equal_nan=True)
