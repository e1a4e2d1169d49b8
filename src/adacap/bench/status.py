"""What a store holds, in figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from adacap.bench.jobs import UNSUCCESSFUL
from adacap.bench.methods import METHODS, unavailable
from adacap.bench.store import Store

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
    frame = store.frame()
    failed = frame[frame["status"].isin(UNSUCCESSFUL)]
    reasons: Counter[tuple[str, str, str, str]] = Counter(
        (row.status, row.method, row.task, _last_line(row.traceback))
        for row in failed.itertuples(index=False)
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
    frame = store.frame()
    parts = dict(list(frame.groupby("method")))
    rows = []
    for name in dict.fromkeys([*METHODS, *parts]):
        part = parts.get(name, frame.iloc[:0])
        failed = part[part["status"].isin(UNSUCCESSFUL)]
        done = part[~part["status"].isin(UNSUCCESSFUL)]
        reasons = list(dict.fromkeys(_last_line(text) for text in failed["traceback"]))
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


def methods_table(rows: list[dict[str, Any]]) -> str:
    """What :func:`methods_of` found, as a Markdown table.

    Examples
    --------
    >>> row = {"method": "moon", "category": "Peer", "outcome": "unavailable", "n_ok": 0}
    >>> row |= {"n_failed": 0, "rmse": None, "fit_seconds": None, "reasons": ["needs a rocket"]}
    >>> print(methods_table([row]))
    | method | category | outcome | results | mean RMSE | seconds per fit | reason |
    |---|---|---|---|---|---|---|
    | `moon` | Peer | unavailable | 0 |  |  | needs a rocket |
    """
    lines = ["| method | category | outcome | results | mean RMSE | seconds per fit | reason |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        total = row["n_ok"] + row["n_failed"]
        results = f"{row['n_ok']} of {total}" if row["n_failed"] else str(total)
        reasons = "; ".join(row["reasons"]).replace("|", "\\|")
        cells = [f"`{row['method']}`", row["category"], row["outcome"], results]
        cells += [_number(row["rmse"], 4), _number(row["fit_seconds"], 2), reasons]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(frame: pd.DataFrame, column: str) -> float | None:
    if column not in frame or not frame[column].notna().any():
        return None
    return float(frame[column].mean())


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _last_line(traceback: str | None) -> str:
    lines = (traceback or "").strip().splitlines()
    return lines[-1] if lines else ""
