"""Learn the axes of free text: hashed TF-IDF and truncated SVD of scikit-learn.

The axes of largest variance need not be those that matter. Given targets, words that go with them
beyond chance weigh more before the axes are sought: those whose correlation only one in a hundred
columns of irrelevant words would show for any of them. That bound is strict enough for training
rows to be encoded like new ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from adacap.tables.columns import Floats
from adacap.tables.plan import Cells
from adacap.tables.words import N_BUCKETS, Words, packed

__all__ = ["learn_words"]

_MOST_AXES = 32
_ROWS_PER_AXIS = 8
_CHANCE = 0.01  # of stressing any word where none goes with the target
_OTHERS = 0.2  # weight of words that do not go with the target


def learn_words(cells: Cells, targets: Floats | None = None) -> Words | None:
    """Words of a column of free text; None if it has too few of them.

    Parameters
    ----------
    cells : Cells
    targets : ndarray of shape (n_rows, n_targets), optional

    Examples
    --------
    >>> texts = tuple(f"sunny flat {k} with garden or garage {k % 3}" for k in range(40))
    >>> cells = Cells("categorical", np.empty(0), np.arange(40, dtype=np.int32), texts)
    >>> learn_words(cells).title
    'words'
    """
    rows = np.flatnonzero(cells.codes >= 0)
    texts = [cells.levels[code] for code in cells.codes[rows]]
    counts = HashingVectorizer(n_features=N_BUCKETS, norm=None).transform(texts)
    weigh = TfidfTransformer().fit(counts)
    buckets = np.unique(counts.indices)
    n_axes = min(_MOST_AXES, len(texts) // _ROWS_PER_AXIS, len(buckets) - 1)
    if n_axes < 1:
        return None
    weights = weigh.transform(counts)[:, buckets]
    stress = _stress(weights, None if targets is None else targets[rows])
    svd = TruncatedSVD(n_axes, random_state=0).fit(weights.multiply(stress).tocsr())
    return Words(
        n_axes=n_axes,
        unseen_idf=float(np.log(1.0 + len(texts)) + 1.0),
        buckets=packed(buckets, "<i4"),
        idf=packed(weigh.idf_[buckets], "<f8"),
        axes=packed(svd.components_.T * stress[:, None], "<f4"),
    )


def _stress(weights: Any, targets: Floats | None) -> Floats:
    """Factor of each word: 1 where it goes with a target beyond chance, else small."""
    n_rows, n_words = weights.shape
    if targets is None:
        return np.ones(n_words)
    mean = np.asarray(weights.mean(axis=0)).ravel()
    square = np.asarray(weights.multiply(weights).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - mean**2, 1e-12))
    centred = targets - targets.mean(axis=0)
    scale = np.maximum(centred.std(axis=0), 1e-12)
    correlation = np.abs(weights.T @ (centred / scale) / n_rows / spread[:, None]).max(axis=1)
    beyond = correlation * np.sqrt(n_rows) > norm.isf(_CHANCE / 2 / n_words)
    return np.where(beyond, 1.0, _OTHERS) if beyond.any() else np.ones(n_words)
