"""Open any table that can be read."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from adacap.files.excel import open_workbook
from adacap.files.formats import find_format
from adacap.files.parquet import ArrowSource, ParquetSource
from adacap.files.sniff import TextOptions
from adacap.files.source import Source
from adacap.files.text import TextSource

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
        CSV, TSV (also .gz), Parquet, a folder of Parquet files, Feather, Excel.
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
    form = find_format(path)
    if form.kind == "parquet":
        return ParquetSource(path)
    if form.kind == "arrow":
        return ArrowSource(path)
    if form.kind == "excel":
        return open_workbook(path)
    return TextSource(path, form, known, options)
