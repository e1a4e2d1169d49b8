"""What ``advise`` promises: the right kind where it is plain, the risks by name, and a way out."""

import dataclasses
import json

import numpy as np
import pytest

import adacap
from adacap.advice import Advice, advise
from adacap.advice.facts import Fact, known_facts


def made(kind, n_rows=160, seed=0):
    """A table on which one kind of model is the natural one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    if kind == "linear":
        return X, X @ [3.0, -2.0, 1.0, 0.5] + rng.normal(size=n_rows)
    if kind == "smooth":
        return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n_rows)
    cells = (X[:, 0] > 0.3).astype(int) ^ (X[:, 1] > -0.2) ^ (X[:, 2] > 0)
    return X, 4.0 * cells + 0.3 * rng.normal(size=n_rows)


@pytest.fixture(scope="module")
def linear():
    return advise(*made("linear"))


@pytest.fixture(scope="module")
def smooth():
    return advise(*made("smooth"))


# ---------------------------------------------------------------------------- the verdict


def test_a_smooth_table_is_for_adacap(smooth):
    assert smooth.winner == "adacap"
    assert smooth.expected["linear"].ratio > 1.5
    assert smooth.linearity > 1.5


def test_a_linear_model_is_as_good_on_a_linear_table(linear):
    assert linear.linearity == pytest.approx(1, abs=0.1)
    assert linear.expected["linear"].ratio < 1.05
    assert linear.expected["trees"].ratio > 1.1
    assert "as good, and simpler" in str(linear)


def test_a_rough_estimate_is_not_called_as_good(smooth):
    from adacap.advice import _on_linearity

    rough = smooth.expected["linear"]._replace(ratio=1.52, standard_error=0.57)
    text = _on_linearity(rough, 1.4)
    assert text.endswith("expected at 1.52 ± 0.57 times AdaCap's: too rough an estimate to tell "
                         "which is better.")  # fmt: skip
    assert "as good" not in text


def test_it_may_say_use_catboost():
    ahead = [Fact(str(k), 150, 4, 0.1, 0.9, 0.0, 0.9, -0.2 - 0.01 * k) for k in range(6)]
    advice = advise(*made("steps"), facts=ahead)  # boosting is what the blend leans on there
    assert advice.winner == "trees"
    assert "Use trees such as CatBoost" in str(advice)


def test_the_quick_comparison_outweighs_the_benchmark_where_it_is_sure():
    advice = advise(*made("steps", n_rows=400))
    assert advice.expected["trees"].ratio < advice.expected["trees"].prior


def test_without_facts_the_quick_comparison_stands_alone():
    advice = advise(*made("linear", 60), facts=())
    assert advice.expected["trees"].ratio == pytest.approx(advice.expected["trees"].quick)
    assert np.isnan(advice.expected["trees"].prior)
    assert advice.like == ()


def test_the_same_rows_give_the_same_advice(linear):
    again = advise(*made("linear"))
    assert again.expected["trees"].ratio == linear.expected["trees"].ratio
    assert again.memorisation == linear.memorisation


def test_classes_are_advised_on_too():
    X, y = made("linear")
    advice = advise(X, np.where(y > 0, "yes", "no"))
    assert advice.task == "classification"
    assert advice.explained["linear"] > 0.4
    assert advice.transform is None


# ---------------------------------------------------------------------------- the readings


def test_noise_is_what_nobody_explains(linear, smooth):
    assert smooth.noise < 0.15 < 2 * linear.noise
    assert linear.noise == pytest.approx(1 / (1 + 14.25), abs=0.04)  # 1 of noise, 14.25 of signal
    assert 0 < linear.neighbour_noise < 1


def test_labels_in_random_order_are_known_as_such():
    X, y = made("linear", 120)
    shuffled = np.random.default_rng(1).permutation(y)
    random, real = advise(X, shuffled, facts=()), advise(X, y, facts=())
    assert real.memorisation.gap > 0.3
    assert real.memorisation.p_value <= 0.01
    assert random.memorisation.p_value > 0.05
    assert random.noise > 0.8


def test_the_logarithm_pays_where_the_target_is_log_normal():
    X, y = made("linear", 200)
    advice = advise(X, np.exp(0.5 * y), facts=())
    assert advice.transform is not None
    assert advice.transform.name in ("log", "yeo-johnson")
    assert advice.transform.pays
    assert advice.transform.gain > 0.05


@pytest.mark.parametrize("steepness", [1.0, 2.0])
def test_a_transform_pays_if_auto_would_use_it(steepness):
    X, y = made("linear", 150)
    y = np.exp(steepness * y / y.std())
    found = advise(X, y, facts=()).transform
    model = adacap.AdaCapRegressor(quality=["ridge"], target_transform="auto", random_state=0)
    assert model.fit(X, y).settings_.target_transform == found.name
    assert found.pays
    assert 0.05 < found.gain < 1  # in shares of the error, both
    assert 0 < found.standard_error < 0.5


def test_a_transform_that_auto_would_not_use_does_not_pay():
    X, y = made("linear", 150)
    y = np.where(np.arange(150) % 30 == 0, 60.0, y)  # skewed by rows that no column explains
    found = advise(X, y, facts=()).transform
    model = adacap.AdaCapRegressor(quality=["ridge"], target_transform="auto", random_state=0)
    assert model.fit(X, y).settings_.target_transform == "none"
    assert found is None or not found.pays


def test_no_transform_is_tried_on_a_symmetric_target(linear):
    assert linear.transform is None


def test_a_far_target_is_counted():
    X, y = made("linear", 60)
    y[3] = 1e4
    found = advise(X[:, :1], y, facts=())
    assert found.n_target_outliers == 1
    assert "1 target lies far from all others and dominates the fit." in str(found)
    assert "60 rows, 1 column (1 after encoding)." in str(found)


def test_columns_at_risk_are_named():
    rng = np.random.default_rng(0)
    X, y = made("linear", 120)
    far = X[:, 1].copy()
    far[7] = 1e5
    gaps = np.where(rng.random(120) < 0.7, np.nan, X[:, 2])
    table = {
        "row": np.arange(120.0), "same": np.ones(120), "paid": 2 * y + 1, "far": far, "gaps": gaps,
        "name": [f"n{i % 80}" for i in range(120)], "fine": X[:, 0],
    }  # fmt: skip
    found = {(one.column, one.risk) for one in advise(table, y, facts=()).columns}
    assert found == {
        ("row", "id"), ("same", "constant"), ("paid", "leak"), ("far", "outliers"),
        ("gaps", "mostly missing"), ("name", "many levels"),
    }  # fmt: skip


def test_of_many_rows_a_thousand_are_looked_at():
    X, y = made("linear", 1200)
    advice = advise(X, y, facts=())
    assert (advice.n_rows, advice.n_looked_at) == (1200, 1000)
    assert "1,000 rows were looked at" in str(advice)


def test_it_says_what_a_fit_costs(linear):
    assert 0.05 < linear.expected["adacap"].seconds < 60
    assert linear.expected["linear"].seconds < linear.expected["adacap"].seconds


# --------------------------------------------------------------------------- the record


def test_advice_is_frozen_prints_and_is_json(linear):
    assert isinstance(linear, Advice)
    with pytest.raises(dataclasses.FrozenInstanceError):
        linear.winner = "trees"
    assert str(linear).startswith(linear.headline)
    assert json.loads(json.dumps(linear.to_dict()))["winner"] == linear.winner


def test_the_root_offers_it():
    assert adacap.advise is advise


# -------------------------------------------------------------- rows that are not independent


@pytest.fixture(scope="module")
def by_group():
    """Columns that name a group, and a target that is the group's own."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 8)
    X = np.column_stack([rng.normal(size=(20, 3))[group], rng.normal(size=160)])
    return X, 2 * rng.normal(size=20)[group] + 0.2 * rng.normal(size=160), group


def test_an_effect_of_groups_is_noise_to_new_groups(by_group):
    X, y, group = by_group
    alone, grouped = advise(X, y), advise(X, y, groups=group)
    assert alone.noise < 0.05
    assert grouped.noise > 0.8
    assert grouped.neighbour_noise > 0.5 > 10 * alone.neighbour_noise
    assert grouped.split_by == ("group",)
    assert "Errors are on whole groups that were not trained on." in str(grouped)
    assert "far from random" not in str(grouped)


def test_names_of_groups_do_not_matter_to_advice(by_group):
    X, y, group = by_group
    named = advise(X, y, groups=[f"g{19 - one}" for one in group])
    assert named.noise == pytest.approx(advise(X, y, groups=group).noise)


def test_benchmarks_of_independent_rows_have_no_say(by_group):
    X, y, group = by_group
    found = advise(X, y, groups=group)
    assert np.isnan(found.expected["trees"].prior)
    assert found.like == ()
    assert 0 < found.expected["adacap"].seconds < 60


def test_later_rows_are_predicted_from_earlier_ones():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=160))  # a random walk: its neighbours are known, not its end
    X = np.column_stack([np.arange(160.0), rng.normal(size=160)])
    shuffled = rng.permutation(160)
    X, walk = X[shuffled], walk[shuffled]
    alone, timed = advise(X, walk), advise(X, walk, time=X[:, 0])
    assert alone.noise < 0.2
    assert timed.noise > 0.8
    assert "Errors are on rows later than all that were trained on." in str(timed)


def test_classes_and_both_dependences_are_advised_on(by_group):
    X, y, group = by_group
    labels = np.where(y > 0, "yes", "no")
    assert advise(X, labels, groups=group).noise > 0.7
    both = advise(X, y, groups=group, time=np.tile(np.arange(8), 20))
    assert "later rows of groups that were not trained on" in str(both)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"groups": np.zeros(40)}, "a single group"),
        ({"groups": np.arange(39)}, "one value per row, 40 in all"),
        ({"time": np.arange(40) % 2}, "2 different times"),
        ({"time": ["soon"] * 40}, "numbers or dates"),
    ],
)
def test_rows_that_cannot_be_split_are_refused(rows, message):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        advise(rng.normal(size=(40, 2)), rng.normal(size=40), **rows)


# ------------------------------------------------------------------------------ the task


def targets():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60) + 10
    return {
        "numbers": (y, "regression"),
        "numbers spelled": ([f"{v:.2f} €" for v in y], "regression"),
        "two whole numbers": ((y > 10).astype(int), "classification"),
        "two numbers spelled": ([str(int(v > 10)) for v in y], "classification"),
        "few whole numbers": (np.arange(60) % 5, "classification"),
        "booleans": (y > 10, "classification"),
        "words": (np.where(y > 10, "p", "n"), "classification"),
        "words and gaps": (np.array(["p", "n", None] * 20, dtype=object), "classification"),
    }


@pytest.mark.parametrize("name", targets())
def test_the_task_is_read_as_by_the_command_line(name):
    import pyarrow as pa

    from adacap.cli.targets import read_target
    from adacap.tables.targets import what_y_holds

    y, task = targets()[name]
    assert what_y_holds(y).task == task
    cells = y if isinstance(y, list) else pa.array(y.tolist())
    assert read_target(pa.table({"y": cells}), ["y"]).task == task


def test_declared_categories_are_classes_whatever_they_spell():
    import pandas as pd

    from adacap.tables.targets import what_y_holds

    y = [f"{v:.1f}" for v in np.linspace(0, 9, 60)]
    assert what_y_holds(pd.Series(y)).task == "regression"
    assert what_y_holds(pd.Series(y, dtype="category")).task == "classification"


def test_numbers_that_are_spelled_are_advised_on_as_numbers():
    X, y = made("linear", 60)
    advice = advise(X, [f"{v:.3f} €" for v in y], facts=())
    assert advice.task == "regression"
    assert advice.noise == pytest.approx(advise(X, y.round(3), facts=()).noise)


def test_the_task_is_named_with_the_way_to_the_other():
    X, y = made("linear", 60)
    coded = (y > 0).astype(int)
    found = str(advise(X, coded, facts=()))
    assert "Task: classification (2 values; task='regression' if they are quantities)." in found
    said = advise(X, coded, task="regression", facts=())
    assert said.task == "regression"
    assert "Task: regression (as asked for)." in str(said)


# -------------------------------------------------------------------------- the refusals


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((10, 2)), np.arange(10.0), "at least 30 rows .* got 10"),
        (np.ones((40, 2)), np.ones((40, 2)), r"one target at a time, got y of shape \(40, 2\)"),
        (np.ones((40, 2)), np.ones(40), "1.0 in all 40 rows"),
        (np.ones((40, 2)), np.arange(39.0), "39 values, but the table has 40 rows"),
        (np.ones((40, 2)), [f"row {i}" for i in range(40)], "y looks like an id or free text: 40"),
    ],
    ids=["few rows", "two targets", "constant", "lengths", "ids"],
)
def test_what_cannot_be_advised_on_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        advise(X, y)


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="got 'ranking'"):
        advise(np.ones((40, 2)), np.arange(40.0), task="ranking")


def test_columns_without_anything_are_no_obstacle():
    y = np.random.default_rng(0).normal(size=40)
    advice = advise(np.ones((40, 2)), y)
    assert {one.risk for one in advice.columns} == {"constant"}
    assert advice.noise > 0.8


def test_the_facts_are_whole():
    facts = known_facts()
    assert len(facts) == 15
    for fact in facts:
        numbers = [value for name, value in vars(fact).items() if name != "task"]
        assert np.isfinite(numbers).all(), fact.task
