"""TableEncoder as one of scikit-learn's transformers: its checks, pipelines, frames out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from adacap import AdaCapRegressor, TableEncoder
from adacap.tables.table import read_table

ENCODERS = [TableEncoder(), TableEncoder("paper"), TableEncoder("none")]


def expected_failures(encoder):
    if encoder.policy != "default":
        return {}
    reason = "a column counts as one of few values by rows that differ: a heavy row is still one"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@estimator_checks.parametrize_with_checks(ENCODERS, expected_failed_checks=expected_failures)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:X .* feature names")  # on one side only: what is tried here
@pytest.mark.parametrize(
    "name",
    [
        "get_feature_names_out_error",
        "global_output_transform_pandas",
        "set_output_transform",
        "set_output_transform_pandas",
        "set_output_transform_polars",
        "transformer_get_feature_names_out",
        "transformer_get_feature_names_out_pandas",
    ],
)
def test_checks_that_scikit_learn_keeps_for_its_own(name):
    getattr(estimator_checks, f"check_{name}")("TableEncoder", TableEncoder())


def test_the_order_of_named_columns_is_the_only_deviation():
    with pytest.raises(AssertionError, match=r"^transform did not raise"):
        estimator_checks.check_dataframe_column_names_consistency("TableEncoder", TableEncoder())


# ------------------------------------------------------------------------------- in use


def table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "city": rng.choice([f"c{i}" for i in range(20)], n),
        }
    )
    return frame, frame["size"].to_numpy() + (frame["colour"] == "red")


def test_a_clone_has_the_parameters_and_nothing_learnt():
    encoder = TableEncoder("paper", max_levels=5).fit(*table())
    twin = clone(encoder)
    expected = {"policy": "paper", "max_levels": 5, "one_hot_numeric": True, "read_text": True}
    assert twin.get_params() == expected
    assert not hasattr(twin, "columns_")
    assert twin.set_params(max_levels=4).max_levels == 4


def test_wrong_parameters_wait_for_fit():
    encoder = TableEncoder("papers", max_levels="many")
    with pytest.raises(ValueError, match="Unknown policy"):
        encoder.fit(*table())


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_out(kind):
    X, y = table()
    encoder = TableEncoder().set_output(transform=kind)
    found = encoder.fit_transform(X, y)
    assert type(found).__module__.startswith(kind)
    assert list(found.columns) == encoder.get_feature_names_out().tolist()
    assert {str(dtype).lower() for dtype in found.dtypes} == {"float32"}
    np.testing.assert_array_equal(
        encoder.transform(X[:5]).to_numpy(), TableEncoder().fit(X, y).transform(X[:5])
    )


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, read_table])
def test_any_container_gives_the_same_plan(make):
    X, y = table()
    encoder = TableEncoder().fit(make(X), y)
    assert encoder.to_dict() == TableEncoder().fit(X, y).to_dict()
    assert encoder.transform(make(X)).dtype == np.float32
    assert encoder.feature_names_in_.tolist() == ["size", "colour", "city"]


def test_in_a_pipeline():
    X, y = table()
    model = make_pipeline(TableEncoder(), Ridge()).fit(X, y)
    assert model.score(X, y) > 0.9
    assert "colour=red" in model[:-1].get_feature_names_out()
    weighted = make_pipeline(TableEncoder(), Ridge())
    weighted.fit(X, y, tableencoder__sample_weight=np.arange(60) % 3)
    assert weighted.predict(X).shape == (60,)


def test_in_a_column_transformer():
    X, y = table()
    parts = make_column_transformer(
        (TableEncoder(), ["size", "colour"]), (TableEncoder("paper"), ["colour"])
    ).fit(X, y)
    names = parts.get_feature_names_out().tolist()
    assert names[:2] == ["tableencoder-1__size", "tableencoder-1__colour=blue"]
    assert parts.transform(X).shape == (60, len(names))


def test_targets_may_be_labels():
    X, y = table()
    labels = np.where(y > 0, "high", "low")
    found = TableEncoder().fit_transform(X, labels)
    np.testing.assert_allclose(
        found, TableEncoder().fit_transform(X, np.where(y > 0, -1, 1)), atol=1e-6
    )


def test_names_for_columns_that_had_none():
    encoder = TableEncoder().fit(np.arange(40.0).reshape(20, 2))
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1"]
    assert encoder.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    assert not hasattr(encoder, "feature_names_in_")


def test_an_estimator_does_not_mind_what_transformers_give():
    X, y = table()
    model = AdaCapRegressor(width=16, max_iter=5, random_state=0)
    expected = model.fit(X, y).predict(X)
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)


def test_messages_name_the_estimator_that_the_user_called():
    X, y = table()
    model = AdaCapRegressor(width=16, max_iter=5).fit(X[["size"]].to_numpy(), y)
    with pytest.raises(ValueError, match="X has 2 features, but AdaCapRegressor is expecting 1"):
        model.predict(np.ones((3, 2)))
    with pytest.warns(UserWarning, match="but AdaCapRegressor was fitted without") as found:
        model.predict(X[["size"]])
    assert found[0].filename == __file__
