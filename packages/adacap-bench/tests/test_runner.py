"""The runner: only what is missing, every job exactly once, whatever ends it."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adacap_bench.datasets import Task, load_table
from adacap_bench.plan import Order
from adacap_bench.runner import Summary, run
from adacap_bench.split import make_split
from adacap_bench.store import Store
from adacap_bench.worker import run_order

TOYS = Path(__file__).parent / "toy_methods.py"
SLEEPERS = ["toy-sleep-5", "toy-sleep-10", "toy-sleep-20"]


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """File that a method leaves at its first attempt."""
    monkeypatch.setenv("ADACAP_TEST_MARK", str(tmp_path / "mark"))


def test_a_second_run_does_only_what_is_missing(diabetes, store):
    first = run([diabetes], ["ridge"], [0, 1], [0], store)
    assert (first.n_jobs, first.n_before, first.counts) == (2, 0, {"ok": 2})
    second = run([diabetes], ["ridge", "intercept"], [0, 1], [0], store)
    assert (second.n_jobs, second.n_before, second.counts) == (4, 2, {"ok": 2})
    third = run([diabetes], ["ridge", "intercept"], [0, 1], [0], store)
    assert (third.n_before, third.counts, third.exit_code) == (4, {}, 0)
    frame = store.frame()
    assert len(frame) == 4
    assert (frame.groupby("method")["test_rmse"].mean()["ridge"]) < 0.85


def test_another_process_gives_the_same_numbers(diabetes, store):
    run([diabetes], ["cart", "xcart"], [1], [3], store, n_jobs=2)
    split = make_split(load_table(diabetes), 1)
    for record in store.records():
        order = Order(record.job, "regression", "Diabetes", "Tree", "aaaa")
        np.testing.assert_array_equal(run_order(order, split).predictions, record.predictions)


def test_a_failure_is_kept_until_a_retry_is_asked_for(diabetes, store, toys, mark):
    def again(**options):
        return run([diabetes], ["toy-fail-once"], [0], [0], store, plugins=[toys], **options)

    assert (again().counts, again().n_before) == ({"failed": 1}, 1)
    assert store.records()[0].traceback.strip().endswith("RuntimeError: on purpose")
    summary = again(retry_failed=True)
    assert (summary.counts, summary.exit_code) == ({"ok": 1}, 0)
    assert [record.status for record in store.records()] == ["ok"]


def test_changed_settings_are_run_anew(store, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "mine.csv"
    for n_records in (1, 2):
        np.savetxt(path, rng.normal(size=(40, 3)), delimiter=",", header="a,b,c", comments="")
        assert run([f"{path}:c"], ["ols"], [0], [0], store).counts == {"ok": 1}
        assert len(store.records()) == n_records


def test_a_table_that_cannot_be_read_is_left_out_with_the_reason(diabetes, store):
    gone = Task("gone", "Gone", "regression", maker="no-such-maker", rows=10**6)
    summary = run([gone, diabetes], ["ols"], [0, 1], [0], store)
    assert summary.counts == {"ok": 2}
    [skipped] = summary.skipped
    assert (skipped.task, skipped.method, skipped.n_jobs) == ("gone", "*", 2)
    assert "no-such-maker" in skipped.reason
    assert summary.exit_code == 0


class HourEngine:
    """Every job takes an hour of a clock that the runner looks at."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("adacap_bench.runner.time.monotonic", lambda: self.now)

    def outcomes(self, works, stop):
        for order, split in works:
            self.now += 3600.0
            yield run_order(order, split)


def test_after_the_limit_no_job_is_begun_and_the_rest_is_counted(diabetes, store, monkeypatch):
    engine = HourEngine(monkeypatch)

    def go(**options):
        return run([diabetes], ["ridge"], list(range(5)), [0], store, engine=engine, **options)

    first = go(stop_after=2.5 * 3600)  # the third begins before, and is finished
    assert (first.counts["ok"], first.n_left, first.interrupted) == (3, 2, False)
    none = go(stop_after=0.0)
    assert (none.n_before, none.counts.total(), none.n_left) == (3, 0, 2)
    rest = go()
    assert (rest.n_before, rest.counts["ok"], rest.n_left) == (3, 2, 0)


def test_nothing_to_run_is_an_error(diabetes, store):
    summary = run([diabetes], ["logreg"], [0], [0], store)
    assert (summary.n_jobs, summary.exit_code) == (0, 1)
    assert summary.skipped[0].reason == "does binary and multiclass, not regression"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"splits": []}, r"splits must be numbers from 0, at least one, got \[\]"),
        ({"seeds": [-1]}, r"seeds must be numbers from 0, at least one, got \[-1\]"),
        ({"n_jobs": 0}, "n_jobs must be an integer of at least 1, got 0"),
        ({"threads": 0}, "threads must be an integer of at least 1, got 0"),
        ({"time_limit": 0}, "time_limit must be a positive number of seconds, got 0"),
        ({"retries": -1}, "retries must be an integer of at least 0, got -1"),
        ({"engine": "dask"}, "engine must be one of"),
        ({"methods": ["ridg"]}, "Did you mean 'ridge'"),
        ({"tasks": ["builtin-diabets"]}, "Did you mean 'builtin-diabetes'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_refused_before_a_store_is_made(tmp_path, options, message):
    path = tmp_path / "results.sqlite"
    arguments = {"tasks": ["builtin-diabetes"], "methods": ["ridge"], "splits": [0], "seeds": [0]}
    with pytest.raises(ValueError, match=message):
        run(**{**arguments, **options}, store=path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (Summary(n_jobs=1, counts=Counter(ok=1)), 0),
        (Summary(n_jobs=1, n_before=1), 0),
        (Summary(n_jobs=2, counts=Counter(ok=1, timeout=1)), 1),
        (Summary(), 1),
        (Summary(n_jobs=2, counts=Counter(ok=1), interrupted=True), 130),
    ],
)
def test_exit_codes(summary, code):
    assert summary.exit_code == code


# -- runs that are ended from outside, in a process of their own

# No table is read and none is encoded: that only takes time, and the store is what is tested.
SCRIPT = """
import sys
import numpy as np
import adacap_bench.datasets
from adacap_bench import runner, split

adacap_bench.datasets.load_table = lambda task, **options: None
X, y = np.ones((20, 2), dtype=np.float32), np.arange(20.0)
arrays = split.Split(X, X, y, y, "regression", 0)
runner.make_split = lambda table, index: arrays
summary = runner.run(
    ["builtin-diabetes"], sys.argv[3:], range(4), range(10), sys.argv[1],
    n_jobs=2, plugins=[sys.argv[2]],
)
sys.exit(summary.exit_code)
"""
N_JOBS = 3 * 4 * 10


def start(path, environment, methods=SLEEPERS):
    command = [sys.executable, "-c", SCRIPT, str(path), str(TOYS), *methods]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def n_records(path) -> int:
    """Records as another process sees them, meanwhile."""
    try:
        with Store(path, read_only=True) as store:
            return sum(store.counts().values())
    except Exception:  # not made yet
        return 0


def wait_for(condition, seconds=600.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.02)


def children(pid) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in found.read_text().split()] if found.exists() else []


def is_alive(pid) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
def test_five_times_killed_every_job_is_there_exactly_once(tmp_path, environment, seed):
    path, rng = tmp_path / "results.sqlite", np.random.default_rng(seed)
    environment["TMPDIR"] = str(tmp_path)
    orphans, counts = [], []
    for _ in range(5):
        before = n_records(path)
        process = start(path, environment)
        wait_for(lambda before=before: n_records(path) > before)
        time.sleep(rng.uniform(0, 0.5))
        orphans += children(process.pid)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it had ended before"
        counts.append(n_records(path))
    assert counts == sorted(counts)
    assert counts[-1] < N_JOBS
    wait_for(lambda: not any(is_alive(pid) for pid in orphans))  # no worker outlives its runner
    assert list(tmp_path.glob("adacap-bench-*")) == []  # the last one cleans up
    process = start(path, environment)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    with Store(path, read_only=True) as store:
        jobs = Counter(record.job for record in store.records())
        assert store.counts() == {"ok": N_JOBS}
    assert len(jobs) == N_JOBS
    assert set(jobs.values()) == {1}
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


def test_ctrl_c_stores_what_is_finished_and_ends_with_130(tmp_path, environment):
    path = tmp_path / "results.sqlite"
    process = start(path, environment, ["toy-sleep-5", "toy-stuck"])
    wait_for(lambda: n_records(path) >= 3)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)  # the stuck method would take ten minutes
    assert (process.returncode, errors) == (130, "")
    with Store(path) as store:
        assert store.counts().keys() == {"ok"}
