"""The local engine: what happens to jobs whose method fails, dies, hangs or kills its process."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from adacap_bench.engines import make_engine
from adacap_bench.engines.local import LocalEngine
from adacap_bench.engines.slot import Slot, WorkerDied
from adacap_bench.jobs import Job
from adacap_bench.plan import Order
from adacap_bench.plugins import Plugin
from adacap_bench.split import Split

TOYS = Plugin.read(Path(__file__).parent / "toy_methods.py")


def make_order(method, split=0, threads=1):
    job = Job("toy", split, method)
    return Order(job, "regression", "Toy", "Baseline", "aaaa", threads, (TOYS,))


@pytest.fixture(scope="module")
def split() -> Split:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)).astype(np.float32), rng.normal(size=30)
    return Split(X[:24], X[24:], y[:24], y[24:], "regression", 0)


def never() -> bool:
    return False


class Seconds:
    """The clock of the slots: it stands until it is told to go on, by half a second per look."""

    def __init__(self, patch):
        self.now, self.go_on = 0.0, False
        patch.setattr("adacap_bench.engines.slot.time", SimpleNamespace(monotonic=self.look))

    def look(self):
        self.now += 0.5 * self.go_on
        return self.now


METHODS = ("toy-stuck", "toy-die", "toy-die-once", "toy-plain", "toy-raise", "toy-threads")


@pytest.fixture(scope="module")
def records(split, tmp_path_factory):
    """Records by method of one run of two processes that meets every accident."""
    orders = [make_order(method, threads=2) for method in METHODS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADACAP_TEST_MARK", str(tmp_path_factory.mktemp("marks") / "died"))
        seconds = Seconds(patch)
        engine = LocalEngine(2, threads=2, time_limit=1.0, retries=1)
        found = []
        for record in engine.outcomes(((order, split) for order in orders), never):
            found.append(record)
            seconds.go_on = len(found) == len(orders) - 1  # the stuck one is left
    assert len(found) == len(orders)
    return {record.job.method: record for record in found}


def test_every_job_has_one_record(records):
    assert {method: record.status for method, record in records.items()} == {
        "toy-stuck": "timeout",
        "toy-die": "crashed",
        "toy-die-once": "ok",
        "toy-plain": "ok",
        "toy-raise": "failed",
        "toy-threads": "ok",
    }


def test_attempts_are_counted_and_a_failure_is_no_reason_to_try_again(records):
    attempts = {method: record.attempts for method, record in records.items()}
    assert attempts == {**dict.fromkeys(METHODS, 1), "toy-die": 2, "toy-die-once": 2}


def test_a_crash_is_recorded_with_what_the_process_printed_last(records):
    text = records["toy-die"].traceback
    assert text.splitlines() == [
        "It printed last:", "last words", "The worker process died with SIGKILL(-9).",
    ]  # fmt: skip


def test_a_timeout_names_the_limit(records):
    assert records["toy-stuck"].traceback == "Stopped at the time limit of 1 s."


def test_threads_are_set_before_libraries_load(records):
    assert set(records["toy-threads"].predictions) == {2.0}


def test_no_retry_means_one_attempt(split):
    engine = LocalEngine(1, retries=0)
    [record] = engine.outcomes(iter([(make_order("toy-die"), split)]), never)
    assert (record.status, record.attempts) == ("crashed", 1)


def test_splits_are_shared_in_one_file_each_and_removed_when_used_up(split, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    orders = [make_order(method, k) for k in range(3) for method in ("toy-plain", "toy-nan")]
    again = [Split(*vars(split).values()) for _ in range(3)]
    seen = []
    works = ((order, again[order.job.split]) for order in orders)
    for _ in LocalEngine(1).outcomes(works, never):
        seen.append(sorted(path.name for path in tmp_path.rglob("split-*")))
    assert {len(names) for names in seen} <= {1, 2}
    assert set().union(*seen) == {f"split-{k}.joblib" for k in (1, 2, 3)}
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_grows_is_replaced_in_silence(split):
    """Warnings are errors here, and one in loky's own thread would stop the run."""
    orders = [make_order("toy-plain"), make_order("toy-hoard"), make_order("toy-plain", 1)]
    records = list(LocalEngine(1).outcomes(((order, split) for order in orders), never))
    assert [record.status for record in records] == ["ok"] * 3


def test_closing_ends_what_is_running(split):
    orders = [make_order("toy-plain"), make_order("toy-stuck")]
    records = LocalEngine(1).outcomes(((order, split) for order in orders), never)
    assert next(records).status == "ok"
    start = time.monotonic()
    records.close()
    assert time.monotonic() - start < 300  # the stuck one would take ten minutes


def test_jobs_are_asked_for_only_when_there_is_room(split):
    """A split is made when its turn comes, so that not all of them lie about."""
    taken = []

    def works():
        for k in range(6):
            taken.append(k)
            yield make_order("toy-plain", k), split

    ahead = [len(taken) - n for n, _ in enumerate(LocalEngine(1).outcomes(works(), never))]
    assert max(ahead) <= 2


def test_stop_hands_back_what_is_finished_and_ends_the_rest(split):
    orders = [make_order("toy-plain"), make_order("toy-stuck"), make_order("toy-plain", 1)]
    done = []
    start = time.monotonic()
    for record in LocalEngine(1).outcomes(((o, split) for o in orders), lambda: bool(done)):
        done.append(record)
    assert [record.job.method for record in done] == ["toy-plain"]
    assert time.monotonic() - start < 300  # the stuck one would take ten minutes


# -- slot


def test_an_idle_slot_has_nothing_to_tell():
    slot = Slot()
    assert slot.is_idle
    with pytest.raises(ValueError, match="The slot holds no job"):
        slot.poll()
    slot.close()


def test_a_slot_keeps_its_process_and_replaces_a_dead_one(split, tmp_path):
    slot = Slot(time_limit=60.0, log=tmp_path / "log")
    try:
        slot.start(make_order("toy-plain"), split)
        assert slot.wait().status == "ok"
        first = _pid(slot)
        slot.start(make_order("toy-plain"), split)
        assert slot.wait().status == "ok"
        assert _pid(slot) == first
        slot.start(make_order("toy-die"), split)
        with pytest.raises(WorkerDied, match="last words"):
            slot.wait()
        slot.start(make_order("toy-plain"), split)
        assert slot.wait().status == "ok"
        assert _pid(slot) != first
    finally:
        slot.close()


@pytest.mark.parametrize("time_limit", [None, 60.0])
def test_a_process_that_does_not_come_up_is_given_up(split, monkeypatch, time_limit):
    slot = Slot(time_limit=time_limit)
    monkeypatch.setattr("adacap_bench.engines.slot._START_SECONDS", 0.05)
    monkeypatch.setattr("adacap_bench.engines.slot._TICK", 0.02)
    try:
        slot.start(make_order("toy-plain"), split)
        with pytest.raises(WorkerDied, match=r"did not start in 0\.05 s"):
            slot.wait()
        assert slot.is_idle
        monkeypatch.undo()
        slot.start(make_order("toy-plain"), split)
        assert slot.wait().status == "ok"
    finally:
        slot.close()


def _pid(slot) -> int:
    return slot._pool.submit(os.getpid).result()


# -- choice of engine


def test_engines_by_name():
    assert make_engine("local", 3, time_limit=5.0) == LocalEngine(3, time_limit=5.0)


def test_an_unknown_engine():
    with pytest.raises(ValueError, match=r"engine must be one of \['local', 'ray'\], got 'dask'"):
        make_engine("dask", 1)


def test_an_address_is_for_ray():
    with pytest.raises(ValueError, match="address='auto' goes with engine='ray'"):
        make_engine("local", 1, address="auto")
