"""Hold an exported graph against the estimator it was made from."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from adacap.estimators.targets import RegressionCodec
from adacap.export.graph import need
from adacap.export.inputs import Dtype, check_estimator, onnx_inputs

__all__ = ["compare_onnx"]


def compare_onnx(
    estimator: Any,
    path: str | os.PathLike[str],
    X: Any,
    *,
    dtype: Dtype = "float64",
    missing_text: str = "",
) -> float:
    """Largest difference between an exported graph, run by onnxruntime, and the estimator.

    Parameters
    ----------
    estimator : AdaCapRegressor or AdaCapClassifier
        Fitted.
    path : str or path-like
        What :func:`to_onnx` wrote.
    X : array-like or frame of shape (n_samples, n_features)
        Rows to compare on.
    dtype, missing_text
        As given to :func:`to_onnx`.

    Returns
    -------
    float
        Regression: of predictions, in units of the larger of their size and the standard
        deviation of the target in training. Classification: of probabilities.

    Examples
    --------
    See :func:`to_onnx`.
    """
    model = check_estimator(estimator)
    runtime = need("onnxruntime")
    session = runtime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    feed = onnx_inputs(model, X, dtype=dtype, missing_text=missing_text)
    codec = model.codec_
    if not isinstance(codec, RegressionCodec):
        (found,) = session.run(["probabilities"], feed)
        return float(np.abs(found - model.predict_proba(X)).max())
    (found,) = session.run(["prediction"], feed)
    expected = model.predict(X)
    unit = np.maximum(np.abs(expected), np.abs(codec.scale[0] if codec.is_1d else codec.scale))
    return float((np.abs(found - expected) / np.where(unit == 0, 1.0, unit)).max())
