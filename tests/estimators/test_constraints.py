"""One table says what every parameter accepts: it is whole, and wrong values are refused."""

import inspect
import math
import re

import numpy as np
import pytest
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.estimators.constraints import check_parameters
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor

ESTIMATORS = [AdaCapRegressor, AdaCapClassifier, MLRNetRegressor, MLRNetClassifier]

WRONG = {
    "architecture": [
        "glue",
        3,
        nn.Linear(4, 8),
        [],
        ["glu", "mlpp"],
        [lambda d: None],
        None,
        lambda: 3,
        dict,
        int,
    ],
    "scheme": ["adacp", None, 1, ("plain",)],
    "quality": ["fastt", "kernel", [], ["kernel", "kernle"], ["nets", "nets"], 3, None, True],
    "width": [0, 16.0, True, "128", None],
    "depth": [0, 1.5, True, [], [1, 0], "2"],
    "n_estimators": [0, 2.0, True, "five", None],
    "preprocessing": ["no", None, True],
    "validation": ["fold", 1, 1.5, -0.1, True, None, math.nan, (0.2, "f1"), (0.2,), ("auc", 0.2)],
    "calibration_fraction": [1.0, -0.1, "some", True, math.nan],
    "target_transform": ["logg", None, True, 1],
    "max_iter": [0, 2.5, True, "long", "0 epochs", "-3 epochs", "2.5 epochs", None],
    "max_lr": [0, -1.0, "fast", True, math.inf, math.nan, None, 10**400],
    "batch_size": [0, 1.5, True, "all", None],
    "optimizer": ["adm", 3, None, ("adam",), ("adam", "onecycl"), (None, "cosine"), True],
    "weight_decay": [-1, "some", True, math.inf, None],
    "refit": ["all", True, None, False],
    "n_permutations": [-1, 1.5, True, "auto", None],
    "lambda_init": [
        -3,
        0,
        "max",
        math.inf,
        True,
        [1.0],
        [1.0, -1.0],
        None,
        np.ones((2, 2)),
        1e300,
        1e-300,
        [1.0, 1e300],
    ],
    "fit_intercept": ["no", 1, None],
    "time_limit": [0, -1, "1s", True, math.nan, 10**400],
    "warm_start": ["yes", 1, None],
    "device": ["abacus", 3, True, "meta"],
    "random_state": ["x", -1, 1.5, True],
    "callbacks": [3, "bar", [print], lambda state: None],
    "verbose": ["x", -1, 1.5, None],
    "select_by": ["f1", None, True],
    "class_weight": ["equal", 3, True, {"a": -1.0}, {"a": "b"}, {"a": math.nan}],
    "structured_dither": [-1, math.inf, "some", True, None],
    "target_dither": [-1, math.inf, "none", True, None],
    "dither_form": ["half", None],
    "initialization": ["hee", None],
    "top": [0, 1.5, True, "best"],
}


def parameters_of(kind):
    signature = inspect.signature(kind.__init__).parameters
    return {name: p for name, p in signature.items() if name != "self"}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_table_is_the_signature(kind):
    defaults = {name: parameter.default for name, parameter in parameters_of(kind).items()}
    assert {name: one.default for name, one in kind._constraints.items()} == defaults
    assert all(re.fullmatch(r"\d+\.\d+", one.since) for one in kind._constraints.values())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_default_is_accepted(kind):
    check_parameters(kind())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_there_are_at_most_25_parameters_each_by_keyword(kind):
    parameters = parameters_of(kind)
    assert len(parameters) <= 25
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_every_parameter_has_a_wrong_value_below():
    assert {name for kind in ESTIMATORS for name in kind._constraints} == set(WRONG)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ESTIMATORS for name in kind._constraints]
)
def test_a_wrong_value_is_refused_by_name_value_and_way_out(kind, name, data):
    for value in WRONG[name]:
        model = kind(**{name: value})
        with pytest.raises(ValueError, match=rf"^{name} must be ") as error:
            model.fit(data.X, data.y if "Regressor" in kind.__name__ else data.binary)
        assert kind._constraints[name].accepts(value) in str(error.value)
        if not isinstance(value, list | tuple):  # of which all parts are told
            assert len(str(error.value)) < 220 + len(repr(value))
        assert f"got {value!r}." in str(error.value)
        assert vars(model).keys() == vars(kind()).keys()


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("architecture", "glue", "Did you mean 'glu'?"),
        ("architecture", ["mlp", "gluu"], "Did you mean 'glu'?"),
        ("architecture", nn.Linear(4, 8), "Each net starts fresh, so pass what builds it"),
        ("quality", "balancd", "Did you mean 'balanced'?"),
        ("quality", ["kernel", "nets:bin"], "'nets:bin' is no member. Did you mean 'nets:bins'?"),
        ("quality", "kernel", "Write members as a list: ['kernel']. Members: nets, fourier,"),
        ("quality", "kernel, trees", "Write members as a list: ['kernel', 'trees']."),
        ("quality", [], "The list is empty. Members: nets, fourier, kernel, ridge, each also"),
        ("quality", ["trees", "trees"], "'trees' is there twice. Members: nets,"),
        ("quality", ["nets:bins", "catboost"], "'catboost' is no member. Members: nets,"),
        ("scheme", "tikonov", "Did you mean 'tikhonov'?"),
        ("validation", "fold", "Did you mean 'folds'?"),
        ("optimizer", "adm", "Did you mean 'adam'?"),
        ("optimizer", ("adam", "onecycl"), "Did you mean 'onecycle'?"),
        ("lambda_init", "max_sensitivty", "Did you mean 'max_sensitivity'?"),
    ],
)
def test_the_nearest_name_is_offered(name, value, hint, data):
    with pytest.raises(ValueError, match=re.escape(hint)):
        AdaCapRegressor(**{name: value}).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("width", [np.int64(3)]),
        ("max_lr", [np.float32(0.1), 1]),
        ("fit_intercept", [np.bool_(True)]),
        ("validation", [0, 0.0, np.float64(0.5)]),
        ("lambda_init", [(0.1, 1), np.logspace(0, 2, 5)]),
        ("architecture", [Architecture("mlp"), ["auto", Architecture("snn")], nn.Identity]),
        ("depth", [(1, 2), [np.int64(3)]]),
        ("optimizer", ["AdamW", ("SGD", None), ["adam", "cosine"]]),
        ("random_state", [0, np.int64(3), np.random.default_rng(0), np.random.RandomState(0)]),
        ("time_limit", [math.inf, 3]),
        ("verbose", [True, 2]),
        ("max_iter", ["1 epoch", "20 epochs"]),
    ],
)
def test_what_numpy_and_python_have_for_it_is_accepted(name, values):
    for value in values:
        check_parameters(AdaCapRegressor(**{name: value}))


def test_none_switches_calibration_off_for_classes_only():
    check_parameters(AdaCapClassifier(calibration_fraction=None))
    with pytest.raises(ValueError, match="calibration_fraction must be a number"):
        check_parameters(AdaCapRegressor(calibration_fraction=None))


def test_the_wrong_option_of_preprocessing_is_named():
    with pytest.raises(ValueError, match=r"Did you mean 'read_text'\?"):
        check_parameters(AdaCapRegressor(preprocessing={"read_tex": False}))
