"""What is to be measured and its result: :class:`Job`, :class:`Record`, settings hash."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._version import __version__
from adacap.comparison import KINDS

__all__ = [
    "FAILED",
    "KINDS",
    "STATUSES",
    "Job",
    "Record",
    "describe",
    "describe_function",
    "last_line",
    "now",
    "settings_hash",
    "versions",
]

FAILED = ("failed", "timeout", "crashed")
STATUSES = ("ok", *FAILED, "imported")

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Module paths when the first stores were written: a move changes no result, so no hash.
_MOVED = {
    "adacap_bench.methods.adapters.Fastai": "adacap.bench.methods.fastai_learner.Fastai",
    "adacap_bench.methods.adapters.": "adacap.bench.methods.quiet.",
    "adacap.comparison.adapters.": "adacap.bench.methods.feasible.",
    "adacap.comparison.": "adacap.bench.methods.",
    "adacap_bench.reproduce.": "adacap.reproduce.",
    "adacap_bench.": "adacap.bench.",
}


@dataclass(frozen=True, order=True)
class Job:
    """One cell of the benchmark: fit one method with one seed on one split of one task.

    Examples
    --------
    >>> job = Job("builtin-diabetes", split=0, method="ridge", seed=0)
    >>> job.key()
    'builtin-diabetes|0|ridge|0'
    >>> job in {job}
    True
    """

    task: str
    split: int
    method: str
    seed: int = 0

    def key(self) -> str:
        """Text that names the job, the same in every process and version."""
        return f"{self.task}|{self.split}|{self.method}|{self.seed}"


@dataclass(frozen=True, eq=False)
class Record:
    """The result of one job.

    Attributes
    ----------
    job : Job
    status : {"ok", "failed", "timeout", "crashed", "imported"}
    settings_hash : str
        Changes with whatever changes the result: see ``settings_hash``.
    kind : {"regression", "binary", "multiclass"}
    category, task_name : str
        Of the method and of the task, for tables.
    metrics : dict of str to float
        ``train_rmse``, ``test_rmse``, ``train_r2``, ``test_r2``, or ``train_accuracy``,
        ``test_accuracy``, ``train_auc``, ``test_auc``. A metric that is undefined is absent.
    fit_seconds, predict_seconds : float
        NaN where nothing was measured.
    n_train, n_features : int
        Shape of the encoded training part; 0 where unknown.
    predictions : ndarray or None
        Of the test rows: values, score of class 1, or scores of all classes.
    payload : dict
        What the method's probe found beside the metrics, as JSON-able data; empty without one.
    versions : dict of str to str
    attempts : int
        Times the job was started, as far as the engine knows; Ray starts a job again by
        itself and counts only where it gives up.
    traceback : str or None
        Why there is no result.
    created : str
        ISO 8601, UTC.
    """

    job: Job
    status: str
    settings_hash: str
    kind: str
    category: str = ""
    task_name: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = math.nan
    predict_seconds: float = math.nan
    n_train: int = 0
    n_features: int = 0
    predictions: npt.NDArray[np.float32] | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 1
    traceback: str | None = None
    created: str = field(default_factory=lambda: now())

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status must be one of {list(STATUSES)}, got {self.status!r}.")
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {self.kind!r}.")


def now() -> str:
    """Time as ISO 8601 in UTC, to the microsecond."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")


def settings_hash(settings: Mapping[str, Any]) -> str:
    """Sixteen hexadecimal digits that change with the settings, whatever their order.

    Examples
    --------
    >>> settings_hash({"method": "Ridge(alpha=1.0)", "raw_target": False})
    'aa7deb5e5a6a0e05'
    """
    text = json.dumps(dict(settings), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe(estimator: object) -> str:
    """Class and parameters of an estimator as text that is the same in every process.

    Without ``get_params`` it is described by its public attributes.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> describe(Ridge(alpha=2.0)).startswith("sklearn.linear_model._ridge.Ridge(alpha=2.0, ")
    True
    """
    if hasattr(estimator, "get_params"):
        params = dict(estimator.get_params())
    else:
        known = getattr(estimator, "__dict__", {})
        params = {name: value for name, value in known.items() if not name.startswith("_")}
    kind = type(estimator)
    inside = ", ".join(f"{name}={value!r}" for name, value in sorted(params.items()))
    return _stable(f"{kind.__module__}.{kind.__qualname__}({inside})")


def _stable(text: str) -> str:
    """A description without addresses in memory, which names modules as the first stores do."""
    text = _ADDRESS.sub("", text)
    for now, then in _MOVED.items():
        text = text.replace(now, then)
    return text


def describe_function(function: object) -> str:
    """Where a function is defined, as the first stores name it, or how an object writes itself.

    Examples
    --------
    >>> describe_function(describe_function)
    'adacap.bench.jobs.describe_function'
    """
    name = getattr(function, "__qualname__", None)
    if name is None:
        return _stable(repr(function))
    return _stable(f"{getattr(function, '__module__', '')}.{name}")


def last_line(traceback: str | None) -> str:
    r"""What a traceback ends with: the error itself. Nothing without one.

    Examples
    --------
    >>> last_line("Traceback ...\n  File ...\nValueError: no\n")
    'ValueError: no'
    """
    lines = (traceback or "").strip().splitlines()
    return lines[-1].strip() if lines else ""


def versions(packages: Iterable[str] = ()) -> dict[str, str]:
    """Versions of Python, numpy, scikit-learn, adacap and of the given packages if loaded.

    Examples
    --------
    >>> sorted(versions())[:2]
    ['adacap', 'numpy']
    """
    found = {"adacap": __version__, "python": platform.python_version()}
    for name in ("numpy", "sklearn", "torch", *packages):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found
