"""Which backbone an estimator builds, as plain data that a model file can hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from adacap.architectures import Architecture
from adacap.layers import Layer
from adacap.nn.adapter import Stacked, built_from
from adacap.nn.modules import Backbone

__all__ = ["BackboneSpec", "ModuleFactory", "one_or_each"]

ModuleFactory = Callable[[Any], nn.Module]


@dataclass(frozen=True)
class BackboneSpec:
    """A named backbone with its sizes, or the name of the user's function that builds one.

    Examples
    --------
    >>> BackboneSpec.resolve("snn", width=8).build((3,), [0, 1])(torch.zeros(2, 3)).shape
    torch.Size([2, 2, 8])
    """

    architecture: Architecture | None  # None for a user's own
    width: int | None = None
    depth: int | None = None
    factory: str | None = None  # qualified name of the user's function, to tell what a file needs

    @classmethod
    def resolve(
        cls,
        architecture: str | Architecture | ModuleFactory,
        *,
        width: int,
        depth: int | None = None,
    ) -> BackboneSpec:
        """Fill in what depends on the architecture."""
        if isinstance(architecture, str):
            architecture = Architecture(architecture)
        if isinstance(architecture, Architecture):
            depth = architecture.default_depth if depth is None else depth
            return cls(architecture, int(width), int(depth))
        if isinstance(architecture, functools.partial):
            architecture = architecture.func
        module = getattr(architecture, "__module__", type(architecture).__module__)
        name = getattr(architecture, "__qualname__", type(architecture).__qualname__)
        return cls(None, factory=f"{module}.{name}")

    @property
    def name(self) -> str | None:
        """Name of the architecture; None for a user's own."""
        return None if self.architecture is None else self.architecture.name

    @property
    def initialization(self) -> str | None:
        """Initialisation of a named backbone, where it is set."""
        return None if self.architecture is None else self.architecture.initialization

    def layers(self, shape: tuple[int, ...]) -> tuple[Layer, ...]:
        """Layers of a named backbone for samples of this shape."""
        assert self.architecture is not None
        assert self.width is not None
        if len(shape) != 1:
            raise ValueError(
                f"Architecture {self.name!r} takes rows, got samples of shape {shape}. Pass a "
                "function that builds a network for them, such as one around adacap.nn.ConvNet."
            )
        return self.architecture.layers(shape[0], width=self.width, depth=self.depth)

    def build(
        self, shape: tuple[int, ...], seeds: Sequence[int], factory: ModuleFactory | None = None
    ) -> Backbone | Stacked:
        """One net per seed as one module in float32; ``factory`` is the user's function, if any."""
        if self.architecture is None:
            make = partial(self.build_own, shape, factory)
            rows = torch.zeros(2, *shape, dtype=torch.float32)
            return Stacked([built_from(make, seed, rows) for seed in seeds])
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        return Backbone(self.layers(shape), k=len(seeds), generators=generators).float()

    def build_own(self, shape: tuple[int, ...], factory: ModuleFactory | None) -> nn.Module:
        """A net of the user's."""
        if factory is None:
            raise ValueError(
                f"This model uses its author's own backbone, built by {self.factory}. Pass "
                "that function as architecture=."
            )
        backbone = factory(shape[0] if len(shape) == 1 else shape)
        if not isinstance(backbone, nn.Module):
            raise TypeError(
                f"architecture must return a torch.nn.Module, got {type(backbone).__name__} "
                f"from {self.factory}."
            )
        return backbone.float()  # whatever torch.set_default_dtype says


def one_or_each(specs: Sequence[BackboneSpec]) -> BackboneSpec | tuple[BackboneSpec, ...]:
    """The backbone that all members share, or those of all members in a mixed bag.

    Examples
    --------
    >>> mlp, snn = (BackboneSpec.resolve(name, width=8) for name in ("mlp", "snn"))
    >>> one_or_each([mlp, mlp]).name, len(one_or_each([mlp, snn]))
    ('mlp', 2)
    """
    return specs[0] if len(set(specs)) == 1 else tuple(specs)
