"""What is asked of a model beside its prediction."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Asked"]


class Asked(NamedTuple):
    """Coverages of intervals, quantiles, and coverages of sets of classes."""

    coverages: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    sets: tuple[float, ...] = ()
