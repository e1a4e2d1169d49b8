"""What drives predictions: feature_importances_, importance of shuffled columns, effects."""

import numpy as np
import pytest

import adacap
from adacap import AdaCapRegressor
from adacap.explain import effects, permutation_importance

STRONG = {"alone", "one", "other", "city"}


def test_feature_importances_are_shares(case, tmp_path):
    shares = case.model.feature_importances_
    assert shares.shape == (case.model.n_features_in_,)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    assert case.X.columns[shares.argmax()] == "alone"
    assert shares[list(case.X.columns).index("same")] == 0
    case.model.save(tmp_path / "m.adacap")
    again = adacap.load(tmp_path / "m.adacap")
    np.testing.assert_array_equal(again.feature_importances_, shares)


def test_feature_importances_serve_the_selection_of_columns():
    from sklearn.feature_selection import SelectFromModel

    X = np.random.default_rng(0).normal(size=(40, 4))
    chosen = SelectFromModel(AdaCapRegressor(quality=["ridge"], random_state=0), max_features=1)
    np.testing.assert_array_equal(chosen.fit_transform(X, X[:, 2]), X[:, 2:3])


def test_feature_importances_need_a_fit_and_a_table(nets):
    assert not hasattr(AdaCapRegressor(), "feature_importances_")
    assert hasattr(nets.model, "feature_importances_")


def test_a_target_without_signal_has_no_driver():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, np.full(30, 5.0))
    assert model.feature_importances_.sum() in (0.0, pytest.approx(1))
    np.testing.assert_allclose(model.explain(X[:3]).values, 0, atol=1e-9)


def test_another_fit_has_other_importances():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, X[:, 0])
    assert model.feature_importances_.argmax() == 0
    assert model.fit(X, X[:, 1]).feature_importances_.argmax() == 1


def test_importance_has_a_standard_error_that_rows_bear_out(ridge):
    rng = np.random.default_rng(1)
    X = ridge.X.iloc[rng.integers(0, 90, 800)]
    y = ridge.model.predict(X) + rng.normal(size=800)
    parts = [permutation_importance(ridge.model, X[i::8], y[i::8], n_repeats=3) for i in range(8)]
    first = [p.mean[p.names.index("alone")] for p in parts]
    told = np.mean([p.error[p.names.index("alone")] for p in parts])
    assert 0.4 < np.std(first, ddof=1) / told < 2.5


def test_importance_of_dependent_rows_is_as_sure_as_there_are_groups(ridge):
    X, y = ridge.X.iloc[np.tile(np.arange(90), 9)], np.tile(ridge.y, 9)
    group = [f"g{i % 90}" for i in range(810)]
    alone, grouped = (
        permutation_importance(ridge.model, X, y, n_repeats=20, groups=one) for one in (None, group)
    )
    np.testing.assert_array_equal(alone.mean, grouped.mean)
    j = alone.names.index("alone")
    assert grouped.error[j] == pytest.approx(3 * alone.error[j], rel=0.15)  # 9 copies of each row
    with pytest.raises(ValueError, match="groups must hold one value per row, 810 in all"):
        ridge.model.importance(X, y, groups=group[:5])


@pytest.mark.parametrize("n", [0, 19, 21])
def test_importance_needs_a_target_for_each_row(ridge, n):
    with pytest.raises(ValueError, match=rf"inconsistent numbers of samples: \[20, {n}\]"):
        ridge.model.importance(ridge.X[:20], np.zeros(n))


def test_importance_finds_what_matters(blend):
    found = blend.model.importance(blend.X, blend.y)
    assert set(found.names[:4]) == STRONG
    assert str(found).splitlines()[1].startswith("alone")


def test_effects_follow_the_strongest_columns(blend):
    found = blend.model.effects(blend.X)
    assert found.effects[0].name == "alone"
    assert STRONG <= {effect.name for effect in found.effects}
    alone = found["alone"]
    assert (np.diff(alone.mean) > -0.2).all()
    assert np.ptp(alone.mean) > 6
    assert (alone.deviation > 0).all()
    assert found.n_models == 5
    rome = dict(zip(found["city"].values, found["city"].mean, strict=True))
    assert rome["Rome"] - rome["Paris"] == pytest.approx(2, abs=0.7)


def test_an_effect_is_the_mean_prediction_with_the_column_set(nets):
    found = effects(nets.model, nets.X, ["one", "gaps", "day"], n_pairs=0)
    for name in ("one", "gaps", "day"):
        effect = found[name]
        for k in (0, -1):
            changed = nets.X.copy()
            changed[name] = np.nan if effect.is_missing[k] else effect.values[k]
            want = nets.model.predict(changed).mean()
            assert effect.mean[k] == pytest.approx(want, abs=1e-4)
    assert found["gaps"].is_missing[-1]
    assert not found.interactions


def test_columns_that_act_together_are_found(blend):
    pair = blend.model.effects(blend.X).interactions[0]
    assert set(pair.names) == {"one", "other"}
    assert pair.h > 0.7
    assert pair.strength > 1


def test_a_sum_has_no_interactions(ridge):
    found = ridge.model.effects(ridge.X)
    assert max(pair.h for pair in found.interactions) < 1e-3


def test_effects_on_classes_are_effects_on_probabilities(classes):
    found = classes.model.effects(classes.X, ["alone"], n_pairs=1)
    assert found.output_names == ("0", "1", "2")
    np.testing.assert_allclose(found["alone"].mean.sum(1), 1, atol=1e-6)


def test_an_unknown_column_is_named(nets):
    with pytest.raises(ValueError, match=r"Unknown column 'aloen'\. Did you mean 'alone'"):
        nets.model.effects(nets.X, ["aloen"])
    with pytest.raises(ValueError, match="There are 7 columns, got the number 7"):
        nets.model.effects(nets.X, [7])


def test_images_have_no_columns_to_explain():
    from torch import nn

    X = np.random.default_rng(0).normal(size=(30, 1, 3, 3)).astype(np.float32)
    model = AdaCapRegressor(
        architecture=lambda shape: nn.Sequential(nn.Flatten(), nn.Linear(9, 4)),
        preprocessing="none", max_iter=2, random_state=0,
    ).fit(X, X.mean((1, 2, 3)))  # fmt: skip
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(ValueError, match=r"fitted on samples of shape \(1, 3, 3\)"):
        model.explain(X[:2])
