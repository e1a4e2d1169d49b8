"""Contributions of columns add up, are exact where they say so, and state their error elsewhere."""

import itertools
import math

import numpy as np
import pytest

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.explain import Explanation, explain

METHODS = ["auto", "permutation"]


@pytest.mark.parametrize("method", METHODS)
def test_contributions_add_up_to_the_prediction(case, method):
    found = case.model.explain(case.new[:5], method=method)
    total = found.values.sum(1) + found.base_values
    np.testing.assert_allclose(total, case.model.predict(case.new[:5]), rtol=0, atol=1e-6)


def test_a_single_row_adds_up_too(case):
    found = case.model.explain(case.new[3:4])
    total = found.values.sum(1) + found.base_values
    np.testing.assert_allclose(total, case.model.predict(case.new[3:4]), rtol=0, atol=1e-6)


def test_shapes_are_those_of_shap(nets):
    found = nets.model.explain(nets.new[:4])
    assert isinstance(found, Explanation)
    assert found.values.shape == found.data.shape == (4, 7)
    assert found.base_values.shape == (4,)
    assert found.feature_names == list(nets.X.columns)
    np.testing.assert_array_equal(found.data[:, 3], nets.new["city"][:4])
    assert list(found.to_frame().index) == list(nets.new.index[:4])
    assert list(found.to_frame().columns) == ["base", *nets.X.columns]


def test_numbers_alone_are_data_of_numbers():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, X[:, 0])
    found = model.explain(X[:3])
    assert found.data.dtype == np.float64
    assert found.feature_names == ["x0", "x1"]


def test_probabilities_of_classes_are_explained_one_by_one(classes):
    found = classes.model.explain(classes.new[:3], method="permutation", n_permutations=8)
    assert found.values.shape == (3, 7, 3)
    assert found.output_names == ["0", "1", "2"]
    shares = classes.model.predict_proba(classes.new[:3])
    np.testing.assert_allclose(found.values.sum(1) + found.base_values, shares, atol=1e-6)
    np.testing.assert_allclose(found.values.sum(2), 0, atol=1e-6)  # what one gains others lose
    np.testing.assert_array_equal(found.output("1").values, found.values[..., 1])


def test_scores_of_many_classes_differ_by_log_odds(classes):
    found = classes.model.explain(
        classes.new[:3], method="permutation", n_permutations=8, link="logit"
    )
    scores = found.values.sum(1) + found.base_values
    shares = classes.model.predict_proba(classes.new[:3])
    odds = np.log(shares[:, 1] / shares[:, 0])
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], odds, atol=1e-5)


def test_targets_of_a_frame_go_by_the_names_of_its_columns(tmp_path):
    import pandas as pd

    import adacap

    X = np.random.default_rng(0).normal(size=(40, 2))
    y = pd.DataFrame({"price": X[:, 0], "rent": X[:, 1]})
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, y)
    assert model.explain(X[:3]).output_names == ["price", "rent"]
    model.save(tmp_path / "m.adacap")
    assert adacap.load(tmp_path / "m.adacap").effects(X).output_names == ("price", "rent")
    alone = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, y.to_numpy())
    assert alone.explain(X[:3]).output_names == ["target 1", "target 2"]


def test_log_odds_of_ridge_are_a_sum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = AdaCapClassifier(quality=["ridge"], random_state=0).fit(X, X[:, 0] > 0)
    found = model.explain(X[:4], link="logit")
    assert (found.method, found.values.shape) == ("additive", (4, 3))
    shares = model.predict_proba(X[:4])[:, 1]
    odds = found.values.sum(1) + found.base_values
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), shares, atol=1e-6)


def test_several_targets_have_contributions_each():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, X)
    found = model.explain(X[:3])
    assert found.values.shape == (3, 2, 2)
    np.testing.assert_allclose(found.values.sum(1) + found.base_values, model.predict(X[:3]))


def by_definition(model, x, background):
    """Shapley values by the mean over all orders of the columns."""
    d = x.shape[1]
    found = np.zeros(d)
    for order in itertools.permutations(range(d)):
        mixed, before = background.copy(), model.predict(background).mean()
        for j in order:
            mixed[:, j] = x[0, j]
            after = model.predict(mixed).mean()
            found[j] += (after - before) / math.factorial(d)
            before = after
    return found


@pytest.mark.parametrize("quality", [["kernel"], ["ridge:bins"]], ids=["kernel", "ridge"])
def test_exact_values_are_those_of_the_definition(quality):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = AdaCapRegressor(quality=quality, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    found = model.explain(X[:1], X[10:20])
    assert found.is_exact
    assert not found.errors.any()
    np.testing.assert_allclose(found.values[0], by_definition(model, X[:1], X[10:20]), atol=1e-5)


def test_a_sum_of_single_columns_is_known_and_exact(ridge):
    quick = ridge.model.explain(ridge.new[:4])
    assert quick.method == "additive"
    slow = ridge.model.explain(ridge.new[:4], method="permutation")
    np.testing.assert_allclose(quick.values, slow.values, atol=1e-5)


def test_sampling_states_its_error(blend):
    exact = blend.model.explain(blend.new[:3], max_background=10, method="exact")
    drawn = blend.model.explain(
        blend.new[:3], max_background=10, method="permutation", n_permutations=400
    )
    assert (exact.method, drawn.method) == ("enumeration", "permutation")
    uncertain = drawn.errors > 1e-4
    assert uncertain.any()
    z = (drawn.values - exact.values)[uncertain] / drawn.errors[uncertain]
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2
    np.testing.assert_array_equal(drawn.base_values, exact.base_values)


def test_a_column_that_is_not_used_adds_nothing(blend):
    found = blend.model.explain(blend.new[:2])
    assert not found.values[:, found.feature_names.index("same")].any()


def test_columns_may_come_in_another_order(nets):
    turned = nets.new[:3][nets.new.columns[::-1]]
    np.testing.assert_array_equal(
        nets.model.explain(turned).values, nets.model.explain(nets.new[:3]).values
    )


def test_a_loaded_model_compares_with_the_rows_given(nets, tmp_path):
    nets.model.save(tmp_path / "m.adacap")
    again = adacap.load(tmp_path / "m.adacap")
    assert again.background_.rows is None  # no training row is in the file
    own = again.explain(nets.new[:5], nets.X)
    np.testing.assert_array_equal(own.values, nets.model.explain(nets.new[:5], nets.X).values)
    assert again.explain(nets.new[:5]).n_background == 5
    with pytest.raises(ValueError, match="Pass background=X_train"):
        again.explain(nets.new[:1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exakt"}, "method must be .* got 'exakt'"),
        ({"n_permutations": 2}, "n_permutations must be at least 4, got 2"),
        ({"link": "logit"}, "link='logit' is for classes"),
        ({"link": "log"}, "link must be 'identity' or 'logit', got 'log'"),
    ],
    ids=["method", "permutations", "logit", "link"],
)
def test_what_makes_no_sense_is_refused(nets, options, message):
    with pytest.raises(ValueError, match=message):
        explain(nets.model, nets.new[:2], **options)


def test_it_prints_what_moved_the_first_row(nets):
    text = str(nets.model.explain(nets.new[:1]))
    assert text.splitlines()[0].startswith("row row 90")
    assert text.splitlines()[-1].startswith("prediction")
