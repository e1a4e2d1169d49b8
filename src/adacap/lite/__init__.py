"""Predict from a saved model with NumPy alone: no torch, no scikit-learn is imported.

``estimator.save("m.adacap")`` writes the file, :func:`load` reads it here, for instance on a small
server. Columns are read and encoded by ``adacap.tables``, as the estimators do; containers and
networks have code of their own, since that of the estimators imports torch and Narwhals. The tests
hold both against each other.
"""

from adacap.lite.model import LiteClassifier, LiteRegressor, load

__all__ = ["LiteClassifier", "LiteRegressor", "load"]
