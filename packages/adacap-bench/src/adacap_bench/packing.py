"""Records as packed lines of JSON: a small file from which a run goes on elsewhere."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adacap.exceptions import AdaCapError
from adacap.files import MissingFileError
from adacap.files.atomic import drafted
from adacap_bench.jobs import Record
from adacap_bench.store import Store
from adacap_bench.store_rows import COLUMNS, from_row, to_row

__all__ = ["PackedFileError", "check_packed", "pack", "unpack"]

_FORMAT = {"format": "adacap-bench records", "version": 1}
_OBJECTS = ("metrics", "versions")
_MOST_BYTES = 1 << 27  # of a line, unpacked


class PackedFileError(AdaCapError, ValueError):
    """A file of packed records cannot be used; the message names the line."""


def pack(store: Store, path: str | Path, *, predictions: bool = False, force: bool = False) -> int:
    """Write all records of a store, the same bytes for the same records.

    Parameters
    ----------
    store : Store
    path : str or Path
        Usually ``*.jsonl.gz``: a first line that names the format, then a line per record.
    predictions : bool, default=False
        With the predictions of the test rows, most of a store's size. An item of the ledger that
        averages predictions (c7) needs them to go on.
    force : bool, default=False
        Replace the file.

    Returns
    -------
    int
        Number of records.

    Examples
    --------
    >>> import tempfile
    >>> from adacap_bench.jobs import Job
    >>> folder = Path(tempfile.mkdtemp())
    >>> job = Job("builtin-diabetes", split=0, method="ridge")
    >>> with Store(folder / "here.sqlite") as store:
    ...     _ = store.add(Record(job, "ok", "0123", "regression", metrics={"test_rmse": 0.7}))
    ...     pack(store, folder / "records.jsonl.gz")
    1
    >>> with Store(folder / "there.sqlite") as store:
    ...     unpack(folder / "records.jsonl.gz", store)
    (1, 0)
    """
    records = sorted(
        store.records(predictions=predictions), key=lambda one: (one.job, one.settings_hash)
    )
    with drafted(path, force) as draft, draft.open("wb") as file:
        # No name and no time: equal records are equal bytes.
        with gzip.GzipFile("", "wb", compresslevel=9, fileobj=file, mtime=0) as packed:
            packed.write(_line(_FORMAT))
            for record in records:
                packed.write(_line(_packed(record)))
    return len(records)


def _packed(record: Record) -> dict[str, Any]:
    row = dict(zip(COLUMNS, to_row(record), strict=True))
    row |= {name: json.loads(row[name]) for name in _OBJECTS}
    row["payload"] = record.payload or None
    if row["predictions"] is not None:
        row["predictions"] = base64.b64encode(row["predictions"]).decode()
    return {name: value for name, value in row.items() if value is not None}


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def unpack(path: str | Path, store: Store) -> tuple[int, int]:
    """Read packed records into a store, all or none.

    Parameters
    ----------
    path : str or Path
        Written by :func:`pack`.
    store : Store

    Returns
    -------
    tuple of int
        Records written, and records that were there.

    Raises
    ------
    PackedFileError
        If the file is something else, is damaged or of a newer format.
    """
    n_read = 0

    def counted() -> Iterator[Record]:
        nonlocal n_read
        for record in _records(Path(path)):
            n_read += 1
            yield record

    n_new = store.add_all(counted())
    return n_new, n_read - n_new


def check_packed(path: str | Path) -> None:
    """Refuse a file whose first line is not that of packed records."""
    for _ in _records(Path(path)):
        return


def _records(path: Path) -> Iterator[Record]:
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}.")
    number = 1
    try:
        with gzip.open(path, "rb") as lines:
            _check_format(path, _object(lines))
            number += 1
            while (row := _object(lines)) is not None:
                yield _unpacked(row)
                number += 1
    except PackedFileError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, TypeError, RecursionError) as error:
        raise PackedFileError(
            f"{path} cannot be imported: line {number}: {error}. Write it again with "
            "'adacap bench pack', or import a CSV file whose name ends in .csv."
        ) from error


def _object(lines: gzip.GzipFile) -> dict[str, Any] | None:
    """The next line; None at the end of the file."""
    line = lines.readline(_MOST_BYTES + 1)
    if len(line) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES:,} bytes")
    if not line:
        return None
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


def _check_format(path: Path, first: Mapping[str, Any] | None) -> None:
    version = (first or {}).get("version")
    if first is None or first.get("format") != _FORMAT["format"] or not isinstance(version, int):
        raise ValueError(f"it does not say {_FORMAT['format']!r}")
    if version > 1:
        raise PackedFileError(
            f"{path} is of version {version}, but this adacap-bench reads version 1. Upgrade it."
        )


def _unpacked(row: dict[str, Any]) -> Record:
    payload = row.pop("payload", {})
    if odd := sorted(set(row) - set(COLUMNS)):
        raise ValueError(f"there is no column {odd[0]!r}")
    if missing := [name for name in _OBJECTS if name not in row]:
        raise ValueError(f"it has no {missing[0]!r}")
    row |= {name: json.dumps(row[name]) for name in _OBJECTS}
    if "predictions" in row:
        row["predictions"] = base64.b64decode(row["predictions"], validate=True)
    whole = {name: row.get(name) for name in COLUMNS}
    return from_row(whole, json.dumps(payload))
