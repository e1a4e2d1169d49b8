"""Prediction intervals of a fitted regressor: which errors they use, and what they guarantee.

Errors are kept with their sign in coded units, in which the nets compute, each over the scale that
its row was given (:mod:`adacap.widths`). Rows count as often as in ``fit``: a row of weight 2 is
two rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from adacap._typing import Floats
from adacap.estimators.adaptive import LearntWidths, learn_widths
from adacap.estimators.bag import Bag, FittedMember
from adacap.estimators.blending import Part, blend_module
from adacap.estimators.blending.parts import FoldLayers
from adacap.estimators.bounds import (
    Depends,
    Errors,
    PredictedRows,
    check_shares,
    describe,
    interval_of,
    quantiles_of,
    resolve,
    rows_of,
    scale_of,
)
from adacap.estimators.dependence import Dependence, group_weights, read_dependence
from adacap.estimators.held_out import (
    BLEND_CHUNK,
    Evidence,
    outputs_of,
    pooled_residuals,
)
from adacap.estimators.settings import Settings
from adacap.estimators.targets import RegressionCodec
from adacap.nn.predictors import Frozen

__all__ = [
    "LOO_INFLATION", "FoldErrors", "IntervalData", "by_group", "errors_of", "fold_errors",
    "fold_module", "fresh_errors", "interval", "later_errors", "quantiles", "scale_of_rows",
]  # fmt: skip

LOO_INFLATION = 1.33
"""Errors on new rows over leave-one-out errors, measured by ``benchmarks/coverage.py --inflation``.

The features have learnt from every row, so leave-one-out errors flatter. A model that held rows out
has its own factor, which counts beside this one as those rows do beside ``_PRIOR_ROWS`` rows.
"""
GROUP_COUNT = 2.0
"""How often a group counts in errors out of fold, where the row to come counts once.

With 1 the next group is one like the others, as in hierarchical conformal prediction. That covered
91 to 95 % at 0.9 on synthetic tables of 12 to 40 groups, since the folds' models together err less
than each of them. 2 covered 90 to 92 % there: it was picked on the tables of
``benchmarks/groups.py`` and does not follow from theory.
"""
_PRIOR_ROWS = 10
_CHOSEN = 1.1  # the rows held out chose the iteration, so their errors are a little too small


@dataclass(frozen=True, eq=False)
class FoldErrors(Errors):
    """Errors of each row under the member that never saw it, and these members' output layers."""

    fold: npt.NDArray[np.int32]  # (n,), the member of each row
    layers: FoldLayers


@dataclass(frozen=True)
class IntervalData:
    """What ``predict_interval`` is based on; None where the fit left nothing of the kind."""

    split: Errors | None = None
    folds: FoldErrors | None = None
    loo: Errors | None = None
    inflation: Floats | None = None  # (c,), factor on the leave-one-out errors
    widths: LearntWidths | None = None  # how wide each row is; None: all are alike

    @classmethod
    def of(cls, evidence: Evidence) -> IntervalData:
        """Collect the errors that training left behind."""
        loo = _loo_errors(evidence)
        factor = None if loo is None else _inflation(evidence)
        folds, widths = _with_widths(evidence, fold_errors(evidence))
        data = cls(None, folds, loo, factor, widths)
        return replace(data, split=_split_errors(evidence, data))

    @property
    def _there(self) -> dict[str, Errors | None]:
        return {"split": self.split, "cv+": self.folds, "loo": self.loo}

    def resolve(self, method: str) -> str:
        """Method that ``"auto"`` resolves to, or the requested one if it is available."""
        return resolve(method, self._there)

    def errors(self, method: str) -> Errors:
        """Errors that a method is based on."""
        found = self._there[self.resolve(method)]
        assert found is not None
        return found

    def is_adaptive(self, method: str = "auto") -> bool:
        """Whether intervals of a method are wider for some rows than for others."""
        return self.errors(method).scale is not None

    def describe(self, coverage: float = 0.9, method: str = "auto") -> str:
        """What intervals are based on and what they guarantee, in words."""
        return describe(self.resolve(method), self.errors(method), coverage)


class FoldOutputs(nn.Module):
    """Outputs (n, K, c) of the folds, each by models that never saw it.

    With trees for the width of rows, their sizes follow the outputs: (n, K, 2c).
    """

    def __init__(self, module: Any, trees: Frozen | None = None) -> None:
        super().__init__()
        self.module, self.trees = module, trees

    def forward(self, x: Tensor) -> Tensor:
        """One output per fold."""
        found: Tensor = self.module.each(x)
        if self.trees is not None:
            found = torch.cat([found.double(), self.trees.each(x)], -1)
        return found.transpose(0, 1)


def fold_module(
    parts: Sequence[Part], members: Sequence[FittedMember], layers: FoldLayers
) -> nn.Module:
    """What predicts fold by fold, a blend or nets, with output layers that never saw the fold."""
    return blend_module(parts, layers) if parts else Bag(members, layers)


def _rows(estimator: Any, X: Any, method: str, width: str) -> PredictedRows:
    data: IntervalData = estimator.intervals_
    return rows_of(
        data.errors(method),
        method,
        width,
        data.inflation,
        lambda: estimator._outputs(X).astype(np.float64),
        lambda is_adaptive: _fold_outputs(estimator, X, data, is_adaptive=is_adaptive),
    )


def _fold_outputs(
    estimator: Any, X: Any, data: IntervalData, *, is_adaptive: bool
) -> tuple[Floats, Floats | None]:
    """Outputs and scale ``(m, K, c)`` of new rows under each fold."""
    assert data.folds is not None
    own = data.widths if is_adaptive else None
    module = fold_module(estimator.blend_, estimator.members_, data.folds.layers)
    folds = FoldOutputs(module, None if own is None else own.trees).eval()
    found = estimator._outputs(X, folds).astype(np.float64)
    if own is None:
        return found, None
    outputs, sizes = np.split(found, 2, axis=2)
    return outputs, own.formula.scale(outputs, sizes)


def scale_of_rows(estimator: Any, X: Any, data: IntervalData) -> Floats:
    """Scale ``(m, c)`` of new rows: the geometric mean over folds."""
    return scale_of(_fold_outputs(estimator, X, data, is_adaptive=True))


def interval(estimator: Any, X: Any, coverage: Any, method: str, width: str = "auto") -> Floats:
    """Lower and upper bounds in the user's units; see ``AdaCapRegressor.predict_interval``."""
    check_shares(coverage, "coverage", "0.9")
    data: IntervalData = estimator.intervals_
    method = data.resolve(method)
    rows, decode = _rows(estimator, X, method, width), partial(_decode, estimator.codec_)
    return interval_of(rows, data.errors(method), coverage, decode)


def quantiles(estimator: Any, X: Any, levels: Any, method: str, width: str = "auto") -> Floats:
    """Quantiles in the user's units; see ``AdaCapRegressor.predict_quantiles``."""
    check_shares(levels, "quantiles", "[0.1, 0.5, 0.9]")
    data: IntervalData = estimator.intervals_
    method, codec = data.resolve(method), estimator.codec_
    rows, decode = _rows(estimator, X, method, width), partial(_decode, codec)
    return quantiles_of(rows, data.errors(method), levels, decode, codec.scale < 0)


def _decode(codec: RegressionCodec, bound: Floats) -> Floats:
    """Bounds in the user's units; what is infinite stays so, even for a constant target."""
    finite = np.where(np.isfinite(bound), bound, 0.0)
    infinite = np.where(np.isfinite(bound), 0.0, bound * np.where(codec.scale < 0, -1.0, 1.0))
    return codec.invert(finite) + (infinite[:, 0] if codec.is_1d else infinite)


# ---------------------------------------------------------------------------- collecting


def errors_of(outputs: Any, coded: Any, weight: Any, scale: Floats | None = None) -> Errors:
    """Errors of outputs against coded targets."""
    values = _array(coded) - _array(outputs)
    return Errors(values, None if weight is None else _array(weight), scale=scale)


def _split_errors(evidence: Evidence, data: IntervalData) -> Errors | None:
    aside = evidence.aside
    if aside is None:
        return later_errors(evidence)
    scale = None if data.widths is None else _scale_aside(evidence, data, aside.x)
    errors = errors_of(evidence.outputs_aside(), aside.targets, aside.weight, scale)
    return by_group(errors, evidence.dependence_aside, None)


def later_errors(evidence: Evidence) -> Errors | None:
    """With time: errors on later rows of models that were trained on earlier ones."""
    if not _is_in_time(evidence) or evidence.valid is not None:
        return None
    index, outputs = evidence.outputs_held_out()
    if evidence.is_warm_start or len(index) == 0:
        return None
    return _held_out_errors(evidence, index, outputs)


def _held_out_errors(evidence: Evidence, index: Tensor, outputs: Tensor) -> Errors:
    rows = evidence.rows
    weight = None if rows.weight is None else rows.weight.cpu()[index]
    errors = errors_of(outputs, rows.targets.cpu()[index], weight)
    return by_group(errors, evidence.dependence, index.numpy(), GROUP_COUNT)


def by_group(
    errors: Errors, dependence: Dependence | None, index: Any, count: float = 1.0
) -> Errors:
    """Errors with the dependence of their rows; ranks count groups, each ``count`` times."""
    if dependence is None:
        return errors
    is_in_time = dependence.time is not None
    if dependence.group is None:
        return replace(errors, depends=Depends(None, is_in_time))
    group = dependence.group if index is None else dependence.group[index]
    weight = count * group_weights(group, errors.weight)
    return replace(errors, weight=weight, depends=Depends(len(np.unique(group)), is_in_time))


def fresh_errors(errors: Errors, groups: Any, n_rows: int, keep: Any, settings: Settings) -> Errors:
    """Errors on rows that the caller gave after the fit, which depend as those of the fit do.

    ``keep`` are those of the rows given that have an error.
    """
    found = errors
    if groups is not None:
        found = by_group(errors, read_dependence(groups, None, n_rows), keep)
    elif "group" in settings.split_by:
        warnings.warn(
            "The model was fitted by groups, but these rows count as independent ones, so that "
            "intervals are too narrow for new groups. Pass groups=, or --group COLUMN.",
            stacklevel=3,
        )
    if "time" in settings.split_by:
        found = replace(found, depends=found.depends._replace(is_in_time=True))
    return found


def _scale_aside(evidence: Evidence, data: IntervalData, x: Tensor) -> Floats:
    """Scale ``(m, c)`` of rows that were set aside: the geometric mean over folds."""
    assert data.folds is not None
    assert data.widths is not None
    parts = () if evidence.blend is None else evidence.blend.parts
    module = fold_module(parts, evidence.members, data.folds.layers)
    folds = FoldOutputs(module, data.widths.trees).eval()
    outputs, sizes = np.split(_array(outputs_of(folds, x, BLEND_CHUNK)), 2, axis=2)
    return scale_of((outputs, data.widths.formula.scale(outputs, sizes)))


def _with_widths(
    evidence: Evidence, folds: FoldErrors | None
) -> tuple[FoldErrors | None, LearntWidths | None]:
    """The errors with the scale of their rows, and what gives it to new rows."""
    if folds is None:
        return None, None
    index, outputs = evidence.outputs_held_out()
    x = evidence.rows.x[index.to(evidence.rows.x.device)]
    found = learn_widths(x, folds.values, _array(outputs), folds.weight, folds.fold)
    if found is None:
        return folds, None
    return replace(folds, scale=found[1]), found[0]


def fold_errors(evidence: Evidence) -> FoldErrors | None:
    """Errors out of fold, if no row is in two of them and no net has seen its own.

    Rows in no fold are training rows for all nets: the few that do not divide by the number of
    folds, and those beyond what folds hold at most. They have no error; the others were drawn at
    random, and what holds for them holds given the rest.
    """
    blend = evidence.blend
    members = evidence.members if blend is None else blend.members
    held = [member.held_out for member in members]
    layers = tuple(h.layer for h in held if h is not None and h.layer is not None)
    least = max(2, len(members)) if blend is None else len(members)
    if len(layers) < least or evidence.is_warm_start or _is_in_time(evidence):
        return None
    fold = _fold_of_each(members, len(evidence.rows.x)) if blend is None else blend.fold
    index, outputs = evidence.outputs_held_out()
    if fold is None or len(index) == 0:
        return None
    errors = _held_out_errors(evidence, index, outputs)
    own = fold[index].to(torch.int32).numpy()
    return FoldErrors(errors.values, errors.weight, own, layers, depends=errors.depends)


def _fold_of_each(members: Sequence[FittedMember], n_rows: int) -> Tensor | None:
    """The net that held out each row, -1 for none; None if two held out one row, or none did."""
    fold = torch.full((n_rows,), -1)
    for k, member in enumerate(members):
        fold[member.rows.valid] = k
    n_held = sum(len(member.rows.valid) for member in members)
    return fold if 0 < n_held == int((fold >= 0).sum()) else None


def _is_in_time(evidence: Evidence) -> bool:
    return evidence.dependence is not None and evidence.dependence.time is not None


def _loo_errors(evidence: Evidence) -> Errors | None:
    rows = evidence.rows
    if evidence.blend is not None:  # leaving a row out of some members is not leaving it out
        return None
    if evidence.dependence is not None:  # nor is it leaving out its group, or the future
        return None
    index, residuals = pooled_residuals(evidence.members, len(rows.x))
    if len(index) == 0:
        return None
    weight = None if rows.weight is None else rows.weight.cpu()[index]
    return errors_of(torch.zeros(1), residuals, weight)


def _inflation(evidence: Evidence) -> Floats:
    """Factor of each target: geometric mean over the rows held out, and over those of the study."""
    held = [h for h in (member.held_out for member in evidence.members) if h is not None]
    rows = np.array([len(h.outputs) for h in held if h.inflation is not None], dtype=np.float64)
    logs = np.zeros((len(rows), evidence.rows.targets.shape[1]))
    for k, factor in enumerate(h.inflation for h in held if h.inflation is not None):
        found = np.nan_to_num(_CHOSEN * _array(factor), nan=1.0)
        logs[k] = np.log(np.clip(found, 1e-3, 1e3))
    total = rows @ logs + _PRIOR_ROWS * np.log(LOO_INFLATION)
    factors: Floats = np.maximum(np.exp(total / (rows.sum() + _PRIOR_ROWS)), 1.0)
    return factors


def _array(values: Any) -> Floats:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
    return np.asarray(values, dtype=np.float64)
