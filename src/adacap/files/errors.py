"""What goes wrong with the user's files, and how to import what reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adacap import exceptions
from adacap.exceptions import AdaCapError

__all__ = ["FileError", "MissingFileError", "need", "need_arrow", "readable"]

_MOST_TEXT = 200  # characters of a reader's message


class FileError(AdaCapError, ValueError):
    """A file cannot be read as the table it should be, or a table not be written."""


class MissingFileError(AdaCapError, FileNotFoundError):
    """There is no such file or folder."""


def need(module: str, what: str) -> Any:
    """Module of an optional package that reads or writes files; see ``exceptions.need``."""
    return exceptions.need(module, what, "adacap[files]")


def need_arrow() -> Any:
    """The module pyarrow, with its part ``compute``, which it does not import by itself."""
    need("pyarrow.compute", "Reading and writing tables")
    return need("pyarrow", "Reading and writing tables")


@contextmanager
def readable(path: object, what: str) -> Iterator[None]:
    """Turn any error of a reader about a damaged file into a message that names the file.

    Readers of formats raise the errors of all the packages below them, which mean nothing to the
    caller. Our own errors, Ctrl-C and the like pass as they are.

    Parameters
    ----------
    path : path-like or str
    what : str
        What the file should be, such as ``"Parquet file"``.

    Examples
    --------
    >>> with readable("prices.xlsx", "Excel workbook"):
    ...     {}["xl/workbook.xml"]
    Traceback (most recent call last):
    adacap.files.errors.FileError: prices.xlsx is not a readable Excel workbook, or is damaged:
    KeyError: 'xl/workbook.xml'
    """
    try:
        yield
    except (AdaCapError, ImportError):
        raise
    except Exception as error:
        text = (str(error).splitlines() or [""])[0][:_MOST_TEXT]
        told = (
            text if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {text}"
        )
        raise FileError(f"{path} is not a readable {what}, or is damaged: {told}") from error
