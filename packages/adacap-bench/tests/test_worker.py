"""What a worker makes of one job, in this process."""

import json
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from adacap_bench.jobs import Job
from adacap_bench.methods import Method, register
from adacap_bench.plan import Order
from adacap_bench.plugins import Plugin
from adacap_bench.split import Split, make_split
from adacap_bench.worker import prepare, run_order, thread_variables


def order(method, kind="regression", **fields):
    return Order(Job("toy", 0, method, 0), kind, "Toy", "Linear", "aaaa", **fields)


def test_a_regression_has_all_its_figures(make_table):
    split = make_split(make_table(), 0)
    record = run_order(order("ridge"), split)
    assert (record.status, record.n_train, record.n_features) == ("ok", 40, 2)
    assert set(record.metrics) == {"train_rmse", "test_rmse", "train_r2", "test_r2"}
    residual = record.predictions - split.y_test
    assert record.metrics["test_rmse"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-5)
    assert record.fit_seconds > 0
    assert record.predict_seconds > 0
    assert {"sklearn", "numpy"} <= set(record.versions)
    assert (record.category, record.task_name) == ("Linear", "Toy")


@pytest.mark.parametrize(("kind", "shape"), [("binary", (10,)), ("multiclass", (10, 3))])
@pytest.mark.parametrize("method", ["logreg", "svm", "intercept"])
def test_classes_have_accuracy_auc_and_log_loss(make_table, kind, shape, method):
    record = run_order(order(method, kind), make_split(make_table(kind=kind), 0))
    assert record.status == "ok", record.traceback
    scores = {"accuracy", "auc"} | (set() if method == "svm" else {"log_loss"})  # no probabilities
    assert set(record.metrics) == {f"{part}_{s}" for part in ("train", "test") for s in scores}
    assert record.predictions.shape == shape


def test_a_prior_scores_one_half(make_table):
    record = run_order(order("intercept", "binary"), make_split(make_table(kind="binary"), 0))
    assert record.metrics["test_auc"] == 0.5


def test_decision_functions_are_scores_too(make_table):
    kinds = {"binary", "multiclass"}
    register(Method("svc", "SVM", kinds, lambda kind, seed: LinearSVC()))
    record = run_order(order("svc", "multiclass"), make_split(make_table(kind="multiclass"), 0))
    assert record.predictions.shape == (10, 3)
    assert "test_auc" in record.metrics


def test_a_class_without_training_row_is_no_obstacle():
    """Class 1 is seen in the test part only; codes without gaps are the method's wish."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).astype(np.float32)
    y_train, y_test = np.array([0, 2] * 15), np.array([0, 1, 2] * 3 + [1])
    X[:30, 0] += 3 * y_train
    split = Split(X[:30], X[30:], y_train, y_test, "multiclass", 3)
    record = run_order(order("logreg", "multiclass"), split)
    assert record.status == "ok", record.traceback
    assert record.predictions.shape == (10, 3)
    assert (record.predictions[:, 1] <= record.predictions.min(axis=1)).all()
    assert record.metrics["train_accuracy"] > 0.9


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("toy-raise", "RuntimeError: on purpose"),
        ("toy-exit", "SystemExit: the method wants to leave"),
        ("toy-nan", "PredictionError: predictions hold 10 NaN or infinite values out of 10."),
        ("no-such-method", "MethodError: Unknown method 'no-such-method'"),
    ],
)
def test_an_error_is_recorded_with_its_traceback(toys, make_table, method, reason):
    record = run_order(order(method), make_split(make_table(), 0))
    assert record.status == "failed"
    assert reason in record.traceback
    assert record.traceback.startswith("Traceback")


def test_a_shared_file_gives_the_same_and_is_not_written_to(toys, make_table, tmp_path):
    split = make_split(make_table(), 0)
    path = tmp_path / "split.joblib"
    joblib.dump(split, path)
    before = path.read_bytes()
    assert run_order(order("toy-spoil"), path).status == "ok"
    assert path.read_bytes() == before
    one, other = run_order(order("ridge"), split), run_order(order("ridge"), path)
    np.testing.assert_array_equal(one.predictions, other.predictions)


def test_arrays_of_the_caller_are_not_changed(toys, make_table):
    split = make_split(make_table(), 0)
    before = split.X_train.copy()
    run_order(order("toy-spoil"), split)
    np.testing.assert_array_equal(split.X_train, before)


def test_prepare_keeps_errors_for_the_job(toys):
    assert prepare(order("no-such-method")) is None


def test_plugins_are_loaded_where_the_job_runs(make_table):
    source = (
        "from sklearn.dummy import DummyRegressor\n"
        "from adacap_bench.methods import Method, register\n"
        "register(Method('far', 'Peer', {'regression'}, lambda kind, seed: DummyRegressor()))\n"
    )
    plugin = Plugin("elsewhere.py", source)
    assert run_order(order("far", plugins=(plugin,)), make_split(make_table(), 0)).status == "ok"


def test_threads_of_torch_are_set_where_it_is_loaded(environment):
    """In a process of its own, since the number of threads is global."""
    code = (
        "import json, torch\n"
        "from adacap_bench.jobs import Job\n"
        "from adacap_bench.plan import Order\n"
        "from adacap_bench.worker import prepare\n"
        "prepare(Order(Job('t', 0, 'ridge'), 'regression', 'T', 'Linear', 'a', threads=3))\n"
        "print(json.dumps(torch.get_num_threads()))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout) == 3


def test_every_library_is_told_the_number_of_threads():
    variables = thread_variables(4)
    assert set(variables.values()) == {"4"}
    assert {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ADACAP_THREADS"} <= set(
        variables
    )
