"""Estimators with scikit-learn's interface."""

from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.make import make
from adacap.estimators.regressor import AdaCapRegressor

__all__ = ["AdaCapClassifier", "AdaCapRegressor", "TableEncoder", "make"]
