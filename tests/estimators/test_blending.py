"""Blends: members of several kinds in the same folds, weighed by what they do out of fold."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss, r2_score

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.estimators import quality as qualities
from adacap.estimators.blending import BUDGETS, NET_OPTIMISM, blend_module, nets, weighing
from adacap.estimators.quality import CLASS_QUALITIES, MANY_ROWS, OF_MANY_ROWS, QUALITIES, plan_of
from adacap.estimators.rows import merge_rows
from adacap.members.blend import blend_weights
from adacap.members.linear import _GRID
from adacap.tables.table import read_table
from adacap.training import Callback, EarlyStopping

N = 150


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:N], y[:N], X[N:], y[N:]


@pytest.fixture(scope="module")
def default(diabetes):
    return AdaCapRegressor(random_state=0).fit(*diabetes[:2])


def regressor(quality, **options):
    return AdaCapRegressor(quality=quality, random_state=0, **options)


def in_order(model, X, y):
    """Encoded rows and coded targets, in the order in which members are trained on them."""
    order = merge_rows(read_table(X), y.reshape(len(y), -1), None).index
    x = torch.from_numpy(model.encoder_.transform(X))[order]
    return x, model.codec_.encode(y)[order]


# ------------------------------------------------------------------------------ the default


def test_the_default_is_a_blend_of_all_kinds(default):
    assert default.settings_.quality == "balanced"
    assert default.settings_.members == QUALITIES["balanced"]
    assert "quality" in default.settings_.auto
    assert {share.name for share in default.settings_.blend} == set(QUALITIES["balanced"])


def test_weights_are_shares_and_the_heaviest_comes_first(default):
    weights = [part.weight for part in default.blend_]
    assert sum(weights) == pytest.approx(1)
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    shares = default.settings_.blend
    assert [share.weight for share in shares] == weights + [0.0] * (len(shares) - len(weights))


def test_it_predicts_better_than_a_constant_and_no_worse_than_its_members(default, diabetes):
    X, y, X_new, y_new = diabetes
    assert default.score(X_new, y_new) > 0.4
    found = {
        name: regressor([name]).fit(X, y).score(X_new, y_new) for name in ("boosting", "ridge")
    }
    assert default.score(X_new, y_new) > max(found.values()) - 0.02


def test_the_mean_over_folds_is_predicted(default, diabetes):
    X_new = diabetes[2]
    x = torch.from_numpy(default.encoder_.transform(X_new))
    with torch.no_grad():
        outputs = sum(part.weight * part.module().each(x).mean(0) for part in default.blend_)
    expected = default.codec_.decode(outputs.numpy())
    np.testing.assert_allclose(default.predict(X_new), expected, rtol=1e-5)


def test_a_row_is_predicted_alike_alone_and_among_others(default, diabetes):
    X_new = diabetes[2]
    every = default.predict(X_new)
    alone = np.concatenate([default.predict(X_new[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, every[:20], rtol=1e-6)


def test_the_same_seed_gives_the_same_bits(default, diabetes):
    X, y, X_new, _ = diabetes
    again = clone(default).fit(X, y)
    np.testing.assert_array_equal(again.predict(X_new), default.predict(X_new))
    assert again.settings_ == default.settings_


def test_the_global_generators_stay_where_they_are(diabetes, global_state_untouched):
    regressor("balanced", max_iter=3).fit(diabetes[0][:60], diabetes[1][:60])


# --------------------------------------------------------------------------- out of fold


def test_errors_are_out_of_fold(default, diabetes):
    """Each part's error again: the model of each fold, on the rows of the fold."""
    x, coded = in_order(default, *diabetes[:2])
    folds = default.intervals_.folds
    assert len(folds.fold) == N  # five folds share out 150 rows
    for part in default.blend_:
        if part.frozen is not None:
            with torch.no_grad():
                outputs = part.frozen.each(x)[folds.fold, torch.arange(N)].numpy()
            error = np.sqrt(np.mean((outputs - coded) ** 2))
            assert part.error == pytest.approx(error, rel=1e-5), part.name


def test_a_member_has_the_error_that_scikit_learn_finds(diabetes):
    X, y = diabetes[:2]
    model = regressor(["ridge", "kernel"]).fit(X, y)
    x, coded = in_order(model, X, y)
    fold = model.intervals_.folds.fold
    residuals = np.empty(N)
    for k in range(5):
        train, held = fold != k, fold == k
        found = RidgeCV(_GRID.numpy()).fit(x[train].double(), coded[train, 0])
        residuals[held] = found.predict(x[held].double()) - coded[held, 0]
    errors = {share.name: share.error for share in model.settings_.blend}
    assert errors["ridge"] == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=1e-4)


def test_noise_is_not_learnt_by_heart(seed):
    """Members that fit their own rows exactly know nothing of rows they have not seen."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(120, 5)), rng.normal(size=120)
    model = regressor(["trees", "boosting", "kernel", "nets"], max_iter=20).fit(X, y)
    assert min(share.error for share in model.settings_.blend) > 0.9


def test_weights_are_by_error_and_nets_count_as_a_little_worse(diabetes, monkeypatch):
    """Their iteration was chosen on the fold, so what they do there flatters them."""
    seen = []

    def weigh(residuals, weight):
        seen.append(residuals)
        return blend_weights(residuals, weight)

    monkeypatch.setattr(weighing, "blend_weights", weigh)
    names = ["ridge", "boosting", "nets"]
    model = regressor(names, max_iter=20).fit(*diabetes[:2])
    (residuals,) = seen
    shares = {share.name: share for share in model.settings_.blend}
    errors = [shares[name].error for name in names]
    judged = np.sqrt((residuals**2).mean(1))
    np.testing.assert_allclose(judged, np.array(errors) * [1, 1, NET_OPTIMISM], rtol=1e-6)
    found = [shares[name].weight for name in names]
    np.testing.assert_array_equal(found, blend_weights(residuals))


def test_intervals_rest_on_the_blend_of_each_fold(default, diabetes):
    x, coded = in_order(default, *diabetes[:2])
    folds = default.intervals_.folds
    module = blend_module(default.blend_, folds.layers)
    with torch.no_grad():
        outputs = module.each(x)[folds.fold, torch.arange(N)].numpy()
    np.testing.assert_allclose(np.abs(folds.values), np.abs(outputs - coded), atol=1e-4)


# ------------------------------------------------------------------------------- qualities


@pytest.mark.parametrize(("quality", "options"), [("fast", {}), ("best", {"max_iter": 10})])
def test_a_quality_is_its_members(quality, options, diabetes):
    X, y, X_new, y_new = diabetes
    model = regressor(quality, **options).fit(X, y)
    assert model.settings_.quality == quality
    assert model.settings_.members == QUALITIES[quality]
    assert {share.name for share in model.settings_.blend} == set(QUALITIES[quality])
    assert model.score(X_new, y_new) > 0.4


@pytest.mark.parametrize("quality", [["kernel"], ("ridge", "kernel:rank"), ["trees", "nets:rank"]])
def test_a_list_names_the_members(quality, data):
    options = {"max_iter": 5} if "nets:rank" in quality else {}
    model = regressor(quality, **options).fit(data.X, data.y)
    assert model.settings_.members == tuple(quality)
    assert {share.name for share in model.settings_.blend} == set(quality)
    assert r2_score(data.y, model.predict(data.X)) > 0.3


def test_one_member_alone_has_all_the_weight(data):
    (part,) = regressor(["kernel"]).fit(data.X, data.y).blend_
    assert (part.name, part.weight) == ("kernel", 1.0)


@pytest.mark.parametrize("quality", ["nets", ["nets"]])
def test_nets_alone_are_no_blend(quality, data):
    model = regressor(quality, max_iter=5).fit(data.X, data.y)
    plain = AdaCapRegressor(max_iter=5, random_state=0).fit(data.X, data.y)
    assert model.blend_ == model.settings_.blend == ()
    assert model.settings_.quality == "nets"
    np.testing.assert_array_equal(model.predict(data.X), plain.predict(data.X))


@pytest.mark.parametrize(
    "options",
    [
        {"architecture": "mlp"}, {"scheme": "plain"}, {"width": 32}, {"depth": 2},
        {"n_estimators": 3}, {"validation": 0.2}, {"max_iter": 9}, {"max_lr": 0.1},
        {"batch_size": 64}, {"optimizer": "sgd"}, {"weight_decay": 0.0}, {"refit": "none"},
        {"n_permutations": 2}, {"lambda_init": [1.0, 2.0]}, {"fit_intercept": False},
        {"warm_start": True},
    ],
    ids=lambda options: ",".join(options),
)  # fmt: skip
def test_a_parameter_of_nets_asks_for_nets(kind, options):
    assert plan_of(kind(), 200).is_blend
    assert plan_of(kind(**options), 200).members == ("nets",)


@pytest.mark.parametrize(
    "options",
    [{"random_state": 3}, {"time_limit": 60.0}, {"preprocessing": "paper"}, {"verbose": 1},
     {"calibration_fraction": 0.2}, {"callbacks": [EarlyStopping(5)]}, {"device": "cpu"}],
    ids=lambda options: ",".join(options),
)  # fmt: skip
def test_other_parameters_leave_the_blend(kind, options):
    assert plan_of(kind(**options), 200).is_blend


def test_parameters_of_nets_describe_those_of_a_blend(data):
    model = regressor(["nets", "ridge"], width=9, max_iter=4, n_estimators=3, scheme="tikhonov")
    model.fit(data.X, data.y)
    assert (model.settings_.width, model.settings_.scheme) == (9, "tikhonov")
    assert model.n_iter_ == 4
    assert set(model.intervals_.folds.fold) == {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"warm_start": True}, "with warm_start=True"),
        ({"validation": 0.2}, "with validation=0.2"),
        ({"validation": 0}, "with validation=0"),
        ({"n_estimators": 1}, "with n_estimators=1"),
    ],
)
@pytest.mark.parametrize("quality", ["fast", "balanced", "best", ["kernel", "ridge"]])
def test_what_leaves_no_folds_is_refused(quality, options, reason, kind, data):
    text = f"quality={quality!r} blends members that are trained in the same folds, which cannot be"
    way_out = "Use quality='nets' for a bag of nets alone."
    with pytest.raises(ValueError, match=re.escape(f"{text} done {reason}. {way_out}")):
        kind(quality=quality, **options).fit(data.X, data.target(kind))


def test_rows_to_validate_on_and_images_are_refused(data):
    with pytest.raises(ValueError, match=r"cannot be done with X_val, y_val\. Use quality='nets'"):
        regressor("fast").fit(data.X, data.y, X_val=data.X, y_val=data.y)
    images = np.zeros((30, 2, 2), dtype=np.float32)
    with pytest.raises(
        ValueError, match=r"cannot be done for samples that are not rows of a table"
    ):
        regressor("fast", preprocessing="none").fit(images, data.y[:30])


def test_rows_to_validate_on_make_auto_nets(data):
    model = AdaCapRegressor(random_state=0).fit(data.X, data.y, X_val=data.X, y_val=data.y)
    assert model.settings_.members == ("nets",)


# ------------------------------------------------------------------------------- many rows


def test_many_rows_have_members_of_their_own():
    for quality, members in OF_MANY_ROWS.items():
        assert plan_of(AdaCapRegressor(quality=quality), MANY_ROWS).members == QUALITIES[quality]
        assert plan_of(AdaCapRegressor(quality=quality), MANY_ROWS + 1).members == members


@pytest.fixture
def many_rows(seed, monkeypatch):
    """600 rows that count as many, with a smooth target and one of steps."""
    monkeypatch.setattr(qualities, "MANY_ROWS", 500)
    X = np.random.default_rng(seed).uniform(-1, 1, size=(600, 6))
    smooth, steps = np.sin(3 * X[:, 0]), np.sign(X - np.linspace(-0.4, 0.4, 6)).sum(1)
    return SimpleNamespace(X=X, smooth=smooth, steps=steps)


@pytest.mark.parametrize("target", ["smooth", "steps"])
def test_of_many_rows_nets_are_trained_where_they_pay(many_rows, target, monkeypatch):
    within = replace(BUDGETS["balanced"], cycles=1)
    monkeypatch.setitem(BUDGETS, "balanced", within)
    y = getattr(many_rows, target)
    names = ["boosting", "nets:bins"]
    monkeypatch.setitem(qualities.OF_MANY_ROWS, "balanced", names)
    model = regressor("balanced", width=16, max_iter=60).fit(many_rows.X, y)
    trained = {share.name for share in model.settings_.blend}
    assert ("nets:bins" in trained) is (target == "smooth")
    assert model.score(many_rows.X, y) > 0.95


def test_nets_go_on_while_they_learn(many_rows, monkeypatch):
    monkeypatch.setitem(qualities.OF_MANY_ROWS, "best", ["nets:bins"])
    found = {}
    for cycles in (1, 3):
        budget = replace(BUDGETS["best"], cycles=cycles)
        monkeypatch.setitem(BUDGETS, "best", budget)
        found[cycles] = regressor("best", width=16, max_iter=8).fit(many_rows.X, many_rows.smooth)
    short, long = found[1].members_, found[3].members_
    assert {len(net.history) for net in short} == {8}
    assert {len(net.history) for net in long} <= {8 + 16, 8 + 16 + 32}
    for a, b in zip(short, long, strict=True):
        assert b.best_score >= a.best_score
        assert list(b.history["loss"][:8]) == list(a.history["loss"])
        assert b.rows.seed == a.rows.seed
    errors = [model.settings_.blend[0].error for model in found.values()]
    assert errors[1] < 0.9 * errors[0]


def test_nets_that_got_worse_are_those_before(many_rows):
    model = regressor(["nets"], width=8, max_iter=6).fit(many_rows.X, many_rows.smooth)
    before = model.members_
    worse = [replace(net, best_score=net.best_score - k) for k, net in enumerate(before)]
    better = [replace(net, best_score=net.best_score + 1) for net in before]
    for net, old in zip(nets._better(before, worse), before, strict=True):
        assert (net.best_score, net.best_iter) == (old.best_score, old.best_iter)
        assert len(net.history) == 12
    for net, old in zip(nets._better(before, better), before, strict=True):
        assert net.best_iter == 6 + old.best_iter


def test_a_list_of_members_is_trained_whole(seed, monkeypatch):
    monkeypatch.setattr(qualities, "MANY_ROWS", 500)
    X = np.random.default_rng(seed).uniform(-1, 1, size=(600, 6))
    y = np.sign(X - np.linspace(-0.4, 0.4, 6)).sum(1)
    model = regressor(["boosting", "kernel", "nets"], width=8, max_iter=2).fit(X, y)
    assert "nets" in {share.name for share in model.settings_.blend}


# ------------------------------------------------------------------------------------ time


def test_time_leaves_out_the_last_members(diabetes, clock):
    X, y = diabetes[:2]
    model = regressor("best", time_limit=1e-9).fit(X, y)
    assert [part.name for part in model.blend_] == ["ridge:bins"]  # one there always is
    clock.tick, start = 2**-5, clock.now
    model = regressor("best", time_limit=1.0).fit(X, y)
    assert clock.now - start < 1.5  # no member that would end later is begun
    names = {share.name for share in model.settings_.blend} - {"ridge:bins"}
    assert len(names) < len(QUALITIES["best"]) - 1
    in_order = [name for name in QUALITIES["best"] if name != "ridge:bins"]
    assert names == set(in_order[: len(names)])


def test_a_late_member_of_nets_is_a_model_all_the_same(data):
    model = regressor(["nets:bins", "kernel"], time_limit=1e-9).fit(data.X, data.y)
    assert [part.name for part in model.blend_] == ["nets:bins"]
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict(data.X)).all()


def test_seconds_are_told(default):
    seconds = [share.seconds for share in default.settings_.blend]
    assert min(seconds) > 0
    assert sum(seconds) <= default.provenance_.fit_seconds


def test_callbacks_see_the_nets_of_a_blend(data):
    class Count(Callback):
        started = steps = 0

        def on_start(self, state):
            self.started += 1

        def on_step(self, state):
            self.steps += 1

    count = Count()
    regressor(["nets", "ridge", "nets:bins"], max_iter=6, callbacks=[count]).fit(data.X, data.y)
    assert (count.started, count.steps) == (2, 12)


def test_progress_names_the_members(data, capsys):
    regressor("balanced", max_iter=3, verbose=1).fit(data.X, data.y)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("AdaCapRegressor: 5 of 5 members, 100 %")


# --------------------------------------------------------------------- targets and weights


@pytest.mark.parametrize("quality", ["auto", "fast"])
def test_several_targets(quality, data):
    Y = np.column_stack([data.y, 3 * data.X[:, 0] - 100])
    model = regressor(quality).fit(data.X, Y)
    found = model.predict(data.X)
    assert found.shape == Y.shape
    assert r2_score(Y[:, 0], found[:, 0]) > 0.6
    assert r2_score(Y[:, 1], found[:, 1]) > 0.99
    assert model.predict_interval(data.X[:7]).shape == (7, 2, 2)


def test_a_weight_of_two_is_the_row_twice(diabetes):
    X, y, X_new, _ = diabetes
    X, y = X[:60], y[:60]
    times = np.arange(60) % 2 + 1
    weighted = AdaCapRegressor(random_state=0).fit(X, y, times)
    rows = np.repeat(np.arange(60), times)
    repeated = AdaCapRegressor(random_state=0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.predict(X_new), repeated.predict(X_new))
    assert weighted.settings_ == repeated.settings_


def test_rows_of_little_weight_count_little(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    is_odd = np.arange(120) % 2 == 1
    y = np.where(is_odd, -1, 1) * X[:, 0]
    model = AdaCapRegressor(random_state=0).fit(X, y, np.where(is_odd, 1e-3, 1.0))
    assert r2_score(X[:, 0], model.predict(X)) > 0.9


# ------------------------------------------------------------------------ intervals, capacity


@pytest.mark.parametrize("quality", ["auto", "fast"])
def test_intervals_hold_new_rows(quality):
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    model = regressor(quality).fit(X[:100], y[:100])
    lower, upper = model.predict_interval(X[100:], coverage=0.8).T
    assert 0.72 < ((lower <= y[100:]) & (y[100:] <= upper)).mean() < 0.92
    assert ((lower < model.predict(X[100:])) & (model.predict(X[100:]) < upper)).mean() > 0.95


def test_rows_set_aside_serve_a_blend(diabetes):
    X, y, X_new, y_new = diabetes
    model = regressor("fast", calibration_fraction=0.3).fit(X, y)
    bounds = model.predict_interval(X_new, 0.8)
    np.testing.assert_array_equal(bounds, model.predict_interval(X_new, 0.8, "split"))
    assert 0.65 < ((bounds[:, 0] <= y_new) & (y_new <= bounds[:, 1])).mean() < 0.95


def test_a_blend_has_no_leave_one_out_intervals(default, diabetes):
    text = (
        r"method='loo' needs the closed-form output layer of nets alone.*\. Fit with quality='nets'"
    )
    with pytest.raises(ValueError, match=text):
        default.predict_interval(diabetes[2], method="loo")


def test_capacity_is_read_from_the_nets(default):
    capacity = default.capacity()
    assert len(capacity.members) == 5
    assert capacity.effective_dof == pytest.approx(default.effective_dof_)
    assert capacity.lam == pytest.approx(default.lambda_)
    assert capacity.fit_true < capacity.fit_permuted
    assert len(default.history_) == default.n_iter_ == default.settings_.max_iter


def test_capacity_is_read_from_the_kernel_where_there_are_no_nets(diabetes):
    model = regressor("fast").fit(*diabetes[:2])
    assert model.members_ == ()
    assert len(model.history_) == 0
    assert model.lambda_ > 0
    assert 1 < model.effective_dof_ < N
    capacity = model.capacity()
    assert capacity.fit_true < capacity.fit_permuted
    assert 0.2 < capacity.press_r2 < 0.8
    assert "effective degrees of freedom" in str(capacity)


def test_trees_alone_say_that_there_is_nothing_to_read(data):
    model = regressor(["boosting", "trees"]).fit(data.X, data.y)
    assert model.lambda_ is model.effective_dof_ is None
    assert "Neither nets nor a kernel were trained" in str(model.capacity())


# ---------------------------------------------------------------------------- small and flat


@pytest.mark.parametrize("n_rows", [20, 25])
def test_few_rows_are_blended(n_rows, kind, data):
    y = data.target(kind)
    model = kind(random_state=0).fit(data.X[:n_rows], y[:n_rows])
    assert model.blend_
    assert model.score(data.X, y) > (0.3 if kind is AdaCapRegressor else 0.6)


def test_fewer_than_twenty_rows_are_left_to_nets(kind, data):
    few = data.X[:19], data.target(kind)[:19]
    with pytest.warns(UserWarning, match=r"quality='fast' needs at least 20 different rows.*19"):
        model = kind(quality="fast", random_state=0).fit(*few)
    assert model.settings_.members == ("nets",)
    kind(random_state=0).fit(*few)  # "auto" asks for nothing


def test_constant_columns_do_no_harm(diabetes):
    X, y, X_new, y_new = diabetes
    wide, wide_new = (np.column_stack([np.ones(len(x)), x, np.zeros(len(x))]) for x in (X, X_new))
    expected = regressor("best", max_iter=20).fit(X, y).score(X_new, y_new)
    found = regressor("best", max_iter=20).fit(wide, y).score(wide_new, y_new)
    assert found == pytest.approx(expected, abs=0.03)  # other folds, since rows look different


def test_constant_columns_alone_predict_the_mean(kind, data):
    flat, y = np.ones((60, 3)), data.target(kind)
    model = kind(random_state=0).fit(flat, y)
    if kind is AdaCapRegressor:
        np.testing.assert_allclose(model.predict(flat), y.mean(), atol=1e-6 * y.std())
    else:
        np.testing.assert_allclose(model.predict_proba(flat), 0.5, atol=0.02)


@pytest.mark.parametrize("constant", [0.0, 3.5, -1e9])
def test_a_constant_target_is_predicted(constant, data):
    model = AdaCapRegressor(random_state=0).fit(data.X, np.full(60, constant))
    np.testing.assert_array_equal(model.predict(data.X), constant)
    assert sum(part.weight for part in model.blend_) == pytest.approx(1)


def test_frames_with_text_and_gaps_are_blended(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)),
            "colour": rng.choice(["red", "blue", None], 90),
        }
    )
    y = frame["size"].fillna(-1) + 2 * (frame["colour"] == "red")
    model = AdaCapRegressor(random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.9


# --------------------------------------------------------------------------------- classes


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return X[::2], names[::2], X[1::2], names[1::2]


@pytest.mark.parametrize("quality", ["auto", "fast"])
def test_classes_are_blended(quality, iris):
    X, y, X_new, y_new = iris
    model = AdaCapClassifier(quality=quality, random_state=0).fit(X, y)
    expected = CLASS_QUALITIES["balanced" if quality == "auto" else quality]
    assert {share.name for share in model.settings_.blend} == set(expected)
    assert sum(part.weight for part in model.blend_) == pytest.approx(1)
    shares = model.predict_proba(X_new)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert model.score(X_new, y_new) > 0.9
    assert log_loss(y_new, shares) < 0.25


def test_two_classes_are_blended(data):
    model = AdaCapClassifier(random_state=0).fit(data.X, data.binary)
    assert model.temperature_ == 1  # found with the weights
    assert model.score(data.X, data.binary) > 0.9
    again = clone(model).fit(data.X, data.binary)
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


@pytest.mark.parametrize("n_rare", [1, 2])
def test_a_rare_class_is_no_obstacle(n_rare, data):
    y = np.array(["a"] * 30 + ["b"] * (30 - n_rare) + ["c"] * n_rare)
    for labels in (y, np.where(y == "b", "a", y)):
        model = AdaCapClassifier(quality="fast", random_state=0).fit(data.X, labels)
        shares = model.predict_proba(data.X)
        assert np.isfinite(shares).all()
        assert shares[labels == "c", -1].mean() > shares[labels != "c", -1].mean()
