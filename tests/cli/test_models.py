"""Which model the command line builds, and how it names it."""

import re

import pytest

import adacap
from adacap.cli.common import UsageError
from adacap.cli.models import build, describe


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


def test_a_method_may_be_members():
    assert build("regression", "kernel, ridge:bins", seed=0).quality == ["kernel", "ridge:bins"]
    assert build("classification", "boosting", seed=0).quality == ["boosting"]
    assert build("regression", "nets", seed=0).quality == "nets"  # a bag that is not blended
    assert build("regression", "fast", seed=0).quality == "fast"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("kernel,bosting", "Unknown member 'bosting'. Did you mean 'boosting'?"),
        ("kernel,fast", "Unknown member 'fast'."),
        ("kernel,kernel", "--method kernel,kernel names a member twice."),
        ("kernell", "Unknown preset 'kernell'."),
    ],
)
def test_members_that_there_are_not(method, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        build("regression", method, seed=0)
