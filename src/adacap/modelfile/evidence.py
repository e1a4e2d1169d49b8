"""What a file keeps beside the nets: capacity, errors behind intervals, summaries of training rows.

All are a few small tensors, checked here against each other, the nets and the plan of the columns,
on NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap.estimators.bounds import Depends, Errors
from adacap.modelfile.archive import Tensors, refuse, require
from adacap.tables.plan import ColumnPlan
from adacap.tables.summaries import N_QUANTILES, levels_of
from adacap.widths import Widths

__all__ = [
    "BACKGROUND_PREFIX", "CAPACITY", "CAPACITY_PREFIX", "INTERVALS_PREFIX", "SEEN_PREFIX",
    "WIDTHS_PREFIX", "Readings", "Studied", "errors_in", "formula_in", "take_background",
    "take_capacity", "take_intervals", "take_seen",
]  # fmt: skip

BACKGROUND_PREFIX, CAPACITY_PREFIX = "background.", "capacity."
INTERVALS_PREFIX, WIDTHS_PREFIX, SEEN_PREFIX = "intervals.", "widths.", "seen."
CAPACITY = ("members", "summary", "rows", "residuals", "leverage", "permuted_fits")
_KINDS = ("split", "folds", "loo")
_MOST_WIDTH = 1e3  # of any number in the formula of widths, whose exponential is taken


@dataclass(frozen=True)
class Studied:
    """λ and degrees of freedom of a layer that the capacity of a blend was read from."""

    lam: float | None
    effective_dof: float | None


@dataclass(frozen=True)
class Readings:
    """What training reports about a blend beyond its nets, of which there may be none.

    The names are those of fitted attributes, without the last underscore; ``n_features`` and
    ``studied`` are of the capacity.
    """

    lambda_: float | None
    effective_dof: float | None
    history: list[dict[str, float]]
    n_iter: int
    best_iter: int
    n_features: int
    studied: list[Studied]

    def check(self) -> None:
        """Refuse numbers that no training can give."""
        lams = [self.lambda_, *(one.lam for one in self.studied)]
        dofs = [self.effective_dof, *(one.effective_dof for one in self.studied)]
        sizes = (self.n_iter, self.best_iter, self.n_features)
        fits = all(value is None or 0 <= value < math.inf for value in (*lams, *dofs))
        require(fits and min(sizes) >= 0, "its readings are below 0 or not finite.")


def take_capacity(tensors: Tensors, n_members: int, n_targets: int, n_rows: int) -> Tensors:
    """Arrays of :class:`~adacap.estimators.capacity.Capacity`, taken out of ``tensors``."""
    missing = [name for name in CAPACITY if CAPACITY_PREFIX + name not in tensors]
    require(not missing, f"the file has no tensor {CAPACITY_PREFIX}{''.join(missing[:1])}.")
    arrays = {name: tensors.pop(CAPACITY_PREFIX + name) for name in CAPACITY}
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
        require(fits, f"tensor {CAPACITY_PREFIX}{name} is {array.dtype} of shape {array.shape}.")
    known = m == 0 or (rows.min() >= 0 and rows.max() < n_rows)
    whole = np.isfinite(arrays["summary"][:2]).all() and arrays["summary"][0] > 0
    require(bool(known and whole), "its capacity contradicts the rows it was trained on.")
    return arrays


def take_background(tensors: Tensors, n_columns: int, n_rows: int) -> Tensors:
    """What is kept of the training rows, taken out of ``tensors``; each may be absent.

    ``n_rows`` are different rows of the table.
    """
    found: Tensors = {}
    for name, size, kind in (("shares", n_columns, np.float64), ("fold", n_rows, np.int32)):
        array = tensors.pop(BACKGROUND_PREFIX + name, None)
        if array is None:
            continue
        fits = array.dtype == kind and array.shape == (size,)
        if fits and name == "shares":
            total = array.sum()
            fits = bool((array >= 0).all()) and (total == 0 or abs(total - 1) < 1e-6)
        require(fits, f"tensor {BACKGROUND_PREFIX}{name} does not fit the table.")
        found[name] = array
    return found


def take_intervals(
    tensors: Tensors,
    widths: Sequence[int],
    n_targets: int,
    n_folds: int | None = None,
    *,
    has_widths: bool = False,
    is_of_classes: bool = False,
) -> Tensors:
    """Arrays behind prediction intervals by name, taken out of ``tensors``.

    ``widths`` are the features that the output layer of each net reads, and ``n_folds`` is of a
    blend: of nets alone each is a fold. With ``has_widths`` the width of intervals adapts to the
    row. Those ``is_of_classes``, for sets, are one number per row, and a temperature.
    """
    own = _Named({n: tensors.pop(n) for n in list(tensors) if n.startswith(INTERVALS_PREFIX)})
    n_errors = 1 if is_of_classes else n_targets
    errors = {kind: _take_errors(own, kind, n_errors, has_widths) for kind in _KINDS}
    if has_widths:
        require(errors["folds"] is not None, f"{INTERVALS_PREFIX}widths belong to no folds.")
    if errors["folds"] is not None:
        n_folds = len(widths) if n_folds is None else n_folds
        _take_folds(own, len(errors["folds"]), n_folds, widths, n_targets)
        if has_widths:
            _take_widths(own, n_folds, n_targets)
    if is_of_classes:
        temperature = own.take("temperature", (1,), np.float64, "is missing or not above 0")
        fits = bool(0 < temperature[0] < math.inf) and errors["loo"] is None
        require(fits, f"{INTERVALS_PREFIX}temperature is missing or not above 0.")
    if errors["loo"] is not None:
        factor = own.take("inflation", (n_targets,), np.float64, "is missing or below 1")
        fits = bool(((factor >= 1) & (factor < np.inf)).all())
        require(fits, f"{INTERVALS_PREFIX}inflation is missing or below 1.")
    require(not own.left, f"its intervals have unknown tensors: {sorted(own.left)[:3]}.")
    return own.taken


def errors_in(own: Tensors, kind: str) -> Errors | None:
    """Errors of a method from arrays that :func:`take_intervals` gave; None without any."""
    values = own.get(f"{kind}.values")
    if values is None:
        return None
    n_groups, is_in_time = own.get(f"{kind}.depends", np.zeros(2, dtype=np.int64)).tolist()
    depends = Depends(n_groups or None, bool(is_in_time))
    return Errors(
        values, own.get(f"{kind}.weight"), scale=own.get(f"{kind}.scale"), depends=depends
    )


def formula_in(own: Tensors) -> Widths:
    """What turns sizes and predictions into widths, from the same arrays."""
    return Widths(*(own[f"widths.{field.name}"] for field in fields(Widths)))


class _Named:
    """Tensors taken one by one."""

    def __init__(self, tensors: Tensors) -> None:
        self.left = {name.removeprefix(INTERVALS_PREFIX): t for name, t in tensors.items()}
        self.taken: Tensors = {}

    def take(
        self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike, otherwise: str
    ) -> npt.NDArray[Any]:
        found = self.left.pop(name, None)
        if found is None or found.shape != shape or found.dtype != dtype:
            refuse(f"{INTERVALS_PREFIX}{name} {otherwise}.")
        self.taken[name] = found
        return found


def _take_errors(
    own: _Named, kind: str, n_targets: int, has_widths: bool
) -> npt.NDArray[Any] | None:
    """Errors ``(m, n_targets)``; weight, scale and how rows depend if they are there."""
    values, weight = (own.left.get(f"{kind}.{name}") for name in ("values", "weight"))
    if values is None and weight is None:
        return None
    m = len(values) if values is not None and values.ndim else 0
    wrong = f"are not errors of {n_targets} targets, one or more of float64"
    found = own.take(f"{kind}.values", (m, n_targets), np.float64, wrong)
    fits = m > 0 and bool(np.isfinite(found).all())
    require(fits, f"{INTERVALS_PREFIX}{kind}.values {wrong}.")
    if weight is not None:
        weight = own.take(f"{kind}.weight", (m,), np.float64, "does not fit")
        fits = bool(((weight > 0) & (weight < np.inf)).all())
        require(fits, f"{INTERVALS_PREFIX}{kind}.weight does not fit.")
    if has_widths and kind != "loo":
        scale = own.take(f"{kind}.scale", (m, n_targets), np.float64, "does not fit")
        fits = bool(((scale > 0) & np.isfinite(scale)).all())
        require(fits, f"{INTERVALS_PREFIX}{kind}.scale does not fit.")
    if f"{kind}.depends" in own.left:
        depends = own.take(f"{kind}.depends", (2,), np.int64, "does not fit")
        n_groups, is_in_time = depends.tolist()
        fits = 0 <= n_groups <= m and is_in_time in (0, 1) and (n_groups, is_in_time) != (0, 0)
        require(fits, f"{INTERVALS_PREFIX}{kind}.depends does not fit.")
    return found


def _take_folds(own: _Named, m: int, n_folds: int, widths: Sequence[int], n_targets: int) -> None:
    """The fold of each error, and the output layer that each fold predicted with."""
    wrong = "does not fit the members"
    fold = own.take("folds.fold", (m,), np.int32, wrong)
    fits = 0 <= int(fold.min()) and int(fold.max()) < n_folds
    require(fits, f"{INTERVALS_PREFIX}folds.fold {wrong}.")
    for k, width in enumerate(widths):
        wrong = "does not fit its network"
        for name, shape in (("weight", (width, n_targets)), ("bias", (n_targets,))):
            found = own.take(f"folds.{k}.{name}", shape, np.float32, wrong)
            is_finite = bool(np.isfinite(found).all())
            require(is_finite, f"{INTERVALS_PREFIX}folds.{k}.{name} {wrong}.")


def _take_widths(own: _Named, n_folds: int, n_targets: int) -> None:
    """What turns sizes by trees and predictions into the width of a row.

    Files without knots are of the time before widths were stretched.
    """
    for name in ("knots", "stretch"):
        own.left.setdefault(f"widths.{name}", np.zeros((1, n_targets)))
    m = len(np.atleast_1d(own.left["widths.knots"]))
    shapes = {
        "knots": (m, n_targets),
        "stretch": (m, n_targets),
        "power": (2, n_targets),
        "floor": (n_targets,),
        "shift": (n_targets,),
        "slope": (n_folds, 2, n_targets),
    }
    for name, shape in shapes.items():
        wrong = "does not fit the targets"
        found = own.take(f"widths.{name}", shape, np.float64, wrong)
        fits = bool((np.abs(found) <= _MOST_WIDTH).all())
        fits = fits and bool((found >= 0).all() or name not in ("power", "floor"))
        fits = fits and (name != "floor" or bool((found > 0).all()))
        fits = fits and (name != "knots" or (m > 0 and bool((np.diff(found, axis=0) > 0).all())))
        require(fits, f"{INTERVALS_PREFIX}widths.{name} {wrong}.")


# ------------------------------------- summaries of the training rows, for ``adacap check``

_N_LIMITS, _MOST_KEYS = 5, 1024
_TYPES = {"axes": np.float32, "keys": np.int64}  # float64 of the others
_SUMMARY = ("n_rows", "grid", "below", "missing", "counts")


def take_seen(tensors: Tensors, plans: Sequence[ColumnPlan], n_features: int) -> Tensors:
    """Arrays of :class:`~adacap.estimators.seen.Seen`, taken out of ``tensors``; older have none.

    ``n_features`` are columns after encoding.
    """
    names = [name for name in tensors if name.startswith(SEEN_PREFIX)]
    own = {name.removeprefix(SEEN_PREFIX): tensors.pop(name) for name in names}
    if not own:
        return {}
    p, n_levels = len(plans), sum(len(levels_of(plan)) for plan in plans)
    r = own["axes"].shape[1] if own.get("axes") is not None and own["axes"].ndim == 2 else 0
    shapes = {
        "n_rows": (1,), "grid": (p, N_QUANTILES), "below": (p, N_QUANTILES), "missing": (p,),
        "counts": (n_levels,), "kernel": (3,), "axes": (n_features, r), "variance": (r + 1,),
        "limits": (_N_LIMITS,), "keys": (min(own.get("keys", np.empty(0)).size, _MOST_KEYS),),
    }  # fmt: skip
    either = [{*_SUMMARY}, {*_SUMMARY, "kernel"}, {*_SUMMARY, "axes", "variance", "limits"}]
    require(set(own) - {"keys"} in either, f"its summary of the training rows has {sorted(own)}.")
    for name, array in own.items():
        kind = _TYPES.get(name, np.float64)
        fits = array.dtype == kind and array.shape == shapes[name]
        require(fits, f"tensor {SEEN_PREFIX}{name} is {array.dtype} of shape {array.shape}.")
    _check_values(own)
    return own


def _check_values(own: Tensors) -> None:
    """Refuse numbers that no table can give."""
    shares = np.concatenate([own["below"].ravel(), own["missing"]])
    shares = shares[~np.isnan(shares)]
    rows, counts = own["n_rows"], own["counts"]
    fits = ((shares >= 0) & (shares <= 1 + 1e-9)).all() and (counts >= 0).all()
    fits = fits and np.isfinite(rows).all() and (rows > 0).all() and np.isfinite(counts).all()
    with np.errstate(invalid="ignore"):
        fits = fits and not (np.diff(own["grid"], axis=1) < 0).any()
    fits = fits and ("keys" not in own or bool((np.diff(own["keys"]) > 0).all()))
    rest = [own[name] for name in ("kernel", "axes", "variance", "limits") if name in own]
    fits = fits and all(np.isfinite(array).all() for array in rest)
    positive = [own[name] for name in ("kernel", "variance", "limits") if name in own]
    fits = fits and all((array >= 0).all() for array in positive)
    require(bool(fits), "its summary of the training rows holds impossible numbers.")
