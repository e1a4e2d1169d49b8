"""Prediction intervals: what they rest on, what they refuse, what they hold."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError

import adacap
from adacap import AdaCapRegressor
from adacap.conformal import conformal_quantile, cv_plus
from adacap.core import Ridge
from adacap.estimators.intervals import LOO_INFLATION

TINY = {"width": 16, "max_iter": 20, "max_lr": 0.05, "lambda_init": 1.0, "random_state": 0}
ONE = {"n_estimators": 1}
FOLDS = {"n_estimators": 3, "validation": "folds"}


def regressor(**options):
    return AdaCapRegressor(**{**TINY, **options})


@pytest.fixture(scope="module")
def table():
    X, y = make_friedman1(160, n_features=6, noise=1.0, random_state=0)
    return X[:60], y[:60], X[60:], y[60:]


@pytest.fixture(scope="module")
def bag(table):
    return regressor(**FOLDS).fit(*table[:2])


def share(bounds, y):
    return ((bounds[..., 0] <= y) & (y <= bounds[..., 1])).mean()


# ------------------------------------------------------------------------------------ cv+


@pytest.mark.parametrize("batch_size", [2048, 16], ids=["all rows", "minibatches"])
def test_fold_layers_are_solved_without_their_fold(batch_size, table):
    """Each member's layer equals ridge on the other folds, and the errors are out of fold."""
    X, y = table[0][:59], table[1][:59]  # two rows are left over, and are held out by none
    bag = regressor(**FOLDS, batch_size=batch_size).fit(X, y)
    data = bag.intervals_.folds
    encoded = torch.from_numpy(bag.encoder_.transform(X))
    coded = torch.from_numpy(bag.codec_.encode(y))
    seen = []
    for k, (member, layer) in enumerate(zip(bag.members_, data.layers, strict=True)):
        train, valid = canonical(bag, X, y, member.rows)
        seen.extend(valid)
        with torch.no_grad():
            A = member.network[0](encoded).double()
        mean_a, mean_y = A[train].mean(0), coded[train].mean(0)
        B = A[train] - mean_a
        gram = B.T @ B + member.lam * torch.eye(B.shape[1])
        coef = torch.linalg.solve(gram, B.T @ (coded[train] - mean_y))
        predicted = (A[valid] - mean_a) @ coef + mean_y
        errors = (predicted - coded[valid]).abs().numpy()
        own = np.abs(data.values[data.fold == k])
        np.testing.assert_allclose(np.sort(own, 0), np.sort(errors, 0), atol=1e-3)
        assert not torch.equal(layer[0].T, member.network[1].weight)  # which has seen all rows
    assert len(set(seen)) == len(seen) == len(data.fold) == 57


def canonical(model, X, y, member_rows):
    """Positions in the user's table of a member's training and validation rows."""
    from adacap.estimators.rows import merge_rows
    from adacap.tables.table import read_table

    order = merge_rows(read_table(X), y[:, None], None).index
    return order[member_rows.train.numpy()], order[member_rows.valid.numpy()]


def test_cv_plus_is_the_formula_on_the_members(bag, table):
    X = table[2]
    data = bag.intervals_.folds
    x = torch.from_numpy(bag.encoder_.transform(X))
    with torch.no_grad():
        outputs = [
            m.network[0](x) @ coef + intercept
            for m, (coef, intercept) in zip(bag.members_, data.layers, strict=True)
        ]
    centres = torch.stack(outputs, 1).double().numpy()
    lower, upper = cv_plus(centres, np.abs(data.values), 0.8)
    found = bag.predict_interval(X, 0.8, "cv+", width="constant")
    assert found.shape == (len(X), 2)
    expected = np.sort([bag.codec_.decode(lower), bag.codec_.decode(upper)], axis=0)
    np.testing.assert_allclose(found.T, expected, rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [{"n_estimators": 3, "validation": 0.2}, ONE, {**FOLDS, "refit": "net"}],
    ids=["seeds", "one", "anew"],
)
def test_cv_plus_needs_folds_that_nets_have_not_seen(options, table):
    model = regressor(**options).fit(*table[:2])
    with pytest.raises(
        ValueError, match=r"method='cv\+' needs a model per fold.*validation='folds'"
    ):
        model.predict_interval(table[2], method="cv+")


def test_cv_plus_is_off_with_rows_to_validate_on_and_when_going_on(table):
    X, y, X_new, y_new = table
    assert regressor(**FOLDS).fit(X, y, X_val=X_new, y_val=y_new).intervals_.folds is None
    model = regressor(**FOLDS, warm_start=True).fit(X, y)
    assert model.intervals_.folds is not None
    assert model.fit(X, y).intervals_.folds is None


# ---------------------------------------------------------------------------------- split


def test_rows_set_aside_are_seen_by_nothing(table):
    X, y = table[:2]
    model = regressor(calibration_fraction=0.25).fit(X, y)
    assert len(model.intervals_.split.values) == 15
    assert sum(map(len, (model.members_[0].rows.train, model.members_[0].rows.valid))) == 45
    errors = model.codec_.encode(y) - model._outputs(X)
    aside = np.isclose(errors, model.intervals_.split.values.T, atol=1e-6).any(1)
    assert aside.sum() == 15
    assert model.codec_.mean[0] == pytest.approx(y[~aside].mean())
    assert model.encoder_.columns_[0].parts[0].fill == pytest.approx(np.median(X[~aside, 0]))


def test_split_is_the_conformal_quantile_around_the_prediction(table):
    X, y, X_new, _ = table
    model = regressor(calibration_fraction=0.25).fit(X, y)
    errors = np.abs(model.intervals_.split.values)
    half = conformal_quantile(errors, 0.8)[0] * abs(model.codec_.scale[0])
    found = model.predict_interval(X_new, 0.8, "split")
    np.testing.assert_allclose(found.mean(1), model.predict(X_new), rtol=1e-5)
    np.testing.assert_allclose(np.diff(found)[:, 0], 2 * half, rtol=1e-6)


def test_calibrate_with_fresh_rows(table):
    X, y, X_new, y_new = table
    model = regressor().fit(X, y)
    before = model.predict(X_new)
    with pytest.raises(ValueError, match=r"method='split' needs rows.*calibrate\(X, y\)"):
        model.predict_interval(X_new, method="split")
    assert model.calibrate(X_new[:40], y_new[:40]) is model
    np.testing.assert_array_equal(model.predict(X_new), before)
    bounds = model.predict_interval(X_new[:40], 0.9)
    assert share(bounds, y_new[:40]) == pytest.approx(37 / 40)  # ⌈41·0.9⌉ of the rows themselves
    twice = regressor().fit(X, y).calibrate(X_new[:40], y_new[:40], np.full(40, 2.0))
    assert twice.intervals_.split.n_rows == 80
    none = regressor().fit(X, y).calibrate(X_new[:40], y_new[:40], np.arange(40) % 2)
    assert none.intervals_.split.n_rows == 20


def test_setting_rows_aside_does_not_go_with_going_on(table):
    model = regressor(warm_start=True, calibration_fraction=0.2).fit(*table[:2])
    with pytest.raises(ValueError, match=r"calibration_fraction=0\.2 cannot set aside.*calibrate"):
        model.fit(*table[:2])


# ------------------------------------------------------------------------------------ loo


def test_loo_errors_are_those_of_the_output_layer(table):
    X, y = table[:2]
    model = regressor(validation=0.0, **ONE).fit(X, y)
    member = model.members_[0]
    with torch.no_grad():
        hidden = member.network[0](torch.from_numpy(model.encoder_.transform(X)))
    ridge = Ridge(hidden.double(), member.lam, fit_intercept=True)
    residuals, _ = ridge.loo(torch.from_numpy(model.codec_.encode(y)))
    found = np.sort(np.abs(model.intervals_.loo.values), 0)
    np.testing.assert_allclose(found, np.sort(residuals.abs().numpy(), 0), rtol=1e-3, atol=1e-5)
    assert model.intervals_.inflation == pytest.approx(LOO_INFLATION)  # no row tells of its own


def test_loo_of_a_bag_is_that_of_the_mean(bag):
    parts = [member.left_out for member in bag.members_]
    total = np.zeros((60, 1))
    for part in parts:
        total[part.index.numpy()] += part.residuals.numpy() / len(parts)
    np.testing.assert_allclose(bag.intervals_.loo.values, total, atol=1e-12)


def test_features_that_memorise_are_found_out():
    """The factor is the error on rows held out over the leave-one-out error on those learnt."""
    X, y = make_friedman1(80, noise=0.1, random_state=0)
    model = regressor(max_iter=60, width=64, refit="head", **ONE).fit(X, y)
    member = model.members_[0]
    seen = ~torch.isin(member.left_out.index, member.rows.valid)
    assert seen.sum() == 64
    order = np.argsort(member.left_out.index[:16].numpy())  # validation rows come first
    assert (member.left_out.index[:16][order] == member.rows.valid).all()
    learnt = member.left_out.residuals[seen].abs().mean()
    own = float(member.held_out.inflation)
    assert own > 1.1
    truth = canonical(model, X, y, member.rows)[1]
    errors = member.held_out.outputs - torch.from_numpy(model.codec_.encode(y[truth]))
    assert own == pytest.approx(float(errors.abs().mean() / learnt), rel=1e-5)
    expected = np.exp((16 * np.log(1.1 * own) + 10 * np.log(LOO_INFLATION)) / 26)
    assert model.intervals_.inflation[0] == pytest.approx(expected)


def test_loo_needs_the_closed_form(table):
    model = regressor(scheme="plain", **ONE).fit(*table[:2])
    with pytest.raises(
        ValueError, match=r"method='loo' needs the closed-form output layer.*adacap"
    ):
        model.predict_interval(table[2], method="loo")
    with pytest.raises(ValueError, match=r"cannot make intervals.*cv\+.*split.*loo"):
        model.predict_interval(table[2])


# ----------------------------------------------------------------------------------- auto


def test_auto_prefers_the_stronger_guarantee(bag, table):
    X, y, X_new, _ = table
    assert bag.intervals_.resolve("auto") == "cv+"
    assert regressor().fit(X, y).intervals_.resolve("auto") == "cv+"
    assert regressor(**ONE).fit(X, y).intervals_.resolve("auto") == "loo"
    both = regressor(**FOLDS, calibration_fraction=0.2).fit(X, y)
    assert both.intervals_.resolve("auto") == "split"
    np.testing.assert_array_equal(
        both.predict_interval(X_new, 0.8), both.predict_interval(X_new, 0.8, "split")
    )
    plain = regressor(scheme="plain", **FOLDS).fit(X, y)
    assert plain.intervals_.resolve("auto") == "cv+"


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, "0.9", None])
def test_coverage_is_a_share(coverage, bag, table):
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        bag.predict_interval(table[2], coverage)


def test_unknown_methods_get_the_nearest_name(bag, table):
    with pytest.raises(ValueError, match=r"'cv'.*Did you mean 'cv\+'"):
        bag.predict_interval(table[2], method="cv")


def test_not_fitted(table):
    for call in (lambda m: m.predict_interval(table[2]), lambda m: m.calibrate(*table[:2])):
        with pytest.raises(NotFittedError):
            call(regressor())


# ----------------------------------------------------------------------------- edge cases


def test_wider_for_more_coverage_and_in_order(bag, table):
    for method in ("cv+", "loo"):
        narrow, wide = (bag.predict_interval(table[2], c, method) for c in (0.5, 0.9))
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (wide[:, 1] >= narrow[:, 1]).all()
        assert (narrow[:, 0] <= narrow[:, 1]).all()


def test_several_targets_have_an_interval_each(table):
    X, y, X_new, _ = table
    Y = np.column_stack([y, 100 * X[:, 0], np.full(len(y), 7.0)])
    model = regressor(**FOLDS, calibration_fraction=0.2).fit(X, Y)
    for method in ("split", "cv+", "loo"):
        found = model.predict_interval(X_new, 0.8, method)
        assert found.shape == (len(X_new), 3, 2)
        assert share(found[:, 1], 100 * X_new[:, 0]) > 0.5
        np.testing.assert_array_equal(found[:, 2], 7.0)


@pytest.mark.parametrize("method", ["cv+", "loo", "split"])
def test_tiny_tables_are_infinite_with_a_warning(method):
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    options = {**FOLDS, "calibration_fraction": 0.3 if method == "split" else 0.0}
    model = regressor(**options).fit(X, y)
    with pytest.warns(UserWarning, match="needs at least 9 rows.*intervals are infinite"):
        found = model.predict_interval(X, 0.9, method)
    assert np.isinf(found).all()
    assert np.isfinite(model.predict_interval(X, 0.5, method)).all()


def test_a_constant_target_stays_so_even_when_infinite():
    X = np.arange(12.0)[:, None]
    model = regressor(**FOLDS).fit(X, np.full(12, 3.0))
    np.testing.assert_array_equal(model.predict_interval(X, 0.8), np.full((12, 2), 3.0))
    with pytest.warns(UserWarning, match="infinite"):
        assert np.isinf(model.predict_interval(X, 0.99)).all()


def test_a_weight_of_two_is_the_row_twice(table):
    X, y, X_new, _ = table
    weight = 1 + np.arange(len(y)) % 2
    once = regressor(**FOLDS, calibration_fraction=0.2).fit(X, y, weight)
    twice = regressor(**FOLDS, calibration_fraction=0.2).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    for method in ("split", "cv+", "loo"):
        np.testing.assert_array_equal(
            once.predict_interval(X_new, 0.8, method), twice.predict_interval(X_new, 0.8, method)
        )


def test_a_prediction_depends_on_its_row_alone(bag, table):
    every = bag.predict_interval(table[2], method="cv+")
    np.testing.assert_array_equal(bag.predict_interval(table[2][3:4], method="cv+")[0], every[3])


@pytest.mark.parametrize("options", [{}, FOLDS, {**FOLDS, "calibration_fraction": 0.2}])
def test_saved_and_loaded(options, table, tmp_path):
    X, y, X_new, _ = table
    model = regressor(**options).fit(X, y, 1 + np.arange(len(y)) % 2)
    model.save(tmp_path / "m.adacap")
    again = adacap.load(tmp_path / "m.adacap")
    for method in ("split", "cv+", "loo"):
        try:
            expected = model.predict_interval(X_new, 0.8, method)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)[:20].replace("+", r"\+")):
                again.predict_interval(X_new, 0.8, method)
        else:
            np.testing.assert_array_equal(again.predict_interval(X_new, 0.8, method), expected)


def test_same_fit_with_and_without_the_errors_behind_intervals(bag, table, global_state_untouched):
    """What is taken for intervals draws nothing and moves nothing."""
    again = regressor(**FOLDS).fit(*table[:2])
    np.testing.assert_array_equal(again.predict(table[2]), bag.predict(table[2]))


@pytest.mark.parametrize("method", ["cv+", "split", "loo"])
def test_coverage_on_fresh_rows(method):
    """Mean over a few draws, far from failing by chance; the study has the figures."""
    found = []
    for draw in range(4):
        X, y = make_friedman1(500, n_features=6, noise=2.0, random_state=draw)
        model = regressor(**FOLDS, max_iter=40, calibration_fraction=0.25)
        if method != "split":
            model.set_params(calibration_fraction=0.0)
        bounds = model.fit(X[:100], y[:100]).predict_interval(X[100:], 0.9, method)
        found.append(share(bounds, y[100:]))
    assert 0.82 <= np.mean(found) <= 0.99
