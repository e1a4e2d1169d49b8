"""Results in one SQLite file: written as jobs finish, readable meanwhile, never half written.

The file is in write-ahead-log mode: a reader sees the last finished transaction, and a writer
killed at any moment loses at most the record it was writing. Keep it on a local disk; the log
needs memory shared between processes, which network file systems do not offer.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from adacap.exceptions import AdaCapError, UsageError
from adacap_bench.claims import Claims, JobClaim
from adacap_bench.jobs import FAILED, Job, Record
from adacap_bench.store_rows import (
    COLUMNS,
    IDENTITY,
    checked,
    from_row,
    metrics_of,
    to_payload,
    to_row,
)
from adacap_bench.store_schema import PAYLOADS, RECORDS, odd_part

__all__ = [
    "SCHEMA_VERSION",
    "MissingStoreError",
    "Store",
    "StoreError",
    "telling",
]

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


class PlaceError(StoreError, UsageError):
    """A folder, a device or a pipe is where a store should be."""


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
    adacap_bench.store.StoreError: Cannot use results.sqlite: database is locked. Another
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


# --------------------------------------------------------------------------------- the store


if TYPE_CHECKING:
    import pandas as pd


SCHEMA_VERSION = 1
_APPLICATION = 0x41644361  # "AdCa" in the header of the file
_BUSY_SECONDS = 120.0  # to wait for another writer: a finished job is worth it
_INSERT_PAYLOAD = """
INSERT INTO payloads SELECT id, ? FROM records
WHERE task = ? AND split = ? AND method = ? AND seed = ? AND settings_hash = ?
ON CONFLICT (record) DO UPDATE SET content = excluded.content"""
# A result is written once. Only a job that failed, crashed or timed out may be written again.
_INSERT = f"""
INSERT INTO records ({", ".join(COLUMNS)}) VALUES ({", ".join("?" * len(COLUMNS))})
ON CONFLICT ({", ".join(IDENTITY)}) DO UPDATE
SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS[len(IDENTITY) :])}
WHERE records.status IN {FAILED}"""
# The newest record of a job, where several settings were tried.
_LATEST = """
SELECT {} FROM records AS r WHERE id = (
    SELECT id FROM records AS s
    WHERE s.task = r.task AND s.split = r.split AND s.method = r.method AND s.seed = r.seed
    ORDER BY created DESC, id DESC LIMIT 1) ORDER BY id"""


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
        If the file is something else or damaged, was written by a newer version of adacap, or is
        held by another program for two minutes. Every method may raise it.

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
        self.path = self._file = Path(path)
        self._check_place()
        if read_only and not self.path.is_file():
            raise MissingStoreError(
                f"There is no store at {self.path}. Make one with 'adacap bench run'."
            )
        if not self.path.parent.is_dir():
            raise MissingStoreError(
                f"There is no folder {self.path.parent} to keep {self.path.name} in."
            )
        self._db = self._connect(read_only)
        try:
            self._open(read_only)
        except BaseException:
            self._db.close()
            raise

    def _check_place(self) -> None:
        """Refuse what cannot be a file."""
        try:
            os.path.realpath(self.path)  # refuses a name with a null character
            is_other = self.path.exists() and not self.path.is_file()
        except (OSError, ValueError) as error:
            raise StoreError(f"Cannot use {self.path}: {error}. Name another file.") from error
        if is_other:
            raise PlaceError(f"{self.path} is a folder, a device or a pipe. Name a file.")

    def _connect(self, read_only: bool, options: str = "") -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        address = f"{Path(os.path.realpath(self._file)).as_uri()}?mode={mode}{options}"
        with telling(self.path):
            db = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
            db.execute("PRAGMA trusted_schema = OFF")
            return db

    def _open(self, read_only: bool) -> None:
        with telling(self.path):
            if read_only and not self._can_be_read():
                self._open_on_read_only_mount()
            if self._is_empty() and not read_only:
                self._create()
            self._check()
            self._db.execute("PRAGMA synchronous = FULL")

    def _can_be_read(self) -> bool:
        try:
            self._is_empty()
        except sqlite3.OperationalError as error:
            return "unable to open" not in str(error) and "readonly" not in str(error)
        return True

    def _open_on_read_only_mount(self) -> None:
        """Open a file whose write-ahead log cannot be used where it lies.

        If there is a log with something in it, both are read from a copy.
        """
        self._db.close()
        log = self.path.with_name(f"{self.path.name}-wal")
        if not log.exists() or not log.stat().st_size:
            self._db = self._connect(True, "&immutable=1")
            return
        folder = tempfile.mkdtemp(prefix="adacap-bench-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._file = Path(folder, self.path.name)
        shutil.copyfile(self.path, self._file)
        shutil.copyfile(log, self._file.with_name(log.name))
        self._db = self._connect(False)

    def _is_empty(self) -> bool:
        (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return bool(n_tables == 0)

    def _create(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("BEGIN IMMEDIATE")
        if self._is_empty():  # no other process was quicker
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._db.execute(RECORDS)
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
        there = {row[1] for row in self._db.execute("PRAGMA table_info(records)")}
        if missing := [name for name in ("id", *COLUMNS) if name not in there]:
            raise StoreError(
                f"{self.path} is damaged: its records have no column {missing[0]!r}. Name another "
                "file with --store."
            )
        if odd := odd_part(self._db):
            raise StoreError(
                f"{self.path} is no store that adacap made: it holds {odd}, which would run as it "
                "is used. Name another file with --store."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
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
        with telling(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                n_written = sum(self._write(to_row(one), to_payload(one)) for one in records)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        return n_written

    def claim(self, job: Job, settings: str, *, retry_failed: bool = False) -> JobClaim:
        """Take a job for this process, unless it is done or a runner that is alive has it.

        Parameters
        ----------
        job : Job
        settings : str
            Settings hash.
        retry_failed : bool, default=False
            What failed, ran out of time or crashed is not done.

        Returns
        -------
        {"mine", "taken", "done"}

        Examples
        --------
        >>> import tempfile
        >>> job = Job("builtin-diabetes", split=0, method="ridge")
        >>> with Store(Path(tempfile.mkdtemp()) / "results.sqlite") as store:
        ...     store.claim(job, "0123")
        'mine'
        """
        with telling(self.path):
            return Claims(self._db).take(job, settings, retry_failed=retry_failed)

    def release(self, job: Job | None = None, settings: str = "") -> None:
        """Give up the claim of this process to a job, or all its claims."""
        with telling(self.path):
            Claims(self._db).release(job, settings)

    def _write(self, row: tuple[Any, ...], payload: str | None) -> int:
        n_written = self._db.execute(_INSERT, row).rowcount
        if n_written and payload is not None:
            self._db.execute(PAYLOADS)
            self._db.execute(_INSERT_PAYLOAD, (payload, *row[: len(IDENTITY)]))
        return n_written

    def done(self, *, retry_failed: bool = False) -> set[tuple[Job, str]]:
        """Jobs that need not be run, each with its settings hash.

        Parameters
        ----------
        retry_failed : bool, default=False
            Leave out what failed, ran out of time or crashed.
        """
        names = (*IDENTITY, "status")
        with self._telling_rows():
            rows = self._db.execute(f"SELECT {', '.join(names)} FROM records")
            found = [checked(dict(zip(names, row, strict=True))).values() for row in rows]
        return {
            (Job(*job), settings)
            for *job, settings, status in found
            if not (retry_failed and status in FAILED)
        }

    def records(self, *, predictions: bool = True) -> list[Record]:
        """Every record, in the order of writing.

        Parameters
        ----------
        predictions : bool, default=True
            False leaves them on the disk, where they are most of the file.
        """
        blobs = ("predictions", "shape")
        names = [name if predictions or name not in blobs else "NULL" for name in COLUMNS]
        with self._telling_rows():
            rows = self._db.execute(f"SELECT id, {', '.join(names)} FROM records ORDER BY id")
            payloads = self._payloads()
            return [
                from_row(dict(zip(COLUMNS, row, strict=True)), payloads.get(id_))
                for id_, *row in rows
            ]

    def _payloads(self) -> dict[int, str]:
        found = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'payloads'").fetchone()
        return dict(self._db.execute("SELECT record, content FROM payloads")) if found else {}

    @contextmanager
    def _telling_rows(self) -> Iterator[None]:
        """Name the file in errors about its rows."""
        with telling(self.path):
            try:
                yield
            except (ValueError, TypeError, KeyError) as error:
                raise StoreError(
                    f"{self.path} is damaged: {error}. Name another file with --store."
                ) from error

    def counts(self) -> dict[str, int]:
        """Number of records of each status."""
        with self._telling_rows():
            rows = self._db.execute("SELECT status, count(*) FROM records GROUP BY status")
            return {checked({"status": status})["status"]: n for status, n in rows}

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
        with self._telling_rows():
            rows = self._db.execute(query).fetchall()
            for row in rows:
                checked(dict(zip(columns, row, strict=False)))
            metrics = [metrics_of(row[-1]) for row in rows]
            if twice := {name for found in metrics for name in found} & set(columns):
                raise ValueError(f"metric {min(twice)} has the name of a column")
        frame = pd.DataFrame([row[:-1] for row in rows], columns=columns)
        for name in ("fit_seconds", "predict_seconds"):
            frame[name] = frame[name].astype(float)
        return frame.join(pd.DataFrame(metrics, index=frame.index))
