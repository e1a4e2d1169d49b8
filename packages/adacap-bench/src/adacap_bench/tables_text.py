"""A table of numbers and the three texts it can become."""

import csv
import io
import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adacap_bench.markdown import markdown_lines

__all__ = ["TextColumn", "TextTable"]

Value: TypeAlias = str | float | int | None
Best: TypeAlias = Literal["max", "min"] | None

_NOTHING = "–"
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "†": r"\textdagger{}", "–": "--", "²": r"\textsuperscript{2}", "×": r"$\times$",
}  # fmt: skip


@dataclass(frozen=True)
class TextColumn:
    """Title of a column and how its numbers are written."""

    title: str
    digits: int | None = None  # after the point; none for text
    best: Best = None  # which of its values is set in bold
    factor: float = 1.0  # by which numbers are multiplied, as with percentages

    def show(self, value: Value) -> str:
        """The text of a value.

        Examples
        --------
        >>> TextColumn("P90 %", 1, factor=100).show(0.51234)
        '51.2'
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return _NOTHING
        if self.digits is None or isinstance(value, str):
            return str(value)
        return f"{value * self.factor:.{self.digits}f}"


@dataclass(frozen=True)
class TextTable:
    """Rows of values with a caption, to be written as Markdown, CSV or LaTeX.

    Attributes
    ----------
    name : str
        Stem of its files.
    caption : str
    columns : tuple of TextColumn
    rows : tuple of tuples
    notes : tuple of str
        Remarks below the table.
    best_by_row : {"max", "min"} or None
        Bold the best number of each row instead of each column.

    Examples
    --------
    >>> columns = (TextColumn("method"), TextColumn("RMSE", 2, "min"))
    >>> print(TextTable("t", "Errors.", columns, (("ols", 0.5), ("rf", 0.4))).to_markdown())
    Errors.
    <BLANKLINE>
    | method | RMSE |
    |:--|--:|
    | ols | 0.50 |
    | rf | **0.40** |
    <BLANKLINE>
    """

    name: str
    caption: str
    columns: tuple[TextColumn, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    best_by_row: Best = None

    def texts(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [
            [column.show(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def bold(self) -> list[list[bool]]:
        """Which cells hold the best value, equal ones together; compared as shown."""
        marks = [[False] * len(self.columns) for _ in self.rows]
        cells = {(i, j): v for i, row in enumerate(self.rows) for j, v in enumerate(row)}
        lines = (
            [[(i, j) for j in range(len(self.columns))] for i in range(len(self.rows))]
            if self.best_by_row
            else [[(i, j) for i in range(len(self.rows))] for j in range(len(self.columns))]
        )
        for line in lines:
            numbers = {
                at: float(v)
                for at in line
                if self._counts(at[1]) and isinstance(v := cells[at], float | int) and v == v
            }
            if not numbers:
                continue
            which = self.best_by_row or self.columns[line[0][1]].best
            first = (max if which == "max" else min)(numbers, key=lambda at: numbers[at])
            shown = self.columns[first[1]].show(cells[first])
            for i, j in numbers:
                marks[i][j] = self.columns[j].show(cells[i, j]) == shown
        return marks

    def _counts(self, j: int) -> bool:
        return self.columns[j].digits is not None and self.columns[j].best is not None

    def to_markdown(self) -> str:
        """Pipe table with the caption above and the notes below."""
        titles = [_markdown(c.title) for c in self.columns]
        rows = [
            [f"**{_markdown(text)}**" if mark else _markdown(text) for text, mark in pairs]
            for pairs in map(zip, self.texts(), self.bold())
        ]
        aligned = "".join("l" if c.digits is None else "r" for c in self.columns)
        lines = [self.caption, "", *markdown_lines(titles, rows, aligned)]
        for note in self.notes:
            lines += ["", _markdown(note)]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Comma-separated values, numbers in full and without factor, gaps empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([c.title.removesuffix(" %") if c.factor != 1 else c.title
                         for c in self.columns])  # fmt: skip
        writer.writerows(
            ["" if isinstance(v, float) and math.isnan(v) else v for v in row] for row in self.rows
        )
        return out.getvalue()

    def to_latex(self) -> str:
        """A ``table`` environment in the style of the paper, without packages."""
        spec = "|".join("l" if c.digits is None else "c" for c in self.columns)
        lines = [r"\begin{table}[h]", rf"\caption{{{_latex(self.caption)}}}"]
        lines += [rf"\label{{tab:{self.name}}}", r"\centering", r"\footnotesize"]
        lines += [rf"\begin{{tabular}}{{|{spec}|}}", r"\hline"]
        lines += [" & ".join(_latex(c.title) for c in self.columns) + r" \\", r"\hline"]
        for texts, marks in zip(self.texts(), self.bold(), strict=True):
            cells = [_latex(text) for text in texts]
            bold = [rf"\textbf{{{t}}}" if m else t for t, m in zip(cells, marks, strict=True)]
            lines.append(" & ".join(bold) + r" \\")
        lines += [r"\hline", r"\end{tabular}"]
        lines += [rf"\par {_latex(note)}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}", ""])


def _markdown(text: str) -> str:
    """One line in which nothing is taken for markup of a table or of HTML."""
    text = " ".join(text.split())
    for sign, safe in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("`", "\\`")):
        text = text.replace(sign, safe)
    return text


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))
