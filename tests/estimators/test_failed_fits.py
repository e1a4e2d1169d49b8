"""A fit that fails, and a fit that does not, leave alone what is not theirs."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from adacap import AdaCapRegressor
from adacap.training.callbacks import Callback

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


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


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_first_fit_that_fails_leaves_no_attribute(kind, failure, data):
    options, change = FAILURES[failure]
    model = kind(**ONE | options)
    before = dict(vars(model))
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(*change(data.X, data.target(kind)))
    assert vars(model) == before


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_later_fit_that_fails_leaves_the_fitted_model(kind, warm_start, failure, data):
    y = data.target(kind)
    model = kind(warm_start=warm_start, n_estimators=2, architecture="mlp", **SMALL).fit(data.X, y)
    options, change = FAILURES[failure]
    model.set_params(**options)
    before, predicted = snapshot(model), outputs(model, data.X)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(*change(data.X[:50], y[:50]))
    assert_unchanged(model, before)
    np.testing.assert_array_equal(outputs(model, data.X), predicted)


def test_fit_writes_no_parameter(kind, data):
    model = kind(lambda_init=[0.1, 1.0, 10.0], callbacks=[Callback()], **ONE)
    before = model.get_params()
    model.fit(data.X, data.target(kind))
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
