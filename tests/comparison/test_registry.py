"""The register of methods: what describes one, and those that a bare installation has."""

import re

import numpy as np
import pytest

from adacap.comparison import (
    METHODS,
    Method,
    MethodError,
    expand_methods,
    find_method,
    register,
    scikit_learn,
    threads,
    unavailable,
)


@pytest.fixture
def own_register():
    """Methods registered in a test are gone after it."""
    before = dict(METHODS)
    yield METHODS
    METHODS.clear()
    METHODS.update(before)


def dummy(name="dummy", **fields):
    return Method(
        name,
        **{"category": "Tree", "kinds": {"binary"}, "build": lambda kind, seed: None, **fields},
    )


@pytest.mark.parametrize("method", scikit_learn.METHODS, ids=lambda method: method.name)
def test_the_library_has_those_of_scikit_learn(method):
    assert METHODS[method.name] is method
    assert (method.packages, method.extra) == (("sklearn",), None)
    if method.lowest is not None and (reason := unavailable(method)):
        pytest.skip(reason)
    assert unavailable(method) is None
    for kind in sorted(method.kinds):
        assert hasattr(method.build(kind, 0), "predict")


@pytest.mark.parametrize("name", ["rf", "svm", "ols", "logreg", "nu-svm", "intercept", "cart"])
def test_one_that_is_built_can_be_fitted(name, seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    targets = {"regression": X[:, 0], "binary": (X[:, 0] > 0).astype(int)}
    targets["multiclass"] = np.digitize(X[:, 0], [-0.5, 0.5])
    for kind in sorted(METHODS[name].kinds):
        model = METHODS[name].build(kind, 0)
        model.fit(X, targets[kind])
        assert model.predict(X).shape == (40,)


def test_a_name_is_registered_once(own_register):
    register(dummy("oak"))
    assert find_method("oak").category == "Tree"
    with pytest.raises(MethodError, match=r"already a method 'oak' \(category Tree\). Choose"):
        register(dummy("oak", category="RF"))


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("logreg", "regression", "LogisticRegression does binary and multiclass, not 'regression'"),
        ("ridge", "regresion", "Unknown kind 'regresion'. Did you mean 'regression'"),
        ("gp", "ranking", "Unknown kind 'ranking'"),
    ],
)
def test_a_kind_that_a_method_does_not_do_is_refused(name, kind, message):
    assert kind not in METHODS[name].kinds
    with pytest.raises(MethodError, match=re.escape(message)):
        METHODS[name].build(kind, 0)


def test_names_expand_in_order_without_repeats():
    assert [method.name for method in expand_methods(["xrf", "ridge", "xrf"])] == ["xrf", "ridge"]
    with pytest.raises(MethodError, match="names must be a list of names, got 'rf,xrf'"):
        expand_methods("rf,xrf")


def test_threads_come_from_the_environment(monkeypatch):
    monkeypatch.delenv("ADACAP_THREADS", raising=False)
    assert threads() == 1
    monkeypatch.setenv("ADACAP_THREADS", "two")
    with pytest.raises(
        MethodError, match="ADACAP_THREADS must be a positive whole number, got 'two'"
    ):
        threads()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "My Method"}, "lower-case words joined by hyphens, got 'My Method'"),
        ({"kinds": set()}, "Method 'dummy' has no kind. Known: regression, binary, multiclass"),
        (
            {"kinds": "binary"},
            "kinds of method 'dummy' must be a collection of names, got 'binary'",
        ),
        ({"kinds": {"binari"}}, "Did you mean 'binary'"),
        ({"packages": "catboost"}, "packages of method 'dummy' must be a collection"),
        ({"build": None}, "build of method 'dummy' must be a function of kind and seed, got None"),
        ({"lowest": "numpy"}, "lowest of method 'dummy' must be a package and a version .*'numpy'"),
    ],
)
def test_a_wrong_description_is_refused(fields, message):
    with pytest.raises(MethodError, match=message):
        dummy(**fields)


@pytest.mark.parametrize("installed", ["1.7.2", "1.7.rc1", "0.24"])
def test_a_package_that_is_too_old_is_named_with_the_version_it_needs(installed, monkeypatch):
    monkeypatch.setattr("adacap.comparison.registry.version", lambda package: installed)
    assert unavailable(METHODS["qda"]) == (
        f"qda needs scikit-learn 1.8 or newer, but {installed} is installed: "
        "pip install 'scikit-learn>=1.8'"
    )


@pytest.mark.parametrize("installed", ["1.8", "1.8.0", "1.8rc1", "1.8.dev0", "1.10", "2.0.1"])
def test_a_package_that_is_new_enough_is_no_reason(installed, monkeypatch):
    monkeypatch.setattr("adacap.comparison.registry.version", lambda package: installed)
    assert unavailable(METHODS["qda"]) is None


def test_a_package_without_metadata_is_taken_as_it_is():
    assert unavailable(dummy(lowest="no-such-package>=1.0")) is None


def test_several_missing_packages_are_all_named():
    lost = dummy("lost", packages=("sklearn", "absent_a", "absent_b"))
    assert unavailable(lost) == (
        "lost needs the packages absent_a and absent_b, which are not installed: "
        "pip install absent_a absent_b"
    )
