"""Which backbone an estimator builds, as plain data that a model file can hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from adacap.nn.presets import BACKBONES, DEFAULT_DEPTH

__all__ = ["BackboneSpec", "one_or_each"]


@dataclass(frozen=True)
class BackboneSpec:
    """A named backbone with its sizes, or the name of the user's function that builds one.

    Parameters
    ----------
    name : str or None
        Key of ``BACKBONES``; None for a user's own.
    factory : str or None
        Qualified name of the user's function, to tell which one a model file needs.
    width, depth, dropout, batch_norm
        Of a named backbone.

    Examples
    --------
    >>> BackboneSpec.resolve("snn", width=8).build((3,))(torch.zeros(2, 3)).shape
    torch.Size([2, 8])
    """

    name: str | None
    factory: str | None = None
    width: int | None = None
    depth: int | None = None
    dropout: float = 0.0
    batch_norm: bool = False

    @classmethod
    def resolve(
        cls,
        architecture: str | Callable[..., Any],
        *,
        width: int,
        depth: int | None = None,
        dropout: float = 0.0,
        batch_norm: bool = False,
    ) -> BackboneSpec:
        """Fill in what depends on the architecture."""
        if callable(architecture):
            if isinstance(architecture, functools.partial):
                architecture = architecture.func
            module = getattr(architecture, "__module__", type(architecture).__module__)
            name = getattr(architecture, "__qualname__", type(architecture).__qualname__)
            return cls(None, f"{module}.{name}")
        depth = DEFAULT_DEPTH[architecture] if depth is None else depth
        return cls(architecture, None, int(width), int(depth), float(dropout), bool(batch_norm))

    def build(
        self, shape: tuple[int, ...], factory: Callable[[Any], nn.Module] | None = None
    ) -> nn.Module:
        """Backbone for samples of this shape; ``factory`` is the user's function, if it is one."""
        if self.name is None:
            return self._build_own(shape, factory)
        if len(shape) != 1:
            raise ValueError(
                f"Architecture {self.name!r} takes rows, got samples of shape {shape}. Pass a "
                "function that builds a network for them, such as one around adacap.nn.ConvNet."
            )
        return BACKBONES[self.name](
            shape[0],
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
            batch_norm=self.batch_norm,
        )

    def _build_own(
        self, shape: tuple[int, ...], factory: Callable[[Any], nn.Module] | None
    ) -> nn.Module:
        if factory is None:
            raise ValueError(
                f"This model uses a backbone of its author's own, built by {self.factory}. Pass "
                "that function as architecture=."
            )
        backbone = factory(shape[0] if len(shape) == 1 else shape)
        if not isinstance(backbone, nn.Module):
            raise TypeError(
                f"architecture must return a torch.nn.Module, got {type(backbone).__name__} "
                f"from {self.factory}."
            )
        return backbone


def one_or_each(specs: Sequence[BackboneSpec]) -> BackboneSpec | tuple[BackboneSpec, ...]:
    """The backbone that all members share, or those of all members in a mixed bag.

    Examples
    --------
    >>> mlp, snn = BackboneSpec("mlp"), BackboneSpec("snn")
    >>> one_or_each([mlp, mlp]).name, len(one_or_each([mlp, snn]))
    ('mlp', 2)
    """
    return specs[0] if len(set(specs)) == 1 else tuple(specs)
