"""What goes wrong with the user's files, and how to import what reads them."""

from __future__ import annotations

import importlib
from typing import Any

from adacap.exceptions import AdaCapError, OutputExistsError

__all__ = ["FileError", "MissingFileError", "OutputExistsError", "need", "need_arrow"]


class FileError(AdaCapError, ValueError):
    """A file cannot be read as the table it should be, or not be written."""


class MissingFileError(AdaCapError, FileNotFoundError):
    """There is no such file or folder."""


def need(module: str, what: str) -> Any:
    """Module of an optional package, or an error that says how to get it.

    Examples
    --------
    >>> need("no_such_reader", "Reading stone tablets")
    Traceback (most recent call last):
    ImportError: Reading stone tablets needs no_such_reader. Run: pip install 'adacap[files]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} needs {package}. Run: pip install 'adacap[files]'") from error


def need_arrow() -> Any:
    """The module pyarrow."""
    return need("pyarrow", "Reading and writing tables")
