"""The rows that a model was trained on, rebuilt from the arguments of ``fit``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from adacap._typing import Index
from adacap.estimators.inputs import member_seeds
from adacap.estimators.preparing import Given
from adacap.estimators.targets import ClassCodec
from adacap.explain.evaluating import row_labels

__all__ = ["TrainingRows", "training_rows"]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Different training rows as members see them."""

    x: Tensor  # (n, d), encoded
    targets: Tensor  # (n, c), coded, in float64
    weight: Tensor  # (n,), in float64
    fold: npt.NDArray[np.int32] | None  # (n,) that each was held out in
    labels: npt.NDArray[Any]  # the user's label of the first row that each stands for
    positions: Index  # its position in the user's table, from 0


def training_rows(estimator: Any, given: Given) -> TrainingRows:
    """Prepare rows as ``fit`` did, and refuse rows that are not those of ``fit``."""
    _refuse_other_splits(estimator, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit has warned already
        data = estimator._prepare(given, _seed(estimator), False)
    _refuse_others(estimator, data)
    rows = data.rows
    weight = rows.targets.new_ones(len(rows.x)) if rows.weight is None else rows.weight
    origin = np.asarray(data.samples.origin)
    return TrainingRows(
        rows.x, rows.targets.double(), weight.double(), estimator.background_.fold,
        row_labels(given.X, data.samples.n_given)[origin], origin,
    )  # fmt: skip


def _seed(estimator: Any) -> int:
    """Seed by which rows were set aside, where any were."""
    try:
        return member_seeds(estimator.random_state, 1)[0]
    except ValueError:
        return 0


def _refuse_other_splits(estimator: Any, given: Given) -> None:
    """Equal rows of two groups or times are two rows, so these must be those of ``fit``."""
    for name, option, values in (("group", "groups", given.groups), ("time", "time", given.time)):
        was_given = name in estimator.settings_.split_by
        if was_given and values is None:
            raise ValueError(f"The model was fitted with {option}=. Pass {option}= here too.")
        if values is not None and not was_given:
            raise ValueError(f"The model was fitted without {option}=. Leave {option}= out.")


def _refuse_others(estimator: Any, data: Any) -> None:
    same = data.encoder.to_dict() == estimator.encoder_.to_dict()
    same = same and data.n_rows == estimator.provenance_.n_distinct
    old, new = estimator.codec_, data.codec
    if isinstance(old, ClassCodec):
        same = same and np.array_equal(old.classes, new.classes)
    else:
        same = same and np.allclose(old.mean, new.mean) and np.allclose(old.scale, new.scale)
    if not same:
        raise ValueError(
            f"X_train and y_train are not the rows that this {type(estimator).__name__} was fitted "
            f"on, {estimator.provenance_.n_rows} of them: they encode differently from those seen "
            "in fit. Pass what fit was given, with sample_weight, groups and time if it had any. "
            "With calibration_fraction a model needs an integer random_state to find them again."
        )
