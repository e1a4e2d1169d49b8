"""What a column to predict holds: classes or quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_CLASSES", "are_whole", "holds_classes"]

MOST_CLASSES = 12  # whole numbers of more distinct values are quantities


def holds_classes(values: npt.NDArray[Any]) -> bool:
    """Whether a target without missing values holds classes.

    Text does, and so do two values, or few whole numbers, as long as some value occurs twice.

    Parameters
    ----------
    values : array of shape (n_rows,)

    Examples
    --------
    >>> holds_classes(np.array(["red", "blue"])), holds_classes(np.array([0, 1, 1]))
    (True, True)
    >>> holds_classes(np.array([1, 2, 3])), holds_classes(np.array([1.5, 2.5, 4.0, 4.0]))
    (False, False)
    """
    if values.dtype.kind not in "iuf":
        return True
    n_distinct = len(np.unique(values))
    if n_distinct == len(values):  # a class would occur twice
        return False
    return n_distinct == 2 or (n_distinct <= MOST_CLASSES and are_whole(values))


def are_whole(values: npt.NDArray[Any]) -> bool:
    """Whether all numbers are whole.

    Examples
    --------
    >>> are_whole(np.array([1.0, 2.0])), are_whole(np.array([1.5]))
    (True, False)
    """
    return values.dtype.kind in "iu" or bool((values == np.round(values)).all())
