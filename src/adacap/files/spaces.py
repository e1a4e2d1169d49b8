"""Whether the cells of a text file stand apart by blanks, as in the files of UCI."""

from __future__ import annotations

import re
from pathlib import Path

from adacap.files.errors import FileError
from adacap.files.formats import Format
from adacap.files.sniff import SPACES, TextOptions, encoding_of

__all__ = ["spaced_encoding"]

_SAMPLE_BYTES = 64 * 1024
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)?|\d*\.\d*)([eE][-+]?\d+)?")
_ENOUGH = 0.9


def spaced_encoding(path: Path, form: Format, options: TextOptions | None) -> str | None:
    r"""Encoding of a file whose cells stand apart by blanks; None if they do not, or it is packed.

    Such a file has the same number of words in nearly all lines, most of them numbers, and none of
    the other separators.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "t.data")
    >>> _ = path.write_text(" 1.5   2\n 10.25 3\n")
    >>> spaced_encoding(path, Format("text"), None)
    'utf-8'
    """
    asked = options.separator if options else None
    if asked == SPACES and form.packing is not None:
        raise FileError(f"{path} is packed: unpack it, to read it with --separator '{SPACES}'.")
    if form.packing or (form.separator and not asked) or asked not in (None, SPACES):
        return None
    with open(path, "rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    encoding = (options.encoding if options else None) or encoding_of(sample)
    lines = sample.decode(encoding, "replace").splitlines()
    if len(sample) == _SAMPLE_BYTES:
        lines = lines[:-1]
    return encoding if asked or _is_spaced([line for line in lines if line.strip()]) else None


def _is_spaced(lines: list[str]) -> bool:
    if len(lines) < 2 or any(sign in line for line in lines[:200] for sign in ";|"):
        return False
    words = [line.split() for line in lines]
    counts = [len(row) for row in words]
    common = max(set(counts), key=counts.count)
    if common < 2 or counts.count(common) < _ENOUGH * len(counts):
        return False
    if sum("," in line for line in lines) > 0.1 * len(lines) and not _only_decimals(words):
        return False
    tabs = [line.count("\t") for line in lines]
    if tabs[0] and tabs.count(tabs[0]) >= _ENOUGH * len(tabs):
        return False  # a usual separator, with cells that may be empty or hold blanks
    cells = [cell for row in words[1:] for cell in row]
    return sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) >= 0.5 * len(cells)


def _only_decimals(words: list[list[str]]) -> bool:
    """Whether commas stand within numbers only, as decimal signs."""
    return all(_NUMBER.fullmatch(cell) for row in words[1:] for cell in row if "," in cell)
