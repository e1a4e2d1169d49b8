"""What a store holds, in figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from adacap.bench.jobs import UNSUCCESSFUL
from adacap.bench.methods import METHODS, unavailable
from adacap.bench.store import Store
from adacap.bench.tables_text import Column, TextTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["methods_of", "methods_table", "status_of"]


def status_of(store: Store) -> dict[str, Any]:
    """Records by status, and every reason for which jobs came to nothing.

    Parameters
    ----------
    store : Store

    Returns
    -------
    dict
        ``counts`` by status, ``n_tasks``, ``n_methods``, and ``failures``: dicts of status,
        method, task, n and reason, the last line of the traceback.
    """
    from adacap.bench.tables import failure_reason

    frame = store.frame()
    failed = frame[frame["status"].isin(UNSUCCESSFUL)]
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


def methods_of(store: Store) -> list[dict[str, Any]]:
    """What became of every known method, and of every other that the store has records of.

    Parameters
    ----------
    store : Store

    Returns
    -------
    list of dict
        ``method``, ``category``, ``outcome`` ("ran", "failed", "unavailable" or "not run"; a
        method ran if it has a result), ``n_ok``, ``n_failed``, ``rmse`` and ``fit_seconds`` (means
        over results, None without), and ``reasons`` for what is missing. The lowest error first.
    """
    from adacap.bench.tables import failure_reason

    frame = store.frame()
    parts = dict(list(frame.groupby("method")))
    rows = []
    for name in dict.fromkeys([*METHODS, *parts]):
        part = parts.get(name, frame.iloc[:0])
        failed = part[part["status"].isin(UNSUCCESSFUL)]
        done = part[~part["status"].isin(UNSUCCESSFUL)]
        reasons = list(dict.fromkeys(map(failure_reason, failed.to_dict("records"))))
        outcome = "ran" if len(done) else "failed" if len(failed) else "not run"
        if not len(part) and (reason := unavailable(METHODS[name])):
            outcome, reasons = "unavailable", [reason]
        rows.append(
            {
                "method": name,
                "category": METHODS[name].category if name in METHODS else part["category"].iloc[0],
                "outcome": outcome,
                "n_ok": len(done),
                "n_failed": len(failed),
                "rmse": _mean(done, "rmse"),
                "fit_seconds": _mean(done, "fit_seconds"),
                "reasons": reasons,
            }
        )
    return sorted(rows, key=lambda row: (row["rmse"] is None, row["rmse"], row["method"]))


def methods_table(rows: list[dict[str, Any]]) -> TextTable:
    """What :func:`methods_of` found, as a table.

    Examples
    --------
    >>> row = {"method": "moon", "category": "Peer", "outcome": "unavailable", "n_ok": 0}
    >>> row |= {"n_failed": 0, "rmse": None, "fit_seconds": None, "reasons": ["needs a rocket"]}
    >>> print(methods_table([row]).to_markdown().splitlines()[-1])
    | moon | Peer | unavailable | 0 | 0 | – | – | needs a rocket |
    """
    columns = (
        Column("method"), Column("category"), Column("outcome"), Column("results", 0),
        Column("failures", 0), Column("mean RMSE", 4, "min"), Column("seconds per fit", 2),
        Column("reason"),
    )  # fmt: skip
    names = ("method", "category", "outcome", "n_ok", "n_failed", "rmse", "fit_seconds")
    cells = tuple((*(row[name] for name in names), "; ".join(row["reasons"])) for row in rows)
    return TextTable("methods", "What became of each method.", columns, cells)


def _mean(frame: pd.DataFrame, column: str) -> float | None:
    if column not in frame or not frame[column].notna().any():
        return None
    return float(frame[column].mean())
