"""What a store holds, in figures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from adacap.bench.jobs import UNSUCCESSFUL
from adacap.bench.store import Store

__all__ = ["status_of"]


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


def _last_line(traceback: str | None) -> str:
    lines = (traceback or "").strip().splitlines()
    return lines[-1] if lines else ""
