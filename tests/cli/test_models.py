"""Which model the command line builds, and how it names it."""

import pytest

import adacap
from adacap.cli.models import describe


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"quality": "fast"},
            "AdaCapRegressor, a blend in 5 folds of kernel, ridge:bins, boosting",
        ),
        ({"quality": "nets"}, "AdaCapRegressor, 5 nets (one per fold)"),
        ({"n_estimators": 1}, "AdaCapRegressor, 1 net"),
    ],
)
def test_a_model_in_words(options, text):
    assert describe(adacap.AdaCapRegressor(**options), 200) == text
