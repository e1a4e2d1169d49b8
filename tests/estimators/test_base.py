"""What both estimators promise: refusals, an untouched state, same seed same numbers, options."""

import copy
import inspect
import io
import itertools
import math
import re
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.exceptions import DivergenceError, NumericalWarning
from adacap.training.callbacks import Callback

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
BOTH = pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
SCHEMES = ["adacap", "tikhonov", "plain"]


def target(kind, data):
    return data.y if kind is AdaCapRegressor else data.binary


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


class Broken(nn.Linear):
    """A backbone whose features are NaN."""

    def __init__(self, d_in):
        super().__init__(d_in, 8)

    def forward(self, x):
        return super().forward(x) * math.nan


# -------------------------------------------------------------------------- refusals


@BOTH
@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"architecture": "glue"}, ValueError, "Unknown architecture 'glue'. Did you mean 'glu'?"),
        ({"architecture": 3}, TypeError, "a name or a function d_in -> nn.Module.*got int"),
        ({"architecture": nn.Linear(4, 8)}, TypeError, "each net starts fresh, got Linear"),
        ({"architecture": lambda d: 3}, TypeError, "must return a torch.nn.Module, got int from"),
        ({"architecture": nn.Bilinear}, TypeError, "missing 2 required positional"),
        (
            {"architecture": lambda d: nn.Unflatten(1, (1, d))},
            ValueError,
            r"must map 2 rows to a tensor of shape \(2, J\), got \(2, 1, 4\). Flatten its output",
        ),
        ({"architecture": lambda d: nn.LSTM(d, 2)}, ValueError, r"shape \(2, J\), got tuple"),
        ({"optimizer": "adm"}, ValueError, "Unknown optimizer 'adm'. Did you mean 'adam'?"),
        ({"scheduler": "onecycl"}, ValueError, "Unknown scheduler.* Did you mean 'onecycle'?"),
        ({"scheme": "adacp"}, ValueError, "scheme must be one of auto, adacap.*got 'adacp'"),
        ({"bagging": "fold"}, ValueError, "bagging must be one of auto, seeds, folds, got 'fold'"),
        ({"preprocessing": "no"}, ValueError, "preprocessing must be one of .*, got 'no'"),
        ({"select_by": "f1"}, ValueError, "select_by must be one of loss, auc, r2, got 'f1'"),
        ({"mlr_form": "gap"}, ValueError, "mlr_form must be one of difference.*got 'gap'"),
        ({"width": 0}, ValueError, "width must be an integer of at least 1, got 0"),
        ({"width": 16.0}, ValueError, "width must be an integer of at least 1, got 16.0"),
        ({"depth": 0}, ValueError, "depth must be an integer of at least 1, got 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be an integer of at least 1, got 0"),
        ({"max_epochs": 0}, ValueError, "max_epochs must be an integer of at least 1, got 0"),
        ({"batch_size": 0}, ValueError, "batch_size must be an integer of at least 1, got 0"),
        (
            {"batch_size": 1, "batch_norm": True},
            ValueError,
            "batch_norm needs a batch_size of at least 2, got batch_size=1",
        ),
        ({"n_estimators": 0}, ValueError, "n_estimators must be an integer of at least 1, got 0"),
        (
            {"n_estimators": 61, "bagging": "folds"},
            ValueError,
            "at least 61 different rows, got 60",
        ),
        ({"n_permutations": -1}, ValueError, "n_permutations must be .* at least 0, got -1"),
        ({"patience": 0}, ValueError, "patience must be an integer of at least 1, got 0"),
        ({"validation_fraction": 1}, ValueError, r"validation_fraction must be in \[0, 1\), got 1"),
        ({"validation_fraction": "x"}, ValueError, "validation_fraction must be in .*got 'x'"),
        ({"dropout": 1.0}, ValueError, r"dropout must be 'auto' or in \[0, 1\), got 1.0"),
        ({"dropout": "much"}, ValueError, "dropout must be 'auto' or .*, got 'much'"),
        ({"batch_norm": "x"}, ValueError, "batch_norm must be True, False or 'auto', got 'x'"),
        ({"refit_net": "x"}, ValueError, "refit_net must be True, False or 'auto', got 'x'"),
        ({"time_limit": 0}, ValueError, "time_limit must be positive seconds, got 0"),
        ({"time_limit": "1s"}, ValueError, "time_limit must be positive seconds, got '1s'"),
        ({"lambda_init": -3}, ValueError, "a positive float, 'auto' or 'max_sensitivity', got -3"),
        ({"lambda_init": "max"}, ValueError, "'auto' or 'max_sensitivity', got 'max'"),
        ({"lambda_init": math.inf}, ValueError, "a positive float, .*, got inf"),
        ({"lambda_grid": [1.0]}, ValueError, r"at least 2 positive numbers, got \[1.0\]"),
        ({"lambda_grid": [1.0, -1.0]}, ValueError, "at least 2 positive numbers"),
        ({"max_lr": 0}, ValueError, "max_lr must be positive, got 0"),
        ({"max_lr": "fast"}, ValueError, "max_lr must be positive, got 'fast'"),
        ({"weight_decay": -1}, ValueError, "weight_decay must be 'auto', or 0 or more, got -1"),
        ({"random_state": "x"}, ValueError, "random_state must be None, an integer.*got 'x'"),
        ({"random_state": -1}, ValueError, "random_state must be None, an integer >= 0.*got -1"),
        ({"device": "abacus"}, RuntimeError, "device string: abacus"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0] if isinstance(value, dict) else "",
)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_parameter_that_cannot_work_is_refused(kind, options, error, match, data):
    if options.get("batch_norm") is not True:
        options = {"scheme": "adacap"} | options
    model = kind(**ONE | options)
    with pytest.raises(error, match=match):
        model.fit(data.X, target(kind, data))
    assert vars(model).keys() == vars(kind()).keys()


@BOTH
@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda X, y: (X[:0], y[:0]), ValueError, r"0 sample\(s\) .*minimum of 1 is required"),
        (lambda X, y: (X[:, :0], y), ValueError, r"0 feature\(s\) .*minimum of 1 is required"),
        (lambda X, y: (X, y[:-1]), ValueError, r"inconsistent numbers of samples: \[60, 59\]"),
        (lambda X, y: (X[:, 0], y), ValueError, "Expected 2D array, got 1D array instead"),
        (lambda X, y: (X[:, :, None], y), ValueError, r"got shape=\(60, 4, 1\). Flatten each"),
        (lambda X, y: (X, None), ValueError, "requires y to be passed, but the target y is None"),
        (lambda X, y: (np.where(X > 2, np.inf, X), y), ValueError, "infinity in column .*Replace"),
        (lambda X, y: (X, y, -np.ones(60)), ValueError, "must be 0 or more for every row, got -1"),
        (lambda X, y: (X, y, np.zeros(60)), ValueError, "at least one non-zero|is zero for every"),
        (lambda X, y: (X, y, np.full(60, np.nan)), ValueError, "sample_weight contains NaN"),
        (lambda X, y: (X, y, np.ones(59)), ValueError, r"sample_weight.shape == \(59,\), expected"),
        (lambda X, y: (X, y, np.ones((60, 2))), ValueError, "must be 1D array or scalar"),
    ],
)
@pytest.mark.usefixtures("global_state_untouched")
def test_data_that_cannot_work_is_refused(kind, change, error, match, data):
    model = kind(**ONE)
    with pytest.raises(error, match=match):
        model.fit(*change(data.X, target(kind, data)))
    assert vars(model).keys() == vars(kind()).keys()


@BOTH
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X, y: {"X_val": X}, "X_val and y_val go together: give both or neither"),
        (lambda X, y: {"y_val": y}, "X_val and y_val go together: give both or neither"),
        (lambda X, y: {"X_val": X, "y_val": y[:9]}, r"inconsistent numbers of samples: \[60, 9\]"),
        (lambda X, y: {"X_val": X[:, :3], "y_val": y}, "has 3 features, but .* expecting 4"),
        (lambda X, y: {"X_val": X[:0], "y_val": y[:0]}, r"0 sample\(s\)"),
    ],
)
def test_validation_rows_that_cannot_work_are_refused(kind, change, match, data):
    y = target(kind, data)
    with pytest.raises(ValueError, match=match):
        kind(**ONE).fit(data.X, y, **change(data.X, y))


def test_validation_targets_must_be_of_the_same_kind(data):
    with pytest.raises(ValueError, match="y has 2 targets, but there were 1 in training"):
        AdaCapRegressor(**ONE).fit(data.X, data.y, X_val=data.X, y_val=np.c_[data.y, data.y])
    with pytest.raises(ValueError, match=r"classes unseen in training: \['mid'\]"):
        AdaCapClassifier(**SMALL).fit(data.X, data.binary, X_val=data.X[:2], y_val=["low", "mid"])


def test_one_row_is_refused(data):
    with pytest.raises(ValueError, match=r"needs at least 2 different rows .*, got n_samples=1"):
        AdaCapRegressor(**ONE).fit(data.X[:1], data.y[:1])
    with pytest.raises(ValueError, match=r"needs at least 2 different rows .*, got n_samples=1"):
        AdaCapRegressor(**ONE).fit(data.X[[0, 0, 0]], data.y[[0, 0, 0]])
    with pytest.raises(ValueError, match=r"needs at least 2 different rows .*, got n_samples=1"):
        AdaCapRegressor(**ONE).fit(data.X, data.y, np.eye(60)[0])


@BOTH
@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_rows_are_enough(kind, scheme, data):
    y = target(kind, data)
    rows = [int(np.argmin(data.y)), int(np.argmax(data.y))]
    model = kind(scheme=scheme, **ONE).fit(data.X[rows], y[rows])
    assert np.isfinite(outputs(model, data.X)).all()


@BOTH
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X: X[:, :3], "X has 3 features, but AdaCap.* is expecting 4 features"),
        (lambda X: X[0], "Expected 2D array, got 1D array"),
        (lambda X: X[:, :, None], "Expected 2D array, got shape"),
        (lambda X: X[:0], r"0 sample\(s\)"),
        (lambda X: X * np.inf, "Input X contains infinity in column 0"),
    ],
)
def test_rows_of_another_form_cannot_be_predicted(kind, change, match, data):
    model = kind(**ONE).fit(data.X, target(kind, data))
    with pytest.raises(ValueError, match=match):
        model.predict(change(data.X))


# ----------------------------------------------------------------------- divergence


@BOTH
@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"scheme": "adacap", "lambda_init": "max_sensitivity"},
            "gives 384 NaN or infinite features out of 384 before the first",
        ),
        (
            {"scheme": "tikhonov", "lambda_init": "max_sensitivity"},
            "gives 384 NaN or infinite features out of 384 before the first",
        ),
        ({"scheme": "adacap", "lambda_init": 1.0}, "diverged at step 0 before a usable iteration"),
        ({"scheme": "plain"}, "diverged at step 0 .* loss is not finite. max_lr is now 0.01"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_backbone_that_gives_nan_is_a_named_error(kind, options, match, data):
    model = kind(architecture=Broken, **ONE | options)
    with pytest.raises(DivergenceError, match=match):
        model.fit(data.X, target(kind, data))
    assert vars(model).keys() == vars(kind()).keys()


@BOTH
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.filterwarnings("ignore::adacap.exceptions.NumericalWarning")
def test_a_huge_learning_rate_keeps_what_was_best(kind, scheme, optimizer, data):
    """Whether or not the loss overflows, a usable model comes back."""
    model = kind(scheme=scheme, max_lr=1e6, optimizer=optimizer, scheduler="constant", **ONE)
    model.fit(data.X, target(kind, data))
    assert np.isfinite(outputs(model, data.X)).all()
    if scheme != "plain":
        assert math.isfinite(model.lambda_)


def test_divergence_after_a_usable_iteration_is_a_warning(data):
    model = AdaCapRegressor(
        scheme="plain", max_lr=1e6, optimizer="sgd", scheduler="constant", **ONE
    )
    with pytest.warns(NumericalWarning, match=r"diverged at step \d+; the best .*smaller max_lr"):
        model.fit(data.X, data.y)
    assert model.n_iter_ < 20
    assert np.abs(model.predict(data.X)).max() < 10


# ------------------------------------------------- a failed fit leaves everything as it was


class Failing(Callback):
    """Raise in the middle of training."""

    def on_step(self, state):
        if state.step == 3:
            raise RuntimeError("stop here")


FAILURES = {
    "data": ({}, lambda X, y: (X, y[:-1])),
    "parameter": ({"optimizer": "adm"}, lambda X, y: (X, y)),
    "in training": ({"callbacks": [Failing()]}, lambda X, y: (X, y)),
}


def snapshot(model):
    """Deep copy of all attributes, tensors included."""
    return copy.deepcopy(vars(model))


def assert_unchanged(model, before):
    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        assert type(getattr(model, name)) is type(value), name
    state = before["network_"].state_dict()
    for name, tensor in model.network_.state_dict().items():
        assert torch.equal(tensor, state[name])
    for old, new in zip(before["members_"], model.members_, strict=True):
        kept = old.trainable.state_dict()
        assert all(torch.equal(t, kept[n]) for n, t in new.trainable.state_dict().items())
        assert old.history == new.history
    assert before["history_"] == model.history_
    assert before["encoder_"].to_dict() == model.encoder_.to_dict()
    for name in ("lambda_", "n_iter_", "best_iter_", "seeds_", "scheme_", "n_features_in_"):
        assert getattr(model, name) == before[name]


@BOTH
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_first_fit_that_fails_leaves_no_attribute(kind, failure, data):
    options, change = FAILURES[failure]
    model = kind(**ONE | options)
    before = dict(vars(model))
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(*change(data.X, target(kind, data)))
    assert vars(model) == before


@BOTH
@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_later_fit_that_fails_leaves_the_fitted_model(kind, warm_start, failure, data):
    y = target(kind, data)
    model = kind(warm_start=warm_start, n_estimators=2, dropout=0, **SMALL).fit(data.X, y)
    options, change = FAILURES[failure]
    model.set_params(**options)
    before, predicted = snapshot(model), outputs(model, data.X)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(*change(data.X[:50], y[:50]))
    assert_unchanged(model, before)
    np.testing.assert_array_equal(outputs(model, data.X), predicted)


@BOTH
def test_fit_writes_no_parameter(kind, data):
    model = kind(lambda_grid=[0.1, 1.0, 10.0], callbacks=[Callback()], **ONE)
    before = model.get_params()
    model.fit(data.X, target(kind, data))
    assert model.get_params() == before
    assert vars(model).keys() > before.keys()


def test_fitting_again_forgets_what_no_longer_holds(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = AdaCapRegressor(**ONE).fit(frame, data.y)
    assert hasattr(model, "feature_names_in_")
    model.fit(data.X, data.y)
    assert not hasattr(model, "feature_names_in_")


def test_fitting_changes_neither_X_nor_y(data):
    X, y, weight = data.X.copy(), data.y.copy(), np.ones(60)
    for array in (X, y, weight):
        array.flags.writeable = False
    AdaCapRegressor(**ONE).fit(X, y, weight)
    np.testing.assert_array_equal(X, data.X)


# --------------------------------------------------------- same seed, same numbers


@BOTH
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.usefixtures("global_state_untouched")
def test_same_seed_same_bits(kind, scheme, data):
    y = target(kind, data)
    models = [kind(scheme=scheme, **ONE).fit(data.X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(outputs(model, data.X) for model in models))
    assert models[0].history_["loss"] == models[1].history_["loss"]


@BOTH
@pytest.mark.usefixtures("global_state_untouched")
def test_minibatches_and_dropout_follow_the_seed_too(kind, data):
    options = ONE | {"scheme": "plain", "dropout": 0.3, "batch_size": 16}
    y = target(kind, data)
    models = [kind(**options).fit(data.X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(outputs(model, data.X) for model in models))


@pytest.mark.usefixtures("global_state_untouched")
def test_other_seeds_give_other_numbers(data):
    predictions = [
        AdaCapRegressor(**ONE | {"random_state": state}).fit(data.X, data.y).predict(data.X)
        for state in (0, 1, 2**40, None, None)
    ]
    for i, a in enumerate(predictions):
        for b in predictions[:i]:
            assert not np.array_equal(a, b)


@pytest.mark.parametrize(
    "make",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.RandomState(7),
        lambda: np.random.default_rng(7),
    ],
    ids=["int", "numpy int", "RandomState", "Generator"],
)
@pytest.mark.usefixtures("global_state_untouched")
def test_every_form_of_random_state(make, data):
    def predict(state):
        return AdaCapRegressor(**ONE | {"random_state": state}).fit(data.X, data.y).predict(data.X)

    np.testing.assert_array_equal(predict(make()), predict(make()))
    state = make()
    repeats = np.array_equal(predict(state), predict(state))
    assert repeats is isinstance(state, int | np.integer)  # a generator moves on


def test_the_global_seed_has_no_influence(data):
    predictions = []
    for seed in (1, 2):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = AdaCapRegressor(scheme="plain", **ONE).fit(data.X, data.y)
        predictions.append(model.predict(data.X))
    np.testing.assert_array_equal(*predictions)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_number_of_threads_is_left_alone(n_threads, data):
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with pytest.warns(UserWarning, match="one by one"):
            AdaCapRegressor(n_estimators=2, dropout=0.1, **SMALL).fit(data.X, data.y)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)


# ----------------------------------------------------------- rows: order, weights, copies


@BOTH
@pytest.mark.parametrize("options", [{}, {"n_estimators": 2, "bagging": "folds", "dropout": 0}])
def test_the_order_of_the_rows_does_not_matter(kind, options, data, seed):
    X = data.X * [1, 1e3, 1e-3, 7]
    y = target(kind, data)
    y = 1e3 * y + 0.1 if kind is AdaCapRegressor else y
    order = np.random.default_rng(seed).permutation(60)
    a = kind(**ONE | options).fit(X, y)
    b = kind(**ONE | options).fit(X[order], y[order])
    np.testing.assert_array_equal(outputs(a, X), outputs(b, X))


@BOTH
@pytest.mark.parametrize(
    "options",
    [{}, {"scheme": "tikhonov", "n_estimators": 2}],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_weight_2_is_the_row_twice_and_weight_0_is_no_row(kind, options, data, seed):
    y = target(kind, data)
    weight = np.random.default_rng(seed).integers(0, 4, 60)
    a = kind(**ONE | options).fit(data.X, y, weight)
    repeated = np.repeat(np.arange(60), weight)
    b = kind(**ONE | options).fit(data.X[repeated], y[repeated])
    np.testing.assert_array_equal(outputs(a, data.X), outputs(b, data.X))


def test_weight_1_is_no_weight(data):
    a = AdaCapRegressor(**ONE).fit(data.X, data.y, np.ones(60))
    b = AdaCapRegressor(**ONE).fit(data.X, data.y)
    np.testing.assert_array_equal(a.predict(data.X), b.predict(data.X))


def test_an_absent_row_has_no_influence_at_all(data):
    """Not even on the encoding, the classes or the scale of the target."""
    frame = pd.DataFrame({"x": data.X[:, 0], "text": ["a", "b"] * 30})
    odd = pd.concat([frame, pd.DataFrame({"x": [1e9], "text": ["new"]})])
    a = AdaCapRegressor(**ONE).fit(odd, [*data.y, 1e9], [1] * 60 + [0])
    b = AdaCapRegressor(**ONE).fit(frame, data.y)
    np.testing.assert_array_equal(a.predict(frame), b.predict(frame))
    c = AdaCapClassifier(**SMALL).fit(odd, [*data.binary, "new"], [1] * 60 + [0])
    assert c.classes_.tolist() == ["low", "top"]


def test_a_weight_draws_the_prediction(data):
    X = np.zeros((40, 1))
    y = np.repeat([0.0, 1.0], 20)
    weight = np.repeat([3.0, 1.0], 20)
    model = AdaCapRegressor(**ONE).fit(X + np.arange(40)[:, None] * 1e-9, y, weight)
    assert model.predict(X).mean() < 0.4


@BOTH
def test_a_prediction_depends_on_its_row_alone(kind, data):
    model = kind(**ONE).fit(data.X, target(kind, data))
    alone = np.concatenate([outputs(model, data.X[i : i + 1]) for i in range(5)])
    np.testing.assert_array_equal(alone, outputs(model, data.X)[:5])
    many = np.tile(data.X, (20, 1))
    np.testing.assert_array_equal(outputs(model, many)[-60:], outputs(model, data.X))


# ---------------------------------------------------------------------------- options


def fit(data, kind=AdaCapRegressor, /, **options):
    return kind(**ONE | options).fit(data.X, target(kind, data))


OPTIONS = [
    *({"scheme": scheme} for scheme in SCHEMES),
    *({"architecture": name} for name in ("glu", "snn", "mlp", "resblock")),
    {"architecture": lambda d: nn.Sequential(nn.Linear(d, 8), nn.Tanh())},
    {"depth": 1},
    {"mlr_form": "absolute_gap", "scheme": "adacap"},
    {"lambda_init": 5.0, "scheme": "adacap"},
    {"lambda_grid": [1.0, 10.0, 100.0], "scheme": "adacap"},
    {"lambda_grid": np.logspace(-2, 2, 5), "scheme": "tikhonov"},
    {"fit_intercept": False, "scheme": "adacap"},
    {"n_permutations": 1, "scheme": "adacap"},
    {"max_epochs": 2},
    {"batch_size": 16},
    {"optimizer": "adamw", "weight_decay": 0.1},
    {"optimizer": "SGD"},
    {"optimizer": lambda groups, lr: torch.optim.RMSprop(groups, lr=lr)},
    *({"scheduler": name} for name in ("cosine", "linear", "constant", None)),
    {"scheduler": lambda opt, n: torch.optim.lr_scheduler.StepLR(opt, max(n // 2, 1))},
    {"dropout": 0.3, "scheme": "adacap"},
    {"batch_norm": True, "scheme": "adacap"},
    {"dropout": 0.0, "batch_norm": False, "scheme": "plain"},
    {"refit_head": False, "refit_net": False},
    {"refit_head": False, "refit_net": True},
    {"refit_net": False},
    {"validation_fraction": 0},
    {"select_by": "auc"},
    {"patience": 3},
    {"preprocessing": "paper"},
    {"preprocessing": "none"},
    {"device": "cpu"},
    {"time_limit": 60.0},
]


@BOTH
@pytest.mark.parametrize("options", OPTIONS, ids=lambda value: str(value).split(" at 0x")[0])
@pytest.mark.usefixtures("global_state_untouched")
def test_every_option_trains(kind, options, data):
    model = fit(data, kind, **options)
    assert np.isfinite(outputs(model, data.X)).all()
    assert len(model.history_) == model.n_iter_


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lambda_init", 5.0),
        ("lambda_grid", [1.0, 10.0, 100.0]),
        ("fit_intercept", False),
        ("n_permutations", 1),
        ("batch_size", 16),
        ("optimizer", "sgd"),
        ("scheduler", "constant"),
        ("weight_decay", 1.0),
        ("dropout", 0.3),
        ("batch_norm", True),
        ("max_lr", 0.1),
        ("preprocessing", "none"),
        ("depth", 1),
        ("width", 8),
    ],
)
def test_an_option_is_heard(name, value, data):
    """Each of these changes the numbers; were it lost on the way, they would be equal."""
    last = {"validation_fraction": 0}  # a hold-out may choose the start, which few options move
    if name == "lambda_grid":
        last["lambda_init"] = "max_sensitivity"
    a, b = fit(data, **last), fit(data, **last, **{name: value})
    assert not np.array_equal(a.predict(data.X), b.predict(data.X))


def test_the_form_of_the_loss_is_heard(data):
    """Where permuted labels fit better than their mean, the gap is positive and both agree."""
    difference, gap = fit(data), fit(data, mlr_form="absolute_gap")
    assert difference.history_["fit_true"][0] == gap.history_["fit_true"][0]
    assert difference.history_["loss"][0] != gap.history_["loss"][0]


def test_n_permutations_0_is_the_tikhonov_scheme(data):
    options = {"lambda_init": 2.0}  # the rule of the start looks at permutations all the same
    a = fit(data, scheme="adacap", n_permutations=0, **options)
    b = fit(data, scheme="tikhonov", **options)
    np.testing.assert_array_equal(a.predict(data.X), b.predict(data.X))


def test_lambda_starts_where_it_is_told(data):
    assert fit(data, lambda_init=5.0).history_["lambda"][0] == pytest.approx(5.0)
    assert fit(data).history_["lambda"][0] == pytest.approx(3.0)
    rule = {"lambda_init": "max_sensitivity"}
    start = fit(data, lambda_grid=[2.0, 8.0], **rule).history_["lambda"][0]
    assert start == pytest.approx(4.0)  # the middle of the only interval
    grid = fit(data, lambda_grid=[100.0, 2.0, 8.0], **rule)  # sorted before use
    assert grid.history_["lambda"][0] in (pytest.approx(4.0), pytest.approx(800**0.5))


def test_the_rule_of_the_best_iteration_is_heard(data):
    """AUC counts pairs of held-out rows, the loss is continuous; regression has R² alone."""
    by_loss, by_auc = (fit(data, AdaCapClassifier, select_by=rule) for rule in ("loss", "auc"))
    assert by_loss.history_["loss"] == by_auc.history_["loss"]
    assert all(score < 0 for score in by_loss.history_["valid_score"])
    assert all(-1e-6 < score <= 1 for score in by_auc.history_["valid_score"])
    a, b = (fit(data, select_by=rule) for rule in ("loss", "auc"))
    assert a.history_["valid_score"] == b.history_["valid_score"]


def test_auto_weight_decay_is_for_solved_layers_only(data):
    last = {"validation_fraction": 0}
    for scheme, amount in (("adacap", 3.0), ("tikhonov", 3.0), ("plain", 0.0)):
        auto = fit(data, scheme=scheme, **last)
        given = fit(data, scheme=scheme, weight_decay=amount, **last)
        np.testing.assert_array_equal(auto.predict(data.X), given.predict(data.X))


def test_auto_weight_decay_fades_with_the_number_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    settings = {"validation_fraction": 0, "max_iter": 3, "width": 8, "random_state": 0}
    auto = AdaCapRegressor(**settings).fit(X, X[:, 0])
    given = AdaCapRegressor(weight_decay=0.5, **settings).fit(X, X[:, 0])
    np.testing.assert_array_equal(auto.predict(X), given.predict(X))


def test_auto_says_what_it_stood_for(data):
    model = fit(data)
    assert (model.scheme_, model.backbone_.name, model.backbone_.dropout) == ("adacap", "glu", 0.0)
    model = fit(data, AdaCapClassifier)
    assert (model.scheme_, model.backbone_.name) == ("plain", "mlp")
    assert (model.backbone_.dropout, model.backbone_.batch_norm) == (0.2, True)


def test_patience_stops_early(data):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=60)  # nothing to learn: the validation score soon falls
    model = AdaCapRegressor(patience=5, **ONE | {"max_iter": 200}).fit(data.X, noise)
    assert model.n_iter_ < 200
    assert model.n_iter_ == model.best_iter_ + 6
    never = AdaCapRegressor(**ONE | {"max_iter": 200}).fit(data.X, noise)
    assert never.n_iter_ == 200


def test_max_epochs_counts_batches(data):
    assert fit(data, max_epochs=3, batch_size=16).n_iter_ == 9  # 48 rows make 3 batches
    assert fit(data, max_epochs=3).n_iter_ == 3


def test_without_hold_out_the_last_iteration_is_kept(data):
    model = fit(data, validation_fraction=0)
    assert model.best_iter_ == model.n_iter_ - 1 == 19
    assert "valid_score" not in model.history_.columns()
    assert len(model.members_[0].rows.valid) == 0


def test_the_best_iteration_is_the_one_of_the_best_score(data):
    model = fit(data)
    scores = model.history_["valid_score"]
    assert model.best_iter_ == int(np.argmax(scores))
    assert model.members_[0].best_score == max(scores)


@BOTH
def test_given_validation_rows_replace_the_hold_out(kind, data):
    class Rows(Callback):
        def __init__(self):
            self.sizes = set()

        def on_step(self, state):
            self.sizes.add(state.batch.x.shape[1])

    y = target(kind, data)
    rows = Rows()
    model = kind(callbacks=[rows], **ONE)
    model.fit(data.X[:40], y[:40], X_val=data.X[40:], y_val=y[40:])
    assert rows.sizes == {40}
    assert "valid_score" in model.history_.columns()
    other = kind(**ONE).fit(data.X[:40], y[:40], X_val=data.X[40:50], y_val=y[40:50])
    assert model.history_["loss"] == other.history_["loss"]
    assert model.history_["valid_score"] != other.history_["valid_score"]


def test_the_score_of_given_rows_is_that_of_the_model(data):
    """One step: the recorded R² is the one scikit-learn finds for the net that is kept."""
    model = AdaCapRegressor(refit_head=False, **ONE | {"max_iter": 1})
    model.fit(data.X[:40], data.y[:40], X_val=data.X[40:], y_val=data.y[40:])
    assert model.score(data.X[40:], data.y[40:]) == pytest.approx(
        model.history_["valid_score"][0], abs=1e-4
    )


# ------------------------------------------------------------------- going on, looking on


@BOTH
def test_warm_start_goes_on(kind, data):
    y = target(kind, data)
    model = kind(warm_start=True, **ONE).fit(data.X, y)
    history, encoder, net = model.history_, model.encoder_, model.members_[0].trainable
    model.fit(data.X, y)
    assert model.n_iter_ == len(model.history_) == 40
    assert model.history_[:20] == history
    assert model.encoder_ is encoder
    assert model.best_iter_ >= 20
    assert model.members_[0].trainable is not net


def test_warm_start_starts_from_the_weights_it_has(data):
    model = AdaCapRegressor(warm_start=True, **ONE | {"max_iter": 100}).fit(data.X, data.y)
    fresh, kept, lam = model.history_[0], model.history_[model.best_iter_], model.lambda_
    going_on = model.fit(data.X, data.y).history_[100]
    assert abs(going_on["loss"] - kept["loss"]) < 0.1 * abs(kept["loss"] - fresh["loss"])
    assert going_on["lambda"] == pytest.approx(lam, rel=1e-4)


def test_warm_start_does_not_lose_what_was_learnt(data):
    options = {"max_iter": 50, "refit_net": False}
    warm = AdaCapRegressor(warm_start=True, **ONE | options).fit(data.X[:45], data.y[:45])
    first = warm.members_[0].best_score
    warm.fit(data.X[:45], data.y[:45])
    assert warm.members_[0].best_score > first - 0.02


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"scheme": "plain"}, "scheme cannot change from 'adacap' to 'plain'. Set warm_start=Fal"),
        ({"n_estimators": 2}, "n_estimators cannot change from 1 to 2"),
        ({"width": 32}, "the backbone cannot change from .*width=16.* to .*width=32"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_warm_start_refuses_other_nets(change, match, data):
    model = AdaCapRegressor(warm_start=True, **ONE).fit(data.X, data.y)
    with pytest.raises(ValueError, match=match):
        model.set_params(**change).fit(data.X, data.y)


def test_warm_start_refuses_other_data(data):
    model = AdaCapRegressor(warm_start=True, **ONE).fit(data.X, data.y)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.fit(data.X[:, :3], data.y)
    with pytest.raises(ValueError, match="y has 2 targets, but there were 1"):
        model.fit(data.X, np.c_[data.y, data.y])
    classes = AdaCapClassifier(warm_start=True, **SMALL).fit(data.X, data.binary)
    with pytest.raises(ValueError, match="classes unseen in training"):
        classes.fit(data.X, data.multiclass)


def test_warm_start_keeps_the_names_it_was_fitted_with(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = AdaCapRegressor(warm_start=True, **ONE).fit(frame, data.y)
    model.fit(frame[list("dcba")], data.y)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_callbacks_are_called(data):
    class Log(Callback):
        def __init__(self):
            self.calls = []

        def on_start(self, state):
            self.calls.append("start")

        def on_step(self, state):
            self.calls.append(state.step)
            state.record["mine"] = [42.0]
            state.stop = state.step >= 4

        def on_end(self, state):
            self.calls.append("end")

    log = Log()
    model = fit(data, callbacks=[log], refit_net=False)
    assert log.calls == ["start", 0, 1, 2, 3, 4, "end"]
    assert model.history_["mine"] == [42.0] * 5
    assert model.n_iter_ == 5


def test_verbose_prints_lines_where_there_is_no_terminal(data, capsys, monkeypatch):
    seconds = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: next(seconds))
    fit(data, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(r"AdaCapRegressor: step \d+/20 valid \S+  λ \S+", captured.err)


def test_verbose_draws_a_bar_on_a_terminal(data, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    fit(data, verbose=True)
    assert "AdaCapRegressor" in terminal.getvalue()
    assert "20" in terminal.getvalue()


def test_silent_by_default(data, capsys):
    fit(data)
    assert capsys.readouterr() == ("", "")


# ----------------------------------------------------------------------- what is fitted


@pytest.mark.parametrize("scheme", SCHEMES)
def test_columns_of_the_history(scheme, data):
    columns = fit(data, scheme=scheme).history_.columns()
    expected = {"step", "loss", "fit_true", "valid_score", "learning_rate", "seconds"}
    if scheme != "plain":
        expected |= {"lambda", "effective_dof"}
    if scheme == "adacap":
        expected |= {"fit_permuted"}
    assert columns.keys() == expected
    assert all(len(values) == 20 for values in columns.values())
    assert columns["step"] == list(range(20))
    assert np.all(np.diff(columns["seconds"]) > 0)
    if scheme == "adacap":
        gap = np.subtract(columns["fit_true"], columns["fit_permuted"])
        np.testing.assert_allclose(columns["loss"], gap, atol=1e-5)


def section(cls, title):
    """Names that a numpydoc section of a class docstring explains."""
    text = inspect.getdoc(cls).split(f"{title}\n{'-' * len(title)}\n")[1]
    lines = text.split("\n\n")[0].splitlines()
    heads = [line.split(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return [name for head in heads for name in head.split(", ")]


@BOTH
def test_the_docstring_lists_the_parameters(kind):
    assert section(kind, "Parameters") == list(inspect.signature(kind).parameters)
    assert sorted(section(kind, "Parameters")) == sorted(kind().get_params())


@BOTH
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_docstring_lists_what_is_fitted(kind, scheme, data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = kind(scheme=scheme, **ONE).fit(frame, target(kind, data))
    documented = section(kind, "Attributes")
    assert [name for name in documented if not hasattr(model, name)] == []
    internal = {"codec_", "seeds_", "sample_shape_"}  # what predict and warm_start need
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted - set(documented) == internal


def test_what_the_plain_scheme_lacks_is_none(data):
    model = fit(data, scheme="plain")
    assert model.lambda_ is None
    assert model.effective_dof_ is None


def test_lambda_and_degrees_of_freedom_are_those_of_the_members(data):
    bag = fit(data, n_estimators=3)
    lams = [member.lam for member in bag.members_]
    assert bag.lambda_ == pytest.approx(np.prod(lams) ** (1 / 3))
    assert bag.effective_dof_ == pytest.approx(np.mean([m.effective_dof for m in bag.members_]))
    assert 0 < bag.effective_dof_ < 16


def test_the_network_is_frozen_and_ordinary(data):
    model = fit(data, preprocessing="none")
    assert isinstance(model.network_[-1], nn.Linear)
    assert not model.network_.training
    with torch.no_grad():
        coded = model.network_(torch.as_tensor(data.X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(model.codec_.decode(coded), model.predict(data.X), atol=1e-5)


# ---------------------------------------------------------------------------- images


def images(seed, shape=(1, 4, 4)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, *shape)).astype(np.float32)
    return X, X.reshape(60, -1)[:, :3].sum(1)


def flat_net(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 16), nn.ReLU())


def test_samples_of_any_shape_reach_the_users_net(seed):
    X, y = images(seed)
    seen = []

    def build(shape):
        seen.append(shape)
        return flat_net(shape)

    model = AdaCapRegressor(architecture=build, preprocessing="none", **ONE).fit(X, y)
    assert set(seen) == {(1, 4, 4)}
    assert model.n_features_in_ == 16
    a = model.predict(X)
    np.testing.assert_array_equal(a, model.predict(torch.as_tensor(X)))
    np.testing.assert_array_equal(a, model.predict(X.reshape(60, 16)))  # rows of pixels


def test_samples_of_another_shape_are_refused(seed):
    X, y = images(seed)
    model = AdaCapRegressor(architecture=flat_net, preprocessing="none", **ONE)
    with pytest.raises(ValueError, match=r"X_val holds samples of shape \(1, 2, 8\), but training"):
        model.fit(X, y, X_val=X.reshape(60, 1, 2, 8), y_val=y)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"X holds samples of shape \(4, 4\), but .*\(1, 4, 4\)"):
        model.predict(X[:, 0])
    rows = AdaCapRegressor(preprocessing="none", **ONE).fit(X.reshape(60, 16), y)
    with pytest.raises(ValueError, match=r"shape \(1, 4, 4\), but training had rows of a table"):
        rows.predict(X)


def test_images_need_a_net_for_images(seed):
    X, y = images(seed)
    with pytest.raises(ValueError, match=r"'glu' takes rows, got samples of shape \(1, 4, 4\)"):
        AdaCapRegressor(preprocessing="none", **ONE).fit(X, y)
    with pytest.raises(ValueError, match=r"got shape=\(60, 1, 4, 4\)"):
        AdaCapRegressor(architecture=flat_net, **ONE).fit(X, y)


def test_preprocessing_none_takes_finite_numbers_only(data):
    model = AdaCapRegressor(preprocessing="none", **ONE)
    with pytest.raises(ValueError, match="takes no missing values, but column 0 contains NaN in 1"):
        model.fit(np.where(np.arange(240).reshape(60, 4) == 0, np.nan, data.X), data.y)
    with pytest.raises(ValueError, match="takes numbers only, but column 'a' is categorical"):
        model.fit(pd.DataFrame({"a": ["x", "y"] * 30}), data.y)
