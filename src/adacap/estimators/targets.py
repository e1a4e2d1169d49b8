"""Between the user's targets and the coded ones that the losses want, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d

__all__ = ["ClassCodec", "RegressionCodec"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RegressionCodec:
    """Standardise each target; ``is_1d`` remembers the shape the user gave.

    Examples
    --------
    >>> codec = RegressionCodec.fit([10.0, 20.0, 30.0])
    >>> codec.encode([20.0]).tolist(), codec.decode(np.zeros((2, 1))).tolist()
    ([[0.0]], [20.0, 20.0])
    """

    mean: Floats
    scale: Floats
    is_1d: bool

    loss = "rmse"
    score = "r2"

    @classmethod
    def fit(cls, y: Any, sample_weight: Floats | None = None) -> RegressionCodec:
        """Learn mean and standard deviation, weighted; a constant target keeps scale 1."""
        values = cls.check(y)
        columns = values.reshape(len(values), -1)
        mean = np.average(columns, axis=0, weights=sample_weight)
        scale = np.sqrt(np.average((columns - mean) ** 2, axis=0, weights=sample_weight))
        flat = scale <= 1e-10 * np.maximum(np.abs(mean), 1e-300)
        return cls(mean, np.where(flat, 1.0, scale), values.ndim == 1)

    @staticmethod
    def check(y: Any) -> Floats:
        """Refuse what is not a finite numeric target of one or two dimensions."""
        if y is None:
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None: give one value "
                "per row."
            )
        y = getattr(y, "to_numpy", lambda: y)()
        values: Floats = check_array(
            y, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=0
        )
        return values

    def encode(self, y: Any) -> Floats:
        """Coded targets of shape (n, c)."""
        values = self.check(y)
        coded: Floats = (values.reshape(len(values), -1) - self.mean) / self.scale
        return coded

    def decode(self, output: npt.NDArray[Any]) -> Floats:
        """Predictions in the user's units and shape."""
        values: Floats = output * self.scale + self.mean
        return values[:, 0] if self.is_1d else values

    def strata(self, coded: Floats) -> None:
        """Regression rows are split without stratification."""
        return None

    @property
    def n_targets(self) -> int:
        """Number of coded columns."""
        return len(self.mean)


@dataclass(frozen=True)
class ClassCodec:
    """Two classes become one column of −1 / +1, more become one-hot columns.

    Examples
    --------
    >>> ClassCodec.fit(["no", "yes", "no"]).encode(["yes"]).tolist()
    [[1.0]]
    """

    classes: npt.NDArray[Any]

    @classmethod
    def fit(cls, y: Any, sample_weight: Floats | None = None) -> ClassCodec:
        """Learn the classes; weights play no part."""
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
        y = getattr(y, "to_numpy", lambda: y)()
        values = column_or_1d(y, warn=True)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("Input y contains NaN or infinity. Remove these rows.")
        if values.dtype == object and any(v is None or v != v for v in values):
            raise ValueError("Input y contains NaN or None. Remove these rows.")
        if type_of_target(values, input_name="y") not in ("binary", "multiclass"):
            check_classification_targets(values)
            raise ValueError(f"Unknown label type: {type_of_target(values)}.")
        labels: npt.NDArray[Any] = values
        return labels

    @property
    def loss(self) -> str:
        """Loss that fits the coding."""
        return "bce" if len(self.classes) == 2 else "ce"

    @property
    def score(self) -> str:
        """Validation score of the paper: AUC, ties decided by the loss."""
        return f"auc_{self.loss}"

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
            signs: Floats = (2.0 * index - 1.0)[:, None]
            return signs
        one_hot: Floats = np.eye(len(self.classes))[index]
        return one_hot

    def strata(self, coded: Floats) -> npt.NDArray[np.intp]:
        """Class index of each row, so that a hold-out keeps the class shares."""
        return (coded[:, 0] > 0).astype(np.intp) if coded.shape[1] == 1 else coded.argmax(1)

    def probabilities(self, output: npt.NDArray[Any]) -> Floats:
        """Class probabilities of network outputs."""
        output = output.astype(np.float64)
        if len(self.classes) == 2:
            positive = 1 / (1 + np.exp(-output[:, 0]))
            return np.column_stack([1 - positive, positive])
        shifted = np.exp(output - output.max(1, keepdims=True))
        shares: Floats = shifted / shifted.sum(1, keepdims=True)
        return shares
