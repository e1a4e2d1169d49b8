"""What became of each column, in words: one line per column that was changed or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from adacap.tables.plan import ColumnPlan
from adacap.text import table_lines

__all__ = ["Told", "lost_columns", "tell", "tell_column", "told_table"]

_MOST = 25  # lines of a table
_WIDEST = 24  # characters of a name in it
_NOT_LOST = {"constant"}  # reasons for dropping columns that held no information


class Told(NamedTuple):
    """What became of a column.

    ``read_as`` is number, date, category, text, dropped, or "as it stands"; ``note`` says the rest
    in words; ``bad_cells`` could not be read and are missing, ``examples`` are three of them.
    """

    column: str
    read_as: str
    note: str
    bad_cells: int = 0
    examples: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """The same as JSON-able data, without the name."""
        return {
            "read_as": self.read_as,
            "note": self.note,
            "bad_cells": self.bad_cells,
            "examples": list(self.examples),
        }


def tell_column(plan: ColumnPlan) -> Told:
    """What became of one column.

    Examples
    --------
    >>> tell_column(ColumnPlan("name", "categorical", dropped="every value is unique"))
    Told(column='name', read_as='dropped', note='every value is unique', bad_cells=0, examples=())
    """
    reading = plan.reading
    n_bad, bad = (reading.n_bad, reading.bad) if reading else (0, ())
    notes = [_how(plan), _bad_cells(plan), reading.remark if reading else ""]
    if plan.dropped:
        sort = "dropped"
        notes.insert(0, plan.dropped)
    elif any(part.title == "words" for part in plan.parts):
        sort = "text"
    elif plan.kind == "categorical":
        sort = "category"
        notes.insert(0, plan.treatment)
    elif reading is not None:
        sort = reading.sort
    else:
        sort = "as it stands"
    return Told(plan.name, sort, "; ".join(note for note in notes if note), n_bad, bad)


def _how(plan: ColumnPlan) -> str:
    reading = plan.reading
    if any(part.title == "words" for part in plan.parts):
        return f"{len(plan.outputs)} features of its words"
    if reading is None or reading.sort == "category":
        return ""
    return f"format {reading.format}" if reading.sort == "date" else str(reading.convention)


def _bad_cells(plan: ColumnPlan) -> str:
    reading = plan.reading
    if reading is None or not reading.n_bad:
        return ""
    shown = ", ".join(map(repr, reading.bad))
    what = "dates" if reading.sort == "date" else "numbers"
    more = ", …" if reading.n_bad > len(reading.bad) else ""
    return (
        f"{reading.n_bad:,} of {reading.n_cells:,} cells are not {what} and count as missing: "
        f"{shown}{more}"
    )


def tell(plans: Iterable[ColumnPlan]) -> list[Told]:
    """What became of the columns that were changed or dropped."""
    told = (tell_column(plan) for plan in plans)
    return [one for one in told if one.read_as != "as it stands"]


def told_table(told: Sequence[Told]) -> str:
    """Lines to print, columns that lost cells first.

    Examples
    --------
    >>> print(told_table([Told("size", "number", "unit 'm²'"), Told("id", "dropped", "unique")]))
    column  read as  what to know
    id      dropped  unique
    size    number   unit 'm²'
    """
    ranked = sorted(told, key=lambda one: (one.read_as != "dropped", not one.bad_cells))
    rows = [(_short(one.column), one.read_as, one.note) for one in ranked[:_MOST]]
    lines = table_lines(["column", "read as", "what to know"], rows, n_text=3, gap=2)
    if len(ranked) > _MOST:
        lines.append(f"… and {len(ranked) - _MOST} more, in encoder_.summary() or adacap inspect")
    return "\n".join(lines)


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"


def lost_columns(plans: Iterable[ColumnPlan]) -> str:
    """Sentence that names columns that were dropped although they held information; empty if none.

    Examples
    --------
    >>> lost_columns([ColumnPlan("name", "categorical", dropped="every value is unique")])
    "Not used: column 'name' (every value is unique)."
    """
    lost = [plan for plan in plans if plan.dropped and plan.dropped not in _NOT_LOST]
    if not lost:
        return ""
    shown = [f"{plan.name!r} ({plan.dropped})" for plan in lost[:10]]
    more = f" and {len(lost) - 10} more" if len(lost) > 10 else ""
    return f"Not used: column{'s' * (len(lost) > 1)} {', '.join(shown)}{more}."
