"""Stores that are damaged, locked, read-only or shared: our own errors, and nothing lost."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import adacap_bench.store
from adacap_bench.claims import Claims, this_process
from adacap_bench.cli.bench import app
from adacap_bench.jobs import Job, Record
from adacap_bench.runner import run
from adacap_bench.status import methods_of, status_of
from adacap_bench.store import Store, StoreError


def record(split=0, status="ok", **fields):
    job = Job("toy", split, "ridge")
    fields.setdefault("metrics", {"test_rmse": 0.5})
    return Record(job, status, "aaaa", "regression", "Linear", "Toy", **fields)


@pytest.fixture
def path(tmp_path):
    """A closed store of 30 records."""
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        found = np.arange(20, dtype=np.float32)
        store.add_all(
            record(k, predictions=found, payload={"k": k}, versions={"a": "1"}) for k in range(30)
        )
    return path


def read_all(path):
    with Store(path, read_only=True) as store:
        store.records()
        store.frame()
        store.frame(latest=False)
        store.done(retry_failed=True)
        return status_of(store)


# ------------------------------------------------------------------------------------- damaged


@pytest.mark.finding("M4", before="125 of 300 damaged stores ended in sqlite3, zlib, JSON errors")
def test_a_damaged_store_is_read_or_refused_by_name(path):
    content, draw, told = path.read_bytes(), random.Random(0), []
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 10, 200))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged[: draw.choice((len(damaged), len(damaged), len(damaged) // 2))])
        try:
            read_all(path)
        except StoreError as error:
            told.append(str(error))
    assert len(told) > 30
    assert all(path.name in text for text in told)


@pytest.mark.finding("M4", before="adacap bench report prints a traceback")
@pytest.mark.parametrize("command", ["status", "report"])
def test_the_command_line_ends_with_a_sentence(path, command):
    path.write_bytes(path.read_bytes()[:8192] + os.urandom(4096))
    result = CliRunner().invoke(app, [command, str(path)])
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert path.name in result.output


@pytest.mark.finding("M4", before="no such column: attempts")
def test_a_store_without_a_column_says_which(path):
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE records DROP COLUMN attempts")
    with pytest.raises(StoreError, match=r"results\.sqlite is damaged.*have no column 'attempts'"):
        Store(path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("metrics", "no json", "damaged: Expecting value"),
        ("metrics", "[1]", "a JSON object should be here"),
        ("metrics", '{"test_rmse": null}', "metric test_rmse is None"),
        ("metrics", "[" * 100_000, "damaged: JSON is nested too deeply|Expecting value"),
        ("split", b"zero", "column split holds b'zero'"),
        ("status", "unheard-of", "status must be one of"),
        ("predictions", b"none", "predictions cannot be unpacked"),
        ("shape", "[3]", "predictions are not of the shape"),
        ("shape", "[-1]", "predictions have the shape"),
        ("shape", '"x"', "predictions have the shape"),
    ],
)
def test_a_row_that_was_not_written_by_us_is_refused(path, column, value, message):
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE records SET {column} = ? WHERE id = 3", (value,))
    with pytest.raises(StoreError, match=message):
        with Store(path, read_only=True) as store:
            store.records()


@pytest.mark.finding("L17", before="0.3 GB unfolded from 0.3 MB, then a foreign ValueError")
@pytest.mark.parametrize("shape", ["[20]", "[80000000]", "[10000000000000]"])
def test_a_decompression_bomb_is_not_unpacked(path, shape):
    packed = zlib.compressobj(9)
    blob = b"".join(packed.compress(bytes(1 << 20)) for _ in range(320)) + packed.flush()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE records SET predictions = ?, shape = ? WHERE id = 1", (blob, shape))
    with pytest.raises(StoreError, match=r"results\.sqlite is damaged: predictions"):
        with Store(path, read_only=True) as store:
            store.records()


# ------------------------------------------------------------------------------- foreign schemas

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
COLUMNS = "id, " + ", ".join(adacap_bench.store.COLUMNS)


@pytest.mark.parametrize(
    ("script", "named"),
    [
        (
            "DROP TABLE payloads; DROP TABLE records; CREATE VIEW records AS "
            f"{ENDLESS} {', '.join(f'i AS {name}' for name in COLUMNS.split(', '))} FROM n",
            "view 'records'",
        ),
        (
            "DROP TABLE payloads; CREATE VIEW payloads AS "
            f"{ENDLESS} i AS record, '{{}}' AS content FROM n",
            "view 'payloads'",
        ),
        (f"CREATE VIEW claims AS {ENDLESS} i AS owner FROM n", "view 'claims'"),
        (
            "CREATE TRIGGER gone AFTER INSERT ON records BEGIN DELETE FROM records; END",
            "trigger 'gone'",
        ),
        ("CREATE UNIQUE INDEX one ON records (hex(zeroblob(400000000)))", "index 'one'"),
        ("DROP TABLE payloads; CREATE TABLE PayLoads (record, content)", "table 'PayLoads' of ano"),
    ],
    ids=["view", "payloads", "claims", "trigger", "index", "table"],
)
def test_a_schema_that_is_not_ours_is_refused_by_name(path, script, named):
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM records" if "zeroblob" in script else "SELECT 1")
        db.executescript(script)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=rf"results\.sqlite is no store .* {named}"):
            Store(path, read_only=read_only)


def test_tables_of_others_and_statistics_are_let_be(path):
    with sqlite3.connect(path) as db:
        db.executescript("CREATE TABLE notes (text); CREATE INDEX i ON notes (text); ANALYZE")
    assert read_all(path)["counts"]["ok"] == 30


# ------------------------------------------------------------------- locked, read-only, full disk


@pytest.mark.finding("M4", before="OperationalError: database is locked")
def test_a_store_that_stays_locked_is_told_by_name(path, monkeypatch):
    monkeypatch.setattr(adacap_bench.store, "_BUSY_SECONDS", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    with Store(path) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"results\.sqlite: database is locked. Another prog"):
            store.add(record(99))
        other.execute("COMMIT")
        assert store.add(record(99))
    other.close()


@contextmanager
def unwritable(folder):
    """A folder that this process cannot write to, also where it belongs to root."""
    is_root = os.geteuid() == 0
    folder.chmod(0o555)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.finding("M5", before="'is not a store of benchmark results (unable to open …)'")
@pytest.mark.parametrize("log", ["closed", "open"])
def test_a_store_in_a_folder_that_cannot_be_written_is_read(path, log):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(path, folder / "results.sqlite")
        if log == "open":  # as a killed run leaves it: the last record is in the log alone
            with Store(path) as store:
                store.add(record(77))
                shutil.copy(path, folder / "results.sqlite")
                shutil.copy(f"{path}-wal", folder / "results.sqlite-wal")
        for file in folder.iterdir():
            file.chmod(0o444)
        with unwritable(folder):
            assert read_all(folder / "results.sqlite")["counts"]["ok"] == 30 + (log == "open")
            with pytest.raises(StoreError, match=r"Cannot use .*results\.sqlite"):
                Store(folder / "results.sqlite").add(record(88))
        assert {file.name for file in folder.iterdir()} <= {"results.sqlite", "results.sqlite-wal"}


@pytest.mark.finding("M5", before="a full disk was called 'not a store'")
def test_a_full_disk_is_told_as_such(path):
    with Store(path) as store:
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"disk is full\. The disk may be full"):
            store.add(record(99, traceback="x" * 1_000_000))
        assert len(store.records()) == 30


# --------------------------------------------------------------------------- two runs, one store


@pytest.mark.finding("L11", before="both ran all 25 jobs, and the second exits 1")
def test_two_runs_share_the_work_and_both_end_well(diabetes, tmp_path):
    path, splits = tmp_path / "results.sqlite", range(6)
    found = {}

    def start(name):
        found[name] = run([diabetes], ["ridge", "intercept"], splits, [0], path)

    # one process may hold both: then a claim of one is a claim of the other, so they are apart
    code = (
        "import sys; from adacap_bench.runner import run; from adacap_bench.datasets import Task\n"
        "task = Task('toy-diabetes', 'Diabetes', 'regression', maker='bundled', "
        "options=(('name', 'diabetes'),))\n"
        f"summary = run([task], ['ridge', 'intercept'], range(6), [0], {str(path)!r})\n"
        "print(summary.exit_code, summary.counts.total(), summary.n_elsewhere, summary.n_before)"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    thread = threading.Thread(target=start, args=("here",))
    thread.start()
    text = other.communicate(timeout=300)[0]
    thread.join(timeout=300)
    code, ran, elsewhere, before = map(int, text.split())
    here = found["here"]
    assert (here.exit_code, code) == (0, 0)
    assert here.counts.total() + ran == 12  # each job was run once
    assert here.n_elsewhere + here.n_before == ran
    assert elsewhere + before == here.counts.total()
    with Store(path, read_only=True) as store:
        assert store.counts() == {"ok": 12}
        assert store._db.execute("SELECT count(*) FROM claims").fetchone() == (0,)


def test_a_job_is_claimed_by_one(path):
    job = Job("toy", 99, "ridge")
    with Store(path) as first, Store(path) as second:
        other = Claims(second._db, owner=this_process().replace(f":{os.getpid()}:", ":1:"))
        assert first.claim(job, "aaaa") == "mine"
        assert first.claim(job, "aaaa") == "mine"
        assert other.take(job, "aaaa") == "taken"
        first.add(record(99, status="failed"))
        first.release(job, "aaaa")
        assert other.take(job, "aaaa") == "done"
        assert other.take(job, "aaaa", retry_failed=True) == "mine"


def test_what_a_dead_run_had_is_free(path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = this_process().partition(":")[0]
    with Store(path) as store:
        for k, owner in enumerate([f"{host}:{gone.pid}:1", f"{host}:{os.getpid()}:1", "??", ""]):
            job = Job("toy", 100 + k, "ridge")
            Claims(store._db, owner=owner or "x").take(job, "aaaa")
            store._db.execute("UPDATE claims SET since = 0")
            assert store.claim(job, "aaaa") == "mine", owner


def test_a_task_named_by_many_digits_is_sorted(tmp_path):
    """Python makes no integer of more than 4,300."""
    with Store(tmp_path / "results.sqlite") as store:
        for name in ("9" * 5000, "toy-2", "toy-10"):
            job = Job(name, 0, "ridge")
            metrics = {"test_rmse": 0.5, "test_r2": 0.5}
            store.add(Record(job, "ok", "aaaa", "regression", "Linear", name, metrics))
        assert [row["n_ok"] for row in methods_of(store) if row["method"] == "ridge"] == [3]


# -------------------------------------------------------------------------------------- places


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", ["loop", "folder", "pipe", "null", "long"])
def test_what_cannot_be_a_file_is_refused_by_name(tmp_path, kind, read_only):
    place = tmp_path / {"null": "a\0b", "long": "x" * 300}.get(kind, kind)
    if kind == "loop":
        place.symlink_to(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    with pytest.raises(StoreError, match=r"Name a|Make one|It cannot be"):
        Store(place, read_only=read_only)
