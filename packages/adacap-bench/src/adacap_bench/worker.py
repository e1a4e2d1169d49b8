"""What a worker process does: set itself up, then one job after the other."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib.externals.loky import process_executor

from adacap._typing import Array
from adacap.comparison.scoring import check_predictions, score_classes, score_values
from adacap_bench.jobs import Record, versions
from adacap_bench.methods import Method, find_method
from adacap_bench.plan import Order
from adacap_bench.plugins import load_plugin
from adacap_bench.split import Split

__all__ = ["prepare", "run_order", "set_up", "thread_variables"]


_MOST_GROWTH = 3_000_000_000  # bytes a worker may gain before it is replaced
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "ADACAP_THREADS",
)  # fmt: skip


def thread_variables(threads: int) -> dict[str, str]:
    """Environment that limits numerical libraries to this many threads, if set before they load.

    Examples
    --------
    >>> thread_variables(2)["OMP_NUM_THREADS"]
    '2'
    """
    return dict.fromkeys(_THREAD_VARIABLES, str(threads))


def set_up(parent: int, log: Path | None = None, scratch: Path | None = None) -> None:
    """Prepare a new process: only the runner handles Ctrl-C, and no worker outlives it.

    The parent is passed in, since it may be gone by now. The log takes what libraries print, so
    that it can be shown if the process dies; the scratch folder is removed if the runner is killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # loky takes 300 MB more than at the first call for a leak, and starts a new process. Here that
    # is a second framework being loaded, and loading it after every job would cost more than fits.
    process_executor._MAX_MEMORY_LEAK_SIZE = _MOST_GROWTH
    if log is not None:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.close(file)
    threading.Thread(target=_end_with_parent, args=(parent, scratch), daemon=True).start()


def _end_with_parent(parent: int, scratch: Path | None) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)


def prepare(order: Order) -> None:
    """Load what the method needs, so that imports are not measured as part of a job."""
    try:
        _build(order)
    except Exception:  # comes again in run_order, which records it
        return


def run_order(order: Order, split: Split | Path) -> Record:
    """Fit, predict and score. An error of the method becomes a record with its traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # thousands of convergence warnings help nobody
            return _measure(order, _private(split))
    except (Exception, SystemExit):
        return order.failure("failed", traceback.format_exc())


def _private(split: Split | Path) -> Split:
    """Arrays of this process alone: a method may write into what it is given."""
    if isinstance(split, Path):
        import joblib

        shared: Split = joblib.load(split, mmap_mode="r")
    else:
        shared = split
    return replace(
        shared,
        X_train=np.array(shared.X_train),
        X_test=np.array(shared.X_test),
        y_train=np.array(shared.y_train),
        y_test=np.array(shared.y_test),
    )


def _build(order: Order) -> Any:
    for plugin in order.plugins:
        load_plugin(plugin)
    estimator = _method(order).build(order.kind, order.job.seed)
    if torch := sys.modules.get("torch"):  # loaded by the method or not at all
        torch.set_num_threads(order.threads)
    return estimator


def _method(order: Order) -> Method:
    return find_method(order.job.method) if order.method is None else order.method


def _measure(order: Order, split: Split) -> Record:
    estimator = _build(order)
    classes, y = None, split.y_train
    if split.kind != "regression":  # some methods insist on codes without gaps
        classes, y = np.unique(y, return_inverse=True)
    # Copies, so that what a method does to its input is not what it is scored on.
    X_train, X_test = split.X_train.copy(), split.X_test.copy()
    start = time.perf_counter()
    estimator.fit(X_train, y)
    fitted = time.perf_counter()
    predicted = estimator.predict(X_test)
    predict_seconds = time.perf_counter() - fitted
    test = _score(estimator, split.X_test, split.y_test, predicted, classes, split)
    on_train = estimator.predict(split.X_train)
    train = _score(estimator, split.X_train, split.y_train, on_train, classes, split)
    metrics = {f"train_{name}": value for name, value in train.metrics.items()}
    metrics |= {f"test_{name}": value for name, value in test.metrics.items()}
    probe = _method(order).probe
    return Record(
        order.job,
        "ok",
        order.settings_hash,
        order.kind,
        order.category,
        order.task_name,
        metrics=metrics,
        fit_seconds=fitted - start,
        predict_seconds=predict_seconds,
        n_train=len(split.X_train),
        n_features=int(np.prod(split.X_train.shape[1:])),
        predictions=test.predictions.astype(np.float32),
        payload={} if probe is None else probe(estimator, split),
        versions=versions(_method(order).packages),
    )


class _Scored(NamedTuple):
    metrics: dict[str, float]
    predictions: Array


def _score(
    estimator: Any, X: Array, y: Array, predicted: Any, classes: Array | None, split: Split
) -> _Scored:
    predicted = check_predictions(predicted, len(y))
    if classes is None:
        return _Scored(score_values(y, predicted), predicted)
    labels = classes[predicted.astype(np.intp)]
    scores = _class_scores(estimator, X, classes, split.n_classes)
    shown = labels if scores is None else scores
    return _Scored(score_classes(y, labels, scores), shown)


def _class_scores(estimator: Any, X: Array, classes: Array, n_classes: int) -> Array | None:
    """Score of class 1, or (n, n_classes) scores with classes unseen in training last."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(estimator, name):
            found = check_predictions(getattr(estimator, name)(X), len(X), name)
            break
    else:
        return None
    if found.ndim == 1:  # a decision function of two classes
        found = np.column_stack([-found, found])
    if len(classes) == 1 or found.shape[1] != len(classes):
        return None
    scores = np.full((len(X), n_classes), found.min())
    scores[:, classes] = found
    return scores[:, 1] if n_classes == 2 else scores
