"""Names of arrays in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Floats", "Index", "Matrix"]

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Index: TypeAlias = npt.NDArray[np.intp]
Matrix: TypeAlias = npt.NDArray[np.float32]
