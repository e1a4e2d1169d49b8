"""Whether new rows are like those of training: columns that moved, rows beyond reach.

Columns are compared by tests against stored summaries, rows by their leverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from adacap._typing import Floats
from adacap.core.linalg import safe_cholesky
from adacap.core.matern import matern
from adacap.estimators.seen import LIMITS, Seen
from adacap.tables.plan import Cells, ColumnPlan
from adacap.tables.summaries import TableSummary, levels_of
from adacap.tables.table import read_table
from adacap.text import number, table_lines

__all__ = ["ColumnDrift", "Drift", "check_drift"]


_MOST_SHOWN = 20


class ColumnDrift(NamedTuple):
    """One test of one column.

    ``test`` is "distribution", "levels", "missing" or "never seen"; ``size`` the largest gap
    between distributions, the population stability index, the change of the share of missing
    cells, or the share of cells of new levels. ``p_value`` is corrected for all tests of the check.
    """

    column: str
    test: str
    size: float
    p_value: float
    moved: bool
    note: str


@dataclass(frozen=True, eq=False)
class Drift:
    """How new rows differ from those of training.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        Every test, those that moved first.
    moved : tuple of str
        Columns that moved.
    never_seen : dict of str to tuple of str
        Levels unknown to training, by column; at most five each.
    leverage : ndarray of shape (n_rows,) or None
        Of each row over that which 99 % of the training rows stay below; None where the model
        cannot say.
    untrusted : ndarray of bool of shape (n_rows,)
        Rows whose intervals should not be trusted: beyond reach, or of a level never seen in a
        column where that is news.
    n_rows : int
    n_train : int
        Training rows that the summaries are based on; fewer where their weights are unequal.
    alpha : float
        Chance of any false alarm.
    """

    columns: tuple[ColumnDrift, ...]
    moved: tuple[str, ...]
    never_seen: Mapping[str, tuple[str, ...]]
    leverage: npt.NDArray[np.float64] | None
    untrusted: npt.NDArray[np.bool_]
    n_rows: int
    n_train: int
    alpha: float

    @property
    def is_drifted(self) -> bool:
        """Whether any column moved."""
        return bool(self.moved)

    @property
    def share_beyond(self) -> float:
        """Share of rows of more leverage than 99 % of the training rows; NaN if not known."""
        return float("nan") if self.leverage is None else float((self.leverage > 1).mean())

    @property
    def share_untrusted(self) -> float:
        """Share of rows whose intervals should not be trusted."""
        return float(self.untrusted.mean())

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data; rows are counted from 0."""
        return {
            "drifted": self.is_drifted,
            "moved": list(self.moved),
            "columns": [one._asdict() for one in self.columns],
            "never_seen": {name: list(levels) for name, levels in self.never_seen.items()},
            "share_beyond_reach": self.share_beyond,
            "share_untrusted": self.share_untrusted,
            "untrusted_rows": np.flatnonzero(self.untrusted).tolist(),
            "rows": self.n_rows,
            "training_rows": self.n_train,
            "alpha": self.alpha,
        }

    @property
    def headline(self) -> str:
        """The finding in one or two sentences."""
        n = len(self.moved)
        columns = "1 column has" if n == 1 else f"{n} columns have"
        told = f"{columns} moved: {', '.join(self.moved)}." if n else "No column has moved."
        if self.leverage is None:
            return f"{told} This model cannot detect rows beyond its reach."
        return (
            f"{told} Intervals of {100 * self.share_untrusted:.1f} % of the rows should not be "
            f"trusted; {100 * self.share_beyond:.1f} % are beyond the reach of training, where "
            "about 1 % would be by chance."
        )

    titles = ("column", "test", "size", "p-value", "what changed")

    def rows(self) -> list[list[str]]:
        """Cells of the table of columns that moved."""
        moved = [one for one in self.columns if one.moved]
        return [
            [one.column, one.test, number(one.size, 2), f"{one.p_value:.2g}", one.note]
            for one in moved[:_MOST_SHOWN]
        ]

    def __str__(self) -> str:
        lines = [self.headline]
        if rows := self.rows():
            lines += ["", *table_lines(self.titles, rows, n_text=2)]
        return "\n".join(lines)


# -------------------------------------------------------------------------- two-sample tests

_LEAST_EXPECTED = 5.0  # rows of a level; rarer ones are counted together
_LEAST_SHARE = 1e-4  # in a population stability index, where a level is empty


class Shift(NamedTuple):
    """Size of a difference, and the probability of one as large between similar tables."""

    size: float
    p_value: float


def quantile_test(grid: Floats, below: Floats, n: float, values: Floats) -> Shift:
    """Kolmogorov–Smirnov test against stored quantiles.

    The largest gap is searched at the stored values only, where the training shares are exact. It
    is never larger than the gap over all values, so the p-value is never too small. ``below`` is
    the share of the ``n`` training cells that are at most as large as each value of ``grid``;
    ``values`` are new cells, without missing ones.

    Examples
    --------
    >>> grid = np.arange(1.0, 101.0)
    >>> quantile_test(grid, grid / 100, 100, grid + 30).size
    0.3
    """
    m = len(values)
    if not m or not n > 0:
        return Shift(0.0, 1.0)
    share = np.searchsorted(np.sort(values), grid, side="right") / m
    gap = float(np.abs(share - below).max())
    p_value = stats.kstwobign.sf(gap * math.sqrt(n * m / (n + m)))
    return Shift(round(gap, 12), float(p_value))


def level_test(before: Floats, now: Floats) -> Shift:
    """χ² test of the rows of each level; the size is the population stability index.

    Levels of few rows are counted together, so that χ² holds. ``before`` and ``now`` are the rows
    of each level.

    Examples
    --------
    >>> level_test(np.array([50.0, 50.0]), np.array([50.0, 50.0]))
    Shift(size=0.0, p_value=1.0)
    """
    if not before.sum() > 0 or not now.sum() > 0:
        return Shift(0.0, 1.0)
    a, b = before / before.sum(), now / now.sum()
    a, b = np.maximum(a, _LEAST_SHARE), np.maximum(b, _LEAST_SHARE)
    index = float(((b - a) * np.log(b / a)).sum())
    pooled = (before + now) / (before.sum() + now.sum())
    rare = pooled * min(before.sum(), now.sum()) < _LEAST_EXPECTED
    table = np.stack([np.append(each[~rare], each[rare].sum()) for each in (before, now)])
    table = table[:, table.sum(0) > 0]
    if table.shape[1] < 2:
        return Shift(index, 1.0)
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    chi2 = float(((table - expected) ** 2 / expected).sum())
    return Shift(index, float(stats.chi2.sf(chi2, table.shape[1] - 1)))


def share_test(before: float, n: float, now: float, m: float) -> Shift:
    """Test of two shares, exact; the size is their difference.

    Examples
    --------
    >>> share_test(0.0, 200, 0.5, 100).p_value < 1e-9, share_test(0.1, 200, 0.1, 100).p_value
    (True, 1.0)
    """
    a, b = round(before * n), round(now * m)
    if a == b == 0 or (a >= round(n) and b >= round(m)):
        return Shift(abs(now - before), 1.0)
    table = [[a, max(round(n) - a, 0)], [b, max(round(m) - b, 0)]]
    return Shift(abs(now - before), float(stats.fisher_exact(table)[1]))


def unseen_test(counts: Floats, n_unseen: int, m: int) -> Shift:
    """Whether more cells have unseen levels than the levels seen once suggest.

    The share of cells of new levels is about that of levels with a single row in training, as Good
    and Turing have it; the test is of these two shares. The size is the share of unseen cells.

    Examples
    --------
    >>> unseen_test(np.array([100.0, 100.0]), 20, 100).p_value < 1e-6
    True
    >>> unseen_test(np.ones(200), 90, 100).p_value > 0.5
    True
    """
    n = float(counts.sum())
    once = float(((counts > 0) & (counts < 1.5)).sum())
    if not n_unseen or not n > 0:
        return Shift(0.0, 1.0)
    found = share_test(once / n, n, n_unseen / m, m)
    return Shift(n_unseen / m, found.p_value if n_unseen / m > once / n else 1.0)


def holm(p_values: Floats) -> Floats:
    """p-values corrected for their number, by Holm's step-down rule.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.5]))
    array([0.03, 0.08, 0.5 ])
    """
    order = np.argsort(p_values, kind="stable")
    steps = (len(p_values) - np.arange(len(p_values))) * p_values[order]
    found = np.empty(len(p_values))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


# --------------------------------------------------------------------------------- the check

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
        round(seen.summary.n_rows), alpha,
    )  # fmt: skip


def _tests(
    cells: Sequence[Cells], plans: Sequence[ColumnPlan], summary: TableSummary
) -> Iterator[tuple[str, str, Shift, str]]:
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
            note = _change(plan.kind, summary.grid[j], summary.below[j], known)
            yield plan.name, "distribution", found, note
        elif n_levels:
            codes = column.match(levels_of(plan))
            now = np.bincount(codes[codes >= 0], minlength=n_levels).astype(np.float64)
            yield plan.name, "levels", level_test(before, now), _largest(plan, before, now)
            n_unseen, n_known = int(_unseen(column, plan).sum()), int((~column.missing).sum())
            note = f"{n_unseen:,} of {n_known:,} cells have levels never seen"
            yield plan.name, "never seen", unseen_test(before, n_unseen, max(n_known, 1)), note


def _change(kind: str, grid: Floats, below: Floats, known: Floats) -> str:
    """How a column of numbers has changed: shares of true, else medians; dates as dates.

    Examples
    --------
    >>> _change("boolean", np.array([0.0, 1.0]), np.array([0.6, 1.0]), np.ones(5))
    'true 40 % → 100 %'
    >>> _change("datetime", np.arange(3.0), np.ones(3), np.arange(2.0) + 18_336)
    'median 1970-01-02 → 2020-03-15, 100 % outside the training range'
    """
    if kind == "boolean":
        before = 1 - float(below[grid == 0].max(initial=0.0))
        now = f"{100 * known.mean():.0f} %" if len(known) else "–"
        return f"true {100 * before:.0f} % → {now}"
    medians = float(grid[len(grid) // 2]), float(np.median(known)) if len(known) else float("nan")
    outside = float(((known < grid[0]) | (known > grid[-1])).mean()) if len(known) else 0.0
    shown = _dates(*medians) if kind == "datetime" else [number(one, 3) for one in medians]
    text = f"median {' → '.join(shown)}"
    return text + (f", {100 * outside:.0f} % outside the training range" if outside > 0.01 else "")


def _dates(*days: float) -> list[str]:
    """Days since 1970 as dates, with the time of day where the dates alone are the same."""
    known = [day for day in days if math.isfinite(day)]
    unit: Any = "m" if len(known) > 1 and len({math.floor(day) for day in known}) == 1 else "D"
    seconds = [np.datetime64(round(day * 86_400), "s") if day == day else None for day in days]
    cut = [None if one is None else str(np.datetime_as_string(one, unit)) for one in seconds]
    return ["–" if one is None else one.replace("T", " ") for one in cut]


def _largest(plan: ColumnPlan, before: Any, now: Any) -> str:
    if not before.sum() or not now.sum():
        return ""
    gaps = now / now.sum() - before / before.sum()
    k = int(np.abs(gaps).argmax())
    shares = 100 * before[k] / before.sum(), 100 * now[k] / now.sum()
    return f"{levels_of(plan)[k]!r} {shares[0]:.0f} % → {shares[1]:.0f} %"


def _corrected(tests: Sequence[tuple[str, str, Shift, str]], alpha: float) -> tuple[Any, ...]:
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

LIMIT = 0.99
"""Quantile of the training rows' leverage beyond which a new row is out of reach."""
_CHUNK = 2048


def relative_leverage(model: Any, seen: Seen, encoded: npt.NDArray[Any]) -> Floats | None:
    """Leverage of encoded rows over that which 99 % of the training rows stay below.

    It is above 1 for rows beyond reach, and None where the model keeps nothing to judge by.
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
