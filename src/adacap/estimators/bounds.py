"""Bounds from errors: which errors a method uses, what it guarantees, how they are combined.

On NumPy alone, for the estimator and for ``adacap.lite``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.conformal import conformal_set, cv_plus, cv_quantile, least_rows
from adacap.exceptions import suggest

__all__ = [
    "Depends", "Errors", "IntervalMethod", "PredictedRows", "WidthMethod", "check_shares",
    "class_sets", "describe", "describe_sets", "interval_of", "quantiles_of", "resolve", "rows_of",
    "scale_of",
]  # fmt: skip

IntervalMethod = Literal["auto", "cv+", "split", "loo"]
WidthMethod = Literal["auto", "constant"]
_WIDTHS = get_args(WidthMethod)

_ASK = {
    "cv+": (
        "needs a model per fold that never saw the fold. Fit with validation='folds' and several "
        "nets (the default for regression), without X_val, refit='net' or warm_start"
    ),
    "split": (
        "needs rows that training never saw. Fit with calibration_fraction=0.2, or call "
        "calibrate(X, y) with fresh rows"
    ),
    "loo": (
        "needs the closed-form output layer of nets alone, and rows without groups or time. Fit "
        "with quality='nets' and scheme='adacap' or 'tikhonov'"
    ),
}


_WHERE = {
    "split": "that training never saw",
    "cv+": "out of fold",
    "loo": "left out of the output layer",
}


class Depends(NamedTuple):
    """How the rows behind errors depend on each other: by groups, in time, both or not at all."""

    n_groups: int | None = None
    is_in_time: bool = False


@dataclass(frozen=True, eq=False)
class Errors:
    """Targets minus outputs in coded units, and how often each row counts (None: once)."""

    values: Floats  # (n, c)
    weight: Floats | None  # (n,)
    scale: Floats | None = field(default=None, kw_only=True)  # (n, c), of each row; None: 1
    depends: Depends = field(default=Depends(), kw_only=True)

    @property
    def n_rows(self) -> float:
        """Rows, each as often as it counts."""
        return float(len(self.values) if self.weight is None else self.weight.sum())

    def over_scale(self, *, is_adaptive: bool) -> Floats:
        """Errors over the scale of their row, or as they are."""
        if self.scale is None or not is_adaptive:
            return self.values
        found: Floats = self.values / self.scale
        return found


def resolve(method: str, there: Mapping[str, Errors | None]) -> str:
    """Method that ``"auto"`` resolves to, or the requested one; a ``ValueError`` without it.

    ``there`` says what each method is based on, the strongest guarantee first.
    """
    if method not in ("auto", *there):
        raise ValueError(suggest(str(method), ("auto", *there), "method"))
    if method == "auto":
        for name, errors in there.items():
            if errors is not None:
                return name
        ways = "; ".join(f"method={name!r} {text}" for name, text in _ASK.items() if name in there)
        raise ValueError(f"This model cannot make intervals: {ways}.")
    if there[method] is None:
        raise ValueError(f"method={method!r} {_ASK[method]}.")
    return method


def describe(name: str, errors: Errors, coverage: float) -> str:
    """What intervals of a method are based on and what they guarantee, in words.

    Examples
    --------
    >>> print(describe("split", Errors(np.zeros((100, 1)), None), 0.9).split("; ")[1])
    all rows have the same width. At least 90 % of new rows are promised to be inside.
    """
    adapts = "the width adapts to the row"
    width = "all rows have the same width" if errors.scale is None else adapts
    told = _promise(name, errors, coverage, "to be inside", "are")
    return f"{name}: errors of {_source(name, errors)}; {width}. {told}"


def describe_sets(name: str, errors: Errors, coverage: float) -> str:
    """What sets of classes are based on and what they guarantee, in words.

    Examples
    --------
    >>> print(describe_sets("split", Errors(np.zeros((100, 1)), None), 0.9).split(". ")[1])
    At least 90 % of new rows are promised to have their class in the set.
    """
    told = _promise(name, errors, coverage, "to have their class in the set", "have")
    return f"{name}: probabilities of {_source(name, errors)}. {told}"


def _source(name: str, errors: Errors) -> str:
    """Which rows the errors are of."""
    n_groups, is_in_time = errors.depends
    counted = f"{errors.n_rows:g} rows" if n_groups is None else f"{n_groups} groups"
    if is_in_time:
        return f"{counted} that came later than those trained on"
    return f"{counted} {_WHERE[name]}"


def _promise(name: str, errors: Errors, coverage: float, held: str, do: str) -> str:
    """What is guaranteed; dependent rows limit it."""
    asked = f"{100 * coverage:.4g} %"
    if errors.depends.is_in_time:
        return "Measured on later rows; nothing is promised."
    if errors.depends.n_groups is not None:
        return _promise_of_groups(name, errors.depends.n_groups, coverage)
    if name == "loo":
        return f"Nothing is promised; the factor on the errors was measured to give about {asked}."
    if name == "split":
        return f"At least {asked} of new rows are promised {held}."
    if coverage <= 0.5:
        return f"No share of new rows is promised {held}, about {asked} {do}."
    least = f"{100 * (2 * coverage - 1):.4g} %"
    return f"At least {least} of new rows are promised {held}, about {asked} {do}."


def _promise_of_groups(name: str, n_groups: int, coverage: float) -> str:
    asked, least = f"{100 * coverage:.4g} %", least_rows(coverage)
    if n_groups < least:
        return f"Nothing is promised: {asked} needs at least {least} groups."
    if name == "split":
        return f"At least {asked} are promised for a row of a new group."
    return f"About {asked} of rows of new groups: measured, not promised."


def class_sets(
    scores: Floats,
    errors: Errors,
    fold: npt.NDArray[Any],
    coverage: Any,
    *,
    allow_empty: bool,
) -> npt.NDArray[np.bool_]:
    """Classes that rows may have, (m, n_classes), for one coverage; several make a last axis.

    ``scores`` (m, K, n_classes) say how badly each class fits each row under each fold, ``errors``
    how badly rows of a ``fold`` fit their own class. Unless sets may be empty, the class that fits
    best is in every set.
    """
    found, best = [], scores.mean(1).argmin(1)
    for level in check_shares(coverage, "coverage", "0.9"):
        inside = conformal_set(scores, errors.values[:, 0], fold, level, errors.weight)
        if not allow_empty:
            inside[np.arange(len(inside)), best] = True
        found.append(inside)
    return found[0] if np.ndim(coverage) == 0 else np.stack(found, axis=-1)


class PredictedRows(NamedTuple):
    """New rows under the models of a method, and the errors to add to their outputs."""

    centres: Floats  # (m, K, c)
    scale: Floats | None  # (m, K, c)
    errors: Floats  # (n, c), over their scale
    weight: Floats | None  # (n,)

    def bounds(self, coverage: float) -> tuple[Floats, Floats]:
        """Lower and upper bound of an interval, in coded units."""
        return cv_plus(self.centres, np.abs(self.errors), coverage, self.weight, self.scale)

    def quantile(self, level: float) -> Floats:
        """Value that targets stay below, in coded units."""
        return cv_quantile(self.centres, self.errors, level, self.weight, self.scale)


def rows_of(
    errors: Errors,
    method: str,
    width: str,
    inflation: Floats | None,
    centre: Callable[[], Floats],
    each_fold: Callable[[bool], tuple[Floats, Floats | None]],
) -> PredictedRows:
    """New rows and the errors to add to their outputs, whoever computes these.

    ``centre`` gives the outputs (m, c) of the model, ``each_fold`` those of the folds, (m, K, c),
    and if asked to the scale of each. ``inflation`` (c,) is that of leave-one-out errors.
    """
    if width not in _WIDTHS:
        raise ValueError(suggest(str(width), _WIDTHS, "width"))
    is_adaptive = width == "auto" and errors.scale is not None
    values = errors.over_scale(is_adaptive=is_adaptive)
    if method == "cv+":
        return PredictedRows(*each_fold(is_adaptive), values, errors.weight)
    if method == "loo":
        assert inflation is not None
        values = values * inflation
    scale = scale_of(each_fold(True))[:, None] if is_adaptive else None
    return PredictedRows(centre()[:, None], scale, values, errors.weight)


def scale_of(folds: tuple[Floats, Floats | None]) -> Floats:
    """Scale ``(m, c)`` of new rows: the geometric mean over folds."""
    _, scale = folds
    assert scale is not None
    found: Floats = np.exp(np.log(scale).mean(1))
    return found


def interval_of(
    rows: PredictedRows, errors: Errors, coverage: Any, decode: Callable[[Floats], Floats]
) -> Floats:
    """Intervals (m, [c,] 2) in the user's units, or (m, [c,] n_coverages, 2) of several.

    ``errors`` are those behind the rows.
    """
    found = []
    for level in check_shares(coverage, "coverage", "0.9"):
        warn_few(errors, level)
        decoded = np.stack([decode(bound) for bound in rows.bounds(level)], axis=-1)
        found.append(np.sort(decoded, axis=-1))  # a target whose sign was flipped has them reversed
    return found[0] if np.ndim(coverage) == 0 else np.stack(found, axis=-2)


def quantiles_of(
    rows: PredictedRows,
    errors: Errors,
    levels: Any,
    decode: Callable[[Floats], Floats],
    is_turned: npt.NDArray[np.bool_],
) -> Floats:
    """Quantiles in the user's units, of one level or several; parameters as above.

    ``is_turned`` says which targets have their coded values in the opposite order.
    """
    asked, found = check_shares(levels, "quantiles", "[0.1, 0.5, 0.9]"), []
    for level in asked:
        warn_few(errors, max(level, 1 - level), quantile=level)
        found.append(decode(_by_direction(rows.quantile, level, is_turned)))
    stacked = np.stack(found, axis=-1)
    order = np.argsort(asked, kind="stable")  # rounding of the last digit must not cross them
    stacked[..., order] = np.maximum.accumulate(stacked[..., order], axis=-1)
    return stacked[..., 0] if np.ndim(levels) == 0 else stacked


def _by_direction(
    quantile: Callable[[float], Floats], level: float, is_turned: npt.NDArray[np.bool_]
) -> Floats:
    """Quantile of coded targets; for a target whose sign was flipped, from the other end."""
    if is_turned.all():
        return quantile(1 - level)
    found = quantile(level)
    return np.where(is_turned, quantile(1 - level), found) if is_turned.any() else found


def check_shares(values: Any, name: str, example: str) -> list[float]:
    """One share between 0 and 1, or several, as a list.

    Examples
    --------
    >>> check_shares(0.9, "coverage", "0.9"), check_shares([0.5, 0.9], "coverage", "0.9")
    ([0.9], [0.5, 0.9])
    >>> check_shares(90, "coverage", "0.9")
    Traceback (most recent call last):
    ValueError: coverage must be between 0 and 1, such as 0.9, got 90.
    """
    is_many = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
    found = list(values) if is_many and np.ndim(values) == 1 else [values]
    numbers = (int, float, np.floating, np.integer)
    if not found or not all(isinstance(v, numbers) and 0 < v < 1 for v in found):
        raise ValueError(f"{name} must be between 0 and 1, such as {example}, got {values!r}.")
    return [float(value) for value in found]


def warn_few(errors: Errors, coverage: float, quantile: float | None = None) -> None:
    """Warn of too few rows, or groups, for a coverage, or for the quantile that asks for it."""
    n_groups, least = errors.depends.n_groups, least_rows(coverage)
    n = errors.n_rows if n_groups is None else n_groups
    if n >= least - 1e-6 * least:
        return
    what, is_finite = "rows" if n_groups is None else "groups", errors.n_rows >= least
    if quantile is None:
        asked, most = f"coverage={coverage:g}", f"a coverage of at most {n / (n + 1):.3g}"
        means = "may hold less often than asked for" if is_finite else "are infinite"
        means = f"the intervals {means}"
    else:
        asked = f"The quantile {quantile:g}"
        most = f"quantiles from {1 / (n + 1):.3g} to {n / (n + 1):.3g}"
        means = "it may be less extreme than asked for" if is_finite else "it is infinite"
    warnings.warn(
        f"{asked} needs at least {least} {what} to take errors from, got {n:g}: {means}. Ask for "
        f"{most}, or give more {what}.",
        stacklevel=5,
    )
