"""Capacity in a model file: six small tensors, held against each other when read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap.estimators.bag import FittedMember
from adacap.estimators.capacity import Capacity
from adacap.estimators.provenance import Provenance
from adacap.persistence.files import require

__all__ = ["capacity_tensors", "restore_capacity"]

_PREFIX = "capacity."
_NAMES = ("members", "summary", "rows", "residuals", "leverage", "permuted_fits")


def capacity_tensors(capacity: Capacity) -> Iterator[tuple[str, Tensor]]:
    """Tensors to write, by name."""
    for name, array in capacity.to_arrays().items():
        yield _PREFIX + name, torch.from_numpy(np.ascontiguousarray(array))


def restore_capacity(
    tensors: dict[str, Tensor],
    members: Sequence[FittedMember],
    n_targets: int,
    provenance: Provenance,
    **facts: Any,
) -> Capacity:
    """Capacity from the tensors of a file, which are taken out of ``tensors``."""
    missing = [name for name in _NAMES if _PREFIX + name not in tensors]
    require(not missing, f"the file has no tensor {_PREFIX}{''.join(missing[:1])}.")
    arrays = {name: tensors.pop(_PREFIX + name).numpy() for name in _NAMES}
    _check(arrays, len(members), n_targets, provenance.n_rows)
    return Capacity.from_arrays(
        arrays,
        [member.lam for member in members],
        [member.effective_dof for member in members],
        n_rows=provenance.n_rows,
        n_distinct=provenance.n_distinct,
        n_features=members[0].width,
        **facts,
    )


def _check(
    arrays: dict[str, npt.NDArray[Any]], n_members: int, n_targets: int, n_rows: int
) -> None:
    rows = arrays["rows"]
    m = len(rows) if rows.ndim else 0
    shapes = {
        "members": (n_members, 5),
        "summary": (5,),
        "rows": (m,),
        "residuals": (m, n_targets),
        "leverage": (m,),
    }
    for name, array in arrays.items():
        kind = np.int64 if name == "rows" else np.float64
        fits = array.dtype == kind and array.shape == shapes.get(name, (array.size,))
        require(fits, f"tensor {_PREFIX}{name} is {array.dtype} of shape {array.shape}.")
    known = m == 0 or (rows.min() >= 0 and rows.max() < n_rows)
    whole = np.isfinite(arrays["summary"][:2]).all() and arrays["summary"][0] > 0
    require(bool(known and whole), "its capacity contradicts the rows it was trained on.")
