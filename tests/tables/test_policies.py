"""Policies: which treatment a column gets and what is learnt of it, the paper's counts."""

import numpy as np
import pandas as pd
import pytest

from adacap.estimators.encoder import TableEncoder


def encode(cells, new=None, sample_weight=None, **options):
    """Plan and outputs of a single column named x, for the cells themselves or for new ones."""
    frame = pd.DataFrame({"x": pd.Series(cells)})
    encoder = TableEncoder(**options).fit(frame, sample_weight=sample_weight)
    new = cells if new is None else new
    return encoder.columns_[0], encoder.transform(pd.DataFrame({"x": pd.Series(new)}))


def raw(plan, outputs):
    """Outputs before the final centring and scaling."""
    return outputs * np.array(plan.scale) + np.array(plan.center)


# ------------------------------------------------------------------------------- levels


def test_one_hot_has_missing_as_a_level_and_zeros_for_the_unseen():
    plan, X = encode(["a", "b", None, "a"], ["b", None, "new"])
    np.testing.assert_allclose(raw(plan, X), [[0, 1, 0], [0, 0, 1], [0, 0, 0]], atol=1e-7)


def test_missing_that_fit_never_saw_is_unseen():
    plan, X = encode(["a", "b", "c"] * 2, [None])
    np.testing.assert_allclose(raw(plan, X), [[0, 0, 0]], atol=1e-7)


@pytest.mark.parametrize("cells", [["a", "b", "b"], [False, True, True], ["b", None, None]])
@pytest.mark.parametrize("policy", ["default", "paper"])
def test_two_levels_make_one_column(cells, policy):
    plan, X = encode(pd.Series(cells, dtype=object), policy=policy)
    assert plan.treatment == "binary"
    np.testing.assert_allclose(raw(plan, X), [[0], [1], [1]], atol=1e-7)


def test_an_unseen_value_of_a_binary_column():
    plan, X = encode(["a", "b", "b", "b"], ["c"], policy="paper")
    np.testing.assert_allclose(raw(plan, X), [[0.0]], atol=1e-7)  # as level 0
    _, X = encode(["a", "b", "b", "b"], ["c"], policy="default")
    np.testing.assert_allclose(X, [[0.0]], atol=1e-7)  # as the average row


def test_levels_survive_the_loss_of_float64():
    values = np.array([0.1, 0.2, 0.3] * 4)
    encoder = TableEncoder().fit(values[:, None].astype(np.float32))
    np.testing.assert_allclose(
        encoder.transform(values[:, None]),
        encoder.transform(values[:, None].astype(np.float32)),
        atol=1e-6,
    )


def test_more_levels_than_max_levels():
    cells = list("abcd") * 3
    assert encode(cells, max_levels=4)[0].treatment == "one-hot"
    assert encode(cells, max_levels=3)[0].treatment == "log frequency"
    assert encode(cells, max_levels=3, policy="paper")[0].treatment == "dropped: too many levels"


def test_frequency_counts_rows_of_fit():
    plan, X = encode(list("aaabbc"), ["a", "c", "new", None], max_levels=2)
    np.testing.assert_allclose(raw(plan, X)[:, 0], np.log([4, 2, 1, 1]), atol=1e-6)


# ------------------------------------------------------------------------------ numbers


def test_numbers_are_scaled_by_median_and_quartiles_then_clipped():
    cells = np.arange(101.0)
    plan, X = encode(cells, [50.0, 75.0, 1e300, -1e300, np.nan])
    (number,) = plan.parts
    assert (number.fill, number.center, number.scale, number.clip) == (50.0, 50.0, 50.0, 8.0)
    half = 0.5 / np.sqrt(1 + (0.5 / 8) ** 2)
    np.testing.assert_allclose(raw(plan, X)[:, 0], [0, half, 8, -8, 0], atol=1e-6)


def test_deviation_replaces_an_interquartile_range_of_zero():
    cells = np.array([0.0] * 95 + list(range(1, 21)))
    (number,) = encode(cells)[0].parts
    assert number.scale == pytest.approx(cells.std())


def test_missing_numbers_are_flagged_when_fit_saw_some():
    plan, X = encode([1.0, 2.0, np.nan, 9.0] * 5, [np.nan, 2.0], one_hot_numeric=False)
    assert plan.treatment == "number + missing flag"
    np.testing.assert_allclose(raw(plan, X)[:, 1], [1, 0], atol=1e-7)
    assert raw(plan, X)[0, 0] == pytest.approx(0.0, abs=1e-7)  # the median
    assert encode([1.0, 2.0, 4.0], [np.nan])[0].treatment == "number"


def test_numbers_of_few_values_are_also_one_hot():
    plan, X = encode([1, 2, 3] * 4, [2, 7])
    assert plan.treatment == "number + one-hot"
    assert plan.outputs == ["x", "x=1", "x=2", "x=3"]
    np.testing.assert_allclose(raw(plan, X)[:, 1:], [[0, 1, 0], [0, 0, 0]], atol=1e-7)
    assert encode([1, 2, 3] * 4, one_hot_numeric=False)[0].treatment == "number"
    assert encode([1, 2, 3])[0].treatment == "number"  # one row per level
    assert encode([1, 2] * 4)[0].treatment == "number"


@pytest.mark.parametrize("cells", [[5.0, 5.0], [np.nan, np.nan], [None, None], ["a", "a"]])
@pytest.mark.parametrize("policy", ["default", "paper"])
def test_constant_columns_are_dropped(cells, policy):
    assert encode(cells, policy=policy)[0].treatment == "dropped: constant"


def test_a_constant_with_gaps_keeps_its_gaps():
    for policy in ("default", "paper"):
        plan, X = encode([5.0, np.nan, 5.0], policy=policy)
        np.testing.assert_allclose(raw(plan, X), [[0], [1], [0]], atol=1e-7)


@pytest.mark.parametrize(
    ("cells", "weights", "treatment"),
    [
        ([1, 2, 3] * 2, [1e-3] * 6, "number + one-hot"),
        ([1, 2, 3] * 2, [1, 1, 1, 1, 1, 0], "number"),
        ([1, 2, 3], [100, 100, 100], "number"),
        ([1, 2, 3] * 2 + [4], [1, 1, 1, 1, 1, 1, 0], "number + one-hot"),
        ([1, 2, 3, 1, 2, None], [1] * 6, "number + missing flag"),
    ],
)
def test_two_rows_per_level_are_counted_without_weights_among_those_used(cells, weights, treatment):
    assert encode(cells, sample_weight=weights)[0].treatment == treatment


def test_quartiles_of_many_rows_come_from_a_fixed_sample():
    X = np.random.default_rng(0).normal(size=(250_000, 1))
    encoder = TableEncoder().fit(X)
    (number,) = encoder.columns_[0].parts
    assert number.center == pytest.approx(0, abs=0.02)
    assert number.scale == pytest.approx(1.349, abs=0.02)
    assert TableEncoder().fit(X).to_dict() == encoder.to_dict()


# -------------------------------------------------------------------------------- dates


def test_dates_become_days_and_cycles():
    monday = pd.Timestamp("2024-01-01")
    cells = monday + pd.to_timedelta(np.arange(0, 700, 7), "D")
    plan, X = encode(cells)
    assert plan.outputs == ["x", "x:year_sin", "x:year_cos", "x:week_sin", "x:week_cos"]
    np.testing.assert_allclose(X[:, 3:], 0, atol=1e-6)  # always a Monday: constant, not noise
    assert np.corrcoef(X[:, 0], np.arange(100))[0, 1] > 0.99
    np.testing.assert_allclose((raw(plan, X)[:, 1:3] ** 2).sum(1), 1, atol=1e-6)


def test_missing_dates_are_flagged_and_filled():
    cells = pd.to_datetime(["2024-01-01 10:00", None, "2024-03-01 12:00"])
    plan, X = encode(cells)
    assert plan.treatment == "number + cycle + missing flag"
    assert np.isfinite(X).all()
    assert encode(cells, policy="paper")[0].treatment == "dropped: datetime"


# ------------------------------------------------------------------- the paper's counts


def test_paper_policy_imputes_the_mean():
    plan, X = encode([1.0, 2.0, np.nan, 9.0] * 5, [np.nan], policy="paper")
    assert raw(plan, X)[0, 0] == pytest.approx(4.0)


def test_paper_policy_counts_each_missing_cell_as_a_value():
    assert encode([0, 1, 2, None] * 9, policy="paper")[0].treatment == "number + one-hot"
    assert encode([0, 1, 2, None] * 10, policy="paper")[0].treatment == "number"


READERS = {
    "concrete-slump": (9, "slump_test.data", {}, lambda d: d.iloc[:, 1:-1]),
    "servo": (21, "servo.data", {"header": None}, lambda d: d.iloc[:, :-1]),
    "yacht": (
        22,
        "yacht_hydrodynamics.data",
        {"header": None, "sep": r"\s+"},
        lambda d: d.iloc[1:, 2:6],
    ),
    "qsar-aquatic-toxicity": (
        34,
        "qsar_aquatic_toxicity.csv",
        {"header": None, "sep": ";"},
        lambda d: d.iloc[:, :-1],
    ),
    "abalone": (10, "abalone.data", {"header": None}, lambda d: d.iloc[:, :-1]),
    "bangalore-real-estate": (6, "blr_real_estate_prices.csv.gz", {}, lambda d: d.iloc[:, :-1]),
    "seoul-bike": (15, "SeoulBikeData.csv.gz", {"encoding": "latin-1"}, lambda d: d.iloc[:, 2:]),
}


@pytest.mark.parametrize("name", READERS)
def test_paper_policy_gives_the_number_of_features_of_the_paper(name, data_folder):
    p, file, options, features = READERS[name]
    frame = features(pd.read_csv(data_folder / "raw" / name / file, **options))
    assert TableEncoder("paper").fit(frame).n_features_out_ == p
