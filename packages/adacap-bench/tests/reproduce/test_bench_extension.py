"""What the ledger needs of the benchmark: made data, methods of one's own, payloads."""

import sqlite3
import sys

import cloudpickle
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from adacap_bench.jobs import Job, Record
from adacap_bench.methods import METHODS, Method
from adacap_bench.runner import run
from adacap_bench.settings import RunSettings
from adacap_bench.sources import MadeTask
from adacap_bench.split import Split
from adacap_bench.store import SCHEMA_VERSION, Store

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def make(index):
    rng = np.random.default_rng(index)
    X = rng.normal(size=(30, 2, 2)).astype(np.float32)  # samples need not be rows
    y = X.sum((1, 2)) + index
    return Split(X[:20], X[20:], y[:20], y[20:], "regression", 0)


class FlatRidge:
    def fit(self, X, y):
        self.model_ = Ridge().fit(X.reshape(len(X), -1), y)
        return self

    def predict(self, X):
        return self.model_.predict(X.reshape(len(X), -1))


def build(kind, seed):
    return FlatRidge()


def slopes(estimator, split):
    return {"coef": estimator.model_.coef_.tolist(), "n_test": len(split.y_test)}


SOURCE = MadeTask("toy-line", "Line", "regression", make, {"rows": 20})
METHOD = Method("flat-ridge", "Linear", {"regression"}, build, probe=slopes)


def record(payload, status="ok", settings="aaaa"):
    job = Job("toy", 0, "ridge")
    return Record(job, status, settings, "regression", payload=payload)


def test_a_method_that_is_not_registered_runs_on_made_data(tmp_path):
    path = tmp_path / "results.sqlite"
    assert METHOD.name not in METHODS
    summary = run([SOURCE], [METHOD], range(2), [0], path)
    assert summary.counts == {"ok": 2}
    with Store(path, read_only=True) as store:
        found = store.records()
    assert [(one.job, one.settings_hash) for one in found] == summary.planned
    assert [one.payload["n_test"] for one in found] == [10, 10]
    assert found[0].n_features == 4
    np.testing.assert_allclose(found[0].payload["coef"], 1, atol=0.15)
    assert run([SOURCE], [METHOD], range(2), [0], path).n_before == 2


def test_settings_of_a_source_and_a_probe_enter_the_hash():
    other = MadeTask("toy-line", "Line", "regression", make, {"rows": 21})
    silent = Method("flat-ridge", "Linear", {"regression"}, build)
    hashes = {
        RunSettings().hash(METHOD, SOURCE), RunSettings().hash(METHOD, other),
        RunSettings().hash(silent, SOURCE),
    }  # fmt: skip
    assert len(hashes) == 3
    assert RunSettings().hash(METHOD, SOURCE) in hashes


def test_a_source_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of"):
        MadeTask("toy", "Toy", "ranking", make)


def test_payloads_come_back(tmp_path):
    payload = {"curve": [1.0, 0.5], "name": "λ"}
    with Store(tmp_path / "results.sqlite") as store:
        assert store.add(record(payload))
        assert not store.add(record({"curve": []}))
        assert [one.payload for one in store.records()] == [payload]


def test_a_payload_goes_with_the_record_that_replaces_a_failure(tmp_path):
    with Store(tmp_path / "results.sqlite") as store:
        store.add(record({"before": 1}, status="failed"))
        store.add(record({"after": 2}))
        assert [one.payload for one in store.records()] == [{"after": 2}]


def test_a_store_without_payloads_is_the_store_of_before(tmp_path):
    """An older adacap must find the schema it knows, and we must read what it wrote."""
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.add(record({}))
        assert [one.payload for one in store.records()] == [{}]
    with sqlite3.connect(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
        assert "payloads" not in tables
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    assert SCHEMA_VERSION == 1
    with Store(path, read_only=True) as store:
        assert len(store.records()) == 1
