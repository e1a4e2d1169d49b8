"""Anyone's results from a CSV file, as records beside our own."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from adacap.exceptions import AdaCapError, did_you_mean, suggest
from adacap.files import MissingFileError
from adacap_bench.datasets.catalogue import catalogue
from adacap_bench.jobs import KINDS, Job, Record, settings_hash
from adacap_bench.methods import METHODS
from adacap_bench.store import Store

__all__ = ["ImportFileError", "import_csv", "read_csv"]

REQUIRED = ("task", "split", "method", "score")
OPTIONAL = ("metric", "category", "seed", "fit_seconds", "predict_seconds", "kind")
METRICS = {"rmse": "regression", "r2": "regression", "accuracy": "binary", "auc": "binary"}
_MOST_ERRORS = 10

T = TypeVar("T")


class ImportFileError(AdaCapError, ValueError):
    """A file of results has rows that cannot be used; the message lists them."""


@dataclass(frozen=True)
class _Row:
    """One checked line of the file."""

    number: int
    job: Job
    kind: str
    metric: str
    score: float
    category: str
    fit_seconds: float
    predict_seconds: float


def import_csv(path: str | Path, store: Store) -> tuple[int, int]:
    """Read a CSV file of results into a store, all rows or none.

    Parameters
    ----------
    path : str or Path
        Columns task, split, method, score, and if wanted metric, category, seed, fit_seconds,
        predict_seconds, kind. Other columns are refused, since they are usually typos.
    store : Store

    Returns
    -------
    tuple of int
        Records written, and records that were there.

    Raises
    ------
    ImportFileError
        With the number of every row that is wrong.
    """
    records = read_csv(path)
    there = store.records(predictions=False)
    own = {record.job for record in there if record.status != "imported"}
    if clashes := [record.job for record in records if record.job in own]:
        raise ImportFileError(
            f"{path}: the store holds results of its own for {len(clashes)} of these jobs, first "
            f"{clashes[0].key()}. Give the imported method another name, such as "
            f"'{clashes[0].method}-imported'."
        )
    n_new = store.add_all(records)
    return n_new, len(records) - n_new


def read_csv(path: str | Path) -> list[Record]:
    r"""Records of a CSV file, one per (task, split, method, seed); rows may differ in metric.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> lines = ["task,split,method,score", "builtin-diabetes,0,my-net,0.71"]
    >>> _ = path.write_text("\n".join(lines))
    >>> [record] = read_csv(path)
    >>> record.job.key(), record.metrics
    ('builtin-diabetes|0|my-net|0', {'test_rmse': 0.71})
    """
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}.")
    rows, errors = [], []
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.DictReader(file, skipinitialspace=True)
        _check_header(path, lines.fieldnames or [])
        for line in lines:
            try:
                rows.append(_read_row(lines.line_num, line))
            except ValueError as error:
                errors.append(f"row {lines.line_num}: {error}")
    errors += _doubles(rows)
    if errors:
        more = [f"and {len(errors) - _MOST_ERRORS} more"] if len(errors) > _MOST_ERRORS else []
        listed = "\n".join([*errors[:_MOST_ERRORS], *more])
        raise ImportFileError(f"{path} cannot be imported:\n{listed}")
    if not rows:
        raise ImportFileError(f"{path} holds a header and no row.")
    return list(_records(rows))


def _check_header(path: Path, names: object) -> None:
    found = [str(name).strip() for name in names] if isinstance(names, list) else []
    known = (*REQUIRED, *OPTIONAL)
    if missing := [name for name in REQUIRED if name not in found]:
        raise ImportFileError(
            f"{path} has no column {missing[0]!r}. The first line must name "
            f"{', '.join(REQUIRED)}, and may name {', '.join(OPTIONAL)}; got: {', '.join(found)}."
        )
    for name in found:
        if name not in known:
            raise ImportFileError(f"{path}: {suggest(name, known, 'column')}")


def _read_row(number: int, line: dict[str, str | None]) -> _Row:
    if None in line:
        raise ValueError("has more fields than the header")
    cells = {name.strip(): (value or "").strip() for name, value in line.items()}
    for name in REQUIRED:
        if not cells[name]:
            raise ValueError(f"{name} is empty")
    method, task = cells["method"], cells["task"]
    kind, metric = _kind_and_metric(task, cells.get("kind", ""), cells.get("metric", ""))
    known = METHODS.get(method)
    return _Row(
        number,
        Job(
            task,
            _parse(int, "split", cells["split"], least=0),
            method,
            _parse(int, "seed", cells.get("seed") or "0", least=0),
        ),
        kind,
        metric,
        _parse(float, "score", cells["score"]),
        cells.get("category") or (known.category if known else "Imported"),
        _seconds("fit_seconds", cells),
        _seconds("predict_seconds", cells),
    )


def _parse(read: Callable[[str], T], name: str, text: str, least: float = -math.inf) -> T:
    try:
        value = read(text)
    except ValueError:
        what = "an integer" if read is int else "a number"
        raise ValueError(f"{name} must be {what}, got {text!r}") from None
    if not (math.isfinite(float(str(value))) and float(str(value)) >= least):
        limit = "" if least == -math.inf else f" of at least {least:g}"
        raise ValueError(f"{name} must be a finite number{limit}, got {text!r}")
    return value


def _seconds(name: str, cells: dict[str, str]) -> float:
    return _parse(float, name, cells[name], least=0) if cells.get(name) else math.nan


def _kind_and_metric(task: str, kind: str, metric: str) -> tuple[str, str]:
    """Kind of the task and full name of the metric, each from what is known of the other."""
    part, _, name = metric.rpartition("_")
    if part not in ("", "train", "test") or name not in ("", *METRICS):
        raise ValueError(suggest(metric, METRICS, "metric"))
    if kind and kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}")
    kind = _known_kind(task) or kind or METRICS.get(name, "")
    if not kind:
        raise ValueError(
            f"task {task!r} is not in the catalogue.{did_you_mean(task, catalogue())} For a task "
            "of your own add a column metric or kind"
        )
    name = name or ("rmse" if kind == "regression" else "accuracy")
    if (METRICS[name] == "regression") != (kind == "regression"):
        raise ValueError(f"metric {name!r} does not go with the {kind} task {task!r}")
    return kind, f"{part or 'test'}_{name}"


def _known_kind(task: str) -> str | None:
    known = catalogue().get(task)
    return None if known is None else known.kind


def _doubles(rows: list[_Row]) -> Iterator[str]:
    seen: dict[tuple[Job, str], int] = {}
    for row in rows:
        first = seen.setdefault((row.job, row.metric), row.number)
        if first != row.number:
            yield f"row {row.number}: {row.metric} of {row.job.key()} is given in row {first} too"


def _records(rows: list[_Row]) -> Iterator[Record]:
    by_job: dict[Job, list[_Row]] = {}
    for row in rows:
        by_job.setdefault(row.job, []).append(row)
    for job, own in by_job.items():
        metrics = {row.metric: row.score for row in own}
        fit_seconds = _first([row.fit_seconds for row in own])
        predict_seconds = _first([row.predict_seconds for row in own])
        first = own[0]
        # Other numbers are other settings: the same file twice changes nothing, a new one counts.
        seconds = f"{fit_seconds} {predict_seconds}"
        settings = {"metrics": metrics, "category": first.category, "seconds": seconds}
        yield Record(
            job,
            "imported",
            settings_hash(settings),
            first.kind,
            first.category,
            _task_name(job.task),
            metrics,
            fit_seconds,
            predict_seconds,
        )


def _first(values: list[float]) -> float:
    return next((value for value in values if not math.isnan(value)), math.nan)


def _task_name(task: str) -> str:
    known = catalogue().get(task)
    return task if known is None else known.name
