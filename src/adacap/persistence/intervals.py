"""Errors behind prediction intervals in a model file: a few tensors, checked when read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap.estimators.bag import FittedMember
from adacap.estimators.intervals import Errors, FoldErrors, IntervalData
from adacap.persistence.files import refuse, require

__all__ = ["interval_tensors", "restore_intervals"]

_PREFIX = "intervals."
_KINDS = ("split", "folds", "loo")


def interval_tensors(data: IntervalData) -> Iterator[tuple[str, Tensor]]:
    """Tensors to write, by name."""
    for kind in _KINDS:
        errors: Errors | None = getattr(data, kind)
        if errors is None:
            continue
        yield f"{_PREFIX}{kind}.values", _tensor(errors.values)
        if errors.weight is not None:
            yield f"{_PREFIX}{kind}.weight", _tensor(errors.weight)
    if data.inflation is not None:
        yield f"{_PREFIX}inflation", _tensor(data.inflation)
    if data.folds is not None:
        yield f"{_PREFIX}folds.fold", _tensor(data.folds.fold)
        for k, layer in enumerate(data.folds.layers):
            for name, tensor in zip(("weight", "bias"), layer, strict=True):
                yield f"{_PREFIX}folds.{k}.{name}", tensor.detach().cpu().clone().contiguous()


def restore_intervals(
    tensors: dict[str, Tensor], members: list[FittedMember], n_targets: int
) -> IntervalData:
    """Intervals from the tensors of a file, which are taken out of ``tensors``."""
    names = [name for name in tensors if name.startswith(_PREFIX)]
    own = {name.removeprefix(_PREFIX): tensors.pop(name) for name in names}
    split, folds, loo = (_errors(own, kind, n_targets) for kind in _KINDS)
    whole = None if folds is None else _folds(own, folds, members)
    data = IntervalData(split, whole, loo, _inflation(own, loo, n_targets))
    require(not own, f"its intervals have tensors of no meaning: {sorted(own)[:3]}.")
    return data


def _errors(own: dict[str, Tensor], kind: str, n_targets: int) -> Errors | None:
    values, weight = (own.pop(f"{kind}.{name}", None) for name in ("values", "weight"))
    if values is None and weight is None:
        return None
    if values is None or values.ndim != 2 or values.dtype != torch.float64:
        refuse(f"{_PREFIX}{kind}.values is missing or no table of float64.")
    fits = values.shape[1] == n_targets and len(values) > 0 and bool((values >= 0).all())
    require(fits, f"{_PREFIX}{kind}.values are not errors of {n_targets} targets.")
    if weight is not None:
        fits = weight.shape == values.shape[:1] and weight.dtype == torch.float64
        require(fits and bool((weight > 0).all()), f"{_PREFIX}{kind}.weight does not fit.")
    return Errors(values.numpy(), None if weight is None else weight.numpy())


def _inflation(
    own: dict[str, Tensor], loo: Errors | None, n_targets: int
) -> npt.NDArray[np.float64] | None:
    if loo is None:
        return None
    factor = own.pop("inflation", torch.empty(0))
    fits = factor.shape == (n_targets,) and factor.dtype == torch.float64
    require(fits and bool((factor >= 1).all()), f"{_PREFIX}inflation is missing or below 1.")
    return factor.numpy()


def _folds(own: dict[str, Tensor], errors: Errors, members: list[FittedMember]) -> FoldErrors:
    fold = own.pop("folds.fold", torch.empty(0))
    fits = fold.dtype == torch.int32 and fold.shape == (len(errors.values),)
    fits = fits and 0 <= int(fold.min()) and int(fold.max()) < len(members)
    require(fits, f"{_PREFIX}folds.fold does not fit the members.")
    layers = tuple(_layer(own, k, member) for k, member in enumerate(members))
    return FoldErrors(errors.values, errors.weight, fold.numpy(), layers)


def _layer(own: dict[str, Tensor], k: int, member: FittedMember) -> tuple[Tensor, Tensor]:
    """Output layer of one fold, of the shape of the one that predicts."""
    output = member.group.output
    weight, bias = (own.pop(f"folds.{k}.{name}", torch.empty(0)) for name in ("weight", "bias"))
    for part, like in ((weight, output.weight), (bias, output.bias)):
        fits = part.shape == like.shape[1:] and part.dtype == like.dtype
        require(fits, f"{_PREFIX}folds.{k} does not fit its network.")
    return weight.to(output.weight.device), bias.to(output.weight.device)


def _tensor(array: npt.NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
