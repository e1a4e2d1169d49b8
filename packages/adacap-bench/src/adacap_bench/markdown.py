"""Tables as Markdown, and their place between two marks of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from adacap.files.atomic import write_text

__all__ = ["markdown_lines", "place", "placed"]

_MARKS = {"l": ":--", "r": "--:"}
_BAR = re.compile(r"(?<!\\)\|")  # inside a cell it would end it


def markdown_lines(
    titles: Sequence[object], rows: Iterable[Sequence[object]], aligned: str = ""
) -> Iterator[str]:
    r"""Lines of a table, one by one as its rows come; what is no text is shown by ``str``.

    ``aligned`` has a letter per column, ``l`` for the left and ``r`` for the right; the last one
    holds for the columns after it. Without any the reader's program decides.

    Examples
    --------
    >>> print("\n".join(markdown_lines(["method", "RMSE"], [["a|b", 0.5]], "lr")))
    | method | RMSE |
    |:--|--:|
    | a\|b | 0.5 |
    """
    letters = aligned.ljust(len(titles), aligned[-1:] or "-")[: len(titles)]
    yield _line(titles)
    yield f"|{'|'.join(_MARKS.get(letter, '---') for letter in letters)}|"
    for row in rows:
        yield _line(row)


def _line(cells: Sequence[object]) -> str:
    texts = [_BAR.sub(r"\|", str(cell)) for cell in cells]
    return f"| {' | '.join(texts)} |"


def placed(text: str, marks: tuple[str, str], body: str) -> str:
    r"""A text in which what stands between two marks is replaced.

    Examples
    --------
    >>> placed("<!-- begin -->\nold\n<!-- end -->", ("<!-- begin -->", "<!-- end -->"), "new")
    '<!-- begin -->\nnew\n<!-- end -->'
    """
    head, begin, rest = text.partition(marks[0])
    _, end, tail = rest.partition(marks[1])
    if not (begin and end):
        raise ValueError(f"The text needs the marks {marks[0]} and {marks[1]}, in this order.")
    return f"{head}{begin}\n{body}\n{end}{tail}"


def place(page: Path, marks: tuple[str, str], body: str) -> None:
    """Replace what stands between two marks of a page."""
    write_text(page, placed(page.read_text(encoding="utf-8"), marks, body), force=True)
