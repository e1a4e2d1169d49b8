"""Prediction intervals of a fitted regressor: which errors they rest on, and what they promise.

Errors are kept in coded units, in which the nets compute. Rows count as often as in ``fit``: a row
of weight 2 is two rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap.core.conformal import conformal_quantile, cv_plus, least_rows
from adacap.estimators.bag import Bag, FittedMember
from adacap.estimators.held_out import Evidence, pooled_outputs, pooled_residuals
from adacap.estimators.targets import RegressionCodec
from adacap.nn.presets import suggest

__all__ = ["LOO_INFLATION", "Errors", "FoldErrors", "IntervalData", "IntervalMethod", "interval"]

Floats = npt.NDArray[np.float64]
FoldLayers = tuple[tuple[Tensor, Tensor], ...]  # weights (J, c) and offsets (c,) of each member
IntervalMethod = Literal["auto", "cv+", "split", "loo"]
_METHODS = get_args(IntervalMethod)

LOO_INFLATION = 1.33
"""Errors on new rows over leave-one-out errors, measured by ``benchmarks/coverage.py --inflation``.

The features have learnt from every row, so leave-one-out errors flatter. A model that held rows out
has its own factor, which counts beside this one as those rows do beside ``_PRIOR_ROWS`` rows.
"""
_PRIOR_ROWS = 10
_CHOSEN = 1.1  # the rows held out chose the iteration, so their errors are a little too small

_ASK = {
    "cv+": (
        "needs a net per fold that never saw the fold. Fit with validation='folds' and several "
        "nets (the default for regression), without X_val, refit='net' or going on by warm_start"
    ),
    "split": (
        "needs rows that training never saw. Fit with calibration_fraction=0.2, or call "
        "calibrate(X, y) with fresh rows"
    ),
    "loo": "needs the closed-form output layer. Fit with scheme='adacap' or 'tikhonov'",
}


@dataclass(frozen=True, eq=False)
class Errors:
    """Absolute errors in coded units, and how often each row counts (None: once)."""

    values: Floats  # (n, c)
    weight: Floats | None  # (n,)

    @property
    def n_rows(self) -> float:
        """Rows, each as often as it counts."""
        return float(len(self.values) if self.weight is None else self.weight.sum())


@dataclass(frozen=True, eq=False)
class FoldErrors(Errors):
    """Errors of each row under the member that never saw it, and these members' output layers."""

    fold: npt.NDArray[np.int32]  # (n,), the member of each row
    layers: FoldLayers


@dataclass(frozen=True)
class IntervalData:
    """What ``predict_interval`` has to go by; None where the fit left nothing of the kind."""

    split: Errors | None = None
    folds: FoldErrors | None = None
    loo: Errors | None = None
    inflation: Floats | None = None  # (c,), factor on the leave-one-out errors

    @classmethod
    def of(cls, evidence: Evidence) -> IntervalData:
        """Collect the errors that training left behind."""
        loo = _loo_errors(evidence)
        factor = None if loo is None else _inflation(evidence)
        return cls(_split_errors(evidence), _fold_errors(evidence), loo, factor)

    def resolve(self, method: str) -> str:
        """Method that ``"auto"`` stands for, or the one asked for if it can be had.

        Raises
        ------
        ValueError
            With what to do about it.
        """
        if method not in _METHODS:
            raise ValueError(suggest(str(method), _METHODS, "method"))
        there = {"split": self.split, "cv+": self.folds, "loo": self.loo}
        if method == "auto":
            for name, errors in there.items():
                if errors is not None:
                    return name
            ways = "; ".join(f"method={name!r} {text}" for name, text in _ASK.items())
            raise ValueError(f"This model has nothing to make intervals from: {ways}.")
        if there[method] is None:
            raise ValueError(f"method={method!r} {_ASK[method]}.")
        return method


class FoldBag(Bag):
    """Outputs (n, K, c) of the members, each by the output layer that never saw its fold."""

    def __init__(self, members: Sequence[FittedMember], layers: FoldLayers) -> None:
        super().__init__(members, layers)

    def forward(self, x: Tensor) -> Tensor:
        """One output per member."""
        return self.each(x).transpose(0, 1)


def interval(estimator: Any, X: Any, coverage: float, method: str) -> Floats:
    """Lower and upper bounds in the user's units; see ``AdaCapRegressor.predict_interval``."""
    if not (isinstance(coverage, int | float) and 0 < coverage < 1):
        raise ValueError(f"coverage must be between 0 and 1, such as 0.9, got {coverage!r}.")
    data: IntervalData = estimator.intervals_
    method = data.resolve(method)
    if method == "cv+":
        assert data.folds is not None
        errors: Errors = data.folds
        bag = FoldBag(estimator.members_, data.folds.layers).eval()
        outputs = estimator._outputs(X, bag).astype(np.float64)
        bounds = cv_plus(outputs, errors.values, data.folds.fold, coverage, errors.weight)
    else:
        found = data.split if method == "split" else data.loo
        assert found is not None
        errors = found
        half = conformal_quantile(errors.values, coverage, errors.weight)
        if method == "loo":
            assert data.inflation is not None
            half = half * data.inflation
        centre = estimator._outputs(X).astype(np.float64)
        bounds = centre - half, centre + half
    _warn_infinite(errors, coverage)
    decoded = np.stack([_decode(estimator.codec_, bound) for bound in bounds], axis=-1)
    return np.sort(decoded, axis=-1)  # a target that was turned round has its lower bound above


def _decode(codec: RegressionCodec, bound: Floats) -> Floats:
    """Bounds in the user's units; what is infinite stays so, even for a constant target."""
    finite = np.where(np.isfinite(bound), bound, 0.0)
    infinite = np.where(np.isfinite(bound), 0.0, bound * np.where(codec.scale < 0, -1.0, 1.0))
    return codec.decode(finite) + (infinite[:, 0] if codec.is_1d else infinite)


def _warn_infinite(errors: Errors, coverage: float) -> None:
    n, least = errors.n_rows, least_rows(coverage)
    if n < least - 1e-6 * least:
        most = n / (n + 1)
        warnings.warn(
            f"coverage={coverage:g} needs at least {least} rows to take errors from, got {n:g}: "
            f"the intervals are infinite. Ask for a coverage of at most {most:.3g}, or give more "
            "rows.",
            stacklevel=4,
        )


# ---------------------------------------------------------------------------- collecting


def errors_of(outputs: Any, coded: Any, weight: Any) -> Errors:
    """Absolute errors of outputs against coded targets."""
    values = np.abs(_array(outputs) - _array(coded))
    return Errors(values, None if weight is None else _array(weight))


def _split_errors(evidence: Evidence) -> Errors | None:
    aside = evidence.aside
    if aside is None:
        return None
    return errors_of(evidence.outputs_aside(aside), aside.targets, aside.weight)


def _fold_errors(evidence: Evidence) -> FoldErrors | None:
    """Errors out of fold, if the folds share out the rows and no net has seen its own.

    The few rows that do not divide by the number of folds are training rows for all nets; they
    have no error, and what holds for the others holds given them.
    """
    rows, members = evidence.rows, evidence.members
    held = [member.held_out for member in members]
    layers = [h.layer for h in held if h is not None and h.layer is not None]
    if len(layers) < max(2, len(members)) or evidence.is_going_on:
        return None
    fold = torch.full((len(rows.x),), -1, dtype=torch.int32)
    for k, member in enumerate(members):
        fold[member.rows.valid] = k
    index = (fold >= 0).nonzero()[:, 0]
    n_held = sum(len(member.rows.valid) for member in members)
    if len(index) != n_held or n_held <= len(fold) - len(members):
        return None
    _, outputs = pooled_outputs(members, len(fold))
    weight = None if rows.weight is None else rows.weight.cpu()[index]
    errors = errors_of(outputs, rows.targets.cpu()[index], weight)
    return FoldErrors(errors.values, errors.weight, fold[index].numpy(), tuple(layers))


def _loo_errors(evidence: Evidence) -> Errors | None:
    rows = evidence.rows
    index, residuals = pooled_residuals(evidence.members, len(rows.x))
    if len(index) == 0:
        return None
    weight = None if rows.weight is None else rows.weight.cpu()[index]
    return errors_of(residuals, torch.zeros(1), weight)


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
