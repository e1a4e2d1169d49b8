"""Neural networks for small tables: the Tikhonov operator and the MLR loss.

Names are imported when first used, so that ``import adacap`` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from adacap._version import __version__

if TYPE_CHECKING:
    from adacap.architectures import Architecture
    from adacap.core import mlr_loss
    from adacap.estimators import AdaCapClassifier, AdaCapRegressor, TableEncoder, make
    from adacap.nn import TikhonovHead
    from adacap.persistence import load

__all__ = [
    "AdaCapClassifier",
    "AdaCapRegressor",
    "Architecture",
    "TableEncoder",
    "TikhonovHead",
    "__version__",
    "load",
    "make",
    "mlr_loss",
]

_HOME = {
    "AdaCapClassifier": "adacap.estimators",
    "AdaCapRegressor": "adacap.estimators",
    "Architecture": "adacap.architectures",
    "TableEncoder": "adacap.estimators",
    "TikhonovHead": "adacap.nn",
    "load": "adacap.persistence",
    "make": "adacap.estimators",
    "mlr_loss": "adacap.core",
}
_PACKAGES = (
    "architectures", "bench", "core", "datasets", "estimators", "exceptions", "export", "files",
    "lite", "model_selection", "nn", "page", "persistence", "report", "training",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"adacap.{name}")
    raise AttributeError(f"module 'adacap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
