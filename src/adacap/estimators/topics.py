"""Learn the axes of free text: hashed TF-IDF and truncated SVD of scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from adacap.tables.plan import Cells
from adacap.tables.words import N_BUCKETS, Words, packed

__all__ = ["learn_words"]

_MOST_AXES = 32
_ROWS_PER_AXIS = 8


def learn_words(cells: Cells) -> Words | None:
    """Words of a column of free text; None if it has too few of them.

    Examples
    --------
    >>> texts = tuple(f"sunny flat {k} with garden or garage {k % 3}" for k in range(40))
    >>> cells = Cells("categorical", np.empty(0), np.arange(40, dtype=np.int32), texts)
    >>> learn_words(cells).title
    'words'
    """
    texts = [cells.levels[code] for code in cells.codes if code >= 0]
    counts = HashingVectorizer(n_features=N_BUCKETS, norm=None).transform(texts)
    weigh = TfidfTransformer().fit(counts)
    buckets = np.unique(counts.indices)
    n_axes = min(_MOST_AXES, len(texts) // _ROWS_PER_AXIS, len(buckets) - 1)
    if n_axes < 1:
        return None
    svd = TruncatedSVD(n_axes, random_state=0).fit(weigh.transform(counts))
    return Words(
        n_axes=n_axes,
        unseen_idf=float(np.log(1.0 + len(texts)) + 1.0),
        buckets=packed(buckets, "<i4"),
        idf=packed(weigh.idf_[buckets], "<f8"),
        axes=packed(svd.components_[:, buckets].T, "<f4"),
    )
