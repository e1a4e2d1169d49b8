"""Estimators with scikit-learn's interface.

Names are imported when first used: an encoder alone does not load torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adacap.estimators.classifier import AdaCapClassifier
    from adacap.estimators.encoder import TableEncoder
    from adacap.estimators.factory import make
    from adacap.estimators.regressor import AdaCapRegressor

__all__ = ["AdaCapClassifier", "AdaCapRegressor", "TableEncoder", "make"]

_HOME = {
    "AdaCapClassifier": "adacap.estimators.classifier",
    "AdaCapRegressor": "adacap.estimators.regressor",
    "TableEncoder": "adacap.estimators.encoder",
    "make": "adacap.estimators.factory",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'adacap.estimators' has no attribute {name!r}")
