"""Results in one SQLite file: written as jobs finish, readable meanwhile, never half written.

The file is in write-ahead-log mode: a reader sees the last finished transaction, and a writer
killed at any moment loses at most the record it was writing. Keep it on a local disk; the log
needs memory shared between processes, which network file systems do not offer.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from adacap.bench.jobs import UNSUCCESSFUL, Job, Record
from adacap.exceptions import AdaCapError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA_VERSION", "Store", "StoreError"]

SCHEMA_VERSION = 1
_APPLICATION = 0x41644361  # "AdCa" in the header of the file
_BUSY_SECONDS = 30.0
_IDENTITY = ("task", "split", "method", "seed", "settings_hash")
_PLAIN = ("status", "kind", "category", "task_name", "fit_seconds", "predict_seconds", "n_train")
_COLUMNS = (
    *_IDENTITY, *_PLAIN, "n_features", "attempts", "traceback", "created",
    "metrics", "versions", "predictions", "shape",
)  # fmt: skip
_SCHEMA = """
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL, split INTEGER NOT NULL, method TEXT NOT NULL, seed INTEGER NOT NULL,
    settings_hash TEXT NOT NULL, status TEXT NOT NULL, kind TEXT NOT NULL,
    category TEXT NOT NULL, task_name TEXT NOT NULL,
    fit_seconds REAL, predict_seconds REAL, n_train INTEGER NOT NULL,
    n_features INTEGER NOT NULL, attempts INTEGER NOT NULL, traceback TEXT,
    created TEXT NOT NULL, metrics TEXT NOT NULL, versions TEXT NOT NULL,
    predictions BLOB, shape TEXT,
    UNIQUE (task, split, method, seed, settings_hash)
)"""
# Payloads came later. They have a table of their own, made when the first one is written: a store
# without any is what it always was, and a version that knows nothing of payloads reads the rest.
_PAYLOADS = """
CREATE TABLE IF NOT EXISTS payloads (
    record INTEGER PRIMARY KEY REFERENCES records (id), content TEXT NOT NULL
)"""
_INSERT_PAYLOAD = """
INSERT INTO payloads SELECT id, ? FROM records
WHERE task = ? AND split = ? AND method = ? AND seed = ? AND settings_hash = ?
ON CONFLICT (record) DO UPDATE SET content = excluded.content"""
# A result is written once. Only a job that came to nothing may be written again.
_INSERT = f"""
INSERT INTO records ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" * len(_COLUMNS))})
ON CONFLICT ({", ".join(_IDENTITY)}) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[len(_IDENTITY) :])}
WHERE records.status IN {UNSUCCESSFUL}"""
# The newest record of a job, where several settings were tried.
_LATEST = """
SELECT {} FROM records AS r WHERE id = (
    SELECT id FROM records AS s
    WHERE s.task = r.task AND s.split = r.split AND s.method = r.method AND s.seed = r.seed
    ORDER BY created DESC, id DESC LIMIT 1) ORDER BY id"""


class StoreError(AdaCapError):
    """A file is not a store of results, or not one that this version can read."""


class Store:
    """Records of a benchmark in one SQLite file.

    Parameters
    ----------
    path : str or Path
        Made if it does not exist.
    read_only : bool, default=False
        Refuse a file that does not exist, and never write.

    Raises
    ------
    StoreError
        If the file is something else, or was written by a newer version of adacap.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "results.sqlite"
    >>> job = Job("builtin-diabetes", split=0, method="ridge")
    >>> with Store(path) as store:
    ...     store.add(Record(job, "ok", "0123", "regression", metrics={"test_rmse": 0.7}))
    ...     store.add(Record(job, "ok", "0123", "regression", metrics={"test_rmse": 0.9}))
    ...     store.frame()[["task", "method", "test_rmse"]]
    True
    False
                   task method  test_rmse
    0  builtin-diabetes  ridge        0.7
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        if read_only and not self.path.is_file():
            raise StoreError(f"There is no store at {self.path}. Make one by 'adacap bench run'.")
        if not self.path.parent.is_dir():
            raise StoreError(f"There is no folder {self.path.parent} to keep {self.path.name} in.")
        self._db = self._connect(read_only)
        try:
            self._open(read_only)
        except BaseException:
            self._db.close()
            raise

    def _connect(self, read_only: bool) -> sqlite3.Connection:
        address = f"{self.path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
        try:
            return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise StoreError(f"Cannot open {self.path}: {error}.") from error

    def _open(self, read_only: bool) -> None:
        try:
            if self._is_empty() and not read_only:
                self._create()
            self._check()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path} is not a store of benchmark results ({error}). "
                "Name another file with --store."
            ) from error
        self._db.execute("PRAGMA synchronous = FULL")

    def _is_empty(self) -> bool:
        (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return bool(n_tables == 0)

    def _create(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("BEGIN IMMEDIATE")
        if self._is_empty():  # no other process was quicker
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._db.execute(_SCHEMA)
        self._db.execute("COMMIT")

    def _check(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise StoreError(
                f"{self.path} is a database of another program, not a store of benchmark "
                "results. Name another file with --store."
            )
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, but this adacap reads up to "
                f"{SCHEMA_VERSION}. Upgrade adacap: pip install --upgrade adacap."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the store cannot be used any more."""
        self._db.close()

    def add(self, record: Record) -> bool:
        """Write one record at once, unless its job has a result with the same settings.

        A record that is ``failed``, ``timeout`` or ``crashed`` gives way to a later one.

        Returns
        -------
        bool
            Whether it was written.
        """
        return self.add_all([record]) == 1

    def add_all(self, records: Iterable[Record]) -> int:
        """Write several records, all or none.

        Returns
        -------
        int
            How many were written; the others were there.
        """
        rows = [(_to_row(record), _to_payload(record)) for record in records]
        self._db.execute("BEGIN IMMEDIATE")
        try:
            n_written = sum(self._write(row, payload) for row, payload in rows)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return n_written

    def _write(self, row: tuple[Any, ...], payload: str | None) -> int:
        n_written = self._db.execute(_INSERT, row).rowcount
        if n_written and payload is not None:
            self._db.execute(_PAYLOADS)
            self._db.execute(_INSERT_PAYLOAD, (payload, *row[: len(_IDENTITY)]))
        return n_written

    def done(self, *, retry_failed: bool = False) -> set[tuple[Job, str]]:
        """Jobs that need not be run, each with its settings hash.

        Parameters
        ----------
        retry_failed : bool, default=False
            Leave out what failed, ran out of time or crashed.
        """
        rows = self._db.execute(f"SELECT {', '.join(_IDENTITY)}, status FROM records")
        return {
            (Job(*job), settings)
            for *job, settings, status in rows
            if not (retry_failed and status in UNSUCCESSFUL)
        }

    def records(self, *, predictions: bool = True) -> list[Record]:
        """Every record, in the order of writing.

        Parameters
        ----------
        predictions : bool, default=True
            False leaves them on the disk, where they are most of the file.
        """
        blobs = ("predictions", "shape")
        names = [name if predictions or name not in blobs else "NULL" for name in _COLUMNS]
        rows = self._db.execute(f"SELECT id, {', '.join(names)} FROM records ORDER BY id")
        payloads = self._payloads()
        return [
            _from_row(dict(zip(_COLUMNS, row, strict=True)), payloads.get(id_))
            for id_, *row in rows
        ]

    def _payloads(self) -> dict[int, str]:
        found = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'payloads'").fetchone()
        return dict(self._db.execute("SELECT record, content FROM payloads")) if found else {}

    def counts(self) -> dict[str, int]:
        """Number of records of each status."""
        return dict(self._db.execute("SELECT status, count(*) FROM records GROUP BY status"))

    def frame(self, *, latest: bool = True) -> pd.DataFrame:
        """One row per record, without predictions.

        Parameters
        ----------
        latest : bool, default=True
            Of each job only the newest record, whatever its settings.

        Returns
        -------
        pandas.DataFrame
            Columns task, task_name, kind, split, seed, method, category, status, fit_seconds,
            predict_seconds, n_train, n_features, settings_hash, attempts, created, traceback,
            and one column per metric (NaN where a record has none).
        """
        import pandas as pd

        columns = [
            "task", "task_name", "kind", "split", "seed", "method", "category", "status",
            "fit_seconds", "predict_seconds", "n_train", "n_features",
            "settings_hash", "attempts", "created", "traceback",
        ]  # fmt: skip
        names = ", ".join([*columns, "metrics"])
        query = _LATEST.format(names) if latest else f"SELECT {names} FROM records ORDER BY id"
        rows = self._db.execute(query).fetchall()
        frame = pd.DataFrame([row[:-1] for row in rows], columns=columns)
        for name in ("fit_seconds", "predict_seconds"):
            frame[name] = frame[name].astype(float)
        metrics = pd.DataFrame([json.loads(row[-1]) for row in rows], index=frame.index)
        return frame.join(metrics)


def _to_row(record: Record) -> tuple[Any, ...]:
    job, predictions = record.job, record.predictions
    values: dict[str, Any] = {name: getattr(record, name) for name in _COLUMNS[4:16]}
    values |= {"task": job.task, "split": job.split, "method": job.method, "seed": job.seed}
    values |= {name: _number(values[name]) for name in ("fit_seconds", "predict_seconds")}
    values["metrics"] = json.dumps(dict(record.metrics))
    values["versions"] = json.dumps(dict(record.versions))
    values["predictions"] = values["shape"] = None
    if predictions is not None:
        array = np.ascontiguousarray(predictions, dtype="<f4")
        values["predictions"] = zlib.compress(array.tobytes())
        values["shape"] = json.dumps(array.shape)
    return tuple(values[name] for name in _COLUMNS)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _to_payload(record: Record) -> str | None:
    return json.dumps(dict(record.payload)) if record.payload else None


def _from_row(row: dict[str, Any], payload: str | None = None) -> Record:
    job = Job(*(row.pop(name) for name in ("task", "split", "method", "seed")))
    for name in ("fit_seconds", "predict_seconds"):
        row[name] = math.nan if row[name] is None else row[name]
    row["metrics"], row["versions"] = json.loads(row["metrics"]), json.loads(row["versions"])
    row["predictions"] = _array(row["predictions"], row.pop("shape"))
    return Record(job=job, payload=json.loads(payload) if payload else {}, **row)


def _array(blob: bytes | None, shape: str | None) -> npt.NDArray[np.float32] | None:
    if blob is None or shape is None:
        return None
    return np.frombuffer(zlib.decompress(blob), dtype="<f4").reshape(json.loads(shape))
