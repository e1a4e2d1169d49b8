"""Every option trains, and is heard."""

import numpy as np
import pytest
import torch
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.training import Callback, EarlyStopping

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
SCHEMES = ["adacap", "adacap-gap", "tikhonov", "plain"]


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def fit(data, kind=AdaCapRegressor, /, **options):
    return kind(**ONE | options).fit(data.X, data.target(kind))


OPTIONS = [
    *({"scheme": scheme} for scheme in SCHEMES),
    *({"architecture": name} for name in ("glu", "snn", "mlp", "resblock")),
    {"architecture": lambda d: nn.Sequential(nn.Linear(d, 8), nn.Tanh())},
    {"depth": 1},
    {"lambda_init": 5.0, "scheme": "adacap"},
    {"lambda_init": [1.0, 10.0, 100.0], "scheme": "adacap"},
    {"lambda_init": np.logspace(-2, 2, 5), "scheme": "tikhonov"},
    {"fit_intercept": False, "scheme": "adacap"},
    {"n_permutations": 1, "scheme": "adacap"},
    {"max_iter": "2 epochs"},
    {"batch_size": 16},
    {"optimizer": "adamw", "weight_decay": 0.1},
    {"optimizer": "SGD"},
    {"optimizer": lambda groups, lr: torch.optim.RMSprop(groups, lr=lr)},
    *({"optimizer": ("adam", name)} for name in ("cosine", "linear", "constant", None)),
    {"optimizer": ("adam", lambda o, n: torch.optim.lr_scheduler.StepLR(o, max(n // 2, 1)))},
    {"architecture": Architecture("glu", dropout=0.3), "scheme": "adacap"},
    {"architecture": Architecture("mlp", batch_norm=True), "scheme": "adacap"},
    *({"refit": what} for what in ("net", "head", "none")),
    {"validation": 0},
    {"callbacks": [EarlyStopping(3)]},
    {"preprocessing": "paper"},
    {"preprocessing": "none"},
    {"device": "cpu"},
    {"time_limit": 60.0},
]


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
        ("lambda_init", [1.0, 10.0, 100.0]),
        ("fit_intercept", False),
        ("n_permutations", 1),
        ("batch_size", 16),
        ("optimizer", "sgd"),
        ("optimizer", ("adamw", "constant")),
        ("weight_decay", 1.0),
        ("architecture", Architecture("glu", dropout=0.3)),
        ("architecture", Architecture("glu", batch_norm=True)),
        ("max_lr", 0.1),
        ("preprocessing", "none"),
        ("depth", 1),
        ("width", 8),
    ],
)
def test_an_option_is_heard(name, value, data):
    """Each of these changes the numbers; were it lost on the way, they would be equal."""
    last = {"validation": 0}  # a hold-out may choose the start, which few options move
    a, b = fit(data, **last), fit(data, **last, **{name: value})
    assert not np.array_equal(a.predict(data.X), b.predict(data.X))


def test_the_form_of_the_loss_is_heard(data):
    """Where permuted labels fit better than their mean, the gap is positive and both agree."""
    difference, gap = fit(data), fit(data, scheme="adacap-gap")
    assert difference.history_["fit_true"][0] == gap.history_["fit_true"][0]
    assert difference.history_["loss"][0] != gap.history_["loss"][0]


def test_no_permutations_are_another_scheme(data):
    text = r"n_permutations must be .* at least 1 \(scheme='tikhonov' is without\), got 0\."
    with pytest.raises(ValueError, match=text):
        fit(data, n_permutations=0)
    with_some, without = fit(data).history_[0], fit(data, scheme="tikhonov").history_[0]
    assert set(with_some) - set(without) >= {"fit_permuted"}


def test_lambda_starts_where_it_is_told(data):
    assert fit(data, lambda_init=5.0).history_["lambda"][0] == pytest.approx(5.0)
    assert fit(data).history_["lambda"][0] == pytest.approx(3.0)
    start = fit(data, lambda_init=[2.0, 8.0]).history_["lambda"][0]
    assert start == pytest.approx(4.0)  # the middle of the only interval
    grid = fit(data, lambda_init=[100.0, 2.0, 8.0])  # sorted before use
    assert grid.history_["lambda"][0] in (pytest.approx(4.0), pytest.approx(800**0.5))


def test_the_rule_of_the_best_iteration_is_heard(data):
    """AUC counts pairs of held-out rows, the loss is continuous."""
    rules = ((0.2, "loss"), (0.2, "auc"))
    by_loss, by_auc = (fit(data, AdaCapClassifier, validation=rule) for rule in rules)
    assert by_loss.history_["loss"] == by_auc.history_["loss"]
    assert all(score < 0 for score in by_loss.history_["valid_score"])
    assert all(-1e-6 < score <= 1 for score in by_auc.history_["valid_score"])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_auto_weight_decay_is_the_same_for_every_scheme(kind, scheme, data):
    last = {"validation": 0, "scheme": scheme}
    amount = 3.0 if kind is AdaCapRegressor else 0.0
    auto, given = fit(data, kind, **last), fit(data, kind, weight_decay=amount, **last)
    np.testing.assert_array_equal(outputs(auto, data.X), outputs(given, data.X))


def test_auto_weight_decay_fades_with_the_number_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    settings = {"validation": 0, "max_iter": 3, "width": 8, "random_state": 0}
    auto = AdaCapRegressor(**settings).fit(X, X[:, 0])
    given = AdaCapRegressor(weight_decay=0.5, **settings).fit(X, X[:, 0])
    np.testing.assert_array_equal(auto.predict(X), given.predict(X))


def test_auto_says_what_it_stood_for(data):
    model = fit(data)
    assert (model.scheme_, model.backbone_.architecture) == ("adacap", Architecture("glu"))
    model = fit(data, AdaCapClassifier)
    expected = Architecture("mlp", dropout=0.2, batch_norm=True)
    assert (model.scheme_, model.backbone_.architecture) == ("plain", expected)


def test_early_stopping_ends_a_fit(data):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=60)  # nothing to learn: the validation score soon falls
    long = ONE | {"max_iter": 200}
    model = AdaCapRegressor(callbacks=[EarlyStopping(5)], **long).fit(data.X, noise)
    assert model.n_iter_ < 200
    assert model.n_iter_ == model.best_iter_ + 6
    never = AdaCapRegressor(**long).fit(data.X, noise)
    assert never.n_iter_ == 200


def test_epochs_count_batches(data):
    assert fit(data, max_iter="3 epochs", batch_size=16).n_iter_ == 9  # 48 rows make 3 batches
    assert fit(data, max_iter="1 epoch", batch_size=16).n_iter_ == 3
    assert fit(data, max_iter="3 epochs").n_iter_ == 3


def test_without_hold_out_the_last_iteration_is_kept(data):
    model = fit(data, validation=0)
    assert model.best_iter_ == model.n_iter_ - 1 == 19
    assert "valid_score" not in model.history_.columns()
    assert len(model.members_[0].rows.valid) == 0


def test_the_best_iteration_is_the_one_of_the_best_score(data):
    model = fit(data)
    scores = model.history_["valid_score"]
    assert model.best_iter_ == int(np.argmax(scores))
    assert model.members_[0].best_score == max(scores)


def test_given_validation_rows_replace_the_hold_out(kind, data):
    class Rows(Callback):
        def __init__(self):
            self.sizes = set()

        def on_step(self, state):
            self.sizes.add(state.batch.x.shape[1])

    y = data.target(kind)
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
    model = AdaCapRegressor(refit="none", **ONE | {"max_iter": 1})
    model.fit(data.X[:40], data.y[:40], X_val=data.X[40:], y_val=data.y[40:])
    assert model.score(data.X[40:], data.y[40:]) == pytest.approx(
        model.history_["valid_score"][0], abs=1e-4
    )
