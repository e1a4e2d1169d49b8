"""Verdicts computed once more from what a record keeps, so that it cannot contradict itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adacap_bench.reproduce.evidence import Evidence
from adacap_bench.reproduce.item import Claim, Item, judged
from adacap_bench.reproduce.verdicts import Effect, effect_of

__all__ = ["lightened", "rejudged"]


def rejudged(item: Item, evidence: Evidence) -> tuple[Claim, ...] | None:
    """Claims of a record by the values of its rows, or of its effects where rows do not decide.

    Parameters
    ----------
    item : Item
    evidence : Evidence
        Record of that item.

    Returns
    -------
    tuple of Claim or None
        None where the record keeps neither.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> claim = Claim("a", [Effect(0.0, None, 12, values=(1.0, 3.0) * 6)], "")
    >>> record = SimpleNamespace(claims=[claim])
    >>> [found.verdict for found in rejudged(SimpleNamespace(claims=None), record)]
    ['reproduced']
    """
    if item.claims is None:
        return _from_effects(evidence.claims)
    try:
        return judged(item.claims({row.label: row for row in evidence.rows}))
    except KeyError:  # the record is of an item that had fewer rows
        return None


def _from_effects(claims: Sequence[Claim]) -> tuple[Claim, ...] | None:
    every = [effect for claim in claims for effect in claim.effects]
    if any(effect.n > 1 and not effect.values for effect in every):
        return None
    return judged([replace(claim, effects=[*map(_anew, claim.effects)]) for claim in claims])


def _anew(effect: Effect) -> Effect:
    return replace(effect_of(effect.values), trials=effect.trials) if effect.values else effect


def lightened(item: Item, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims without the values of their effects, where the rows of the item decide them."""
    if item.claims is None:
        return tuple(claims)
    return tuple(
        replace(claim, effects=[replace(effect, values=()) for effect in claim.effects])
        for claim in claims
    )
