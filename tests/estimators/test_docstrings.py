"""Docstrings are written out, describe every parameter and agree with each other."""

import inspect
import re
from pathlib import Path

import pytest

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor

ESTIMATORS = [AdaCapRegressor, AdaCapClassifier, MLRNetRegressor, MLRNetClassifier]
# What a regressor has alone, or takes other values for than a classifier.
ONLY_OF_NUMBERS = {"scheme", "validation", "calibration_fraction", "target_transform"}


def described(kind):
    """Parameter -> its lines in the docstring, in order."""
    section = re.search(r"Parameters\n-+\n(.*?)\n\nAttributes\n-+", inspect.getdoc(kind), re.S)
    parts = re.split(r"^(\w+) : ", section[1], flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_is_described_in_the_order_of_the_signature(kind):
    signature = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    assert list(described(kind)) == signature


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_defaults_are_named(kind):
    for name, text in described(kind).items():
        default = kind._constraints[name].default
        shown = f'"{default}"' if isinstance(default, str) else repr(default).replace("'", '"')
        assert text.splitlines()[0].endswith(f"default={shown}"), name


@pytest.mark.parametrize(
    ("one", "other"),
    [(AdaCapRegressor, AdaCapClassifier), (MLRNetRegressor, MLRNetClassifier)],
)
def test_shared_parameters_have_one_text(one, other):
    texts, others = described(one), described(other)
    alike = [name for name in texts if one._constraints[name] == other._constraints.get(name)]
    assert set(texts) - set(alike) <= ONLY_OF_NUMBERS
    texts, others = ({name: of[name] for name in alike} for of in (texts, others))
    assert before_auto(texts) == before_auto(others)


def before_auto(texts):
    """Texts without what "auto" stands for, which differs between numbers and classes."""
    return {name: " ".join(text.split()).partition(" Auto ")[0] for name, text in texts.items()}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_docstring_stands_in_the_source(kind):
    source = Path(inspect.getsourcefile(kind)).read_text(encoding="utf-8")
    for line in inspect.getdoc(kind).splitlines():
        assert line.strip() in source


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_parameters_are_grouped_by_who_needs_them(kind):
    text = inspect.getdoc(kind)
    for group in ("For most users", "For tuning", "For research", "For running"):
        assert group in text
