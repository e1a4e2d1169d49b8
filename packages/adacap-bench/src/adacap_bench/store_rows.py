"""Records as rows of a store, both ways; a row of a damaged file is refused, never believed."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap_bench.jobs import Job, Record

__all__ = ["COLUMNS", "IDENTITY", "checked", "from_row", "metrics_of", "to_payload", "to_row"]

IDENTITY = ("task", "split", "method", "seed", "settings_hash")
_PLAIN = ("status", "kind", "category", "task_name", "fit_seconds", "predict_seconds", "n_train")
COLUMNS = (
    *IDENTITY, *_PLAIN, "n_features", "attempts", "traceback", "created",
    "metrics", "versions", "predictions", "shape",
)  # fmt: skip
_INTEGERS = ("split", "seed", "n_train", "n_features", "attempts")
_NUMBERS = ("fit_seconds", "predict_seconds")
_MAY_BE_NULL = (*_NUMBERS, "traceback", "predictions", "shape")
_MANY_BYTES = 1 << 26  # of predictions: 16 million numbers
_USUAL_PACKING = 16  # packing ratio that larger predictions may not exceed


def to_row(record: Record) -> tuple[Any, ...]:
    """Values of the columns of a record."""
    job, predictions = record.job, record.predictions
    values: dict[str, Any] = {name: getattr(record, name) for name in COLUMNS[4:16]}
    values |= {"task": job.task, "split": job.split, "method": job.method, "seed": job.seed}
    values |= {name: _number(values[name]) for name in _NUMBERS}
    values["metrics"] = json.dumps(dict(record.metrics))
    values["versions"] = json.dumps(dict(record.versions))
    values["predictions"] = values["shape"] = None
    if predictions is not None:
        array = np.ascontiguousarray(predictions, dtype="<f4")
        values["predictions"] = zlib.compress(array.tobytes())
        values["shape"] = json.dumps(array.shape)
    return tuple(values[name] for name in COLUMNS)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def to_payload(record: Record) -> str | None:
    """Text of the payload, if there is one."""
    return json.dumps(dict(record.payload)) if record.payload else None


def from_row(row: Mapping[str, Any], payload: str | None = None) -> Record:
    """Record of a row; a ValueError if it cannot have been written by :func:`to_row`."""
    row = checked(row)
    job = Job(*(row.pop(name) for name in IDENTITY[:-1]))
    for name in _NUMBERS:
        row[name] = math.nan if row[name] is None else row[name]
    row["metrics"], row["versions"] = metrics_of(row["metrics"]), _object(row["versions"])
    row["predictions"] = _array(row["predictions"], row.pop("shape"))
    return Record(job=job, payload=_object(payload) if payload else {}, **row)


def checked(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row, if every value is of the type of its column.

    Examples
    --------
    >>> checked({"task": "toy", "split": b"0"})
    Traceback (most recent call last):
    ValueError: column split holds b'0'
    """
    for name, value in row.items():
        kind: Any = int if name in _INTEGERS else str
        kind = int | float if name in _NUMBERS else bytes if name == "predictions" else kind
        if not (isinstance(value, kind) or (value is None and name in _MAY_BE_NULL)):
            raise ValueError(f"column {name} holds {value!r:.40}")
    return dict(row)


def metrics_of(text: str) -> dict[str, float]:
    """Metrics by their names, all numbers.

    Examples
    --------
    >>> metrics_of('{"test_rmse": "good"}')
    Traceback (most recent call last):
    ValueError: metric test_rmse is 'good'
    """
    found = _object(text)
    for name, value in found.items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError(f"metric {name} is {value!r:.40}")
    return {name: float(value) for name, value in found.items()}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def _object(text: str) -> dict[str, Any]:
    found = _json(text)
    if not isinstance(found, dict):
        raise ValueError(f"a JSON object should be here, not {text!r:.40}")
    return found


def _array(blob: bytes | None, shape: str | None) -> npt.NDArray[np.float32] | None:
    """Predictions, unpacked no further than their shape says."""
    if blob is None or shape is None:
        return None
    sizes = _json(shape)
    if not (isinstance(sizes, list) and all(type(size) is int and size >= 0 for size in sizes)):
        raise ValueError(f"predictions have the shape {shape:.40}")
    n_bytes = 4 * math.prod(sizes)
    if n_bytes > max(_MANY_BYTES, _USUAL_PACKING * len(blob)):
        raise ValueError(f"predictions of {len(blob)} bytes would unpack to {n_bytes}")
    try:
        content = zlib.decompressobj().decompress(blob, n_bytes + 1)
    except zlib.error as error:
        raise ValueError(f"predictions cannot be unpacked: {error}") from error
    if len(content) != n_bytes:
        raise ValueError(f"predictions are not of the shape {shape:.40}")
    return np.frombuffer(content, dtype="<f4").reshape(sizes)
