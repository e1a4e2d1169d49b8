"""Prediction sets of a fitted classifier: the classes that a row may have.

A class fits a row as badly as its probability falls short of 1 (Sadinle, Lei and Wasserman 2019);
of all scores this one gives the smallest sets on average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.estimators.bounds import Errors, class_sets, describe_sets
from adacap.estimators.held_out import Evidence
from adacap.estimators.intervals import (
    FoldErrors,
    FoldOutputs,
    IntervalData,
    by_group,
    errors_of,
    fold_errors,
    fold_module,
    later_errors,
)
from adacap.estimators.targets import ClassCodec

__all__ = ["SetData", "class_scores", "predict_set"]


@dataclass(frozen=True)
class SetData(IntervalData):
    """What ``predict_set`` is based on: how badly unseen rows fit their own class.

    ``temperature`` is that of the scores. It was found without the rows of ``split``, while that of
    the probabilities may depend on them.
    """

    temperature: float = 1.0

    @classmethod
    def of_classes(cls, evidence: Evidence, codec: ClassCodec) -> SetData:
        """Collect the scores that training left behind."""
        own = replace(codec, temperature=1.0) if evidence.aside is not None else codec
        folds, aside = fold_errors(evidence), evidence.aside
        split = later_errors(evidence) if aside is None else None
        if folds is not None or split is not None:
            index, outputs = evidence.outputs_held_out()
            values = _values(own, outputs, evidence.rows.targets.cpu()[index])
            folds = None if folds is None else replace(folds, values=values)
            split = None if split is None else replace(split, values=values)
        if aside is not None:
            values = _values(own, evidence.outputs_aside(), aside.targets)
            errors = errors_of(np.zeros(1), values, aside.weight)
            split = by_group(errors, evidence.dependence_aside, None)
        return cls(split, folds, temperature=own.temperature)

    @property
    def _there(self) -> dict[str, Errors | None]:
        return {"split": self.split, "cv+": self.folds}

    def describe(self, coverage: float = 0.9, method: str = "auto") -> str:
        """What sets are based on and what they guarantee, in words."""
        return describe_sets(self.resolve(method), self.errors(method), coverage)


def _values(codec: ClassCodec, outputs: Any, coded: Any) -> Floats:
    return class_scores(codec, outputs.cpu().numpy(), coded.cpu().numpy())


def class_scores(codec: ClassCodec, outputs: Any, coded: Any) -> Floats:
    """How badly rows fit their own class, as a column.

    Examples
    --------
    >>> codec = ClassCodec.fit(["no", "yes"])
    >>> class_scores(codec, np.zeros((1, 1)), np.ones((1, 1))).tolist()
    [[0.5]]
    """
    shares = codec.probabilities(np.asarray(outputs, dtype=np.float64))
    own = codec.strata(np.asarray(coded))
    return 1 - shares[np.arange(len(shares)), own][:, None]


def predict_set(
    estimator: Any, X: Any, coverage: Any, method: str, *, allow_empty: bool
) -> npt.NDArray[np.bool_]:
    """Which classes are in the sets; see ``AdaCapClassifier.predict_set``."""
    data: SetData = estimator.sets_
    method = data.resolve(method)
    errors = data.errors(method)
    codec = replace(estimator.codec_, temperature=data.temperature)
    fold: npt.NDArray[Any] = np.zeros(len(errors.values), dtype=np.int32)
    if isinstance(errors, FoldErrors):
        module = fold_module(estimator.blend_, estimator.members_, errors.layers)
        outputs, fold = estimator._outputs(X, FoldOutputs(module).eval()), errors.fold
    else:
        outputs = estimator._outputs(X)[:, None]
    n, k, c = outputs.shape
    shares = codec.probabilities(outputs.reshape(n * k, c)).reshape(n, k, -1)
    return class_sets(1 - shares, errors, fold, coverage, allow_empty=allow_empty)
