"""What goes wrong with the user's files, and how to import what reads them."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adacap import exceptions
from adacap.exceptions import AdaCapError

__all__ = [
    "FileError", "MissingFileError", "in_memory", "need", "need_arrow", "readable",
    "temporary_room",
]  # fmt: skip

_FULL = (errno.ENOSPC, errno.EDQUOT)
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
    caller. Our own errors, Ctrl-C and the like pass as they are. ``what`` is what the file should
    be, such as ``"Parquet file"``.

    Examples
    --------
    >>> with readable("prices.xlsx", "Excel workbook"):
    ...     {}["xl/workbook.xml"]
    Traceback (most recent call last):
    adacap.files.errors.FileError: prices.xlsx is not a readable Excel workbook, or is damaged:
    KeyError: 'xl/workbook.xml'
    """
    try:
        with in_memory(path):
            yield
    except (AdaCapError, ImportError):
        raise
    except Exception as error:
        text = (str(error).splitlines() or [""])[0][:_MOST_TEXT]
        told = (
            text if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {text}"
        )
        raise FileError(f"{path} is not a readable {what}, or is damaged: {told}") from error


@contextmanager
def in_memory(path: object) -> Iterator[None]:
    """Say of a table that memory does not hold it; the error of arrow's is one of Python's.

    Examples
    --------
    >>> with in_memory("prices.csv"):
    ...     raise MemoryError("malloc of size 64 failed")
    Traceback (most recent call last):
    adacap.files.errors.FileError: There is not enough memory to read prices.csv. Read fewer ...
    """
    try:
        yield
    except MemoryError as error:
        raise FileError(
            f"There is not enough memory to read {path}. Read fewer of its columns or rows, or use "
            "a machine with more."
        ) from error


@contextmanager
def temporary_room(path: object) -> Iterator[None]:
    """Say that the folder for temporary files is full, and not that a file is damaged.

    Examples
    --------
    >>> with temporary_room("prices.zip"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    adacap.files.errors.FileError: There is no room to unpack prices.zip in ..., the folder for
    temporary files. Free some, or name another folder by the environment variable TMPDIR.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise FileError(
            f"There is no room to unpack {path} in {tempfile.gettempdir()}, the folder for "
            "temporary files. Free some, or name another folder by the environment variable TMPDIR."
        ) from error
