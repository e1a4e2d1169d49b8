"""A table of a page: rows written as HTML, sorted and filtered by the page's script."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adacap.page.embed import compact, escape

__all__ = ["PageColumn", "PageTable"]

_NOTHING = "–"


@dataclass(frozen=True)
class PageColumn:
    """One column of a :class:`PageTable`.

    Attributes
    ----------
    title : str
    kind : {"text", "number", "long"}, default="text"
        Numbers are aligned right and sorted by value; long text breaks lines.
    digits : int or None, default=None
        Digits of a number after the point; ``None`` for up to 4 significant ones.
    suffix : str, default=""
        Written after each value, such as " %".
    filter : bool, default=False
        Offer a choice among the values of this column.
    help : str, default=""
        What the column means, written below the table and shown when the pointer hovers over the
        title.
    """

    title: str
    kind: Literal["text", "number", "long"] = "text"
    digits: int | None = None
    suffix: str = ""
    filter: bool = False
    help: str = ""

    def show(self, value: object) -> str:
        """The text of a value.

        Examples
        --------
        >>> PageColumn("time", "number", digits=1, suffix=" s").show(2.345)
        '2.3 s'
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return _NOTHING
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{value}{self.suffix}"
        text = f"{value:.4g}" if self.digits is None else f"{value:.{self.digits}f}"
        if self.digits is None and 1e3 <= abs(value) < 1e9:
            text = f"{value:,.0f}"
        return f"{text.replace('-', '−')}{self.suffix}"


@dataclass(frozen=True)
class PageTable:
    """Rows with titles, a caption and a search box.

    Attributes
    ----------
    columns : sequence of PageColumn
    rows : sequence of sequences
        One value per column; ``None`` and ``nan`` are shown as a dash and sorted last.
    caption : str, default=""
    search : bool, default=False
        Offer a box that keeps the rows containing some text.

    Examples
    --------
    >>> table = PageTable([PageColumn("name"), PageColumn("error", "number")], [("ols", 0.5)])
    >>> "<td data-value='0.5' class='number'>0.5</td>" in table.html()
    True
    """

    columns: Sequence[PageColumn]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    search: bool = False

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"Row {i} of the table has {len(row)} values for {len(self.columns)} columns."
                )

    def html(self) -> str:
        """The table with its controls, every text escaped."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(_head(column) for column in self.columns)
        body = "\n".join(
            "<tr>" + "".join(map(_cell, self.columns, row)) + "</tr>" for row in self.rows
        )
        search = " data-search" if self.search else ""
        return (
            f"<div class='table-box'><div class='table-scroll' tabindex='0'>"
            f"<table data-sortable{search}>{caption}<thead><tr>{head}</tr></thead>\n"
            f"<tbody>{body}</tbody></table></div>{self._meanings()}</div>"
        )

    def _meanings(self) -> str:
        """What the columns mean, for readers without a pointer to hover over a title."""
        pairs = "".join(
            f"<div><dt>{escape(column.title)}</dt><dd>{escape(column.help)}</dd></div>"
            for column in self.columns
            if column.help
        )
        return f"<dl class='meanings'>{pairs}</dl>" if pairs else ""


def _head(column: PageColumn) -> str:
    title = f" title='{escape(column.help)}'" if column.help else ""
    choose = " data-filter" if column.filter else ""
    return (
        f"<th scope='col' aria-sort='none' data-kind='{column.kind}' class='{column.kind}'"
        f"{choose}{title}>{escape(column.title)}</th>"
    )


def _cell(column: PageColumn, value: object) -> str:
    raw = compact(value)
    data = "" if raw is None else f" data-value='{escape(raw)}'"
    return f"<td{data} class='{column.kind}'>{escape(column.show(value))}</td>"
