"""Verdicts computed once more from what a record keeps, so that it cannot contradict itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adacap_bench.reproduce.item import Claim, Item
from adacap_bench.reproduce.item_record import ItemRecord
from adacap_bench.reproduce.verdicts import ClaimEffect, effect_of

__all__ = ["lightened", "rejudged"]


def rejudged(item: Item, record: ItemRecord) -> ItemRecord | None:
    """A record judged by the values of its rows, or of its effects where rows do not decide.

    None where the record does not keep all values, or was made of an item with fewer rows: its
    effects and their errors then stand as they were.
    """
    if item.claims is None:
        renewed = _from_effects(record.claims)
        return replace(record, claims=renewed) if _kept(record.claims) else None
    try:
        claims = item.claims({row.label: row for row in record.rows})
    except KeyError:  # the record is of an item that had fewer rows
        return None
    if not _kept(claims) and any(row.n > 1 and not row.values for row in record.rows):
        return None
    return replace(record, claims=lightened(item, claims))


def _kept(claims: Sequence[Claim]) -> bool:
    """Whether all effects have their values."""
    every = [effect for claim in claims for effect in claim.effects]
    return bool(every) and all(effect.values or effect.n < 2 for effect in every)


def _from_effects(claims: Sequence[Claim]) -> list[Claim]:
    return [replace(claim, effects=[*map(_from_values, claim.effects)]) for claim in claims]


def _from_values(effect: ClaimEffect) -> ClaimEffect:
    return effect_of(effect.values, trials=effect.trials) if effect.values else effect


def lightened(item: Item, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims without the values of their effects, where the rows of the item decide them."""
    if item.claims is None:
        return tuple(claims)
    return tuple(
        replace(claim, effects=[replace(effect, values={}) for effect in claim.effects])
        for claim in claims
    )
