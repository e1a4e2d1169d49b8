"""Predict from a saved model with NumPy alone: no torch, no scikit-learn is imported.

``estimator.save("m.adacap")`` writes the file, :func:`load` reads it here, for instance on a small
server. The file is checked as :func:`adacap.load` checks it, and tables are read and encoded by the
code that the estimators use; only the networks have a separate implementation.
"""

from adacap.modelfile.lite import LiteClassifier, LiteRegressor, load

__all__ = ["LiteClassifier", "LiteRegressor", "load"]
