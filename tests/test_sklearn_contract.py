"""scikit-learn's own checks, for every scheme, an ensemble and the defaults.

Nothing is expected to fail. One deviation is on purpose and not among the checks that scikit-learn
runs for others: columns of a frame are matched by name, so another order is no error.
"""

import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from adacap import AdaCapClassifier, AdaCapRegressor

SMALL = {"width": 16, "max_iter": 30}
SETTINGS = [
    {"scheme": "adacap", **SMALL},
    {"scheme": "tikhonov", **SMALL},
    {"scheme": "plain", **SMALL},
    {"n_estimators": 2, "validation": "folds", "architecture": "mlp", **SMALL},
    {},
]
ESTIMATORS = [
    kind(**settings) for kind in (AdaCapRegressor, AdaCapClassifier) for settings in SETTINGS
]


@parametrize_with_checks(ESTIMATORS)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_the_order_of_named_columns_is_the_only_deviation(kind):
    """The check stops at the first column order it wants refused, which predict accepts."""
    with pytest.raises(AssertionError, match=r"^predict did not raise"):
        check_dataframe_column_names_consistency(kind.__name__, kind(**SMALL))
