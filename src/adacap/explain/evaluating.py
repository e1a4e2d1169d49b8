"""A fitted model as a function of encoded rows, cut into the blocks of the user's columns.

A column of the user may be several encoded columns: levels of a category, parts of a date, a flag
of missing cells. Each is encoded by itself, so that to take a column from another row is to take
its block, and a table is encoded once however often its cells are mixed.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from adacap._typing import Floats, Matrix
from adacap.estimators.inputs import read_input
from adacap.estimators.predicting import chunked_outputs
from adacap.estimators.targets import ClassCodec

__all__ = ["Evaluator", "Link", "cells_of", "row_labels"]

Link: TypeAlias = Literal["identity", "logit"]


class Evaluator:
    """Predictions of encoded rows.

    ``names`` are the user's columns, ``blocks`` the encoded columns of each that has any, and
    ``column_of`` is the user's column of each encoded one. With the link ``"logit"`` classes are
    given as log-odds of two and scores of more, not as probabilities.
    """

    def __init__(self, estimator: Any, link: Link = "identity") -> None:
        check_is_fitted(estimator)
        _refuse(estimator, link)
        self.estimator, self.link = estimator, link
        encoder = estimator.encoder_
        self.names = [str(plan.name) for plan in encoder.columns_]
        self.blocks: dict[int, slice] = {}
        start = 0
        for j in encoder.layout_:
            if width := len(encoder.columns_[j].center):
                self.blocks[j] = slice(start, start + width)
                start += width
        self.column_of = np.empty(start, dtype=np.intp)
        for j, block in self.blocks.items():
            self.column_of[block] = j

    @property
    def is_classes(self) -> bool:
        """Whether the model is a classifier."""
        return isinstance(self.estimator.codec_, ClassCodec)

    @property
    def used(self) -> list[int]:
        """Columns of the user that the model sees, in their order."""
        return sorted(self.blocks)

    @property
    def output_names(self) -> list[str] | None:
        """Names of several outputs; None for one."""
        codec = self.estimator.codec_
        if self.is_classes:
            is_one = len(codec.classes) == 2 and self.link == "logit"
            return None if is_one else [str(label) for label in codec.classes]
        if codec.is_1d:
            return None
        names = self.estimator.provenance_.targets
        known = len(names) == codec.n_targets
        return list(names) if known else [f"target {k + 1}" for k in range(codec.n_targets)]

    def encode(self, X: Any) -> Matrix:
        """Encoded rows ``(n, d)``."""
        encoder = self.estimator.encoder_
        encoded: Matrix = encoder.encode(read_input(X, encoder.policy)[0])
        return encoded

    def outputs(self, encoded: Matrix) -> Floats:
        """Coded outputs ``(n, c)`` of the network."""
        return chunked_outputs(self.estimator.network_, encoded, None).astype(np.float64)

    def each(self, encoded: Matrix) -> Floats:
        """Predictions ``(k, n, c)`` of the models of the folds, or of the nets of a bag."""
        outputs = chunked_outputs(_Each(self.estimator.network_), encoded, None)
        n, k, c = outputs.shape
        flat = outputs.astype(np.float64).transpose(1, 0, 2).reshape(k * n, c)
        return self.decoded(flat).reshape(k, n, -1)

    def __call__(self, encoded: Matrix) -> Floats:
        """Predictions ``(n, c)`` in the user's units; of classes what the link says."""
        return self.decoded(self.outputs(encoded))

    def predict(self, X: Any) -> Floats:
        """The same for a table, as the estimator itself answers."""
        if not self.is_classes:
            found = self.estimator.predict(X)
        elif self.link == "identity":
            found = self.estimator.predict_proba(X)
        else:
            found = self.decoded(self.estimator._outputs(X).astype(np.float64))
        values: Floats = np.asarray(found, dtype=np.float64).reshape(len(found), -1)
        return values

    def decoded(self, outputs: Floats) -> Floats:
        """Predictions ``(n, c)`` of coded outputs."""
        codec = self.estimator.codec_
        if not self.is_classes:
            found: Floats = codec.decode(outputs)
            return found.reshape(len(outputs), -1)
        if self.link == "identity":
            return codec.probabilities(outputs)  # type: ignore[no-any-return]
        return outputs / codec.temperature  # type: ignore[no-any-return]


class _Each(nn.Module):
    """Outputs ``(n, k, c)`` of the models of the folds."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.network.each(x).transpose(0, 1).to(x.dtype)
        return found


def _refuse(estimator: Any, link: str) -> None:
    if estimator.sample_shape_ is not None:
        raise ValueError(
            "Explanations are of the columns of a table, but the model was fitted on samples of "
            f"shape {estimator.sample_shape_}."
        )
    if link not in ("identity", "logit"):
        raise ValueError(f"link must be 'identity' or 'logit', got {link!r}.")
    if link == "logit" and not isinstance(estimator.codec_, ClassCodec):
        raise ValueError(
            f"link='logit' is for classes, but the model is a {type(estimator).__name__}. Leave it "
            "out."
        )


def cells_of(estimator: Any, X: Any) -> npt.NDArray[Any]:
    """The user's cells ``(n, d)`` in the order of ``fit``; numbers if all columns are."""
    columns = [_values(cells) for cells in estimator.encoder_.cells(X)]
    if all(column.dtype.kind == "f" for column in columns):
        return np.column_stack(columns)
    found = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        found[:, j] = column.astype(object)
    return found


def _values(cells: Any) -> npt.NDArray[Any]:
    if cells.kind == "categorical":
        levels: npt.NDArray[Any] = np.array([*cells.levels, None], dtype=object)[cells.codes]
        return levels
    values: Floats = np.asarray(cells.values, dtype=np.float64)
    if cells.kind == "datetime":
        seconds = np.where(np.isnan(values), 0.0, np.round(values * 86_400)).astype("M8[s]")
        dates: npt.NDArray[Any] = np.where(np.isnan(values), np.datetime64("NaT"), seconds)
        return dates
    return values


def row_labels(X: Any, n_rows: int) -> npt.NDArray[Any]:
    """The user's own labels of rows: the index of a pandas frame, else their numbers from 0."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or len(index) != n_rows:
        return np.arange(n_rows)
    return np.asarray(index)
