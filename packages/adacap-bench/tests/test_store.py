"""The store: exactly once, all or nothing, readable while written, strangers refused."""

import math
import sqlite3
import threading

import numpy as np
import pytest

from adacap_bench.jobs import Job, Record
from adacap_bench.store import SCHEMA_VERSION, Store, StoreError


def record(split=0, status="ok", settings="aaaa", method="ridge", **fields):
    fields.setdefault("metrics", {"test_rmse": 0.5} if status == "ok" else {})
    job = Job("paper-1", split, method)
    return Record(job, status, settings, "regression", "Linear", "Slump", **fields)


def test_what_is_written_comes_back(store):
    written = record(
        metrics={"test_rmse": 0.1, "train_rmse": 1 / 3},
        fit_seconds=1.5,
        predict_seconds=0.25,
        n_train=82,
        n_features=7,
        predictions=np.array([[1.5, -2.0], [0.0, 3e8]], dtype=np.float32),
        versions={"adacap": "1"},
        attempts=2,
    )
    assert store.add(written)
    [read] = store.records()
    for name in vars(written):
        if name == "predictions":
            np.testing.assert_array_equal(read.predictions, written.predictions)
        else:
            assert getattr(read, name) == getattr(written, name), name


def test_predictions_can_be_left_on_the_disk(store):
    store.add(record(predictions=np.ones(3, dtype=np.float32)))
    assert [r.predictions for r in store.records(predictions=False)] == [None]


def test_nothing_measured_is_nan_again(store):
    store.add(record(status="failed", traceback="RuntimeError: no"))
    [read] = store.records()
    assert math.isnan(read.fit_seconds)
    assert (read.predictions, read.traceback) == (None, "RuntimeError: no")
    frame = store.frame()
    assert math.isnan(frame["fit_seconds"][0])
    assert frame["fit_seconds"].dtype == float


def test_a_result_is_written_once(store):
    assert store.add(record(metrics={"test_rmse": 0.5}))
    assert not store.add(record(metrics={"test_rmse": 0.9}))
    assert not store.add(record(status="failed"))
    assert [r.metrics for r in store.records()] == [{"test_rmse": 0.5}]


def test_other_settings_are_another_record_and_the_frame_shows_the_newest(store):
    store.add(record(settings="aaaa", metrics={"test_rmse": 0.5}, created="2026-01-01"))
    store.add(record(settings="bbbb", metrics={"test_rmse": 0.4}, created="2026-01-02"))
    assert len(store.records()) == 2
    assert store.frame()["test_rmse"].tolist() == [0.4]
    assert store.frame(latest=False)["test_rmse"].tolist() == [0.5, 0.4]


@pytest.mark.parametrize("status", ["failed", "timeout", "crashed"])
def test_what_came_to_nothing_gives_way_to_a_later_record(store, status):
    store.add(record(status=status, traceback="why"))
    assert store.add(record())
    assert [(r.status, r.traceback) for r in store.records()] == [("ok", None)]


def test_done_leaves_out_failures_only_if_asked(store):
    store.add(record(0))
    store.add(record(1, status="timeout"))
    both = {(Job("paper-1", k, "ridge"), "aaaa") for k in (0, 1)}
    assert store.done() == both
    assert store.done(retry_failed=True) == {(Job("paper-1", 0, "ridge"), "aaaa")}


def test_frame_has_the_columns_of_the_tables(store):
    store.add(record(0))
    store.add(record(1, metrics={"test_auc": 0.9}))
    frame = store.frame()
    assert list(frame.columns[:12]) == [
        "task", "task_name", "kind", "split", "seed", "method", "category", "status",
        "fit_seconds", "predict_seconds", "n_train", "n_features",
    ]  # fmt: skip
    assert frame["test_rmse"].isna().tolist() == [False, True]
    assert frame["test_auc"].isna().tolist() == [True, False]


def test_frame_of_an_empty_store(store):
    assert store.frame().empty
    assert store.counts() == {}


def test_all_or_none(store):
    bad = record(1)
    object.__setattr__(bad, "category", None)
    with pytest.raises(sqlite3.IntegrityError):
        store.add_all([record(0), bad])
    assert store.records() == []
    assert store.add(record(2))  # the store still works


def test_it_is_readable_while_it_is_written(store):
    store.add(record(0))
    with Store(store.path, read_only=True) as reader:
        assert len(reader.records()) == 1
        store._db.execute("BEGIN IMMEDIATE")  # a write in progress blocks no reader
        assert len(reader.records()) == 1
        store._db.execute("ROLLBACK")
        store.add(record(1))
        assert len(reader.records()) == 2


def test_a_second_writer_waits_for_its_turn(store):
    store._db.execute("BEGIN IMMEDIATE")
    done = []

    def write():
        with Store(store.path) as other:
            done.append(other.add(record(0)))

    thread = threading.Thread(target=write)
    thread.start()
    thread.join(0.3)
    assert done == []
    store._db.execute("COMMIT")
    thread.join(10)
    assert done == [True]


def test_the_file_is_in_write_ahead_mode(store):
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_reader_never_makes_a_file(tmp_path):
    with pytest.raises(StoreError, match=r"no store at .*absent.sqlite. Make one with 'adacap"):
        Store(tmp_path / "absent.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_cannot_write(store):
    with (
        Store(store.path, read_only=True) as reader,
        pytest.raises(StoreError, match="readonly"),
    ):
        reader.add(record())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"no folder .*nowhere to keep results.sqlite in"):
        Store(tmp_path / "nowhere" / "results.sqlite")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_another_kind_is_refused_and_kept(tmp_path, read_only):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to have a header" * 10)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a store of benchmark results"):
        Store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE birds (name TEXT)")
    db.close()
    with pytest.raises(StoreError, match="database of another program"):
        Store(path)


def test_a_newer_schema_is_refused(store):
    store._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    message = f"schema version {SCHEMA_VERSION + 1}, but this adacap reads up to {SCHEMA_VERSION}"
    with pytest.raises(StoreError, match=message):
        Store(store.path)


def test_an_empty_file_becomes_a_store(tmp_path):
    """What a runner leaves that was killed before its first transaction."""
    path = tmp_path / "empty.sqlite"
    path.touch()
    with Store(path) as made:
        assert made.add(record())
