"""Transforms of a target, and the way back without bias; NumPy and SciPy only.

A model of ``t(y)`` predicts the mean of ``t(y)``, whose inverse is not the mean of y. A prediction
is the mean of the inverse over the errors that models made on rows they had not seen (smearing,
Duan 1983). Bounds of intervals are inverted as they are: the order of values does not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from adacap._typing import Floats

__all__ = ["TRANSFORMS", "TargetTransform", "fit_transform"]

TRANSFORMS = ("none", "log", "yeo-johnson")
_N_ERRORS = 21  # quantiles of the errors that predictions are averaged over
_MOST_EXPONENT = 600.0  # whose power is a number
_LEAST_POWER = 0.02  # so that every number has an inverse


@dataclass(frozen=True)
class TargetTransform:
    """How one target is transformed.

    Examples
    --------
    >>> log = fit_transform(np.array([1.0, 10.0, 100.0]), "log")
    >>> log.inverse(log.apply(np.array([1.0, 10.0]))).round(6).tolist()
    [1.0, 10.0]
    >>> log.with_errors(np.array([-1.0, 1.0])).predict(np.zeros(1)) > 1  # the mean, not the median
    array([ True])
    """

    kind: Literal["none", "log", "yeo-johnson"] = "none"
    shift: float = 0.0  # added before the transform
    unit: float = 1.0  # divisor; for the logarithm 1 or -1
    power: float = 1.0  # of Yeo-Johnson, between 0 and 2; 1 changes nothing
    low: float = 0.0  # transformed predictions are clipped to this range,
    high: float = 0.0  # that of the targets and a little more
    errors: tuple[float, ...] = (0.0,)  # quantiles of errors out of fold, in transformed units

    def apply(self, y: Floats) -> Floats:
        """Transformed targets; what the logarithm cannot take is moved to its edge."""
        if self.kind == "none":
            return y
        z = (y + self.shift) / self.unit
        if self.kind == "log":
            found: Floats = np.log(np.maximum(z, np.exp(self.low)))
            return found
        up, down = np.maximum(z, 0.0), np.maximum(-z, 0.0)
        p, q = self.power, 2 - self.power
        return np.where(z >= 0, ((1 + up) ** p - 1) / p, -((1 + down) ** q - 1) / q)

    def inverse(self, z: Floats) -> Floats:
        """Values whose transform is z."""
        if self.kind == "none":
            return z
        if self.kind == "log":
            found = np.exp(np.clip(z, -_MOST_EXPONENT, _MOST_EXPONENT))
        else:
            p, q = self.power, 2 - self.power
            up = (1 + p * np.maximum(z, 0.0)) ** (1 / p) - 1
            down = 1 - (1 - q * np.minimum(z, 0.0)) ** (1 / q)
            found = np.where(z >= 0, up, down)
        values: Floats = found * self.unit - self.shift
        return values

    def predict(self, z: Floats) -> Floats:
        """Mean of the target where a model says z."""
        if self.kind == "none":
            return z
        z = np.clip(z, self.low, self.high)
        total = sum(self.inverse(z + error) for error in self.errors)
        return np.asarray(total / len(self.errors), dtype=np.float64)

    def with_errors(self, errors: Floats) -> TargetTransform:
        """The same with errors out of fold to average over."""
        if self.kind == "none" or not len(errors):
            return self
        places = (np.arange(_N_ERRORS) + 0.5) / _N_ERRORS
        return replace(self, errors=tuple(np.quantile(errors, places).tolist()))


def fit_transform(y: Floats, kind: str) -> TargetTransform:
    """A transform for one target; none where all values are equal.

    The logarithm of values that are all below 0 is that of their absolute values. Where some are 0
    or below, all are shifted so that the smallest becomes half of the 5 % quantile of the others'
    excess over it.

    Examples
    --------
    >>> fit_transform(np.array([0.0, 1.0, 5.0]), "log").shift > 0
    True
    >>> fit_transform(np.ones(3), "log").kind
    'none'
    """
    if kind == "none" or y.min() == y.max():
        return TargetTransform()
    if kind == "log":
        unit = -1.0 if y.max() < 0 else 1.0
        own = unit * y
        excess = own - own.min()
        shift = 0.0
        if own.min() <= 0:
            shift = float(0.5 * np.quantile(excess[excess > 0], 0.05) - own.min())
        found = TargetTransform("log", unit * shift, unit, low=-_MOST_EXPONENT)
    else:
        found = _yeo_johnson(y)
    z = found.apply(y)
    room = 0.5 * float(z.std())
    return replace(found, low=float(z.min()) - room, high=float(z.max()) + room)


def _yeo_johnson(y: Floats) -> TargetTransform:
    """The power of greatest likelihood, of values in units of their own spread."""
    from scipy.optimize import minimize_scalar

    quarter, centre, three = np.quantile(y, [0.25, 0.5, 0.75])
    unit = float(three - quarter) or float(y.std())
    start = TargetTransform("yeo-johnson", -float(centre), unit)
    z = (y - centre) / unit
    slope = np.sign(z) * np.log1p(np.abs(z))

    def loss(power: float) -> float:
        spread = replace(start, power=power).apply(y).var()
        return float(0.5 * np.log(max(spread, 1e-300)) - (power - 1) * slope.mean())

    best = minimize_scalar(loss, bounds=(_LEAST_POWER, 2 - _LEAST_POWER), method="bounded")
    return replace(start, power=float(best.x))
