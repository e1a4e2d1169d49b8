"""Open any table that can be read."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from adacap.files.errors import FileError
from adacap.files.excel import open_workbook
from adacap.files.formats import find_format
from adacap.files.jsons import open_json
from adacap.files.parquet import ArrowSource, ParquetSource
from adacap.files.sniff import TextOptions
from adacap.files.source import Source
from adacap.files.text import TextSource
from adacap.files.unpacking import (
    Unpacked,
    from_stdin,
    spaced_encoding,
    unspaced,
    unzipped,
)

__all__ = ["open_table"]


def open_table(
    path: str | os.PathLike[str],
    known: Collection[str] = (),
    options: TextOptions | None = None,
) -> Source:
    r"""Table of a file or folder, by its format; no row is read yet, except of a workbook.

    Parameters
    ----------
    path : str or path-like
        CSV and its relatives (also .gz), white space between columns, Parquet, a folder of Parquet
        files, Feather, Excel, JSON (one object per line, or a list), a zip of one of them, or
        ``"-"`` for standard input.
    known : collection of str
        Names of columns that will be asked for; helps to recognise a line of names.
    options : TextOptions, optional
        For text files: what is known of how they are written.

    Raises
    ------
    MissingFileError
    FileError

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "flats.csv")
    >>> _ = path.write_text("size;price\n1,5;20\n2,5;30\n")
    >>> source = open_table(path)
    >>> source.names
    ('size', 'price')
    >>> source.read().to_pydict()
    {'size': [1.5, 2.5], 'price': [20, 30]}
    """
    path = Path(path)
    if str(path) == "-":
        return _open_unpacked(from_stdin(), known, options)
    form = find_format(path)
    if form.kind == "zip":
        return _open_unpacked(unzipped(path), known, options)
    if form.kind == "parquet":
        return ParquetSource(path)
    if form.kind == "arrow":
        return ArrowSource(path)
    if form.kind == "excel":
        return open_workbook(path)
    if form.kind == "json":
        return open_json(path)
    if encoding := spaced_encoding(path, form, options):
        return _open_unpacked(unspaced(path, encoding, path), known, _tabbed(options))
    return TextSource(path, form, known, options)


def _open_unpacked(found: Unpacked, known: Collection[str], options: TextOptions | None) -> Source:
    """Table of a temporary file; messages name what the user named."""
    try:
        source = open_table(found.path, known, options)
    except FileError as error:
        shown = "Standard input" if str(found.made_from) == "-" else str(found.made_from)
        raise FileError(str(error).replace(str(found.path), shown)) from error
    source.made_from = found.made_from
    name = "Standard input" if str(found.made_from) == "-" else found.made_from.name
    source.notes = [note.replace(found.path.name, name) for note in source.notes]
    source.keep(found)
    return source


def _tabbed(options: TextOptions | None) -> TextOptions:
    return replace(options or TextOptions(), separator="\t", encoding="utf-8")
