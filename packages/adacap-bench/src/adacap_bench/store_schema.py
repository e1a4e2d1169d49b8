"""The tables of a store, and the refusal of a file that holds others in their place.

What stands in the schema of an SQLite file is code: a view in place of a table is a query that may
never end, a trigger runs with every record that is written. So the tables are those we make, to the
letter, and there are no views and triggers.
"""

from __future__ import annotations

import sqlite3

__all__ = ["CLAIMS", "PAYLOADS", "RECORDS", "odd_part"]

RECORDS = """
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
# Payloads and claims came later. They have tables of their own, made when the first is written: a
# store without any is what it always was, and a version that knows nothing of them reads the rest.
PAYLOADS = """
CREATE TABLE IF NOT EXISTS payloads (
    record INTEGER PRIMARY KEY REFERENCES records (id), content TEXT NOT NULL
)"""
CLAIMS = """
CREATE TABLE IF NOT EXISTS claims (
    task TEXT NOT NULL, split INTEGER NOT NULL, method TEXT NOT NULL, seed INTEGER NOT NULL,
    settings_hash TEXT NOT NULL, owner TEXT NOT NULL, since REAL NOT NULL,
    PRIMARY KEY (task, split, method, seed, settings_hash)
)"""


def _plain(sql: str) -> str:
    return " ".join(sql.replace("IF NOT EXISTS ", "").split())


_OURS = {"records": _plain(RECORDS), "payloads": _plain(PAYLOADS), "claims": _plain(CLAIMS)}


def odd_part(db: sqlite3.Connection) -> str | None:
    """What a schema holds that no store does, in words; None if there is nothing.

    Tables of other names are nobody's business: they are never read.

    Examples
    --------
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute(RECORDS)
    >>> odd_part(db)
    >>> _ = db.execute("CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END")
    >>> odd_part(db)
    "a trigger 't'"
    """
    for kind, name, table, sql in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if kind not in ("table", "index"):
            return f"a {kind} {name!r}"
        ours = _OURS.get(str(table).lower())  # SQLite does not tell RECORDS from records
        if kind == "index" and ours is not None and sql is not None:
            return f"an index {name!r}"
        if kind == "table" and ours not in (None, _plain(str(sql))):
            return f"a table {name!r} of another form"
    return None
