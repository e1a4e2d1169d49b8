"""The Ray engine on a real cluster of two nodes, one of which is killed in mid-run."""

import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from adacap.exceptions import AdaCapError
from adacap_bench.engines.ray import RayEngine
from adacap_bench.jobs import Job
from adacap_bench.plan import Order
from adacap_bench.plugins import Plugin
from adacap_bench.runner import run
from adacap_bench.split import Split

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'adacap-bench[ray]'")

TOYS = Path(__file__).parent / "toy_methods.py"
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """Folder where methods leave marks; workers inherit the variable from their node."""
    folder = tmp_path_factory.mktemp("marks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADACAP_TEST_MARK", str(folder / "died"))
        patch.setenv("ADACAP_TEST_STARTS", str(folder / "starts"))
        (folder / "starts").mkdir()
        yield folder


@pytest.fixture(scope="module")
def cluster(marks):
    """Two nodes of one processor each on the loopback interface."""
    from ray.cluster_utils import Cluster

    # A dead node is noticed after 8 s, by Ray's default after 15.
    checks = {"health_check_period_ms": 1000, "health_check_failure_threshold": 8}
    head = {**NODE, "include_dashboard": False, "_system_config": checks}
    made = Cluster(initialize_head=True, head_node_args=head)
    made.add_node(**NODE)
    yield made
    made.shutdown()


@pytest.fixture
def second_node(cluster):
    """A node of the cluster beside its head, alive now."""
    for node in list(cluster.worker_nodes):
        if _raylet(node).poll() is None:
            return node
        cluster.remove_node(node)
    return cluster.add_node(**NODE)


def _raylet(node):
    return node.all_processes["raylet"][0].process


@pytest.fixture
def split() -> Split:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)).astype(np.float32), rng.normal(size=30)
    return Split(X[:24], X[24:], y[:24], y[24:], "regression", 0)


def works(split, methods):
    for method in methods:
        job = Job("toy", 0, method)
        plugins = (Plugin.read(TOYS),)
        yield Order(job, "regression", "Toy", "Baseline", "aaaa", plugins=plugins), split


def statuses(engine, split, methods):
    records = list(engine.outcomes(works(split, methods), lambda: False))
    assert len(records) == len(methods)
    return {record.job.method: record for record in records}


def test_accidents_without_a_time_limit_are_left_to_ray(cluster, split):
    methods = ["toy-die", "toy-die-once", "toy-raise", "toy-threads"]
    found = statuses(RayEngine(2, address=cluster.address), split, methods)
    assert {method: record.status for method, record in found.items()} == {
        "toy-die": "crashed", "toy-die-once": "ok", "toy-raise": "failed", "toy-threads": "ok",
    }  # fmt: skip
    assert found["toy-die"].attempts == 2
    assert "on purpose" in found["toy-raise"].traceback
    assert set(found["toy-threads"].predictions) == {1.0}
    assert not ray.is_initialized()


def test_a_time_limit_stops_what_holds_the_interpreter(cluster, split):
    engine = RayEngine(2, time_limit=10.0, retries=0, address=cluster.address)
    found = statuses(engine, split, ["toy-stuck", "toy-die", "toy-plain"])
    assert {method: record.status for method, record in found.items()} == {
        "toy-stuck": "timeout", "toy-die": "crashed", "toy-plain": "ok",
    }  # fmt: skip
    assert found["toy-stuck"].traceback == "Stopped at the time limit of 10 s."
    assert found["toy-die"].traceback == "The worker process died with SIGKILL(-9)."


def test_a_node_killed_in_mid_run_costs_no_record(
    cluster, second_node, marks, diabetes, store, toys
):
    raylet = _raylet(second_node).pid
    methods, splits, seeds = ["toy-sleep-20", "toy-sleep-10"], range(3), range(6)
    n_jobs = len(methods) * len(splits) * len(seeds)
    for old in (marks / "starts").iterdir():
        old.unlink()

    def starts(of="") -> int:
        return len(list((marks / "starts").glob(f"{of}*")))

    is_over, is_killed = threading.Event(), threading.Event()

    def kill_in_the_middle_of_a_job():
        while starts(raylet) < 2:
            if is_over.wait(0.02):
                return
        before = starts(raylet)
        while starts(raylet) == before:
            if is_over.wait(0.005):
                return
        cluster.remove_node(second_node, allow_graceful=False)
        is_killed.set()

    thread = threading.Thread(target=kill_in_the_middle_of_a_job)
    thread.start()
    try:
        summary = run(
            [diabetes], methods, splits, seeds, store,
            engine="ray", address=cluster.address, plugins=[toys], retries=2,
        )  # fmt: skip
    finally:
        is_over.set()
        thread.join()
    assert is_killed.is_set(), f"{starts(raylet)} of {starts()} jobs came to the second node"
    assert summary.counts == {"ok": n_jobs}
    assert starts() > n_jobs, "the node died between two jobs"
    jobs = Counter(record.job for record in store.records())
    assert set(jobs) == {
        Job(diabetes.key, k, method, seed) for k in splits for method in methods for seed in seeds
    }
    assert set(jobs.values()) == {1}


def test_a_cluster_that_is_not_there(split):
    engine = RayEngine(1, address="127.0.0.1:1")
    with pytest.raises(AdaCapError, match=r"Cannot join the Ray cluster at '127.0.0.1:1'.*ray st"):
        next(engine.outcomes(works(split, ["toy-plain"]), lambda: False))


def test_without_ray_the_way_out_is_told(split, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        AdaCapError, match=r"needs the package ray, .*pip install 'adacap-bench\[ray\]'"
    ):
        next(RayEngine(1).outcomes(works(split, ["toy-plain"]), lambda: False))
