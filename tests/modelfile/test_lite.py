"""A model read without torch predicts what the estimator predicts."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.architectures import BACKBONES
from adacap.modelfile.contents import Numbers
from adacap.modelfile.lite import LiteClassifier, LitePart, LiteRegressor
from adacap.tables.table import read_table

TINY = {"width": 16, "max_iter": 8, "random_state": 0}
SOURCE = str(Path(adacap.__file__).parents[1])


def assert_same(light, model, X):
    """Encoded to the bit, predicted to 1e-6 of the target's deviation."""
    assert np.array_equal(light._encoder.encode(read_table(X)), model.encoder_.transform(X))
    if isinstance(light, LiteClassifier):
        shares = model.predict_proba(X)
        np.testing.assert_allclose(light.predict_proba(X), shares, 0, 1e-6)
        clear = np.diff(np.sort(shares)[:, -2:])[:, 0] > 1e-5  # no tie that rounding decides
        np.testing.assert_array_equal(light.predict(X)[clear], model.predict(X)[clear])
        assert light.predict(X).dtype == model.predict(X).dtype
        return
    found, expected = light.predict(X), model.predict(X)
    assert found.shape == expected.shape
    assert found.dtype == np.float64
    difference = np.abs(found - expected) / np.where(
        model.codec_.scale == 0, 1, np.abs(model.codec_.scale)
    )
    assert difference.max() <= 1e-6


@pytest.mark.parametrize("policy", ["default", "paper"])
@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
def test_mixed_table(frame, target, reload, policy, scheme):
    model = AdaCapRegressor(**TINY, preprocessing=policy, scheme=scheme).fit(frame, target)
    light = reload(model)
    assert isinstance(light, LiteRegressor)
    assert_same(light, model, frame)
    assert list(light.feature_names_in_) == list(frame.columns)
    assert light.n_features_in_ == len(frame.columns)


def test_policy_none(reload, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    model = AdaCapRegressor(**TINY, preprocessing="none").fit(X, X.sum(1))
    light = reload(model)
    assert_same(light, model, X)
    assert not hasattr(light, "feature_names_in_")
    X[3, 1] = np.nan
    for either in (light, model):
        with pytest.raises(
            ValueError, match=r"policy='none' takes no missing values, but column 1"
        ):
            either.predict(X)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", BACKBONES)
def test_every_backbone(frame, target, reload, name, batch_norm, dropout):
    net = Architecture(name, batch_norm=batch_norm, dropout=dropout)
    options = {"architecture": net, "depth": 2}
    options["n_estimators"] = 1
    model = AdaCapRegressor(**TINY, **options).fit(frame, target)
    assert_same(reload(model), model, frame)


@pytest.mark.parametrize("validation", [0.2, "folds"])
def test_a_bag_is_the_mean_of_its_members(frame, target, reload, validation):
    model = AdaCapRegressor(**TINY, n_estimators=3, validation=validation).fit(frame, target)
    light = reload(model)
    assert_same(light, model, frame)
    assert repr(light) == "LiteRegressor(10 features, 3 networks)"


def test_several_targets(frame, target, reload):
    Y = np.column_stack([target, -target, np.full(len(target), 3.0)])
    model = AdaCapRegressor(**TINY).fit(frame, Y)
    assert_same(reload(model), model, frame)


def test_one_target_as_a_column(frame, target, reload):
    model = AdaCapRegressor(**TINY).fit(frame, target[:, None])
    light = reload(model)
    assert light.predict(frame).shape == (len(frame), 1)
    assert_same(light, model, frame)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 4], dtype=np.int8),
        np.array(["a", "b", "ç"]),
        np.array([1.0, 2.0, 4.0], dtype=np.float32),
        np.array([3, 5, 9], dtype=np.uint64),
    ],
    ids=lambda labels: f"{len(labels)}-{labels.dtype}",
)
@pytest.mark.parametrize("scheme", ["plain", "adacap"])
def test_classifier(frame, target, reload, labels, scheme):
    y = labels[np.argsort(np.argsort(target)) * len(labels) // len(target)]
    model = AdaCapClassifier(**TINY, scheme=scheme).fit(frame, y)
    light = reload(model)
    assert_same(light, model, frame)
    np.testing.assert_array_equal(light.classes_, model.classes_)
    np.testing.assert_allclose(light.predict_proba(frame).sum(1), 1.0)


def test_every_column_dropped(reload):
    model = AdaCapRegressor(**TINY).fit(np.ones((20, 2)), np.arange(20.0))
    assert_same(reload(model), model, np.ones((3, 2)))


def test_more_rows_than_a_chunk(frame, target, reload):
    model = AdaCapRegressor(**TINY).fit(frame, target)
    many = pd.concat([frame] * 40, ignore_index=True)
    assert_same(reload(model), model, many)


@pytest.mark.parametrize("name", ["adacap-resblock", "tikhonov-snn", "glu-mlp"])
def test_the_wide_networks_of_the_paper(reload, seed, name):
    """Width 512 rounds more in float32: here the bound is 5e-6."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    model = adacap.make(name, max_iter=10, random_state=0).fit(X, y)
    difference = np.abs(reload(model).predict(X) - model.predict(X)).max()
    assert difference <= 5e-6 * y.std()


# ------------------------------------------------------------------------- data unlike fit's


def of_parts(*parts):
    light = object.__new__(LiteRegressor)
    light._parts, light.n_features_in_ = parts, 3
    return light


def test_what_it_says_of_itself():
    nets, ridge = LitePart("nets", 1.0, ()), LitePart("ridge", 1.0, ())
    assert repr(of_parts(nets)) == "LiteRegressor(3 features, 0 networks)"
    assert repr(of_parts(ridge)) == "LiteRegressor(3 features, blend of ridge)"
    assert repr(of_parts(nets, ridge)) == "LiteRegressor(3 features, blend of nets, ridge)"


@pytest.mark.parametrize(("held", "rows"), [(1, 1024), (2**20, 4), (2**22, 1), (2**30, 1)])
def test_rows_at_once_fit_in_memory(held, rows):
    group = SimpleNamespace(held_per_row=held)
    assert of_parts(LitePart("nets", 1.0, (group,)))._rows_at_once() == rows


def test_infinite_bounds_of_a_target_that_is_turned():
    light = of_parts()
    light._targets = Numbers(np.array([1.0]), np.array([-2.0]), True)
    found = light._decode_bound(np.array([[np.inf], [-np.inf], [3.0]]))
    assert found.tolist() == [-np.inf, np.inf, -5.0]


def test_unseen_and_missing(frame, target, reload):
    model = AdaCapRegressor(**TINY).fit(frame, target)
    other = frame.astype({"rooms": float, "sold": object})
    other.loc[:9, "colour"] = "mauve"
    other.loc[5:14, "city"] = "nowhere"
    other.loc[10:14, ["rooms", "size", "sold", "pair", "when"]] = None
    other.loc[15:19, "rooms"] = 99.0
    assert_same(reload(model), model, other)


def test_columns_by_name_in_any_order(frame, target, reload):
    light = reload(AdaCapRegressor(**TINY).fit(frame, target))
    np.testing.assert_array_equal(light.predict(frame[frame.columns[::-1]]), light.predict(frame))


def in_polars(frame):
    """The frame in polars, of which older ones read no categories that are numbers."""
    try:
        return pl.from_pandas(frame)
    except pl.exceptions.ComputeError:
        return pl.from_pandas(frame.astype({"zone": str}))


def test_other_containers(frame, target, reload):
    model = AdaCapRegressor(**TINY).fit(frame, target)
    light = reload(model)
    polars = in_polars(frame)
    np.testing.assert_array_equal(light.predict(polars), light.predict(frame))
    np.testing.assert_array_equal(light.predict(polars.to_arrow()), light.predict(frame))
    columns = {name: frame[name].tolist() for name in frame}
    columns["zone"] = [str(zone) for zone in columns["zone"]]
    np.testing.assert_array_equal(light.predict(columns), light.predict(frame))


def test_a_table_without_names_warns_as_predict_does(frame, target, reload):
    model = AdaCapRegressor(**TINY).fit(frame[["size", "rooms"]], target)
    rows = frame[["size", "rooms"]].to_numpy().tolist()
    text = "X does not have valid feature names, but AdaCapRegressor was fitted with feature names"
    for either in (reload(model), model):
        with pytest.warns(UserWarning, match=text):
            either.predict(rows)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X: X.rename(columns={"colour": "color"}),
        lambda X: X.drop(columns=["size", "rooms"]),
        lambda X: X.assign(size="much"),
        lambda X: X.assign(when=1.0),
        lambda X: X.assign(colour=5),
        lambda X: X.assign(gaps=np.inf),
        lambda X: X.assign(size=1j),
        lambda X: X.assign(size=[[1]] * len(X)),
        lambda X: X[:0],
        lambda X: X["size"],
        lambda X: np.ones((2, 2, 2)),
        lambda X: in_polars(X).lazy(),
        lambda X: X.set_axis([*X.columns[:-1], 3], axis=1),
    ],
)
def test_refusals_read_as_those_of_predict(frame, target, reload, spoil):
    model = AdaCapRegressor(**TINY).fit(frame, target)
    X = spoil(frame)
    with pytest.raises((ValueError, TypeError)) as expected:
        model.predict(X)
    with pytest.raises(type(expected.value)) as found:
        reload(model).predict(X)
    assert str(found.value) == str(expected.value)


def test_did_you_mean(frame, target, reload):
    light = reload(AdaCapRegressor(**TINY).fit(frame, target))
    with pytest.raises(ValueError, match=r"'color': did you mean 'colour'\?"):
        light.predict(frame.rename(columns={"colour": "color"}))


def test_wrong_number_of_columns(reload, seed):
    X = np.random.default_rng(seed).normal(size=(30, 3))
    light = reload(AdaCapRegressor(**TINY).fit(X, X[:, 0]))
    with pytest.raises(ValueError, match="X has 2 features, but AdaCapRegressor is expecting 3"):
        light.predict(X[:, :2])


# ----------------------------------------------------------------------------- any table

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False, width=32)
CELLS = {
    "number": st.one_of(NUMBERS, st.just(math.nan)),
    "count": st.one_of(st.integers(0, 4), st.none()),
    "flag": st.booleans(),
    "text": st.one_of(st.sampled_from(["a", "b", "c", "3", ""]), st.none()),
    "many": st.text("xyz", min_size=1, max_size=3),
    "mixed": st.one_of(st.sampled_from(["a", "b"]), st.integers(0, 2), NUMBERS),
    "date": st.one_of(st.datetimes(), st.none()),
}


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_table(tmp_path_factory, any_model, data):
    model, train, new = any_model(data, CELLS)
    path = tmp_path_factory.mktemp("any") / "m.adacap"
    model.save(path)
    light = adacap.lite.load(path)
    assert_same(light, model, train)
    refusals = [refusal_of(either.predict, new) for either in (light, model)]
    assert refusals[0] == refusals[1]  # of a column that changed its kind
    if refusals == ["", ""]:
        assert_same(light, model, new)


def refusal_of(predict, X) -> str:
    try:
        predict(X)
    except ValueError as error:
        return str(error)
    return ""


# ------------------------------------------------------------------------ without torch

SCRIPT = """
import json, sys, warnings
import polars, pyarrow  # which ask for pandas themselves

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ImportError(f"{name} is not there")

HEAVY = {"torch", "sklearn", "scipy", "narwhals", "safetensors", "pandas", "joblib"}
sys.meta_path.insert(0, Blocked())
columns = json.loads(sys.argv[2])

def containers():
    yield columns
    yield [list(row) for row in zip(*columns.values())]
    yield polars.DataFrame(columns)
    yield pyarrow.table(columns)

from adacap.lite import load
model = load(sys.argv[1])
answer = model.predict_proba if hasattr(model, "classes_") else model.predict
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    print(json.dumps([answer(X).tolist() for X in containers()]))
print(sorted(HEAVY & set(sys.modules)))
"""


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_it_predicts_where_torch_scikit_learn_and_pandas_are_missing(frame, target, tmp_path, kind):
    columns = ["size", "colour", "city", "rooms"]
    y = np.digitize(target, [4900, 5100]) if kind is AdaCapClassifier else target
    model = kind(**TINY).fit(frame[columns], y)
    model.save(tmp_path / "m.adacap")
    rows = {"size": [0.5, None], "colour": ["red", "mauve"], "city": [None, "city3"]}
    rows["rooms"] = [2, 9]
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, tmp_path / "m.adacap", json.dumps(rows)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
    )
    predictions, imported = result.stdout.splitlines()
    answer = model.predict_proba if kind is AdaCapClassifier else model.predict
    expected = answer(pd.DataFrame(rows))
    assert imported == "[]"
    for found in json.loads(predictions):
        np.testing.assert_allclose(found, expected, 1e-6, 1e-6)
