"""Neural networks for small tables: the Tikhonov operator and the MLR loss."""

from adacap._version import __version__
from adacap.core import mlr_loss, ridge_coef, smooth
from adacap.estimators import AdaCapClassifier, AdaCapRegressor, make

__all__ = [
    "AdaCapClassifier",
    "AdaCapRegressor",
    "__version__",
    "make",
    "mlr_loss",
    "ridge_coef",
    "smooth",
]
