"""Presets: the paper's table, and estimators that live in scikit-learn's tools."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture, make
from adacap.estimators.mlr_net import MLRNetRegressor
from adacap.nn.presets import PRESETS

SMALL = {"width": 16, "max_iter": 10, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
PREFIXES = ("adacap-", "tikhonov-")
TASKS = {"regression": AdaCapRegressor, "classification": AdaCapClassifier}

# Backbone, depth, width, steps, epochs, batch size, seconds: the rows of the paper's table.
PAPER = {
    "fast-mlp": ("mlp", 2, 256, 200, None, 2048, None),
    "mlp": ("mlp", 2, 512, 500, None, 2048, None),
    "batch-mlp": ("mlp", 2, 512, None, 20, 256, 3600),
    "fast-snn": ("snn", 2, 256, 200, None, 2048, None),
    "snn": ("snn", 2, 512, 500, None, 2048, None),
    "resblock": ("resblock", 2, 512, 500, None, 2048, None),
    "batch-resblock": ("resblock", 2, 512, None, 50, 256, 3600),
    "glu-mlp": ("glu", 3, 512, 500, None, 2048, None),
}


def test_there_are_eight_architectures_under_three_schemes():
    assert len(PRESETS) == 24
    assert set(PRESETS) == {f"{scheme}{name}" for name in PAPER for scheme in ("", *PREFIXES)}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["fast", "balanced", "best"])
def test_our_own_blends(name, task):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    nets = {} if name == "fast" else {"max_iter": 3, "architecture": "mlp"}  # which it has not
    model = make(name, task, **nets, random_state=0).fit(X, y)
    assert type(model) is TASKS[task]
    assert model.settings_.quality == name
    assert {share.name for share in model.settings_.blend} == set(TASKS[task]._qualities[name])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("name", "width"), [("fast-nets", 64), ("nets", 128)])
def test_our_own_nets(name, task, width):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = make(name, task, max_iter=3, architecture="mlp", random_state=0).fit(X, y)
    assert type(model) is TASKS[task]
    assert model.settings_.members == ("nets",)
    assert len(model.members_) == (1 if (name, task) == ("nets", "classification") else 5)
    assert model.settings_.width == width


def test_an_unknown_name_lists_our_settings_too():
    with pytest.raises(ValueError, match="Did you mean 'balanced'"):
        make("balance")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_its_row_of_the_table(name, task):
    model = make(name, task, random_state=0)
    assert type(model) is TASKS[task]
    scheme = next((p[:-1] for p in PREFIXES if name.startswith(p)), "plain")
    backbone, depth, width, steps, epochs, batch_size, seconds = PAPER[
        name.removeprefix(f"{scheme}-")
    ]
    params = model.get_params()
    assert params["scheme"] == scheme
    regular = {"dropout": 0.2, "batch_norm": True} if scheme == "plain" else {}
    assert params["architecture"] == Architecture(backbone, **regular)
    assert (params["depth"], params["width"]) == (depth, width)
    assert params["max_iter"] == (steps if epochs is None else f"{epochs} epochs")
    assert (params["batch_size"], params["time_limit"]) == (batch_size, seconds)
    assert (params["max_lr"], params["optimizer"]) == (0.01, "adam")
    assert params["validation"] == (0.2 if task == "regression" else (0.2, "auc"))
    assert params["n_permutations"] == 16
    assert (params["lambda_init"], params["weight_decay"]) == ("max_sensitivity", 0.0)
    assert (params["refit"], params["n_estimators"]) == ("net", 1)
    assert params["preprocessing"] == "paper"
    assert params["fit_intercept"] is False
    assert params["random_state"] == 0


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_trains(name, task, data):
    model = make(name, task, **ONE)
    y = data.y if task == "regression" else data.multiclass
    model.fit(data.X, y)
    assert model.predict(data.X).shape == (60,)
    regular = {"dropout": 0.2, "batch_norm": True} if model.scheme_ == "plain" else {}
    assert dict(model.backbone_.architecture.options) == regular


def test_epochs_set_the_steps_of_a_batch_preset(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(1000, 3)), rng.normal(size=1000)
    model = make("adacap-batch-mlp", width=8, random_state=0, refit="head").fit(X, y)
    assert model.n_iter_ == 20 * (800 // 256)


def test_overrides_win():
    model = make("adacap-snn", width=7, preprocessing="default", scheme="plain")
    assert (model.width, model.preprocessing, model.scheme) == (7, "default", "plain")


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(
        ValueError, match=r"Unknown preset 'adacap-snnn'\. Did you mean 'adacap-snn'"
    ):
        make("adacap-snnn")
    with pytest.raises(ValueError, match=r"Unknown task 'regresion'\. Did you mean 'regression'"):
        make("snn", "regresion")
    with pytest.raises(TypeError, match=r"AdaCapRegressor has no parameter 'widht'\. Did you mean"):
        make("snn", widht=3)


def test_an_unknown_override_is_met_with_what_is_near():
    with pytest.raises(
        TypeError, match=r"'time_limt'\. Did you mean 'time_limit'\? Nearest of \d+: time_limit"
    ):
        make("fast", time_limt=3)
    with pytest.raises(TypeError, match=r"'patience'\. Use callbacks=\[EarlyStopping\(10\)\]\."):
        make("fast", patience=3)
    with pytest.raises(TypeError, match=r"'learning_rate'\. Use max_lr\.$"):
        make("fast", learning_rate=0.1)
    with pytest.raises(TypeError, match="MLRNetClassifier has no parameter 'warm_start'"):
        make("mlr-1", "classification", warm_start=True)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["fast", "snn", "tikhonov-batch-mlp"])
def test_from_preset_is_make_without_a_task(name, task):
    model = TASKS[task].from_preset(name, random_state=3)
    assert type(model) is TASKS[task]
    assert model.get_params() == make(name, task, random_state=3).get_params()


def test_from_preset_knows_the_presets_of_its_class():
    assert MLRNetRegressor.from_preset("mlr-1").depth == 1
    with pytest.raises(ValueError, match="Unknown preset of AdaCapRegressor 'mlr-1'"):
        AdaCapRegressor.from_preset("mlr-1")
    with pytest.raises(
        ValueError, match=r"Unknown preset of MLRNetRegressor 'mlr1'\. Did you mean"
    ):
        MLRNetRegressor.from_preset("mlr1")
    with pytest.raises(TypeError, match="AdaCapRegressor has no parameter 'select_by'"):
        AdaCapRegressor.from_preset("snn", select_by="auc")


# ------------------------------------------------------------- in scikit-learn's tools


def test_clone_and_parameters():
    model = make("adacap-snn", random_state=3)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(width=9).width == 9
    assert model.width == 512
    with pytest.raises(ValueError, match="Invalid parameter 'widht'"):
        model.set_params(widht=9)


def test_repr_shows_what_departs_from_the_defaults():
    assert repr(AdaCapRegressor(width=9)) == "AdaCapRegressor(width=9)"


def test_grid_search(data):
    search = GridSearchCV(AdaCapRegressor(**ONE), {"width": [4, 16], "depth": [1]}, cv=3)
    search.fit(data.X, data.y)
    assert search.best_params_["width"] in (4, 16)
    assert search.best_estimator_.backbone_.width == search.best_params_["width"]
    assert search.predict(data.X).shape == (60,)


def test_grid_search_by_probabilities(data):
    search = GridSearchCV(
        AdaCapClassifier(**SMALL), {"scheme": ["plain", "adacap"]}, scoring="roc_auc", cv=3
    )
    assert np.isfinite(search.fit(data.X, data.binary).cv_results_["mean_test_score"]).all()


def test_pipeline(data):
    pipeline = make_pipeline(StandardScaler(), AdaCapClassifier(**SMALL))
    assert np.isfinite(cross_val_score(pipeline, data.X, data.multiclass, cv=3)).all()
    pipeline.set_params(adacapclassifier__width=4).fit(data.X, data.multiclass)
    assert pipeline[-1].backbone_.width == 4


@pytest.mark.parametrize(
    "options",
    [{}, {"n_estimators": 2}, {"scheme": "plain"}],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_pickle_keeps_the_bits_and_can_go_on(options, data):
    model = AdaCapRegressor(warm_start=True, **ONE | options)
    model.fit(data.X, data.y)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(data.X), model.predict(data.X))
    assert back.history_ == model.history_
    again, expected = back.fit(data.X, data.y), model.fit(data.X, data.y)
    np.testing.assert_array_equal(again.predict(data.X), expected.predict(data.X))
