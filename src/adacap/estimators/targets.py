"""Between the user's targets and the coded ones that the losses want, both ways."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

from adacap._typing import Floats, Index
from adacap.estimators.transforms import TargetTransform
from adacap.exceptions import NumericalWarning, warn_caller
from adacap.tables.columns import (
    ROUNDING,
    is_missing,
    narrowed,
    read_column,
    unmasked,
    values_by_row,
)
from adacap.tables.readings import find_reading

__all__ = ["ClassCodec", "RegressionCodec"]


_LARGEST = float(np.finfo(np.float64).max)
_LEAST_SHARE = 1e-6  # deviation over distance of the farthest row
_FAR = 1e15  # deviations: beyond, squares leave float32


@dataclass(frozen=True)
class RegressionCodec:
    """Standardise each target; ``is_1d`` remembers the shape the user gave.

    A negative scale flips the sign of the target, so that a change of sign of y changes units only
    and nothing that is learnt. The standard deviation is its absolute value.

    Examples
    --------
    >>> codec = RegressionCodec.fit([10.0, 20.0, 30.0])
    >>> codec.encode([20.0]).tolist(), codec.decode(np.zeros((2, 1))).tolist()
    ([[0.0]], [20.0, 20.0])
    """

    mean: Floats
    scale: Floats
    is_1d: bool
    transforms: tuple[TargetTransform, ...] = ()  # one per target; empty for none

    loss = "rmse"

    @classmethod
    def fit(
        cls,
        y: Any,
        sample_weight: Floats | None = None,
        sign: Floats | None = None,
        transforms: Sequence[TargetTransform] = (),
    ) -> RegressionCodec:
        """Learn mean and standard deviation, weighted; the scale of a constant target is 0.

        ``sign`` is -1 for a target whose sign is flipped; there is a transform per target, or none.
        """
        values = cls.check(y)
        columns = _applied(transforms, cls.numbers(values))
        exponent = np.frexp(np.abs(columns).max(axis=0))[1] - 1
        unit = 2.0**exponent
        z = np.ldexp(columns, -exponent)  # squares stay in range
        first = z[0].copy()
        z -= first  # exact where an offset is all that is large
        shift = np.average(z, axis=0, weights=sample_weight)
        deviation = np.sqrt(np.average((z - shift) ** 2, axis=0, weights=sample_weight))
        if sample_weight is not None:  # as in adacap.tables.policies.moments
            deviation = np.maximum(deviation, _LEAST_SHARE * np.abs(z - shift).max(axis=0))
        mean = first + shift
        flat = deviation <= ROUNDING * np.abs(mean)
        if not transforms:  # of those this is the second time
            _tell_rounded(columns, flat)
        scale = np.where(flat, 0.0, deviation * unit) * (1.0 if sign is None else sign)
        return cls(mean * unit, scale + 0.0, values.ndim == 1, tuple(transforms))

    @staticmethod
    def check(y: Any) -> Floats:
        """Refuse what is not a finite numeric target of one or two dimensions."""
        if y is None:
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None: give one value "
                "per row."
            )
        y = _as_array(y)
        if y.dtype.kind in "mM":
            raise TypeError(
                f"A regression target must hold numbers, got {y.dtype}. Convert y, for example to "
                "days: y / np.timedelta64(1, 'D'), for dates after subtracting one."
            )
        if y.dtype.kind in "USO":
            y = _numbers_of(y)
        try:
            values: Floats = check_array(
                y,
                ensure_2d=False,
                dtype=np.float64,
                input_name="y",
                ensure_min_samples=0,
                ensure_all_finite=False,
            )
        except OverflowError as error:
            raise ValueError(f"y holds a number beyond ±1.8e308: {error}. Rescale it.") from error
        except TypeError as error:
            raise TypeError(f"y must hold numbers: {error}.") from error
        except ValueError as error:
            odd = next((cell for cell in y.flat if isinstance(cell, str | Sequence)), None)
            if odd is None:
                raise
            what = "text" if isinstance(odd, str) else type(odd).__name__
            raise ValueError(
                f"A regression target must hold numbers, got {what} such as {odd!r:.60}. Convert "
                "it to numbers, or leave out that column of y."
            ) from error
        _refuse_missing(~np.isfinite(values))
        return values

    @staticmethod
    def numbers(y: Floats) -> Floats:
        """Checked targets as columns of numbers, to compare rows by."""
        return y[:, None] if y.ndim == 1 else y

    def encode(self, y: Any) -> Floats:
        """Coded targets of shape (n, c)."""
        columns = self.numbers(self.check(y))
        if columns.shape[1] != self.n_targets:
            raise ValueError(
                f"y has {columns.shape[1]} targets, but there were {self.n_targets} in training. "
                "Give the same columns."
            )
        columns = _applied(self.transforms, columns)
        scale = np.where(self.scale == 0, 1.0, self.scale)
        with np.errstate(over="ignore"):
            apart = columns - self.mean
            coded = apart / scale
            if not np.isfinite(apart).all():  # a difference of numbers near the largest
                halves = (columns / 2 - self.mean / 2) / scale * 2
                coded = np.where(np.isfinite(apart), coded, halves)
        found: Floats = np.clip(coded, -_FAR, _FAR)
        return found

    def decode(self, output: npt.NDArray[Any]) -> Floats:
        """Predictions in the user's units and shape, the largest float64 where they exceed it."""
        values = self._in_units(output)
        for j, transform in enumerate(self.transforms):
            values[:, j] = transform.predict(values[:, j])
        return values[:, 0] if self.is_1d else values

    def invert(self, coded: npt.NDArray[Any]) -> Floats:
        """Targets whose code this is: what :meth:`decode` is without a correction of the mean."""
        values = self._in_units(coded)
        for j, transform in enumerate(self.transforms):
            values[:, j] = transform.inverse(values[:, j])
        return values[:, 0] if self.is_1d else values

    def _in_units(self, coded: npt.NDArray[Any]) -> Floats:
        """Of the transformed target, the largest float64 where it is exceeded."""
        with np.errstate(over="ignore"):
            return np.clip(coded * self.scale + self.mean, -_LARGEST, _LARGEST)

    def with_errors(self, outputs: Floats, coded: Floats) -> RegressionCodec:
        """The same with errors out of fold, for the mean of a transformed target."""
        errors = (coded - outputs) * self.scale
        found = [t.with_errors(errors[:, j]) for j, t in enumerate(self.transforms)]
        return replace(self, transforms=tuple(found))

    def spread(self, columns: Floats) -> Floats:
        """Deviation of each target in the user's units, 1 for a constant one.

        That of training; for a transformed target, whose deviation in training is in other units,
        that of the values given, of shape (n, c).
        """
        is_moved = np.array([one.kind != "none" for one in self.transforms] or [False])
        found = np.where(is_moved, columns.std(axis=0), np.abs(self.scale))
        return np.where(found == 0, 1.0, found)

    def score(self, select_by: str) -> str:
        """Validation score: R², which orders nets as the loss does."""
        return "r2"

    def strata(self, coded: Floats) -> None:
        """Regression rows are split without stratification."""
        return None

    @property
    def n_targets(self) -> int:
        """Number of coded columns."""
        return len(self.mean)

    @property
    def transform_names(self) -> str | tuple[str, ...]:
        """The transform of all targets, or of each where they differ."""
        names = tuple(one.kind for one in self.transforms) or ("none",)
        return names[0] if len(set(names)) == 1 else names


def _tell_rounded(columns: Floats, flat: npt.NDArray[np.bool_]) -> None:
    """Warn of targets that differ only in the last digits of float64."""
    lowest, highest = columns.min(axis=0), columns.max(axis=0)
    for j in np.flatnonzero(flat & (lowest < highest)):
        which = "y" if columns.shape[1] == 1 else f"Target {j} of y"
        warn_caller(
            f"{which} is taken as constant: it lies between {lowest[j]:.17g} and "
            f"{highest[j]:.17g}, and float64 has no digits left there to distinguish rows. "
            f"Subtract {lowest[j]:.17g} where y is still exact, as integers or decimals, and add "
            "it to the predictions.",
            NumericalWarning,
        )


def _applied(transforms: Sequence[TargetTransform], columns: Floats) -> Floats:
    if not transforms:
        return columns
    pairs = zip(transforms, columns.T, strict=True)
    return np.column_stack([transform.apply(column) for transform, column in pairs])


@dataclass(frozen=True)
class ClassCodec:
    """Two classes become one column of −1 / +1, more become one-hot columns.

    Examples
    --------
    >>> ClassCodec.fit(["no", "yes", "no"]).encode(["yes"]).tolist()
    [[1.0]]
    """

    classes: npt.NDArray[Any]
    temperature: float = 1.0

    @classmethod
    def fit(
        cls, y: Any, sample_weight: Floats | None = None, sign: Floats | None = None
    ) -> ClassCodec:
        """Learn the classes; weights and signs are not used."""
        classes = np.unique(cls.check(y))
        if len(classes) < 2:
            raise ValueError(
                f"A classifier needs at least 2 classes, got one class: {classes.tolist()}. "
                "Check the target column."
            )
        return cls(classes)

    @staticmethod
    def check(y: Any) -> npt.NDArray[Any]:
        """Refuse what is not a column of class labels."""
        if y is None:
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None: give one label "
                "per row."
            )
        values = column_or_1d(_as_array(y), warn=True)
        if values.dtype.kind == "f":
            _refuse_missing(~np.isfinite(values))
        elif values.dtype == object:
            _refuse_missing(_missing(values))
            _refuse_mixed(values)
        with np.errstate(invalid="ignore"):  # of numbers that no integer holds
            sort = type_of_target(values, input_name="y")
        if sort not in ("binary", "multiclass"):
            with np.errstate(invalid="ignore"):
                check_classification_targets(values)
            raise ValueError(f"Unknown label type: {sort}.")
        labels: npt.NDArray[Any] = values
        return labels

    @staticmethod
    def numbers(y: npt.NDArray[Any]) -> Floats:
        """Checked labels as a column of numbers, to compare rows by."""
        column: Floats = np.unique(y, return_inverse=True)[1].astype(np.float64)[:, None]
        return column

    @property
    def loss(self) -> str:
        """Loss that fits the coding."""
        return "bce" if len(self.classes) == 2 else "ce"

    def score(self, select_by: str) -> str:
        """Validation score: the loss, R² of the codes, or AUC with ties decided by the loss."""
        if select_by == "r2":
            return "r2"
        return f"{'auc' if select_by == 'auc' else 'neg'}_{self.loss}"

    @property
    def n_targets(self) -> int:
        """Number of coded columns."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def encode(self, y: Any) -> Floats:
        """Coded targets of shape (n, c)."""
        values = self.check(y)
        unknown = np.setdiff1d(values, self.classes)
        if len(unknown):
            raise ValueError(f"y holds classes unseen in training: {unknown.tolist()}.")
        index = np.searchsorted(self.classes, values)
        if len(self.classes) == 2:
            return np.where(index == 1, 1.0, -1.0)[:, None]
        one_hot: Floats = np.eye(len(self.classes))[index]
        return one_hot

    def strata(self, coded: Floats) -> Index:
        """Class index of each row, so that a hold-out keeps the class shares."""
        return (coded[:, 0] > 0).astype(np.intp) if coded.shape[1] == 1 else coded.argmax(1)

    def probabilities(self, output: npt.NDArray[Any]) -> Floats:
        """Class probabilities of network outputs, divided by the temperature."""
        output = output.astype(np.float64) / self.temperature
        if len(self.classes) == 2:
            positive = expit(output[:, 0])
            return np.column_stack([1 - positive, positive])
        shifted = np.exp(output - output.max(1, keepdims=True))
        shares: Floats = shifted / shifted.sum(1, keepdims=True)
        return shares


def _as_array(y: Any) -> npt.NDArray[Any]:
    """Targets as an array of one or two dimensions, in no wider numbers than float64."""
    values = values_by_row(_plain(y), "y")
    if values.ndim == 0:
        raise ValueError(f"y must hold one value per row, got {reprlib.repr(values.item())}.")
    if values.ndim > 2 or 0 in values.shape[1:]:
        raise ValueError(
            "y must hold one value per row, or one per target in each row, got an array of shape "
            f"{values.shape}."
        )
    found = narrowed(values)
    if found is not values and (beyond := np.isinf(found) & np.isfinite(values)).any():
        raise ValueError(f"y holds a number beyond ±1.8e308: {values[beyond][0]!s}. Rescale it.")
    return found


def _plain(y: Any) -> Any:
    """Targets as NumPy converts them; masked ones are None."""
    if isinstance(y, np.ma.MaskedArray):
        return unmasked(y)
    if isinstance(y, torch.Tensor):
        return y.detach().cpu()
    return y.to_numpy() if hasattr(y, "to_numpy") else y


def _missing(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    cells = np.fromiter((is_missing(value) for value in values.flat), np.bool_, values.size)
    return cells.reshape(values.shape)


def _refuse_mixed(labels: npt.NDArray[Any]) -> None:
    """Refuse labels that have no order, such as text beside numbers."""
    is_text = np.array([isinstance(label, str) for label in labels], dtype=np.bool_)
    if not is_text.any() or is_text.all():
        return
    texts, others = labels[is_text], labels[~is_text]
    raise TypeError(
        f"Labels must be of one type, but y holds text such as {texts[0]!r} ({len(texts)} rows) "
        f"beside {type(others[0]).__name__} such as {others[0]!r} ({len(others)} rows). Write all "
        "as text: [str(label) for label in y]."
    )


def _refuse_missing(missing: npt.NDArray[np.bool_]) -> None:
    rows = np.asarray(np.atleast_2d(missing.T).any(axis=0))
    if rows.any():
        raise ValueError(
            f"Input y contains NaN, None or infinity in {rows.sum()} of {len(rows)} rows. "
            f"Remove these rows: {_shown(np.flatnonzero(rows))}, counted from 0."
        )


def _shown(rows: Index, most: int = 5) -> str:
    more = ", ..." if len(rows) > most else ""
    return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows[:most]))}{more}"


def _numbers_of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Text as the numbers it spells; refused where it spells none, or not everywhere."""
    if values.dtype == object:
        _refuse_missing(_missing(values))
    if not values.size or not isinstance(values.flat[0], str | bytes):
        return values
    columns = values.reshape(len(values), -1).T
    read = [_read_text(column.astype(object)) for column in columns]
    return np.column_stack(read).reshape(values.shape)


def _read_text(values: npt.NDArray[Any]) -> Floats:
    texts = read_column(values, "y")
    reading = find_reading(texts)
    if reading is None or reading.sort != "number":
        raise ValueError(
            f"A regression target must hold numbers, got text such as {str(values[0])!r}. "
            "Convert it to numbers, or use AdaCapClassifier for classes."
        )
    numbers = reading.read(texts).numbers()
    if len(rows := np.flatnonzero(np.isnan(numbers))):
        raise ValueError(
            f"y was read as {reading}, but {len(rows)} of {len(values)} cells cannot be converted, "
            "such as "
            f"{str(values[rows[0]])!r} ({_shown(rows)}, counted from 0). Remove these rows."
        )
    return numbers
