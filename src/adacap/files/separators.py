"""What stands between the cells of a text table."""

import csv
from collections.abc import Sequence

__all__ = ["SAMPLE_LINES", "guess_separator", "split_line"]

SAMPLE_LINES = 200  # to look at
_CANDIDATES = (",", ";", "\t", "|", "space")


def guess_separator(lines: Sequence[str]) -> str:
    """Separator by which most lines have the same number of cells, more than one.

    Parameters
    ----------
    lines : sequence of str
        The first lines of a table, without blank ones.

    Returns
    -------
    str
        One character, or ``"space"`` for any run of blanks; a comma if none separates.

    Examples
    --------
    >>> guess_separator(["size;price", "1,5;20", "2,5;30"])
    ';'
    """
    best, score = ",", 0.0
    for candidate in _CANDIDATES:
        counts = [len(split_line(line, candidate)) for line in lines]
        common = max(set(counts), key=counts.count, default=1)
        share = counts.count(common) / max(len(counts), 1)
        if common > 1 and share > score + 1e-9:
            best, score = candidate, share
    return best


def split_line(line: str, separator: str) -> list[str]:
    """Cells of one line.

    Examples
    --------
    >>> split_line("1  2", "space"), split_line('"a;b";2', ";")
    (['1', '2'], ['a;b', '2'])
    """
    if separator == "space":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell longer than Python's reader takes; Arrow's takes it
        return line.split(separator)
