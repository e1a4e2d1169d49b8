"""Capacity, errors behind intervals, summaries of training rows: to tensors of a file, and back.

What is read was checked by :mod:`adacap.modelfile.evidence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap.estimators._base import AdaCapBase
from adacap.estimators.adaptive import LearntWidths
from adacap.estimators.background import Background
from adacap.estimators.bag import FittedMember
from adacap.estimators.bounds import Depends
from adacap.estimators.capacity import Capacity
from adacap.estimators.intervals import FoldErrors, IntervalData
from adacap.estimators.provenance import Provenance
from adacap.estimators.seen import Axes, Seen
from adacap.estimators.sets import SetData
from adacap.modelfile.archive import Tensors
from adacap.modelfile.evidence import (
    BACKGROUND_PREFIX,
    CAPACITY_PREFIX,
    INTERVALS_PREFIX,
    SEEN_PREFIX,
    Studied,
    errors_in,
    formula_in,
)
from adacap.modelfile.groups import as_torch
from adacap.nn.predictors import Frozen
from adacap.tables.summaries import TableSummary

__all__ = [
    "background_tensors", "capacity_tensors", "interval_tensors", "restore_background",
    "restore_capacity", "restore_intervals", "restore_seen", "restore_sets", "seen_tensors",
]  # fmt: skip


def background_tensors(estimator: AdaCapBase) -> Iterator[tuple[str, Tensor]]:
    """Tensors to write, by name: importances of columns, and folds; never any row."""
    has_shares = estimator.background_.rows is not None or estimator.background_.shares is not None
    if estimator.sample_shape_ is None and has_shares:  # not of a file of an earlier version
        yield BACKGROUND_PREFIX + "shares", _tensor(estimator.feature_importances_)
    if estimator.background_.fold is not None:
        yield BACKGROUND_PREFIX + "fold", _tensor(estimator.background_.fold)


def restore_background(arrays: Tensors) -> Background:
    """What is remembered of the training rows, from the arrays of a file."""
    return Background(None, **{name: array.copy() for name, array in arrays.items()})


def seen_tensors(seen: Seen | None) -> Iterator[tuple[str, Tensor]]:
    """Tensors to write, by name."""
    if seen is None:
        return
    arrays = seen.summary.to_arrays()
    if len(seen.keys):
        arrays["keys"] = seen.keys
    if seen.kernel is not None:
        arrays["kernel"] = seen.kernel
    if seen.axes is not None:
        axes = seen.axes.axes.astype(np.float32)
        arrays |= {"axes": axes, "variance": seen.axes.variance, "limits": seen.axes.limits}
    for name, array in arrays.items():
        yield SEEN_PREFIX + name, _tensor(array)


def restore_seen(arrays: Tensors) -> Seen | None:
    """Summaries of the training rows from the arrays of a file; None if it has none."""
    if not arrays:
        return None
    axes = None
    if "axes" in arrays:
        own = (np.array(arrays[name], dtype=np.float64) for name in ("axes", "variance", "limits"))
        axes = Axes(*own)
    kernel = np.array(arrays["kernel"]) if "kernel" in arrays else None
    keys = np.array(arrays.get("keys", ()), dtype=np.int64)
    return Seen(TableSummary.from_arrays(arrays), kernel, axes, keys)


def capacity_tensors(capacity: Capacity) -> Iterator[tuple[str, Tensor]]:
    """Tensors to write, by name."""
    for name, array in capacity.to_arrays().items():
        yield CAPACITY_PREFIX + name, _tensor(array)


def restore_capacity(
    arrays: Tensors,
    members: Sequence[FittedMember] | Sequence[Studied],
    provenance: Provenance,
    **facts: Any,
) -> Capacity:
    """Capacity from the arrays of a file, and those that it was read from."""
    return Capacity.from_arrays(
        {name: array.copy() for name, array in arrays.items()},
        [member.lam for member in members],
        [member.effective_dof for member in members],
        n_rows=provenance.n_rows,
        n_distinct=provenance.n_distinct,
        **facts,
    )


def interval_tensors(data: IntervalData) -> Iterator[tuple[str, Tensor]]:
    """Tensors to write, by name."""
    for kind, errors in (("split", data.split), ("folds", data.folds), ("loo", data.loo)):
        if errors is None:
            continue
        yield f"{INTERVALS_PREFIX}{kind}.values", _tensor(errors.values)
        if errors.weight is not None:
            yield f"{INTERVALS_PREFIX}{kind}.weight", _tensor(errors.weight)
        if errors.scale is not None:
            yield f"{INTERVALS_PREFIX}{kind}.scale", _tensor(errors.scale)
        if errors.depends != Depends():
            n_groups, is_in_time = errors.depends
            yield f"{INTERVALS_PREFIX}{kind}.depends", torch.tensor([n_groups or 0, is_in_time])
    if data.widths is not None:
        for name, array in asdict(data.widths.formula).items():
            yield f"{INTERVALS_PREFIX}widths.{name}", _tensor(array)
    if isinstance(data, SetData):
        yield f"{INTERVALS_PREFIX}temperature", _tensor(np.array([data.temperature]))
    if data.inflation is not None:
        yield f"{INTERVALS_PREFIX}inflation", _tensor(data.inflation)
    if data.folds is not None:
        yield f"{INTERVALS_PREFIX}folds.fold", _tensor(data.folds.fold)
        for k, layer in enumerate(data.folds.layers):
            for name, tensor in zip(("weight", "bias"), layer, strict=True):
                own = tensor.detach().cpu().clone().contiguous()
                yield f"{INTERVALS_PREFIX}folds.{k}.{name}", own


def restore_intervals(
    arrays: Tensors, members: Sequence[FittedMember], trees: Frozen | None = None
) -> IntervalData:
    """Intervals from the arrays of a file, and the trees behind their width."""
    own = {name: array.copy() for name, array in arrays.items()}
    split, folds, loo = (errors_in(own, kind) for kind in ("split", "folds", "loo"))
    whole = None
    if folds is not None:
        layers = tuple(_layer(own, k, member) for k, member in enumerate(members))
        whole = FoldErrors(
            folds.values, folds.weight, own["folds.fold"], layers,
            scale=folds.scale, depends=folds.depends,
        )  # fmt: skip
    widths = None if trees is None else LearntWidths(trees, formula_in(own))
    return IntervalData(split, whole, loo, own.get("inflation"), widths)


def restore_sets(arrays: Tensors, members: Sequence[FittedMember]) -> SetData:
    """What sets of classes rest on, from the arrays of a file."""
    found = restore_intervals(arrays, members)
    return SetData(found.split, found.folds, temperature=float(arrays["temperature"][0]))


def _layer(own: Tensors, k: int, member: FittedMember) -> tuple[Tensor, Tensor]:
    """Output layer of one fold, on the device of the one that predicts."""
    device = member.group.output.weight.device
    weight, bias = (as_torch(own[f"folds.{k}.{name}"]) for name in ("weight", "bias"))
    return weight.to(device), bias.to(device)


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
