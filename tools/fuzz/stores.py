"""Damaged results stores: every one is read, or refused by a StoreError that names the file.

A good store is damaged byte by byte, page by page and cut; with the file intact, its cells are
replaced by odd values, and parts of its schema by views, triggers and other tables.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from harness import MEMORY, main

from adacap_bench.jobs import Job, Record
from adacap_bench.status import methods_of, status_of
from adacap_bench.store import Store, StoreError
from adacap_bench.store_rows import COLUMNS

VALUES = (
    None, 0, -1, 2**62, 1.5, float("inf"), "", "x", "{}", "[]", "[1e999]", "[-1]", '{"a": "b"}',
    '{"a": {"b": 1}}', "[" * 5000, "9" * 5000, b"", b"x", b"\xff\xfe", "\u202e", '{"task": 1}',
    '{"a": 1e400}', "true", "[20]", "[99999999999]", '{"a": NaN}',
)  # fmt: skip


@cache
def good() -> bytes:
    """A store of 12 records, with predictions and payloads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "good.sqlite")
        with Store(path) as store:
            store.add_all(_record(k) for k in range(12))
        return path.read_bytes()


def _record(k: int) -> Record:
    job = Job("toy", k % 4, ("ridge", "svm", "rf")[k // 4])
    metrics = {"test_rmse": 0.1 * k, "test_r2": 0.5}
    found = np.arange(20, dtype=np.float32)
    return Record(
        job, "ok" if k % 5 else "failed", "aaaa", "regression", "Linear", "Toy", metrics,
        predictions=found, payload={"k": k}, versions={"numpy": "2"},
    )  # fmt: skip


def damaged(draw: random.Random) -> bytes:
    found = bytearray(good())
    for _ in range(draw.choice((1, 2, 5))):
        match draw.randrange(5):
            case 0:
                for _ in range(draw.choice((1, 10, 300))):
                    found[draw.randrange(len(found))] = draw.randrange(256)
            case 1:
                del found[draw.randrange(100, len(found)) :]
            case 2:  # one page in the place of another
                a, b = (4096 * draw.randrange(len(found) // 4096 or 1) for _ in range(2))
                found[a : a + 4096] = found[b : b + 4096]
            case 3:
                start = draw.randrange(len(found))
                found[start : start + 64] = bytes(64)
            case _:  # the header, where the sizes stand
                found[draw.randrange(100)] = draw.randrange(256)
        if len(found) < 200:
            break
    return bytes(found)


def altered(draw: random.Random, path: Path) -> None:
    """Odd values in cells of an intact file."""
    path.write_bytes(good())
    db = sqlite3.connect(path)
    try:
        for _ in range(draw.choice((1, 1, 3))):
            table, column = draw.choice(
                [("payloads", "content"), *(("records", name) for name in COLUMNS)]
            )
            place = f"rowid = {draw.randrange(1, 13)}" if draw.random() < 0.8 else "1"
            try:
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {place}", [draw.choice(VALUES)])
            except sqlite3.Error:
                continue
        if draw.random() < 0.1:
            column = draw.choice(COLUMNS[6:])
            db.execute(f"ALTER TABLE records DROP COLUMN {column}")
        db.commit()
    finally:
        db.close()


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
BODIES = (
    "DELETE FROM records", "UPDATE records SET status = 'ok'", "SELECT RAISE(IGNORE)",
    "INSERT INTO payloads SELECT id + 100, 'x' FROM records", "SELECT RAISE(ABORT, 'no')",
    f"INSERT INTO payloads {ENDLESS} SELECT i + 1000, 'x' FROM n",
)  # fmt: skip


def reshaped(draw: random.Random, path: Path) -> bool:
    """Foreign parts in the schema of an intact file; whether any was made."""
    path.write_bytes(good())
    db = sqlite3.connect(path, isolation_level=None)
    is_changed = False
    try:
        for k in range(draw.choice((1, 1, 2))):
            table = draw.choice(("records", "payloads", "claims", "other"))
            try:
                db.executescript(_statement(draw, table, k))
                is_changed = True
            except sqlite3.Error:
                continue
    finally:
        db.close()
    return is_changed


def _statement(draw: random.Random, table: str, k: int) -> str:
    columns = {"records": ("id", *COLUMNS), "payloads": ("record", "content")}.get(table, ("task",))
    cells = ", ".join(f"i AS {name}" for name in columns)
    match draw.randrange(5):
        case 0:
            ends = draw.choice(("", " LIMIT 5"))
            return (
                f"DROP TABLE IF EXISTS {table};"
                f"CREATE VIEW {table} AS {ENDLESS} SELECT {cells} FROM n{ends}"
            )
        case 1:
            event = draw.choice(("AFTER INSERT", "BEFORE INSERT", "AFTER UPDATE", "AFTER DELETE"))
            table = draw.choice(("records", "payloads"))
            return f"CREATE TRIGGER t{k} {event} ON {table} BEGIN {draw.choice(BODIES)}; END"
        case 2:
            return (
                f"DROP TABLE IF EXISTS {table};"
                f"CREATE TABLE {table.upper()} ({', '.join(columns)}, more DEFAULT (randomblob(9)))"
            )
        case 3:
            name = draw.choice(columns)
            return f"CREATE UNIQUE INDEX i{k} ON {table} (hex({name}), length({name}))"
        case _:
            return f"DROP TABLE IF EXISTS {table}; CREATE VIRTUAL TABLE {table} USING fts5(task)"


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """One folder for all cases."""
    return tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY)


def case(draw: random.Random) -> str:
    """Use one hostile store in every way."""
    path = Path(folder().name, "results.sqlite")
    kind, is_foreign = draw.random(), False
    if kind < 0.4:
        altered(draw, path)
    elif kind < 0.9:
        path.write_bytes(damaged(draw))
    else:
        is_foreign = reshaped(draw, path)
    try:
        word = _use(path, read_only=draw.random() < 0.7)
        if is_foreign and word == "used" and _foreign(path):
            raise AssertionError(f"used in spite of {_foreign(path)}")
    finally:
        left = {entry.name for entry in path.parent.iterdir()}
        for name in left:
            path.with_name(name).unlink()
    if not left <= {path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"}:
        raise AssertionError(f"left behind: {left}")
    return word


def _foreign(path: Path) -> list[str]:
    """Views and triggers of a file."""
    db = sqlite3.connect(path)
    try:
        rows = db.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')")
        return [name for (name,) in rows]
    finally:
        db.close()


def _use(path: Path, *, read_only: bool) -> str:
    try:
        with Store(path, read_only=read_only) as store:
            store.done(retry_failed=True)
            store.records()
            store.frame(latest=False)
            status_of(store)
            methods_of(store)
            if not read_only:
                store.claim(Job("new", 0, "ridge"), "bbbb")
                store.add(_record(3))
                store.release()
    except StoreError as error:
        if path.name not in str(error):
            raise AssertionError("the file is not named") from error
        return "refused"
    return "used"


if __name__ == "__main__":
    sys.exit(main("stores", case))
