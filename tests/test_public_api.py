"""What the package root offers, and what importing it costs."""

import inspect
import subprocess
import sys

import pytest

import adacap


def test_root_names():
    assert set(adacap.__all__) == {
        "AdaCapClassifier",
        "AdaCapRegressor",
        "Architecture",
        "TableEncoder",
        "TikhonovHead",
        "__version__",
        "advise",
        "check_drift",
        "load",
        "make",
        "mlr_loss",
    }


def test_the_root_stays_small():
    assert len(adacap.__all__) <= 15
    assert sorted(adacap.__all__) == adacap.__all__


@pytest.mark.parametrize("name", adacap.__all__)
def test_root_name_is_there_and_listed(name):
    assert getattr(adacap, name) is not None
    assert name in dir(adacap)


@pytest.mark.parametrize("name", ["core", "nn", "training", "estimators", "exceptions"])
def test_packages_are_attributes(name):
    assert getattr(adacap, name).__name__ == f"adacap.{name}"


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="module 'adacap' has no attribute 'nothing'"):
        _ = adacap.nothing


def test_import_loads_neither_torch_nor_sklearn():
    code = "import sys, adacap; print(sorted({'torch', 'sklearn', 'numpy'} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_signatures():
    fit = inspect.signature(adacap.AdaCapRegressor.fit)
    assert list(fit.parameters) == [
        "self",
        "X",
        "y",
        "sample_weight",
        "X_val",
        "y_val",
        "groups",
        "time",
        "checkpoint",
    ]
    assert fit.parameters["X_val"].kind is inspect.Parameter.KEYWORD_ONLY
    make = inspect.signature(adacap.make)
    assert list(make.parameters) == ["name", "task", "overrides"]
    for cls in (adacap.AdaCapRegressor, adacap.AdaCapClassifier):
        init = inspect.signature(cls.__init__)
        kinds = {p.kind for name, p in init.parameters.items() if name != "self"}
        assert kinds == {inspect.Parameter.KEYWORD_ONLY}
