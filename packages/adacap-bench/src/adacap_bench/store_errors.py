"""What goes wrong with a store, as sentences that name its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adacap.exceptions import AdaCapError

__all__ = ["MissingStoreError", "StoreError", "telling"]

# SQLite's messages, and what to do about each; the first match is used.
_WAYS_OUT = (
    (("locked", "busy"), "Another program holds it. Wait until that is done, or end it."),
    (("full", "disk i/o"), "The disk may be full. Free some space and run the command again."),
    (("readonly", "read-only"), "It cannot be written. Name another file with --store."),
    (("unable to open",), "It cannot be opened here. Check its folder, or copy it to another."),
    (("not a database",), "It is not a store of benchmark results. Name another file."),
)
_DAMAGED = (
    "It is not a store of benchmark results, or is damaged. Name another file with --store, or "
    "save what can be read: sqlite3 FILE .recover."
)


class StoreError(AdaCapError):
    """A file is not a store of results, or not one that this version can read."""


class MissingStoreError(StoreError, FileNotFoundError):
    """There is no store, or no folder to make one in."""


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn an SQLite error into a StoreError that names the file and the way out.

    Examples
    --------
    >>> with telling(Path("results.sqlite")):
    ...     raise sqlite3.OperationalError("database is locked")
    Traceback (most recent call last):
    adacap_bench.store_errors.StoreError: Cannot use results.sqlite: database is locked. Another
    program holds it. Wait until that is done, or end it.
    """
    try:
        yield
    except sqlite3.IntegrityError:  # a record that no store can hold: a mistake of the caller's
        raise
    except sqlite3.Error as error:
        text = str(error)
        ways = [way for signs, way in _WAYS_OUT if any(sign in text.lower() for sign in signs)]
        raise StoreError(f"Cannot use {path}: {text}. {(ways or [_DAMAGED])[0]}") from error
    except (MemoryError, OverflowError, UnicodeError) as error:
        what = str(error) or type(error).__name__
        raise StoreError(f"Cannot use {path}: {what}. {_DAMAGED}") from error
