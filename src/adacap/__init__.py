"""Neural networks for small tables: the Tikhonov operator and the MLR loss.

Names are imported when first used, so that ``import adacap`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from adacap._version import __version__

if TYPE_CHECKING:
    from adacap.core import mlr_loss, ridge_coef, smooth
    from adacap.estimators import (
        AdaCapClassifier,
        AdaCapRegressor,
        MLRNetClassifier,
        MLRNetRegressor,
        TableEncoder,
        make,
    )
    from adacap.persistence import load

__all__ = [
    "AdaCapClassifier",
    "AdaCapRegressor",
    "MLRNetClassifier",
    "MLRNetRegressor",
    "TableEncoder",
    "__version__",
    "load",
    "make",
    "mlr_loss",
    "ridge_coef",
    "smooth",
]

_HOME = {
    "AdaCapClassifier": "adacap.estimators",
    "AdaCapRegressor": "adacap.estimators",
    "MLRNetClassifier": "adacap.estimators",
    "MLRNetRegressor": "adacap.estimators",
    "TableEncoder": "adacap.estimators",
    "load": "adacap.persistence",
    "make": "adacap.estimators",
    "mlr_loss": "adacap.core",
    "ridge_coef": "adacap.core",
    "smooth": "adacap.core",
}
_PACKAGES = (
    "bench", "core", "datasets", "estimators", "exceptions", "export", "files", "lite",
    "model_selection", "nn", "page", "persistence", "report", "training",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"adacap.{name}")
    raise AttributeError(f"module 'adacap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
