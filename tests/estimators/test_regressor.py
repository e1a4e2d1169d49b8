"""AdaCapRegressor: tables of every kind, targets of every shape, and that it learns."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.datasets import make_friedman1
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score, train_test_split
from torch import nn

import adacap
from adacap import AdaCapRegressor
from adacap.estimators import fitting
from adacap.estimators.settings import resolve
from adacap.training.callbacks import Callback

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda cells: pd.DataFrame(cells).convert_dtypes(),
    "pandas arrow": lambda cells: pd.DataFrame(cells).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture
def cells(seed):
    """Columns of every kind, with missing cells, and a target that depends on most of them."""
    rng = np.random.default_rng(seed)
    n = 80
    size = rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue"], n)
    city = rng.choice([f"city {i}" for i in range(20)], n)
    sold = rng.random(n) < 0.5
    start = dt.datetime(2020, 1, 1)
    columns = {
        "size": [None if i % 9 == 0 else float(v) for i, v in enumerate(size)],
        "count": rng.integers(0, 50, n).tolist(),
        "colour": [None if i % 11 == 0 else str(v) for i, v in enumerate(colour)],
        "city": [str(v) for v in city],
        "sold": [None if i % 13 == 0 else bool(v) for i, v in enumerate(sold)],
        "when": [start + dt.timedelta(days=int(d)) for d in rng.integers(0, 700, n)],
    }
    return columns, size + 2 * (colour == "red") + sold


# ----------------------------------------------------------------------------- frames


@pytest.mark.parametrize("preprocessing", ["default", "paper"])
def test_every_frame_gives_the_same_model(cells, preprocessing):
    columns, y = cells
    predictions = {}
    for name, make in FRAMES.items():
        model = AdaCapRegressor(preprocessing=preprocessing, **ONE).fit(make(columns), y)
        assert model.feature_names_in_.tolist() == list(columns)
        assert model.n_features_in_ == 6
        predictions[name] = model.predict(make(columns))
    for predicted in predictions.values():
        np.testing.assert_array_equal(predicted, predictions["pandas"])


def test_a_model_fitted_on_one_frame_predicts_any_other(cells):
    columns, y = cells
    model = AdaCapRegressor(**ONE).fit(pl.DataFrame(columns), y)
    expected = model.predict(pl.DataFrame(columns))
    for make in FRAMES.values():
        np.testing.assert_array_equal(model.predict(make(columns)), expected)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_are_matched_by_name(cells, make):
    columns, y = cells
    model = AdaCapRegressor(**ONE).fit(make(columns), y)
    turned = make({name: columns[name] for name in reversed(columns)})
    np.testing.assert_array_equal(model.predict(turned), model.predict(make(columns)))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_missing_or_extra_column_is_named(cells, make):
    columns, y = cells
    model = AdaCapRegressor(**ONE).fit(make(columns), y)
    fewer = {name: values for name, values in columns.items() if name != "city"}
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- city\n"):
        model.predict(make(fewer))
    with pytest.warns(UserWarning, match="not seen in fit are ignored: 'extra'"):
        found = model.predict(make(columns | {"extra": columns["size"]}))
    np.testing.assert_array_equal(found, model.predict(make(columns)))
    renamed = fewer | {"citi": columns["city"]}
    with pytest.raises(ValueError, match=r"'citi': did you mean 'city'\?"):
        model.predict(make(renamed))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_unseen_categories_and_empty_columns_can_be_predicted(cells, make):
    columns, y = cells
    model = AdaCapRegressor(**ONE).fit(make(columns), y)
    new = columns | {"colour": ["violet"] * 80, "city": ["nowhere"] * 80}
    assert np.isfinite(model.predict(make(new))).all()
    empty = columns | {"size": [float("nan")] * 80, "colour": [None] * 80}
    assert np.isfinite(model.predict(make(empty))).all()


def test_a_column_of_another_kind_is_refused(cells):
    columns, y = cells
    model = AdaCapRegressor(**ONE).fit(pd.DataFrame(columns), y)
    with pytest.raises(
        ValueError, match="Column 'size' was numeric at fit time but is categorical"
    ):
        model.predict(pd.DataFrame(columns | {"size": ["much"] * 80}))


def test_names_that_come_or_go_are_warned_of(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    named, bare = (AdaCapRegressor(**ONE).fit(X, data.y) for X in (frame, data.X))
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but AdaCapRegressor"
    ):
        a = named.predict(data.X)
    with pytest.warns(UserWarning, match="X has feature names, but AdaCapRegressor was fitted wit"):
        b = bare.predict(frame)
    np.testing.assert_array_equal(a, named.predict(frame))
    np.testing.assert_array_equal(b, bare.predict(data.X))
    assert not hasattr(bare, "feature_names_in_")


def test_mixed_cells_in_an_array_or_list(cells):
    columns, y = cells
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    a = AdaCapRegressor(**ONE).fit(rows, y)
    b = AdaCapRegressor(**ONE).fit(np.array(rows, dtype=object), y)
    np.testing.assert_array_equal(a.predict(rows), b.predict(rows))
    assert a.n_features_in_ == 6


def test_validation_rows_may_be_a_frame_in_another_order(cells):
    columns, y = cells
    frame = pd.DataFrame(columns)
    a = AdaCapRegressor(**ONE).fit(frame[:60], y[:60], X_val=frame[60:], y_val=y[60:])
    turned = pl.DataFrame(frame[60:][frame.columns[::-1]])
    b = AdaCapRegressor(**ONE).fit(frame[:60], y[:60], X_val=turned, y_val=y[60:])
    np.testing.assert_array_equal(a.predict(frame), b.predict(frame))


def test_text_is_of_use(cells):
    """A target that hangs on a text column is learnt from that column."""
    columns, _ = cells
    y = np.array(
        [{"red": 3.0, "green": 0.0, "blue": -3.0, None: 1.0}[c] for c in columns["colour"]]
    )
    model = AdaCapRegressor(**ONE | {"max_iter": 60}).fit(pd.DataFrame(columns), y)
    assert model.score(pd.DataFrame(columns), y) > 0.9


# ---------------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("shape", "expected"), [((-1,), (60,)), ((-1, 1), (60, 1)), ((-1, 3), (60, 3))], ids=str
)
@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
def test_predictions_have_the_shape_of_the_target(shape, expected, scheme, data):
    y = np.column_stack([data.y, -data.y, data.y**2])
    y = y if shape == (-1, 3) else data.y.reshape(shape)
    model = AdaCapRegressor(scheme=scheme, **ONE).fit(data.X, y)
    assert model.predict(data.X).shape == expected
    assert model.predict(data.X).dtype == np.float64


def test_a_column_is_the_same_model_as_a_vector(data):
    flat = AdaCapRegressor(**ONE).fit(data.X, data.y)
    column = AdaCapRegressor(**ONE).fit(data.X, data.y[:, None])
    np.testing.assert_array_equal(flat.predict(data.X), column.predict(data.X)[:, 0])


def test_several_targets_are_learnt_each_in_its_unit(data):
    y = np.column_stack([data.X[:, 0], 1e6 + 1e3 * data.X[:, 1], 1e-6 * data.X[:, 2]])
    model = AdaCapRegressor(**ONE | {"max_iter": 100}).fit(data.X, y)
    residual = (model.predict(data.X) - y).std(0) / y.std(0)
    assert (residual < 0.3).all()


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        lambda y: pd.Series(y, index=range(100, 160)),
        lambda y: pd.Series(y, dtype="Float64"),
        pl.Series,
        lambda y: pa.chunked_array([y]),
    ],
    ids=["list", "pandas", "pandas nullable", "polars", "pyarrow"],
)
def test_the_container_of_the_target_does_not_matter(wrap, data):
    a = AdaCapRegressor(**ONE).fit(data.X, wrap(data.y))
    b = AdaCapRegressor(**ONE).fit(data.X, data.y)
    np.testing.assert_array_equal(a.predict(data.X), b.predict(data.X))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_targets_may_be_a_frame(make, data):
    y = {"a": data.y, "b": -data.y}
    model = AdaCapRegressor(**ONE).fit(data.X, make(y))
    assert model.predict(data.X).shape == (60, 2)


def test_integers_and_float32_are_the_numbers_they_are(data):
    X = np.round(4 * data.X)
    y = np.round(10 * data.y)
    expected = AdaCapRegressor(**ONE).fit(X, y).predict(X)
    for kind in (np.int64, np.float32, np.int8):
        model = AdaCapRegressor(**ONE).fit(X.astype(kind), y.astype(np.int32))
        np.testing.assert_array_equal(model.predict(X.astype(kind)), expected)


def test_the_unit_of_the_target_does_not_matter(data):
    base = AdaCapRegressor(**ONE).fit(data.X, data.y).predict(data.X)
    for factor in (2.0**-60, 2.0**60):
        scaled = AdaCapRegressor(**ONE).fit(data.X, factor * data.y).predict(data.X)
        assert np.isfinite(scaled).all()
        assert np.corrcoef(scaled, base)[0, 1] > 0.5  # other hold-outs, the same function


# ---------------------------------------------------------------------- nothing to learn


@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
@pytest.mark.parametrize("value", [0.0, 3.5, -1e9])
def test_a_constant_target_is_predicted_exactly(scheme, value, data):
    model = AdaCapRegressor(scheme=scheme, **ONE).fit(data.X, np.full(60, value))
    np.testing.assert_array_equal(model.predict(data.X), value)


def test_one_constant_target_among_several(data):
    y = np.column_stack([data.y, np.full(60, 7.0)])
    model = AdaCapRegressor(**ONE).fit(data.X, y)
    np.testing.assert_array_equal(model.predict(data.X)[:, 1], 7.0)
    assert model.predict(data.X)[:, 0].std() > 0


@pytest.mark.parametrize("preprocessing", ["default", "paper", "none"])
@pytest.mark.parametrize("scheme", ["adacap", "tikhonov"])
def test_constant_features_give_the_mean(scheme, preprocessing, data):
    model = AdaCapRegressor(scheme=scheme, preprocessing=preprocessing, **ONE)
    model.fit(np.ones((60, 3)), data.y)
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), data.y.mean(), atol=1e-4)


def test_constant_features_give_a_plain_net_about_the_mean(data):
    found = []
    for seed in range(5):  # one net may stop where its few held-out rows like it best
        settings = ONE | {"max_iter": 200, "random_state": seed}
        model = AdaCapRegressor(scheme="plain", **settings).fit(np.ones((60, 3)), data.y)
        predicted = model.predict(np.ones((2, 3)))
        assert predicted[0] == predicted[1]
        found.append(predicted[0])
    assert abs(np.median(found) - data.y.mean()) < 0.3 * data.y.std()


def test_columns_of_missing_cells_only(data):
    X = np.column_stack([data.X[:, 0], np.full(60, np.nan)])
    assert np.isfinite(AdaCapRegressor(**ONE).fit(X, data.y).predict(X)).all()
    assert np.isfinite(AdaCapRegressor(**ONE).fit(X[:, 1:], data.y).predict(X[:, 1:])).all()


# --------------------------------------------------------------------------- learning


@pytest.mark.parametrize("architecture", ["glu", "snn", "mlp", "resblock"])
def test_a_smooth_function_is_learnt_better_than_by_a_line(architecture):
    X, y = make_friedman1(200, noise=0.1, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = AdaCapRegressor(architecture=architecture, width=64, max_iter=100, random_state=0)
    score = model.fit(X_train, y_train).score(X_test, y_test)
    line = RidgeCV(np.logspace(-3, 3, 13)).fit(X_train, y_train).score(X_test, y_test)
    assert score > line + 0.15


def test_the_hold_out_guards_against_memorising(seed):
    """Where there is nothing to learn, the best iteration on other rows is an early one."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 10)), rng.normal(size=100)
    guarded, unguarded = (
        cross_val_score(
            AdaCapRegressor(validation=fraction, **ONE | {"max_iter": 60}), X, y, cv=3
        ).mean()
        for fraction in (0.2, 0)
    )
    assert guarded > unguarded


# --------------------------------------------------------------------------- what auto is


def test_the_default_is_the_preset_balanced(data):
    default = AdaCapRegressor(random_state=0).fit(data.X, data.y)
    preset = adacap.make("balanced", random_state=0).fit(data.X, data.y)
    assert default.settings_.members == preset.settings_.members
    np.testing.assert_array_equal(default.predict(data.X), preset.predict(data.X))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (5, "folds", 512, 80, 0.05, 1.0)),  # in a blend nets are smaller and quicker
        ({"quality": "best"}, (5, "folds", 512, 130, 0.03, 3.0)),
        ({"quality": "nets"}, (5, "folds", 512, 130, 0.03, 3.0)),
        ({"scheme": "tikhonov", "architecture": "snn"}, (5, "folds", 512, 130, 0.03, 3.0)),
        ({"scheme": "plain"}, (5, "folds", 512, 130, 0.03, 3.0)),
        ({"architecture": nn.Identity}, (5, "folds", 512, 130, 0.03, 3.0)),
        ({"max_iter": 7, "n_estimators": 2}, (2, "folds", 512, 7, 0.03, 3.0)),
        ({"n_estimators": 1}, (1, 0.2, 512, 130, 0.03, 3.0)),
    ],
    ids=["default", "best", "nets", "named", "plain", "own", "given", "one"],
)
def test_auto_is_what_was_measured(options, expected):
    names = ("n_estimators", "validation", "batch_size", "max_iter", "max_lr", "lambda_init")
    settings = resolve(AdaCapRegressor(**options), 200)
    assert tuple(getattr(settings, name) for name in names) == expected


@pytest.mark.parametrize(("n_rows", "n_nets"), [(2, 1), (3, 1), (5, 2), (9, 4), (10, 5)])
def test_few_rows_make_few_folds(n_rows, n_nets, data):
    model = AdaCapRegressor(width=8, max_iter=3, random_state=0).fit(
        data.X[:n_rows], data.y[:n_rows]
    )
    assert len(model.members_) == n_nets
    aside = AdaCapRegressor(width=8, max_iter=3, random_state=0, calibration_fraction=0.3)
    assert len(aside.fit(data.X[:10], data.y[:10]).members_) == 3


def test_no_hold_out_means_no_folds(data):
    model = AdaCapRegressor(validation=0, **SMALL).fit(data.X, data.y)
    assert [len(member.rows.valid) for member in model.members_] == [0] * 5
    assert len({len(member.rows.train) for member in model.members_}) == 1


def test_going_on_keeps_the_number_of_nets(data):
    model = AdaCapRegressor(warm_start=True, **SMALL).fit(data.X[:7], data.y[:7])
    assert len(model.fit(data.X, data.y).members_) == 3


def test_rows_beyond_what_steps_can_reach_are_not_prepared(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    seen = []

    class Sizes(Callback):
        def on_step(self, state):
            seen.append(state.batch.x.shape[1])

    model = AdaCapRegressor(max_iter=4, batch_size=20, width=8, n_estimators=2, random_state=0)
    model.set_params(callbacks=[Sizes()]).fit(X, X[:, 0])
    assert seen == [20] * 4
    prepared = []
    real = fitting.TrainingData
    monkeypatch.setattr(
        fitting, "TrainingData", lambda *args: prepared.append(args[3]) or real(*args)
    )
    model.fit(X, X[:, 0])
    assert [len(member.train) for member in prepared[0]] == [80, 80]
    assert not torch.equal(prepared[0][0].train, prepared[0][1].train)
