"""What a file keeps of the training rows, for ``adacap check``: a few tensors, or none.

Older files have none. Everything is checked here against the plan of the columns, on NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adacap.modelfile.archive import Tensors, require
from adacap.tables.plan import ColumnPlan
from adacap.tables.summaries import N_QUANTILES, levels_of

__all__ = ["MOST_KEYS", "N_LIMITS", "SEEN_PREFIX", "take_seen"]

SEEN_PREFIX = "seen."
N_LIMITS = 5
MOST_KEYS = 1024
_KINDS = {"axes": np.float32, "keys": np.int64}
_SUMMARY = ("n_rows", "grid", "below", "missing", "counts")


def take_seen(tensors: Tensors, plans: Sequence[ColumnPlan], n_features: int) -> Tensors:
    """Arrays of :class:`~adacap.estimators.seen.Seen` by name, taken out of ``tensors``.

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
        "limits": (N_LIMITS,), "keys": (min(own.get("keys", np.empty(0)).size, MOST_KEYS),),
    }  # fmt: skip
    either = [{*_SUMMARY}, {*_SUMMARY, "kernel"}, {*_SUMMARY, "axes", "variance", "limits"}]
    require(set(own) - {"keys"} in either, f"its summary of the training rows has {sorted(own)}.")
    for name, array in own.items():
        kind = _KINDS.get(name, np.float64)
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
