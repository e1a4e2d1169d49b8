"""``check_drift``: compare new rows with what a model keeps of its training rows.

Columns by tests, rows by their leverage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from adacap.core.linalg import safe_cholesky
from adacap.core.matern import matern
from adacap.drift.records import ColumnDrift, Drift
from adacap.drift.statistics import (
    Found,
    holm,
    level_test,
    quantile_test,
    share_test,
    unseen_test,
)
from adacap.estimators.seen import LIMITS, Seen
from adacap.tables.plan import Cells, ColumnPlan
from adacap.tables.summaries import TableSummary, levels_of
from adacap.tables.table import read_table
from adacap.text import number

__all__ = ["check_drift"]

_LEAST = {"distribution": 0.05, "levels": 0.02, "missing": 0.02, "never seen": 0.0}
_MOST_NAMED = 5
_EMPTY = 0.9  # share of missing cells from which a row is as good as empty


def check_drift(model: Any, X: Any, *, alpha: float = 0.05) -> Drift:
    """Compare new rows with those that a model was trained on.

    Every column that the model uses is tested for its distribution (Kolmogorov–Smirnov against
    stored quantiles; χ² for levels of text), for missing cells and for levels never seen, with
    Holm's correction over all tests: between tables that are alike, the chance of any alarm is at
    most ``alpha``. Differences too small to matter raise no alarm, however significant. Rows are
    judged one by one, by the leverage of the output layer; a row of which nearly all cells are
    missing is not trusted, unless training rows had such gaps.

    Parameters
    ----------
    model : AdaCapRegressor, AdaCapClassifier, MLRNetRegressor or MLRNetClassifier
        Fitted, or loaded from a file.
    X : array-like or frame of shape (n_rows, n_columns)
        New rows, as ``predict`` takes them; no target is needed.
    alpha : float, default=0.05

    Returns
    -------
    Drift
        It prints.

    Raises
    ------
    ValueError
        If the model keeps no summary of its training rows: it was saved before there was one, or
        its samples are not rows of a table.

    Examples
    --------
    >>> import numpy as np
    >>> import adacap
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> model = adacap.AdaCapRegressor(width=8, max_iter=5, random_state=0).fit(X, X[:, 0])
    >>> adacap.check_drift(model, rng.normal(size=(100, 3))).is_drifted
    False
    >>> adacap.check_drift(model, rng.normal(size=(100, 3)) + [0, 2, 0]).moved
    ('x1',)
    """
    check_is_fitted(model)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a chance between 0 and 1, got {alpha!r}.")
    seen = getattr(model, "seen_", None)
    if seen is None:
        raise ValueError(
            "The model keeps no summary of its training rows: it was saved by an earlier version, "
            "or its samples are not rows of a table. Fit it again to check new rows."
        )
    table = read_table(X)
    cells, plans = model.encoder_.cells(table), model.encoder_.columns_
    tests = list(_tests(cells, plans, seen.summary))
    columns = _corrected(tests, alpha)
    moved = tuple(dict.fromkeys(one.column for one in columns if one.moved))
    leverage = relative_leverage(model, seen, model.encoder_.encode(table))
    untrusted = np.zeros(table.n_rows, dtype=bool) if leverage is None else leverage > 1
    news = {one.column for one in columns if one.moved and one.test == "never seen"}
    for one, plan in zip(cells, plans, strict=True):
        if plan.name in news:
            untrusted = untrusted | _unseen(one, plan)
    untrusted = untrusted | _empty(cells, plans, seen.summary)
    return Drift(
        columns, moved, _never_seen(cells, plans), leverage, untrusted, table.n_rows,
        seen.summary.n_rows, alpha,
    )  # fmt: skip


def _tests(
    cells: Sequence[Cells], plans: Sequence[ColumnPlan], summary: TableSummary
) -> Iterator[tuple[str, str, Found, str]]:
    """Column, name of the test, what it finds, and a note."""
    taken = 0
    for j, (column, plan) in enumerate(zip(cells, plans, strict=True)):
        n_levels = len(levels_of(plan))
        before = summary.counts[taken : taken + n_levels]
        taken += n_levels
        if not plan.parts:
            continue
        m, missing = len(column.missing), float(column.missing.mean())
        share = float(summary.missing[j])
        note = f"missing {100 * share:.1f} % → {100 * missing:.1f} %"
        yield plan.name, "missing", share_test(share, summary.n_rows, missing, m), note
        if plan.kind != "categorical" and np.isfinite(summary.grid[j]).all():
            known = column.values[~column.missing]
            n = summary.n_rows * (1 - share)
            found = quantile_test(summary.grid[j], summary.below[j], n, known)
            yield plan.name, "distribution", found, _medians(summary.grid[j], known)
        elif n_levels:
            codes = column.match(levels_of(plan))
            now = np.bincount(codes[codes >= 0], minlength=n_levels).astype(np.float64)
            yield plan.name, "levels", level_test(before, now), _largest(plan, before, now)
            n_unseen, n_known = int(_unseen(column, plan).sum()), int((~column.missing).sum())
            note = f"{n_unseen:,} of {n_known:,} cells have levels never seen"
            yield plan.name, "never seen", unseen_test(before, n_unseen, max(n_known, 1)), note


def _medians(grid: npt.NDArray[np.float64], known: npt.NDArray[np.float64]) -> str:
    now = float(np.median(known)) if len(known) else float("nan")
    outside = float(((known < grid[0]) | (known > grid[-1])).mean()) if len(known) else 0.0
    text = f"median {number(float(grid[len(grid) // 2]), 3)} → {number(now, 3)}"
    return text + (f", {100 * outside:.0f} % outside the training range" if outside > 0.01 else "")


def _largest(plan: ColumnPlan, before: Any, now: Any) -> str:
    if not before.sum() or not now.sum():
        return ""
    gaps = now / now.sum() - before / before.sum()
    k = int(np.abs(gaps).argmax())
    shares = 100 * before[k] / before.sum(), 100 * now[k] / now.sum()
    return f"{levels_of(plan)[k]!r} {shares[0]:.0f} % → {shares[1]:.0f} %"


def _corrected(tests: Sequence[tuple[str, str, Found, str]], alpha: float) -> tuple[Any, ...]:
    if not tests:
        return ()
    p_values = holm(np.array([found.p_value for _, _, found, _ in tests]))
    columns = [
        ColumnDrift(
            name, test, found.size, float(p), bool(p <= alpha and found.size >= _LEAST[test]), note
        )
        for (name, test, found, note), p in zip(tests, p_values, strict=True)
    ]
    return tuple(sorted(columns, key=lambda one: (not one.moved, one.p_value)))


def _unseen(column: Cells, plan: ColumnPlan) -> npt.NDArray[np.bool_]:
    """Rows whose cell is present and has a level unknown to training; none for free text."""
    if plan.kind != "categorical" or not levels_of(plan):
        return np.zeros(len(column.missing), dtype=bool)
    return ~column.missing & (column.match(levels_of(plan)) < 0)


def _empty(
    cells: Sequence[Cells], plans: Sequence[ColumnPlan], summary: TableSummary
) -> npt.NDArray[np.bool_]:
    """Rows with nearly all used cells missing, as hardly any training row has."""
    used = [j for j, plan in enumerate(plans) if plan.parts]
    n_rows = len(cells[0].missing) if len(cells) else 0
    if not used or not n_rows:
        return np.zeros(n_rows, dtype=bool)
    missing = np.column_stack([cells[j].missing for j in used])
    chance = np.where(missing, summary.missing[used], 1.0).prod(axis=1)  # if gaps were independent
    empty: npt.NDArray[np.bool_] = (missing.mean(axis=1) >= _EMPTY) & (chance < 1 - LIMIT)
    return empty


def _never_seen(cells: Sequence[Cells], plans: Sequence[ColumnPlan]) -> dict[str, tuple[str, ...]]:
    found = {}
    for column, plan in zip(cells, plans, strict=True):
        rows = np.flatnonzero(_unseen(column, plan))
        if len(rows):
            codes = np.unique(column.codes[rows])[:_MOST_NAMED]
            found[plan.name] = tuple(column.levels[code] for code in codes)
    return found


# --------------------------------------------------------------------- rows beyond reach
# A kernel is a ridge regression on infinitely many features. The leverage of a new row there is its
# predictive variance over λ, `(k(x, x) - k(x)'(K + λ)⁻¹k(x)) / λ`; that of a training row is the
# same with the row left out. Columns that the kernel has learnt to ignore do not count.

Floats = npt.NDArray[np.float64]

LIMIT = 0.99
"""Quantile of the training rows' leverage beyond which a new row is out of reach."""
_CHUNK = 2048


def relative_leverage(model: Any, seen: Seen, encoded: npt.NDArray[Any]) -> Floats | None:
    """Leverage of encoded rows over that which 99 % of the training rows stay below.

    Parameters
    ----------
    model : estimator
        Fitted.
    seen : Seen
        What it keeps of its training rows.
    encoded : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (n,) or None
        Above 1 for rows beyond reach; None where the model keeps nothing to judge by.
    """
    part = next((one for one in model.blend_ if one.name.startswith("kernel")), None)
    if seen.kernel is not None and part is not None:
        return _by_kernel(part.frozen, seen.kernel, encoded)
    if seen.axes is None:
        return None
    limit = float(seen.axes.limits[LIMITS.index(LIMIT)])
    return seen.axes.leverage(encoded) / max(limit, 1e-12)


@torch.inference_mode()
def _by_kernel(frozen: Any, amplitudes: Floats, encoded: npt.NDArray[Any]) -> Floats:
    smooth, linear, lam = amplitudes.tolist()
    rows, scale = frozen.arrays["rows"].double(), frozen.arrays["scale"][:1].double()

    def kernel(x: Tensor) -> Tensor:
        found: Tensor = smooth * matern(x, rows, scale)[0] + linear * (x @ rows.T)
        return found

    gram = kernel(rows)
    gram.diagonal().add_(lam)
    factor = safe_cholesky(gram)
    alone = 1 / torch.cholesky_inverse(factor).diagonal() - lam
    limit = float(torch.quantile(alone.clamp_min(0), LIMIT))
    found = []
    for x in torch.from_numpy(np.array(encoded, dtype=np.float32)).split(_CHUNK):
        x = (x if frozen.encoding is None else frozen.encoding(x)).double()
        solved = torch.linalg.solve_triangular(factor, kernel(x).T, upper=False)
        variance = smooth + linear * x.square().sum(1) - solved.square().sum(0)
        found.append(variance.clamp_min(0))
    return np.asarray((torch.cat(found) / max(limit, 1e-12)).numpy())
