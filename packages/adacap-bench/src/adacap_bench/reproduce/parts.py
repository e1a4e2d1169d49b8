"""An item run in parts: some methods now, the others before or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adacap.exceptions import UsageError, suggest
from adacap_bench.reproduce.item import Grid, Item, Scale
from adacap_bench.reproduce.item_record import ItemRecord
from adacap_bench.reproduce.rejudging import lightened

__all__ = ["joined", "refuse_unlike", "restricted"]


def restricted(item: Item, scale: Scale, methods: Sequence[str]) -> Item:
    """The same item with some of its methods only, if it can be run in parts.

    Examples
    --------
    >>> from adacap_bench.reproduce import items
    >>> item = items()["c7"]
    >>> part = restricted(item, item.scales["quick"], ["xrf"])
    >>> [grid.methods for grid in part.grids(item.scales["quick"])]
    [['xrf']]
    """
    if item.judge is None:
        raise UsageError(
            f"{item.key} compares its methods run by run, so it cannot be run for some of them "
            "only. Leave --methods out."
        )
    known = [method for grid in item.grids(scale) for method in grid.methods]
    for name in methods:
        if name not in known:
            raise UsageError(suggest(name, [str(one) for one in known], f"method of {item.key}"))

    def grids(scale: Scale) -> list[Grid]:
        every = item.grids(scale)
        return [replace(grid, methods=[m for m in grid.methods if m in methods]) for grid in every]

    def extent(scale: Scale) -> str:
        return f"{item.extent(scale)}, {', '.join(methods)} only"

    return replace(item, grids=grids, extent=extent)


def refuse_unlike(item: Item, earlier: ItemRecord, scale: str, methods: Sequence[str]) -> None:
    """Refuse, before anything is run, a part that could not join the record that is there.

    That is of another scale, or has one of the methods.
    """
    if earlier.scale != scale:
        raise UsageError(
            f"The record of {item.key} is of the scale {earlier.scale!r}, which does not go with "
            f"{scale!r}. Give another folder with -o."
        )
    there = {row.label.split(",")[0] for row in earlier.rows}
    if twice := [method for method in methods if method in there]:
        raise UsageError(
            f"The record of {item.key} has {twice[0]!r} already. To run it again, give another "
            "folder with -o."
        )


def joined(item: Item, earlier: ItemRecord, later: ItemRecord, extent: str) -> ItemRecord:
    """Two records of one item, made of different methods at the same scale, judged as one."""
    assert item.judge is not None
    outcome = item.judge([*earlier.rows, *later.rows])
    told = [note for note in earlier.notes if note not in later.notes]
    whole, _, alone = later.command.partition(" --methods ")
    return replace(
        later,
        extent=extent,
        command=whole,
        versions={**earlier.versions, **later.versions},
        n_jobs=earlier.n_jobs + later.n_jobs,
        n_failed=earlier.n_failed + later.n_failed,
        core_seconds=earlier.core_seconds + later.core_seconds,
        rows=tuple(outcome.rows),
        claims=lightened(item, outcome.claims),
        figure=outcome.figure,
        notes=(
            *later.notes,
            *told,
            f"Run in parts: {alone.replace(',', ', ')} by `{later.command}` on "
            f"{later.created[:10]}, beside what was there, of {earlier.created[:10]}.",
        ),
    )
