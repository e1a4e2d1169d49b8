"""Predict from a model file with NumPy alone: encode, run each member, blend, decode."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.estimators.bounds import (
    IntervalMethod,
    PredictedRows,
    WidthMethod,
    check_shares,
    class_sets,
    interval_of,
    quantiles_of,
)
from adacap.modelfile.blends import StoredGroup
from adacap.modelfile.contents import Classes, ModelFile, Numbers, read_model
from adacap.modelfile.lite_intervals import LiteIntervals, LiteSets
from adacap.modelfile.numpy_operations import sigmoid
from adacap.modelfile.signing import Key
from adacap.tables.encoder import Encoder
from adacap.tables.table import read_table

__all__ = ["LiteClassifier", "LiteRegressor", "load"]

_CHUNK = 1024  # rows in memory at once, if their features are not too many
_MOST_NUMBERS = 2**22  # in memory at once


class LitePart(NamedTuple):
    """Members of one name: their mean output counts ``factor`` times."""

    name: str
    factor: float
    groups: tuple[StoredGroup, ...]

    @property
    def n_members(self) -> int:
        """Number of models."""
        return sum(group.n_members for group in self.groups)

    def outputs(self, x: Floats) -> Floats:
        """Contribution of the part to the outputs ``(n, c)`` of rows."""
        total = np.asarray(sum(group.total(x) for group in self.groups))
        return np.asarray(self.factor * total / self.n_members)


class _LiteModel:
    """What regressor and classifier share."""

    def __init__(self, encoder: Encoder, parts: Sequence[LitePart], n_out: int) -> None:
        self._encoder = encoder
        self._parts = tuple(parts)
        self._n_out = n_out
        self.n_features_in_ = len(encoder.columns)
        if encoder.names is not None:
            self.feature_names_in_ = np.array(encoder.names, dtype=object)

    def __repr__(self) -> str:
        first = self._parts[0]
        is_blend = len(self._parts) > 1 or first.name != "nets"
        names = ", ".join(part.name for part in self._parts)
        made_of = f"blend of {names}" if is_blend else f"{first.n_members} networks"
        return f"{type(self).__name__}({self.n_features_in_} features, {made_of})"

    def _outputs(self, X: Any) -> Floats:
        return np.concatenate([self._outputs_of(x) for x in self._chunks(X)])

    def _chunks(self, X: Any) -> list[Floats]:
        """Encoded rows in parts that fit in memory; one without rows for a table without."""
        encoded = self._encoder.encode(read_table(X))
        if encoded.shape[1] == 0:  # every column was dropped: networks see one column of zeros
            encoded = np.zeros((len(encoded), 1), dtype=np.float32)
        size = self._rows_at_once()
        starts = range(0, max(1, len(encoded)), size)
        return [encoded[start : start + size].astype(np.float64) for start in starts]

    def _outputs_of(self, x: Floats) -> Floats:
        out = np.zeros((len(x), self._n_out))
        for part in self._parts if len(x) else ():
            out += part.outputs(x)
        return out

    def _rows_at_once(self) -> int:
        held = max(group.held_per_row for part in self._parts for group in part.groups)
        return max(1, min(_CHUNK, _MOST_NUMBERS // held))


class LiteRegressor(_LiteModel):
    """Fitted :class:`adacap.AdaCapRegressor` that can predict, and nothing else.

    Attributes
    ----------
    intervals_ : LiteIntervals
        What intervals are based on; ``intervals_.describe()`` says it in words.
    """

    def __init__(
        self,
        encoder: Encoder,
        parts: Sequence[LitePart],
        targets: Numbers,
        intervals: LiteIntervals,
    ) -> None:
        super().__init__(encoder, parts, targets.n_out)
        self._targets = targets
        self.intervals_ = intervals

    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like, frame or mapping of columns, of shape (n_samples, n_features)
            Columns are matched by name where ``fit`` saw names.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._decode(self._outputs(X))

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        method: IntervalMethod = "auto",
        width: WidthMethod = "auto",
    ) -> Floats:
        """Intervals as :meth:`adacap.AdaCapRegressor.predict_interval` gives them for the same.

        They are of shape (n_samples, 2) or (n_samples, n_targets, 2), for several coverages with
        an axis of them before the last.
        """
        check_shares(coverage, "coverage", "0.9")
        method, rows = self._rows(X, method, width)
        return interval_of(rows, self.intervals_.errors(method), coverage, self._decode_bound)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: float | Sequence[float] = (0.1, 0.5, 0.9),
        method: IntervalMethod = "auto",
        width: WidthMethod = "auto",
    ) -> Floats:
        """Quantiles as :meth:`adacap.AdaCapRegressor.predict_quantiles` gives them for the same.

        They are of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles).
        """
        check_shares(quantiles, "quantiles", "[0.1, 0.5, 0.9]")
        method, rows = self._rows(X, method, width)
        errors, is_turned = self.intervals_.errors(method), self._targets.scale < 0
        return quantiles_of(rows, errors, quantiles, self._decode_bound, is_turned)

    @property
    def interval_method_(self) -> str:
        """What ``method="auto"`` resolves to: split, cv+ or loo."""
        return self.intervals_.resolve("auto")

    def _rows(self, X: Any, method: str, width: str) -> tuple[Any, PredictedRows]:
        name = self.intervals_.resolve(method)
        return name, self.intervals_.rows(self._chunks(X), self._outputs_of, name, width)

    def _decode(self, outputs: Floats) -> Floats:
        values: Floats = outputs * self._targets.scale + self._targets.mean
        for j, transform in enumerate(self._targets.transforms):
            values[:, j] = transform.predict(values[:, j])
        return values[:, 0] if self._targets.is_1d else values

    def _decode_bound(self, bound: Floats) -> Floats:
        """Bounds in the user's units; what is infinite stays so."""
        is_finite = np.isfinite(bound)
        infinite = np.where(is_finite, 0.0, bound * np.where(self._targets.scale < 0, -1.0, 1.0))
        finite = np.where(is_finite, bound, 0.0) * self._targets.scale + self._targets.mean
        for j, transform in enumerate(self._targets.transforms):
            finite[:, j] = transform.inverse(finite[:, j])
        finite = finite[:, 0] if self._targets.is_1d else finite
        return finite + (infinite[:, 0] if self._targets.is_1d else infinite)


class LiteClassifier(_LiteModel):
    """Fitted :class:`adacap.AdaCapClassifier` that can predict, and nothing else.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    temperature_ : float
        What outputs are divided by before they become probabilities.
    sets_ : LiteSets
        What sets of classes are based on; ``sets_.describe()`` says it in words.
    """

    def __init__(
        self, encoder: Encoder, parts: Sequence[LitePart], targets: Classes, sets: LiteSets
    ) -> None:
        super().__init__(encoder, parts, targets.n_out)
        self.classes_, self.temperature_ = targets
        self.sets_ = sets

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or mapping of columns, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._shares(self._outputs(X) / self.temperature_)

    def _shares(self, output: Floats) -> Floats:
        """Probabilities ``(..., n_classes)`` of outputs."""
        if len(self.classes_) == 2:
            positive = sigmoid(output[..., 0])
            return np.stack([1 - positive, positive], axis=-1)
        shifted = np.exp(output - output.max(-1, keepdims=True))
        return np.asarray(shifted / shifted.sum(-1, keepdims=True))

    def predict_set(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        method: Literal["auto", "cv+", "split"] = "auto",
        *,
        allow_empty: bool = False,
    ) -> npt.NDArray[np.bool_]:
        """Sets of classes as :meth:`adacap.AdaCapClassifier.predict_set` gives them for the same.

        They are booleans of shape (n_samples, n_classes), for several coverages with an axis of
        them at the end.
        """
        own, name = self.sets_, self.sets_.resolve(method)
        errors = own.errors(name)
        fold: npt.NDArray[Any] = np.zeros(len(errors.values), dtype=np.int32)
        if name == "cv+":
            assert own.folds is not None
            outputs, fold = [own.folds.outputs(x) for x in self._chunks(X)], own.fold
        else:
            outputs = [self._outputs_of(x)[:, None] for x in self._chunks(X)]
        scores = 1 - self._shares(np.concatenate(outputs) / own.temperature)
        return class_sets(scores, errors, fold, coverage, allow_empty=allow_empty)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like, frame or mapping of columns, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        labels: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


# ------------------------------------------------------------------------------- loading


def load(path: str | os.PathLike[str], *, key: Key | None = None) -> LiteRegressor | LiteClassifier:
    """Read a model that ``save`` wrote, to predict without torch.

    Predictions are those of the saved estimator up to the rounding of its float32 arithmetic;
    here the members are computed in float64.

    Parameters
    ----------
    path : str or path-like
    key : str or bytes, optional
        What ``save`` signed the file with; see :func:`adacap.load`.

    Returns
    -------
    LiteRegressor or LiteClassifier

    Raises
    ------
    ModelFileError
        If :func:`adacap.load` would refuse the file as well: it is malformed or of another
        version.
    ValueError
        If the backbone is the user's own, which only torch can run.

    Examples
    --------
    >>> import tempfile
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(width=4, max_iter=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/m.adacap")
    ...     light = load(f"{folder}/m.adacap")
    >>> light
    LiteRegressor(1 features, 1 networks)
    >>> bool(abs(light.predict([[3.0]])[0] - model.predict([[3.0]])[0]) < 1e-6)
    True
    """
    file = read_model(path, key)
    if file.factory is not None:
        raise ValueError(
            f"The model was trained with the user's own backbone, built by {file.factory!r}, "
            "which adacap.lite cannot run: it needs torch. Use adacap.load(path, architecture="
            f"{file.factory.split('.')[-1]}), or export the model with adacap.export.to_onnx."
        )
    if isinstance(file.targets, Classes):
        return LiteClassifier(file.encoder, _parts(file), file.targets, LiteSets.of(file))
    return LiteRegressor(file.encoder, _parts(file), file.targets, LiteIntervals.of(file))


def _parts(file: ModelFile) -> list[LitePart]:
    return [
        LitePart(part.name, part.factor, tuple(file.groups[g] for g in part.groups))
        for part in file.parts
    ]
