"""The encoder: shape of its results, rows it learns from, new data it meets."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import TargetEncoder

from adacap.estimators.encoder import POLICIES, TableEncoder
from adacap.tables.table import read_table

N = 60


def mixed_frame(seed: int = 0) -> pd.DataFrame:
    """One column of every treatment."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(50, 10, N),
            "gaps": np.where(rng.random(N) < 0.3, np.nan, rng.lognormal(size=N)),
            "rooms": rng.integers(1, 5, N),
            "sold": rng.random(N) < 0.5,
            "colour": rng.choice(["red", "green", "blue", None], N),
            "city": rng.choice([f"city{i}" for i in range(20)], N),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "h"),
            "same": 1.0,
            "id": [f"id{i}" for i in range(N)],
        }
    )
    return frame


def encode(cells, new=None, **options):
    """Plan and outputs of a single column named x, for the cells themselves or for new ones."""
    encoder = TableEncoder(**options).fit(pd.DataFrame({"x": pd.Series(cells)}))
    new = cells if new is None else new
    return encoder.columns_[0], encoder.transform(pd.DataFrame({"x": pd.Series(new)}))


def raw(plan, outputs):
    """Outputs before the final centring and scaling."""
    return outputs * np.array(plan.scale) + np.array(plan.center)


# --------------------------------------------------------------------- shape of results


@pytest.mark.parametrize("policy", ["default", "paper"])
def test_outputs_have_mean_zero_and_deviation_one(policy):
    X = TableEncoder(policy).fit_transform(mixed_frame(), np.arange(N))
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    np.testing.assert_allclose(X.mean(0, dtype=float), 0, atol=1e-6)
    np.testing.assert_allclose(X.std(0, dtype=float), 1, atol=1e-6)


def test_the_plan_of_every_column_reads_well():
    encoder = TableEncoder().fit(mixed_frame(), np.arange(N))
    assert {row["column"]: row["treatment"] for row in encoder.summary()} == {
        "size": "number",
        "gaps": "number + missing flag",
        "rooms": "number + one-hot",
        "sold": "binary",
        "colour": "one-hot",
        "city": "target mean + log frequency",
        "when": "number + cycle",
        "same": "dropped: constant",
        "id": "dropped: every value is unique",
    }
    assert encoder.summary()[4] == {
        "column": "colour",
        "kind": "categorical",
        "treatment": "one-hot",
        "outputs": ["colour=blue", "colour=green", "colour=red", "colour=<missing>"],
        "read_as": "category",
        "note": "one-hot",
        "bad_cells": 0,
        "examples": [],
    }
    assert repr(encoder.columns_[4]) == (
        "ColumnPlan(name='colour', kind='categorical', "
        "parts=(OneHot(levels=('blue', 'green', 'red', None)),), dropped='')"
    )
    names = encoder.get_feature_names_out()
    assert len(names) == encoder.n_features_out_ == encoder.transform(mixed_frame()).shape[1]
    assert names[:4].tolist() == ["size", "gaps", "gaps=<missing>", "rooms"]
    assert names[-7:].tolist() == [
        "when",
        *(f"when:{period}_{wave}" for period in ("year", "week", "day") for wave in ("sin", "cos")),
    ]


@pytest.mark.parametrize("policy", ["default", "paper"])
def test_fit_transform_is_fit_then_transform_without_targets(policy):
    table = read_table(mixed_frame())
    encoder = TableEncoder(policy)
    X = encoder.fit_transform(table)
    np.testing.assert_array_equal(X, TableEncoder(policy).fit(table).transform(table))
    np.testing.assert_array_equal(X, encoder.transform(table))


@pytest.mark.parametrize("policy", POLICIES)
def test_round_trip_through_json_gives_the_same_bits(policy):
    columns = ["size", "rooms", "sold"] if policy == "none" else list(mixed_frame())
    frame = mixed_frame()[columns]
    encoder = TableEncoder(policy, max_levels=10, one_hot_numeric=False)
    encoder.fit(frame, np.arange(2.0 * N).reshape(N, 2), np.arange(N) % 3)
    text = json.dumps(encoder.to_dict(), allow_nan=False)
    twin = TableEncoder.from_dict(json.loads(text))
    assert twin.columns_ == encoder.columns_
    assert twin.to_dict() == encoder.to_dict()
    new = mixed_frame(seed=1)[columns]
    np.testing.assert_array_equal(twin.transform(new), encoder.transform(new))


def test_all_constant_columns_give_no_output():
    encoder = TableEncoder()
    assert encoder.fit_transform(np.ones((4, 3))).shape == (4, 0)
    assert encoder.n_features_out_ == 0
    assert encoder.transform(np.zeros((2, 3))).shape == (2, 0)


def test_paper_policy_treats_each_column_by_its_rule():
    frame = mixed_frame()
    treatments = [plan.treatment for plan in TableEncoder("paper").fit(frame).columns_]
    assert treatments == [
        "number",
        "number",
        "number + one-hot",
        "binary",
        "one-hot",
        "dropped: too many levels",
        "dropped: datetime",
        "dropped: constant",
        "dropped: too many levels",
    ]


FINITE = st.floats(-1e300, 1e300, width=64) | st.sampled_from([np.nan, 0.0, 1.0, 1e-310])


@pytest.mark.parametrize("policy", ["default", "paper"])
@given(X=hnp.arrays(float, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=FINITE))
def test_any_finite_numbers_give_finite_outputs(policy, X):
    encoder = TableEncoder(policy)
    Z = encoder.fit_transform(X)
    assert np.isfinite(Z).all()
    assert Z.shape == (len(X), encoder.n_features_out_)
    assert np.abs(Z.mean(0, dtype=float)).max(initial=0) < 1e-5


# ------------------------------------------------------------------------- target means


CITIES = np.random.default_rng(0).choice(list("abcdefghijklmnopqrst"), (200, 1))


@pytest.mark.parametrize("n_targets", [1, 3])
def test_target_means_of_transform_are_those_of_all_rows(n_targets):
    y = np.random.default_rng(1).normal(size=(200, n_targets))
    encoder = TableEncoder().fit(CITIES, y)
    plan = encoder.columns_[0]
    assert plan.outputs == [*(f"x0:target{k}" for k in range(n_targets)), "x0:frequency"]
    means = raw(plan, encoder.transform(CITIES))
    for k in range(n_targets):
        expected = TargetEncoder(target_type="continuous").fit(CITIES, y[:, k]).transform(CITIES)
        np.testing.assert_allclose(means[:, k], expected[:, 0], atol=1e-6)


def target_means(y):
    """Target means of CITIES as the network trains on them, and as transform gives them."""
    encoder = TableEncoder()
    training = encoder.fit_transform(CITIES, y)
    plan = encoder.columns_[0]
    return raw(plan, training)[:, 0], raw(plan, encoder.transform(CITIES))[:, 0]


def test_no_training_row_sees_its_own_target():
    y = np.random.default_rng(1).normal(size=200)
    training, fitted = target_means(y)
    for i in range(0, 200, 25):
        moved_training, moved_fitted = target_means(y + 100.0 * (np.arange(200) == i))
        assert moved_training[i] == pytest.approx(training[i], abs=1e-5)
        assert abs(moved_fitted[i] - fitted[i]) > 0.1


def test_fit_and_fit_transform_learn_the_same_plan():
    y = np.random.default_rng(1).normal(size=(200, 2))
    encoder = TableEncoder()
    X = encoder.fit_transform(CITIES, y)
    assert TableEncoder().fit(CITIES, y).to_dict() == encoder.to_dict()
    np.testing.assert_array_equal(TableEncoder().fit_transform(CITIES, y), X)
    np.testing.assert_allclose(X.mean(0), 0, atol=1e-6)


def test_an_unseen_level_takes_the_mean_target():
    cells = np.array(list("abcdefghijklmn") * 4)[:, None]
    y = np.arange(len(cells), dtype=float)
    encoder = TableEncoder().fit(cells, y)
    new = raw(encoder.columns_[0], encoder.transform(np.array([["?"]])))
    np.testing.assert_allclose(new, [[y.mean(), 0.0]], atol=1e-5)


# ------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("policy", ["default", "paper"])
def test_weights_act_as_repetition(policy):
    frame = mixed_frame().drop(columns=["city", "rooms"])
    weights = np.arange(N) % 4
    repeated = frame.loc[np.repeat(np.arange(N), weights)]
    # Text that is unique as it stands repeats once it is repeated: out of this comparison.
    frame, repeated = frame.drop(columns="id"), repeated.drop(columns="id")
    weighted = TableEncoder(policy, one_hot_numeric=False).fit(frame, sample_weight=weights)
    plain = TableEncoder(policy, one_hot_numeric=False).fit(repeated)
    np.testing.assert_allclose(weighted.transform(frame), plain.transform(frame), atol=1e-5)


@pytest.mark.parametrize("scale", [5e-324, 1e-12, 0.1, 5e307])
@pytest.mark.parametrize("policy", ["default", "paper"])
def test_only_the_ratios_of_weights_matter(policy, scale):
    frame, y, weights = mixed_frame(), np.arange(N), np.arange(N) % 4
    expected = TableEncoder(policy).fit_transform(frame, y, weights)
    scaled = TableEncoder(policy).fit_transform(frame, y, scale * weights)
    np.testing.assert_allclose(scaled, expected, atol=1e-6)


def test_rows_of_weight_zero_teach_nothing():
    cells = pd.DataFrame({"a": list("aabbx"), "b": [1.0, 2.0, 3.0, 4.0, 1e9]})
    weights = [1, 1, 1, 1, 0]
    encoder = TableEncoder()
    X = encoder.fit_transform(cells, sample_weight=weights)
    assert encoder.to_dict() == TableEncoder().fit(cells[:4], sample_weight=[1] * 4).to_dict()
    np.testing.assert_array_equal(X, encoder.transform(cells))


# -------------------------------------------------------------------------- policy none


def test_policy_none_passes_numbers_through():
    X = np.array([[1.1, 2], [3, 4]])
    encoder = TableEncoder("none")
    np.testing.assert_array_equal(encoder.fit_transform(X), X.astype(np.float32))
    assert encoder.summary()[0]["treatment"] == "unchanged"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.0, np.nan], r"no missing values, but column 'x' contains NaN in 1 of 2 rows. Impute"),
        (["a", "b"], r"numbers only, but column 'x' is categorical. Encode it first"),
        ([1.0, 1e40], r"column 'x' reaches 1e\+40, which is infinity there. Rescale it"),
    ],
)
def test_policy_none_refuses_the_rest(cells, message):
    with pytest.raises(ValueError, match=message):
        encode(cells, policy="none")
    with pytest.raises(ValueError, match=message):
        encode([1.0, 2.0], cells, policy="none")


# ---------------------------------------------------------------------- names and kinds


def test_columns_are_found_by_name_in_any_order():
    frame = mixed_frame()
    encoder = TableEncoder().fit(frame, np.arange(N))
    np.testing.assert_array_equal(
        encoder.transform(frame[list(frame)[::-1]]), encoder.transform(frame)
    )


FITTED = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0], "price": [5.0, 9.0, 7.0]})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["price"], "^The feature names should match those that were passed during fit.\n"),
        (["price"], "Feature names seen at fit time, yet now missing:\n- a\n- b\n$"),
        (
            ["a", "b", "prise"],
            "Feature names unseen at fit time:\n- prise\n"
            "Feature names seen at fit time, yet now missing:\n- price\n"
            r"'prise': did you mean 'price'\?\n$",
        ),
        (list("rstuvw"), "unseen at fit time:\n- r\n- s\n- t\n- u\n- v\n- ...\nFeature names seen"),
    ],
)
def test_wrong_names_are_listed(names, message):
    encoder = TableEncoder().fit(FITTED)
    with pytest.raises(ValueError, match=message):
        encoder.transform(pd.DataFrame(np.ones((2, len(names))), columns=names))


def test_columns_that_were_not_there_are_ignored_with_a_word():
    encoder = TableEncoder().fit(FITTED)
    with pytest.warns(UserWarning, match="not seen in fit are ignored: 'x'"):
        found = encoder.transform(FITTED.assign(x=1.0))
    assert np.array_equal(found, encoder.transform(FITTED))


def test_names_on_one_side_only_warn_and_match_by_position():
    X = FITTED.to_numpy()
    named, nameless = TableEncoder().fit(FITTED), TableEncoder().fit(X)
    message = "X does not have valid feature names, but TableEncoder was fitted with feature names"
    with pytest.warns(UserWarning, match=message):
        np.testing.assert_array_equal(named.transform(X), nameless.transform(X))
    with pytest.warns(UserWarning, match="X has feature names, but TableEncoder was fitted with"):
        nameless.transform(FITTED)


def test_wrong_width_without_names():
    encoder = TableEncoder().fit(FITTED.to_numpy())
    message = "X has 2 features, but TableEncoder is expecting 3 features as input"
    with pytest.raises(ValueError, match=message):
        encoder.transform(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ([1.0, 2.0, 3.0], ["a"], "Column 'x' was numeric at fit time but is categorical now"),
        (["a", "b", "c"], [1.0], "Column 'x' was categorical at fit time but is numeric now"),
        ([True, False], ["yes"], "Column 'x' was boolean at fit time but is categorical now"),
        (
            pd.to_datetime(["2020-01-01", "2020-01-03"]),
            [1.0],
            "Column 'x' was datetime at fit time but is numeric now. Convert it to datetime values",
        ),
    ],
)
def test_a_changed_kind_is_named(then, now, message):
    with pytest.raises(ValueError, match=message):
        encode(then, now)


def test_a_changed_kind_without_names():
    encoder = TableEncoder().fit(np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="Column 1 was numeric at fit time but is categorical now"):
        encoder.transform([[1.0, "a"]])


def test_kinds_that_only_look_changed_are_read():
    mixed = pd.Series(["a", 1, 2.0, "a", 1], dtype=object)
    plan, X = encode(mixed, [1, 2])
    np.testing.assert_allclose(raw(plan, X), [[1, 0, 0], [0, 1, 0]], atol=1e-7)
    plan, X = encode(["a", "b", "c", None], pd.Series([None, None], dtype=object))
    np.testing.assert_allclose(raw(plan, X), [[0, 0, 0, 1]] * 2, atol=1e-7)
    plan, X = encode([True, False, True], [0.0, 1.0])
    np.testing.assert_allclose(raw(plan, X), [[0], [1]], atol=1e-7)


def test_a_dropped_column_may_hold_anything():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode([1.0, 1.0], ["a"])[1].shape == (1, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"policy": "papers"},
            r"Unknown policy 'papers'\. Did you mean 'paper'\? Known: default, none, paper\.",
        ),
        ({"max_levels": 1}, "max_levels must be an integer of at least 2, got 1"),
        ({"max_levels": 3.0}, "max_levels must be an integer of at least 2, got 3.0"),
        ({"max_levels": True}, "max_levels must be an integer of at least 2, got True"),
        ({"one_hot_numeric": "no"}, "one_hot_numeric must be a bool, got 'no'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**options).fit(FITTED)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [1.0]}, r"y has shape \(1,\), but the table has 3 rows"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\), but the table has 3 rows"),
        ({"sample_weight": [0, 0, 0]}, "not zero everywhere, got shape .*largest 0"),
        ({"sample_weight": [1, -1, 2]}, ">= 0 per row.* smallest -1"),
        ({"sample_weight": [1, np.inf, 2]}, "one finite number.* largest inf"),
        ({"sample_weight": np.ones((3, 1))}, r"one finite number.* shape \(3, 1\)"),
    ],
)
def test_wrong_targets_and_weights(arguments, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(FITTED, **arguments)


def test_transform_before_fit():
    with pytest.raises(NotFittedError, match="This TableEncoder instance is not fitted yet"):
        TableEncoder().transform(FITTED)
