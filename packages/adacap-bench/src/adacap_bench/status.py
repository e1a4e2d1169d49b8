"""What a store holds, in figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap_bench.jobs import FAILED
from adacap_bench.methods import METHODS, Method, unavailable
from adacap_bench.metrics import METRICS, ScoreTable
from adacap_bench.store import Store
from adacap_bench.tables_text import TextColumn, TextTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["methods_of", "methods_table", "status_of"]

_SHOWN = ("rmse", "accuracy")


def status_of(store: Store) -> dict[str, Any]:
    """Records by status, and every reason why jobs have no result.

    Parameters
    ----------
    store : Store

    Returns
    -------
    dict
        ``counts`` by status, ``n_tasks``, ``n_methods``, and ``failures``: dicts of status,
        method, task, n and reason, the last line of the traceback.
    """
    from adacap_bench.tables import failure_reason

    frame = store.frame()
    failed = frame[frame["status"].isin(FAILED)]
    reasons: Counter[tuple[str, str, str, str]] = Counter(
        (row["status"], row["method"], row["task"], failure_reason(row))
        for row in failed.to_dict("records")
    )
    return {
        "counts": {str(name): int(n) for name, n in frame["status"].value_counts().items()},
        "n_tasks": int(frame["task"].nunique()),
        "n_methods": int(frame["method"].nunique()),
        "failures": [
            {"status": status, "method": method, "task": task, "reason": reason, "n": n}
            for (status, method, task, reason), n in reasons.items()
        ],
    }


def methods_of(store: Store, *, n_splits: int | None = None) -> list[dict[str, Any]]:
    """What became of every known method, and of every other that the store has records of.

    The outcome is "ran" of one with a result, else "failed", "unavailable", "does not apply" or
    "not run". Scores are means over the experiments of the first splits, or
    of all, and complete if none is missing. The best come first, then those with gaps.
    """
    from adacap_bench.tables import failure_reason, read_tables

    frame = store.frame()
    if n_splits is not None:
        frame = frame[frame["split"] < n_splits]
    tables = read_tables(frame, missing="mark")
    whole = {key: set(table.complete_methods().methods) for key, table in tables.items()}
    parts = dict(list(frame.groupby("method")))
    rows = []
    for name in dict.fromkeys([*METHODS, *parts]):
        part = parts.get(name, frame.iloc[:0])
        failed = part[part["status"].isin(FAILED)]
        done = part[~part["status"].isin(FAILED)]
        means = {key: _mean(table, name) for key, table in tables.items() if key in _SHOWN}
        scores = {key: mean for key, mean in means.items() if mean is not None}
        reasons = list(dict.fromkeys(map(failure_reason, failed.to_dict("records"))))
        outcome = "ran" if len(done) else "failed" if len(failed) else "not run"
        is_complete = bool(scores) and all(name in whole[key] for key in scores)
        if name in METHODS and not len(failed) and not is_complete:
            outcome, reasons = _explained(METHODS[name], frame, outcome)
        rows.append(
            {
                "method": name,
                "category": METHODS[name].category if name in METHODS else part["category"].iloc[0],
                "outcome": outcome,
                "n_ok": len(done),
                "n_failed": len(failed),
                "scores": scores,
                "is_complete": is_complete,
                "fit_seconds": _seconds(done),
                "reasons": reasons,
            }
        )
    return sorted(rows, key=_best_first)


def _mean(table: ScoreTable, method: str) -> float | None:
    """Mean score over the experiments a method has."""
    if method not in table.methods:
        return None
    values = table.values[:, table.column(method)]
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _seconds(done: pd.DataFrame) -> float | None:
    known = done["fit_seconds"].dropna()
    return float(known.mean()) if len(known) else None


def _explained(method: Method, frame: pd.DataFrame, outcome: str) -> tuple[str, list[str]]:
    """Why a method without failures has no results, as far as its entry says."""
    if outcome == "not run" and (reason := unavailable(method)):
        return "unavailable", [reason]
    kinds = set(frame["kind"])
    if kinds and not kinds & method.kinds:
        return "does not apply", [f"does {method.does}"]
    if method.max_rows is not None:
        return outcome, [f"takes up to {method.max_rows} rows"]
    return outcome, []


def _best_first(row: dict[str, Any]) -> tuple[object, ...]:
    error, accuracy = (row["scores"].get(name) for name in _SHOWN)
    is_last = (not row["scores"], not row["is_complete"], error is None)
    return *is_last, error or 0.0, -(accuracy or 0.0), row["method"]


def methods_table(rows: list[dict[str, Any]]) -> TextTable:
    """What :func:`methods_of` found, as a table.

    Examples
    --------
    >>> row = {"method": "moon", "category": "Peer", "outcome": "unavailable", "n_ok": 0}
    >>> row |= {"n_failed": 0, "scores": {}, "is_complete": False, "fit_seconds": None}
    >>> row["reasons"] = ["needs a rocket"]
    >>> print(methods_table([row]).to_markdown().splitlines()[-1])
    | moon | Peer | unavailable | 0 | 0 | – | needs a rocket |
    """
    shown = [name for name in _SHOWN if any(name in row["scores"] for row in rows)]
    columns = (
        TextColumn("method"), TextColumn("category"), TextColumn("outcome"),
        TextColumn("results", 0), TextColumn("failures", 0),
        *(TextColumn(f"mean {METRICS[name].label}", 4) for name in shown),
        TextColumn("seconds per fit", 2), TextColumn("reason"),
    )  # fmt: skip
    cells = []
    for row in rows:
        mark = "" if row["is_complete"] else "†"
        scores = [f"{row['scores'][n]:.4f}{mark}" if n in row["scores"] else None for n in shown]
        counts = [row[name] for name in ("method", "category", "outcome", "n_ok", "n_failed")]
        cells.append((*counts, *scores, row["fit_seconds"], "; ".join(row["reasons"])))
    marked = any("†" in str(value) for row in cells for value in row)
    notes = ("† Some experiments have no result; the mean is over the others.",) if marked else ()
    return TextTable("methods", "What became of each method.", columns, tuple(cells), notes)
