"""Capacity of fitted estimators: against its definition, in the user's rows, and after a reload."""

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import torch
from sklearn.exceptions import NotFittedError

from adacap import AdaCapClassifier, AdaCapRegressor, load
from adacap.core import Ridge
from adacap.core.diagnostics import permutation_p_value
from adacap.exceptions import ModelFileError
from adacap.modelfile.archive import read, read_tensors, write

TINY = {"width": 16, "max_iter": 30, "random_state": 0}


def features(model, X):
    """Hidden features of rows, in float64."""
    encoded = torch.from_numpy(model.encoder_.transform(X))
    with torch.no_grad():
        return model.members_[0].network[0](encoded).double()


def test_readings_are_those_of_the_definition(data):
    model = AdaCapRegressor(n_estimators=1, **TINY).fit(data.X, data.y)
    capacity = model.capacity()
    assert (capacity.n_rows, capacity.n_distinct, capacity.n_features) == (60, 60, 16)
    assert capacity.lam == model.lambda_
    assert capacity.lambda_per_row == pytest.approx(model.lambda_ / 60)
    assert capacity.effective_dof == model.effective_dof_
    assert capacity.dof_per_row == pytest.approx(model.effective_dof_ / 60)
    assert capacity.baseline == pytest.approx(1.0, abs=1e-6)
    assert capacity.memorisation_gap == capacity.fit_permuted - capacity.fit_true
    fitted = model.predict(data.X)
    rmse = np.sqrt(np.mean((fitted - data.y) ** 2)) / data.y.std()
    assert capacity.fit_true == pytest.approx(rmse, rel=1e-3)
    A = features(model, data.X)
    Y = torch.from_numpy((data.y - data.y.mean()) / data.y.std())[:, None]
    residuals, leverage = Ridge(A.double(), model.lambda_, fit_intercept=True).loo(Y.double())
    order = np.argsort(capacity.rows)
    np.testing.assert_array_equal(capacity.rows[order], np.arange(60))
    np.testing.assert_allclose(
        capacity.residuals[order], residuals.numpy() * data.y.std(), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_allclose(capacity.leverage[order], leverage, rtol=1e-3, atol=1e-4)
    press = 1 - float(residuals.square().sum() / Y.square().sum())
    assert capacity.press_r2 == pytest.approx(press, rel=1e-3)


def test_a_row_that_stands_out_is_found_where_the_user_has_it(data):
    y = data.y.copy()
    y[17] += 12.0
    capacity = AdaCapRegressor(**TINY).fit(data.X, y).capacity()
    assert capacity.most_influential(1)[0].row == 17
    assert capacity.most_influential(1)[0].residual > 5
    assert len(capacity.most_influential(7)) == 7
    influence = [row.influence for row in capacity.most_influential(60)]
    assert influence == sorted(influence, reverse=True)


def test_positions_count_rows_of_weight_zero_and_repeated_rows(data):
    X, y = np.vstack([data.X, data.X[:5]]), np.r_[data.y, data.y[:5]]
    y[[30, 33]] += 20.0
    weight = np.ones(65)
    weight[:10] = 0  # the copies of rows 0 to 4 stay
    capacity = AdaCapRegressor(**TINY).fit(X, y, weight).capacity()
    assert sorted(capacity.rows) == list(range(10, 65))
    assert {row.row for row in capacity.most_influential(2)} == {30, 33}
    whole = AdaCapRegressor(**TINY).fit(X, y).capacity()
    assert (whole.n_rows, whole.n_distinct) == (65, 60)
    assert sorted(whole.rows) == list(range(60))
    assert whole.n_solved == pytest.approx(60)  # the mean weight of different rows is 1
    assert "65 rows (5 repeated)" in str(whole)


def test_order_of_the_rows_changes_only_their_positions(data):
    order = np.random.default_rng(1).permutation(60)
    one = AdaCapRegressor(**TINY).fit(data.X, data.y).capacity()
    two = AdaCapRegressor(**TINY).fit(data.X[order], data.y[order]).capacity()
    assert (one.p_value, one.holdout_p_value) == (two.p_value, two.holdout_p_value)
    assert one.fit_permuted == pytest.approx(two.fit_permuted, abs=1e-12)
    np.testing.assert_array_equal(order[two.rows], one.rows)


def test_signal_and_noise_are_told_apart(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    signal = AdaCapRegressor(random_state=0).fit(X, X[:, 0] + 0.1 * rng.normal(size=200)).capacity()
    noises = [
        AdaCapRegressor(random_state=0).fit(X, rng.normal(size=200)).capacity() for _ in range(3)
    ]
    noise = max(noises, key=lambda capacity: capacity.holdout_p_value)  # 1 in 20 looks like signal
    assert signal.holdout_p_value == signal.p_value == 1 / 200
    assert signal.memorisation_gap > 0.5 > 0.2 > noise.memorisation_gap
    assert signal.press_r2 > 0.9
    assert noise.holdout_p_value > 0.05
    assert "no signal was shown" in noise.remarks()[0]
    assert signal.remarks() == []


def test_a_net_that_memorises_is_told(data):
    rng = np.random.default_rng(0)
    options = {"lambda_init": 1e-6, "max_lr": 1e-5, "validation": 0.0}
    model = AdaCapRegressor(width=256, max_iter=2, **options).fit(data.X, rng.normal(size=60))
    capacity = model.capacity()
    assert capacity.memorised > 0.5
    assert capacity.dof_per_row > 0.5
    assert capacity.holdout_p_value is None
    assert any("it can memorise" in remark for remark in capacity.remarks())


def test_rows_that_an_earlier_fit_may_have_seen_are_no_held_out_rows(data):
    model = AdaCapRegressor(n_estimators=2, warm_start=True, **TINY).fit(data.X, data.y)
    assert model.capacity().holdout_p_value is not None
    capacity = model.fit(data.X[::-1], data.y[::-1]).capacity()
    assert capacity.holdout_p_value is None
    assert {member.holdout_p_value for member in capacity.members} == {None}


@pytest.mark.parametrize("validation", [0.2, "folds"])
def test_an_ensemble_is_read_per_member_and_as_a_whole(data, validation):
    model = AdaCapRegressor(n_estimators=3, validation=validation, **TINY).fit(data.X, data.y)
    capacity = model.capacity()
    assert len(capacity.members) == 3
    assert capacity.fit_true == pytest.approx(np.mean([m.fit_true for m in capacity.members]))
    assert capacity.effective_dof == pytest.approx(model.effective_dof_)
    assert capacity.lam == pytest.approx(model.lambda_)
    assert all(m.holdout_p_value is not None for m in capacity.members)
    assert capacity.press_r2 >= np.mean([m.press_r2 for m in capacity.members]) - 1e-9
    assert "3 nets" in str(capacity)


def test_the_plain_scheme_says_what_it_lacks(data):
    capacity = AdaCapClassifier(**TINY).fit(data.X, data.binary).capacity()
    assert capacity.scheme == "plain"
    assert capacity.lam is capacity.effective_dof is capacity.fit_true is capacity.press_r2 is None
    assert capacity.memorisation_gap is capacity.memorised is capacity.dof_per_row is None
    assert len(capacity.rows) == len(capacity.influence) == 0
    assert capacity.most_influential() == []
    assert capacity.holdout_p_value < 0.1
    assert "Use scheme='adacap' or 'tikhonov'" in str(capacity)


def test_classes_and_several_targets(data):
    capacity = AdaCapClassifier(scheme="adacap", **TINY).fit(data.X, data.multiclass).capacity()
    assert capacity.loss == "ce"
    assert capacity.residuals.shape == (60, 3)
    assert capacity.baseline == pytest.approx(np.log(3), rel=1e-4)
    targets = np.column_stack([data.y, 1000 * data.y**2])
    capacity = AdaCapRegressor(**TINY).fit(data.X, targets).capacity()
    assert capacity.residuals.shape == (60, 2)
    ratio = capacity.residuals[:, 1].std() / capacity.residuals[:, 0].std()
    assert ratio > 100  # each in its own unit


def test_rows_given_to_validate_on_are_tested_on(data):
    X, y, held = data.X[:40], data.y[:40], data.X[40:]
    model = AdaCapRegressor(**TINY).fit(X, y, X_val=held, y_val=data.y[40:])
    noise = np.random.default_rng(3).permutation(data.y[40:])
    other = AdaCapRegressor(**TINY).fit(X, y, X_val=held, y_val=noise)
    assert model.capacity().holdout_p_value < other.capacity().holdout_p_value


def test_large_tables_are_read_on_a_sample(monkeypatch, data):
    monkeypatch.setattr("adacap.estimators._capacity_reading._MOST_ROWS", 25)
    sample = AdaCapRegressor(**TINY).fit(data.X, data.y).capacity()
    monkeypatch.undo()
    whole = AdaCapRegressor(**TINY).fit(data.X, data.y).capacity()
    assert len(sample.rows) == 25
    assert sample.press_r2 == whole.press_r2
    assert set(sample.rows) < set(whole.rows)
    assert sample.fit_true == pytest.approx(whole.fit_true, rel=0.5)


def test_it_is_printed_and_shown(data):
    frame = pd.DataFrame(data.X, columns=["a", "b", "c", "<d>"])
    capacity = AdaCapRegressor(**TINY).fit(frame, data.y).capacity()
    text = str(capacity)
    assert repr(capacity) == text
    for line in ("effective degrees of freedom", "λ", "memorisation gap", "PRESS R²", "leverage"):
        assert line in text
    assert max(map(len, text.splitlines()[:10])) < 100
    page = capacity._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<tr>") == len(text.splitlines()) - 1 - len(capacity.remarks())


def test_needs_a_fit():
    with pytest.raises(NotFittedError):
        AdaCapRegressor().capacity()


@pytest.mark.parametrize(
    "make",
    [
        lambda d: AdaCapRegressor(**TINY).fit(d.X, d.y),
        lambda d: AdaCapRegressor(n_estimators=2, **TINY).fit(d.X, np.column_stack([d.y, -d.y])),
        lambda d: AdaCapClassifier(**TINY).fit(d.X, d.binary),
        lambda d: AdaCapRegressor(validation=0.0, **TINY).fit(d.X, d.y),
    ],
)
def test_a_loaded_model_has_the_same_capacity(make, data, tmp_path):
    model = make(data)
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    assert str(again.capacity()) == str(model.capacity())
    assert again.capacity().members == model.capacity().members
    assert again.provenance_ == model.provenance_
    for name, array in model.capacity().to_arrays().items():
        np.testing.assert_array_equal(again.capacity().to_arrays()[name], array, strict=True)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rows", lambda t: t + 1000, "contradicts the rows"),
        ("rows", lambda t: t.int(), "capacity.rows is int32"),
        ("leverage", lambda t: t[1:], "capacity.leverage is float64 of shape"),
        ("residuals", lambda t: t[:, 0], "capacity.residuals is float64 of shape"),
        ("members", lambda t: t[:, 1:], "capacity.members is"),
        ("summary", lambda t: t * torch.nan, "contradicts the rows"),
        ("permuted_fits", None, "has no tensor capacity.permuted_fits"),
    ],
)
def test_a_changed_file_is_refused(name, change, message, data, tmp_path):
    path = tmp_path / "m.adacap"
    AdaCapRegressor(**TINY).fit(data.X, data.y).save(path)
    parts = read(path)
    tensors = read_tensors(parts.weights)
    tensor = tensors.pop(f"capacity.{name}")
    if change is not None:
        tensors[f"capacity.{name}"] = change(torch.tensor(tensor)).contiguous().numpy()
    write(path, parts.text, safetensors.numpy.save(tensors), force=True)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_the_file_holds_plain_tensors(data, tmp_path):
    AdaCapRegressor(**TINY).fit(data.X, data.y).save(tmp_path / "m.adacap")
    tensors = read_tensors(read(tmp_path / "m.adacap").weights)
    assert tensors["capacity.rows"].dtype == np.int64


@pytest.mark.usefixtures("global_state_untouched")
def test_no_global_generator_moves(data):
    AdaCapRegressor(**TINY).fit(data.X, data.y).capacity()


# ------------------------------------------------------------------------- rows held out


def test_members_on_apart_rows_are_averaged_and_others_are_not(data):
    folds = AdaCapRegressor(n_estimators=3, validation="folds", **TINY).fit(data.X, data.y)
    losses = [member.held_out.lowest_losses for member in folds.members_]
    expected = permutation_p_value(torch.stack(losses).mean(0))
    assert folds.capacity().holdout_p_value == expected
    seeds = AdaCapRegressor(n_estimators=3, validation=0.2, **TINY).fit(data.X, data.y)
    each = [permutation_p_value(member.held_out.lowest_losses) for member in seeds.members_]
    assert seeds.capacity().holdout_p_value == pytest.approx(min(1, 2 * np.mean(each)))


def test_rows_to_validate_on_are_the_same_for_all_members(data):
    bag = AdaCapRegressor(n_estimators=2, validation=0.2, **TINY)
    bag.fit(data.X[:40], data.y[:40], X_val=data.X[40:], y_val=data.y[40:])
    losses = [member.held_out.lowest_losses for member in bag.members_]
    expected = permutation_p_value(torch.stack(losses).mean(0))
    assert bag.capacity().holdout_p_value == expected


def test_the_lowest_loss_is_that_of_the_best_iteration(data):
    X_val, y_val = data.X[40:], data.y[40:]
    model = AdaCapRegressor(n_estimators=1, **TINY)
    member = model.fit(data.X[:40], data.y[:40], X_val=X_val, y_val=y_val).members_[0]
    spread = model.codec_.encode(y_val).std()
    best = max(member.history["valid_score"])
    losses = member.held_out.lowest_losses
    assert losses.shape == (200,)
    assert float(losses[0]) == pytest.approx(spread * np.sqrt(1 - best), rel=1e-5)
