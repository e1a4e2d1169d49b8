"""What a fitted model keeps of its training rows, so that new rows can be compared with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length
from torch import Tensor

from adacap._typing import Floats
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.held_out import Evidence
from adacap.estimators.preparing import Prepared
from adacap.estimators.rows import row_keys
from adacap.tables.summaries import TableSummary, summarise

__all__ = ["LIMITS", "Axes", "Seen", "refuse_seen", "see"]

LIMITS = (0.5, 0.9, 0.95, 0.99, 1.0)
"""Quantiles of the training rows' own leverage that a model keeps."""
_MOST_ROWS = 20_000  # to summarise
_MOST_AXES = 32
_MOST_FEATURES = 512  # after encoding, beyond which there are no axes
_MOST_KEYS = 1024
_LEAST_SEEN = 0.1  # share of training rows among new ones that is no accident


@dataclass(frozen=True, eq=False)
class Axes:
    """Directions in which the encoded training rows vary, for models without a kernel."""

    axes: Floats  # (d, r)
    variance: Floats  # (r + 1,): along each, and the mean one of all that is left
    limits: Floats  # quantiles ``LIMITS`` of the training rows' leverage

    def leverage(self, encoded: npt.NDArray[Any]) -> Floats:
        """Squared distance from the mean, each direction in units of its own variance."""
        x = np.asarray(encoded, dtype=np.float64)
        along = x @ self.axes
        left = np.maximum((x**2).sum(1) - (along**2).sum(1), 0.0)
        return np.asarray((along**2 / self.variance[:-1]).sum(1) + left / self.variance[-1])


@dataclass(frozen=True, eq=False)
class Seen:
    """Summaries of the columns, and how far the training rows reach.

    ``kernel`` has the amplitudes of the smooth and the linear part and λ of the blend's kernel:
    with the rows that the kernel keeps anyway they give the leverage of any row. ``axes`` are in
    its place where there is none. ``keys`` are the smallest hashes of the training rows with their
    targets, sorted, 1,024 at most: enough to tell whether new rows are training rows. They are
    empty in files that were written without.
    """

    summary: TableSummary
    kernel: Floats | None
    axes: Axes | None
    keys: npt.NDArray[np.int64]


def see(evidence: Evidence, data: Prepared) -> Seen | None:
    """What to keep of the rows of a fit; None where samples are not rows of a table."""
    if data.samples.sample_shape is not None:
        return None
    some = slice(0, _MOST_ROWS)  # the rows are in arbitrary order
    weight = data.samples.weight
    cells = data.encoder.cells(data.samples.table.take(some))
    keys = np.unique(_keys(data.encoder, data.samples.table, data.codec.encode(data.samples.y)))
    keys = keys[:_MOST_KEYS]
    summary = summarise(cells, data.encoder.columns_, None if weight is None else weight[some])
    if not data.encoder.n_features_out_:  # every column was dropped: all rows are alike
        return Seen(summary, None, None, keys)
    kernel = _kernel(evidence)
    return Seen(summary, kernel, _axes(data.rows.x[some]) if kernel is None else None, keys)


def refuse_seen(estimator: Any, X: Any, y: Any) -> None:
    """Refuse training rows where fresh ones are needed.

    Equal rows can be different cases, where a table has few different values. So more are allowed
    where the training rows repeated each other as well.
    """
    seen: Seen | None = estimator.seen_
    if seen is None or not len(seen.keys):
        return
    keys = _keys(estimator.encoder_, X, estimator.codec_.encode(y))
    is_all = len(seen.keys) < _MOST_KEYS  # else only hashes up to the largest kept can be compared
    compared = np.flatnonzero(is_all | (keys <= seen.keys[-1]))
    known = compared[np.isin(keys[compared], seen.keys)]
    told = estimator.provenance_
    n_given = told.n_rows * (1 - estimator._calibration_share)
    repeated = max(0.0, 1 - told.n_distinct / n_given)
    if len(known) <= 1 or len(known) <= (_LEAST_SEEN + 2 * repeated) * len(compared):
        return
    share, some = len(known) / len(compared), ", ".join(map(str, known[:3]))
    raise ValueError(
        f"About {share:.0%} of the {len(keys):,} rows were in fit with the same target (such as "
        f"rows {some}, counted from 0): their errors are smaller than those of new rows. Pass rows "
        "that fit did not see, or leave calibrate out: method='cv+' needs no further rows."
    )


def _keys(encoder: TableEncoder, X: Any, coded: Floats) -> npt.NDArray[np.int64]:
    """Hash of each row as ``encoder`` reads it, with its target."""
    table = encoder.align(X)
    check_consistent_length(np.empty(table.n_rows), coded)
    return row_keys(table, np.asarray(coded, dtype=np.float64)).view(np.int64)


def _kernel(evidence: Evidence) -> Floats | None:
    one = None if evidence.blend is None else evidence.blend.kernel
    if one is None or one.kernel is None or not one.part.weight > 0:
        return None
    logs = one.kernel.logs
    return np.array([float(part[0]) for part in (logs.smooth, logs.linear, logs.lam)])


def _axes(x: Tensor) -> Axes | None:
    if x.ndim != 2 or not 0 < x.shape[1] <= _MOST_FEATURES or len(x) < 3:
        return None
    rows = x.cpu().double().numpy()
    n, d = rows.shape
    variances, vectors = np.linalg.eigh(rows.T @ rows / n)
    r = min(d, _MOST_AXES)
    floor = 1.0 / n  # as one more row of unit length would add, in every direction
    variances = np.maximum(variances, 0.0)  # rounding of large cells gives some below
    kept = variances[::-1][:r] + floor
    left = float(variances[: d - r].sum()) / max(d - r, 1) + floor
    axes = vectors[:, ::-1][:, :r].astype(np.float32).astype(np.float64)
    found = Axes(axes, np.append(kept, left), np.zeros(len(LIMITS)))
    own = found.leverage(rows) / n
    alone = own / np.maximum(1 - own, 1e-3) * n  # as if the row were absent
    return Axes(axes, found.variance, np.quantile(alone, LIMITS))
