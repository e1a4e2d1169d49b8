"""Predict from a saved model with NumPy alone: no torch, no scikit-learn is imported.

``estimator.save("m.adacap")`` writes the file, :func:`load` reads it here, for instance on a small
server. The code is apart from the estimators on purpose, since importing those imports torch; the
tests hold both against each other.
"""

from adacap.lite.model import LiteClassifier, LiteRegressor, load

__all__ = ["LiteClassifier", "LiteRegressor", "load"]
