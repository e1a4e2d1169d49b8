"""What a fitted model keeps of its training rows, to explain itself by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.estimators.held_out import Evidence

__all__ = ["Background"]

_MOST_ROWS = 128


@dataclass(frozen=True, eq=False)
class Background:
    """What a fitted model keeps of its training rows.

    ``rows`` are a sample, encoded, that predictions are compared with; it is not written to a model
    file, and None in a loaded model. ``fold`` is, of a blend, that each different row was left out
    of; -1 for none. ``shares`` are ``feature_importances_``, once they have been asked for.
    """

    rows: npt.NDArray[np.float32] | None = None
    fold: npt.NDArray[np.int32] | None = None
    shares: Floats | None = None

    @classmethod
    def of(cls, evidence: Evidence, sample_shape: Any) -> Background:
        """Of the rows of a fit."""
        blend = evidence.blend
        fold = None if blend is None else blend.predicting_fold.cpu().numpy().astype(np.int32)
        if sample_shape is not None:
            return cls(None, fold)
        x = evidence.rows.x
        chosen = np.random.default_rng(0).permutation(len(x))[:_MOST_ROWS]
        rows = x[np.sort(chosen)].cpu().numpy()
        return cls(np.array(rows, dtype=np.float32), fold)

    def with_shares(self, shares: Floats) -> Background:
        """The same, with the importances of the columns."""
        return replace(self, shares=shares)
