"""Same seed, same numbers; the order of the rows, their weights and their copies."""

import numpy as np
import pandas as pd
import pytest
import torch

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
SCHEMES = ["adacap", "tikhonov", "plain"]


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


# ------------------------------------------------------ same seed, same numbers


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.usefixtures("global_state_untouched")
def test_same_seed_same_bits(kind, scheme, data):
    y = data.target(kind)
    models = [kind(scheme=scheme, **ONE).fit(data.X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(outputs(model, data.X) for model in models))
    assert models[0].history_["loss"] == models[1].history_["loss"]


@pytest.mark.usefixtures("global_state_untouched")
def test_minibatches_and_dropout_follow_the_seed_too(kind, data):
    options = ONE | {
        "architecture": Architecture("mlp", dropout=0.3),
        "scheme": "plain",
        "batch_size": 16,
    }
    y = data.target(kind)
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
            AdaCapRegressor(
                architecture=Architecture("mlp", dropout=0.1), n_estimators=2, **SMALL
            ).fit(data.X, data.y)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)


# ------------------------------------------------- rows: order, weights, copies


@pytest.mark.parametrize(
    "options", [{}, {"n_estimators": 2, "validation": "folds", "architecture": "mlp"}]
)
def test_the_order_of_the_rows_does_not_matter(kind, options, data, seed):
    X = data.X * [1, 1e3, 1e-3, 7]
    y = data.target(kind)
    y = 1e3 * y + 0.1 if kind is AdaCapRegressor else y
    order = np.random.default_rng(seed).permutation(60)
    a = kind(**ONE | options).fit(X, y)
    b = kind(**ONE | options).fit(X[order], y[order])
    np.testing.assert_array_equal(outputs(a, X), outputs(b, X))


@pytest.mark.parametrize(
    "options",
    [{}, {"scheme": "tikhonov", "n_estimators": 2}],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_weight_2_is_the_row_twice_and_weight_0_is_no_row(kind, options, data, seed):
    y = data.target(kind)
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


def test_a_prediction_depends_on_its_row_alone(kind, data):
    model = kind(**ONE).fit(data.X, data.target(kind))
    alone = np.concatenate([outputs(model, data.X[i : i + 1]) for i in range(5)])
    np.testing.assert_array_equal(alone, outputs(model, data.X)[:5])
    many = np.tile(data.X, (20, 1))
    np.testing.assert_array_equal(outputs(model, many)[-60:], outputs(model, data.X))
