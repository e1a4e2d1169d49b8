"""Models for small tables: nets with the Tikhonov operator and the MLR loss, in blends.

Names are imported when first used, so that ``import adacap`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from adacap._version import __version__

if TYPE_CHECKING:
    from adacap.advice import advise
    from adacap.architectures import Architecture
    from adacap.core import mlr_loss
    from adacap.drift import check_drift
    from adacap.estimators import AdaCapClassifier, AdaCapRegressor, TableEncoder, make
    from adacap.modelfile.loading import load
    from adacap.nn import TikhonovHead

__all__ = [
    "AdaCapClassifier", "AdaCapRegressor", "Architecture", "TableEncoder", "TikhonovHead",
    "__version__", "advise", "check_drift", "load", "make", "mlr_loss",
]  # fmt: skip

_HOME = {
    "AdaCapClassifier": "adacap.estimators",
    "AdaCapRegressor": "adacap.estimators",
    "Architecture": "adacap.architectures",
    "TableEncoder": "adacap.estimators",
    "TikhonovHead": "adacap.nn",
    "advise": "adacap.advice",
    "check_drift": "adacap.drift",
    "load": "adacap.modelfile.loading",
    "make": "adacap.estimators",
    "mlr_loss": "adacap.core",
}
_PACKAGES = (
    "advice", "architectures", "checkpoint", "comparison", "core", "drift", "estimators",
    "exceptions", "explain",
    "export", "files", "lite", "model_selection", "modelfile", "nn", "page", "report", "training",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"adacap.{name}")
    raise AttributeError(f"module 'adacap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
