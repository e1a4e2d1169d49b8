"""What a fitted model keeps of its training rows, so that new rows can be compared with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from adacap._typing import Floats
from adacap.estimators.held_out import Evidence
from adacap.estimators.preparing import Prepared
from adacap.tables.summaries import TableSummary, summarise

__all__ = ["LIMITS", "Axes", "Seen", "see"]

LIMITS = (0.5, 0.9, 0.95, 0.99, 1.0)
"""Quantiles of the training rows' own leverage that a model keeps."""
_MOST_ROWS = 20_000  # to summarise
_MOST_AXES = 32
_MOST_FEATURES = 512  # after encoding, beyond which there are no axes


@dataclass(frozen=True, eq=False)
class Axes:
    """Directions in which the encoded training rows vary, for models without a kernel.

    Attributes
    ----------
    axes : ndarray of shape (d, r)
    variance : ndarray of shape (r + 1,)
        Along each, and the mean one of all that is left.
    limits : ndarray of shape (5,)
        Quantiles ``LIMITS`` of the training rows' leverage.
    """

    axes: Floats
    variance: Floats
    limits: Floats

    def leverage(self, encoded: npt.NDArray[Any]) -> Floats:
        """Squared distance from the mean, each direction in units of its own variance."""
        x = np.asarray(encoded, dtype=np.float64)
        along = x @ self.axes
        left = np.maximum((x**2).sum(1) - (along**2).sum(1), 0.0)
        return np.asarray((along**2 / self.variance[:-1]).sum(1) + left / self.variance[-1])


@dataclass(frozen=True, eq=False)
class Seen:
    """Summaries of the columns, and how far the training rows reach.

    Attributes
    ----------
    summary : TableSummary
    kernel : ndarray of shape (3,) or None
        Amplitudes of the smooth and the linear part, and λ, of the blend's kernel. With the rows
        that the kernel keeps anyway they give the leverage of any row.
    axes : Axes or None
        Where there is no kernel.
    """

    summary: TableSummary
    kernel: Floats | None
    axes: Axes | None


def see(evidence: Evidence, data: Prepared) -> Seen | None:
    """What to keep of the rows of a fit; None where samples are not rows of a table."""
    if data.samples.sample_shape is not None:
        return None
    some = slice(0, _MOST_ROWS)  # the rows are in arbitrary order
    weight = data.samples.weight
    cells = data.encoder.cells(data.samples.table.take(some))
    summary = summarise(cells, data.encoder.columns_, None if weight is None else weight[some])
    if not data.encoder.n_features_out_:  # every column was dropped: all rows are alike
        return Seen(summary, None, None)
    kernel = _kernel(evidence)
    return Seen(summary, kernel, _axes(data.rows.x[some]) if kernel is None else None)


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
