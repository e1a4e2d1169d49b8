"""Methods beside each other: other methods by name, their scores, and repeated splits of a table.

Splits of one table share rows, so their scores are not independent and the usual standard error is
too small. All errors and p-values here are of the corrected resampled t-test (Nadeau and Bengio
2003): the variance of a mean over k splits is ``1/k + n_test/n_train`` times that of one split.

Importing this loads no method; what needs an estimator is imported when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from adacap.comparison import scikit_learn
from adacap.comparison.registry import (
    KINDS,
    METHODS,
    Method,
    MethodError,
    expand_methods,
    find_method,
    load_attached,
    register,
    register_group,
    threads,
    unavailable,
)
from adacap.comparison.results import (
    Comparison,
    ComparisonInterrupted,
    Difference,
    Estimate,
    corrected_error,
)
from adacap.comparison.scoring import (
    PredictionError,
    check_predictions,
    score_classes,
    score_shares,
    score_values,
)

if TYPE_CHECKING:
    from adacap.comparison.adapters import Encoded, baselines
    from adacap.comparison.running import compare, split_dependent, split_rows, take_rows

__all__ = [
    "KINDS", "METHODS", "Comparison", "ComparisonInterrupted", "Difference", "Encoded", "Estimate",
    "Method", "MethodError", "PredictionError", "baselines", "check_predictions", "compare",
    "corrected_error", "expand_methods", "find_method", "load_attached", "register",
    "register_group", "score_classes", "score_shares", "score_values", "split_dependent",
    "split_rows", "take_rows", "threads", "unavailable",
]  # fmt: skip

for _method in scikit_learn.METHODS:
    register(_method)

_HOME = {
    "Encoded": "adacap.comparison.adapters",
    "baselines": "adacap.comparison.adapters",
    "compare": "adacap.comparison.running",
    "split_dependent": "adacap.comparison.running",
    "split_rows": "adacap.comparison.running",
    "take_rows": "adacap.comparison.running",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'adacap.comparison' has no attribute {name!r}")
