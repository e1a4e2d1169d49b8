"""What the sources leave open: each reading has a name, and does what the name says."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import adacap
from adacap import AdaCapRegressor, Architecture, make
from adacap.core import lambda_grid
from adacap.estimators.mlr_net import MLRNetRegressor
from adacap.estimators.presets import READINGS
from adacap.training import Callback, StopAbove

SMALL = {"width": 16, "max_iter": 8, "preprocessing": "none", "random_state": 0}


class Seen(Callback):
    """Rows of every batch, and what each step said."""

    def __init__(self):
        self.sizes, self.records = [], []

    def on_step(self, state):
        self.sizes.append(state.batch.x.shape[1])
        self.records.append({name: list(values) for name, values in state.record.items()})


def fitted(data, name="adacap-fast-mlp", **options):
    return make(name, **{**SMALL, **options}).fit(data.X, data.y)


# ------------------------------------------------------------------- the mean squared error


@pytest.mark.parametrize("scheme", ["adacap", "adacap-gap", "tikhonov", "plain"])
def test_the_first_step_on_the_mean_squared_error_is_the_square(scheme, data):
    options = {"n_permutations": 1, "lambda_init": 1.0}
    root = fitted(data, scheme=scheme, **options).history_
    square = fitted(data, scheme=f"{scheme}-mse", **options).history_
    assert square["fit_true"][0] == pytest.approx(root["fit_true"][0] ** 2, rel=1e-5)
    if scheme.startswith("adacap"):
        assert square["fit_permuted"][0] == pytest.approx(root["fit_permuted"][0] ** 2, rel=1e-5)
    assert square["fit_true"][-1] != pytest.approx(root["fit_true"][-1] ** 2, rel=1e-5)


def test_loss_is_an_option_of_every_preset(data):
    assert make("tikhonov-fast-mlp", loss="mse").scheme == "tikhonov-mse"
    assert make("mlr-2", loss="mse").scheme == "adacap-gap-mse"
    assert make("fast-nets", loss="mse").scheme == "adacap-mse"  # auto, for regression
    assert make("mlr-2-2021", loss="rmse").scheme == "adacap-gap"
    assert AdaCapRegressor.from_preset("adacap-fast-mlp", loss="mse").scheme == "adacap-mse"
    with pytest.raises(ValueError, match="loss must be 'rmse' or 'mse', got 'mae'"):
        make("adacap-fast-mlp", loss="mae")
    model = make("adacap-fast-mlp", "classification", loss="mse")
    with pytest.raises(ValueError, match="got 'adacap-mse'"):
        model.fit(data.X, data.binary)


def test_a_model_trained_on_it_is_saved_and_told_like_any_other(data, tmp_path):
    model = fitted(data, reading=["mse", "he"])
    assert (model.scheme_, model.settings_.scheme) == ("adacap", "adacap-mse")
    assert model.capacity_.loss == "rmse"  # fits are told in one unit
    model.save(tmp_path / "model.adacap")
    again = adacap.load(tmp_path / "model.adacap")
    assert again.settings_ == model.settings_
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    copy = clone(again).fit(data.X, data.y)
    np.testing.assert_array_equal(copy.predict(data.X), model.predict(data.X))


# ------------------------------------------------------------- rows of the net and its head


def test_without_a_hold_out_all_rows_train_and_the_last_iteration_is_kept(data):
    seen = Seen()
    model = fitted(data, reading="no-hold-out", callbacks=[seen])
    n_rows = len(np.unique(data.X, axis=0))
    assert set(seen.sizes) == {n_rows}
    assert (model.n_iter_, model.best_iter_) == (8, 7)
    assert len(seen.records) == 8  # trained once
    assert "valid_score" not in seen.records[0]


def test_a_frozen_head_is_that_of_the_best_iteration_on_its_minibatch(data):
    layers = []

    class Layers(Callback):
        def on_step(self, state):
            layers.append(state.loss.layer.coef[0].clone())

    options = {"batch_size": 16, "callbacks": [Layers()]}
    frozen = fitted(data, reading="frozen-head", **options)
    kept = frozen.members_[0].group.output.weight[0]
    torch.testing.assert_close(kept, layers[frozen.best_iter_])
    solved = fitted(data, reading="solved-head", **options)
    assert solved.best_iter_ == frozen.best_iter_
    assert not torch.equal(solved.members_[0].group.output.weight[0], kept)


def test_the_hold_out_to_the_letter_has_a_name(data):
    named, frozen = (fitted(data, reading=name) for name in ("hold-out", "frozen-head"))
    np.testing.assert_array_equal(named.predict(data.X), frozen.predict(data.X))


def test_refit_is_what_the_presets_do(data):
    named, preset = fitted(data, reading="refit"), fitted(data)
    np.testing.assert_array_equal(named.predict(data.X), preset.predict(data.X))


@pytest.mark.parametrize("name", READINGS)
def test_every_reading_trains_under_both_methods(name, data):
    for preset in ("adacap-fast-mlp", "mlr-1"):
        assert np.isfinite(fitted(data, preset, reading=name).predict(data.X)).all()


def test_the_divergence_stop_keeps_an_early_iteration(data):
    options = {"structured_dither": 5.0, "max_iter": 60}
    stopped = fitted(data, "mlr-1", reading="divergence-stop", **options)
    assert len(stopped.history_["fit_true"]) < len(
        fitted(data, "mlr-1", **options).history_["fit_true"]
    )


def test_an_unknown_reading_is_met_with_the_nearest():
    with pytest.raises(ValueError, match=r"Unknown reading 'holdout'\. Did you mean 'hold-out'"):
        make("adacap-fast-mlp", reading="holdout")


def test_what_is_told_beside_a_reading_wins():
    assert make("adacap-fast-mlp", reading="no-hold-out", refit="head").refit == "head"


# ---------------------------------------------------------------------------- initialisation


def first_layer(data, **options):
    """Weights of the first dense layer before any step, as good as."""
    model = make(
        "adacap-fast-mlp", **{**SMALL, "width": 512, "max_iter": 1, "refit": "none", **options}
    ).fit(data.X, data.y)
    return model.members_[0].group.nets.backbone.state()["0.weight"]


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("kaiming", lambda d_in, d_out: (1 / d_in) ** 0.5),
        ("he", lambda d_in, d_out: (6 / d_in) ** 0.5),
        ("glorot", lambda d_in, d_out: (6 / (d_in + d_out)) ** 0.5),
        ("glorot-relu", lambda d_in, d_out: (12 / (d_in + d_out)) ** 0.5),
    ],
)
def test_weights_start_within_the_bound_of_their_name(name, bound, data):
    weight = first_layer(data, initialization=name)
    limit = bound(*weight.shape[-2:])
    assert weight.abs().max() <= limit
    assert weight.var().item() == pytest.approx(limit**2 / 3, rel=0.1)


def test_no_word_on_it_is_torch_s_start(data):
    assert torch.equal(first_layer(data), first_layer(data, initialization="kaiming"))


def test_the_start_is_an_option_of_the_architecture():
    model = make("fast-mlp", initialization="he")
    assert model.architecture == Architecture(
        "mlp", batch_norm=True, dropout=0.2, initialization="he"
    )
    with pytest.raises(ValueError, match=r"Unknown initialization 'hee'\. Did you mean 'he'"):
        Architecture("mlp", initialization="hee")
    with pytest.raises(ValueError, match="is for one named architecture"):
        make("nets", initialization="he", architecture=["mlp", "glu"])


# ------------------------------------------------------------------------- the start of λ


def test_the_published_rule_returns_a_point_of_ten(data):
    points = lambda_grid(n_points=10)
    for seed in range(4):
        model = fitted(data, "mlr-1-2021", random_state=seed, max_iter=1)
        start = model.history_["lambda"][0]
        assert (points / start - 1).abs().min() < 1e-6
    middle = fitted(data, "mlr-1", max_iter=1).history_["lambda"][0]
    assert (points / middle - 1).abs().min() > 1e-3


# -------------------------------------------------------------------- the stop of the code


def test_training_stops_after_the_first_step_above_the_limit(data):
    seen = Seen()
    free = MLRNetRegressor(depth=1, width=16, max_iter=20, random_state=0, callbacks=[seen])
    free.fit(data.X, data.y)
    fits = [record["fit_true"][0] for record in seen.records]
    limit = sorted(fits)[len(fits) // 2]
    first = next(i for i, fit in enumerate(fits) if fit > limit)
    stopped = clone(free).set_params(callbacks=[StopAbove(limit)]).fit(data.X, data.y)
    assert stopped.n_iter_ == first + 1
    scores = [record["valid_score"][0] for record in seen.records[: first + 1]]
    assert stopped.best_iter_ == int(np.argmax(scores))


def test_nets_of_a_bag_stop_each_for_itself(data):
    options = {"depth": 1, "width": 16, "max_iter": 20}
    limit = 0.5
    bag = MLRNetRegressor(**options, n_estimators=3, random_state=0, callbacks=[StopAbove(limit)])
    bag.fit(data.X, data.y)
    for member in bag.members_:
        fits = list(member.history["fit_true"])
        assert all(fit <= limit for fit in fits[:-1])
        assert fits[-1] > limit or len(fits) == 20


def test_the_replica_is_the_published_setting_and_classes_have_no_limit():
    model = make("mlr-2-2021")
    assert (model.scheme, model.lambda_init, model.refit) == ("adacap-gap-mse", "published", "none")
    assert (model.initialization, model.batch_size) == ("glorot-relu", 4096)
    assert [type(one) for one in model.callbacks] == [StopAbove]
    assert make("mlr-3-2021").max_lr == pytest.approx(1e-3 / 3)
    classes = make("mlr-2-2021", "classification")
    assert (classes.scheme, classes.callbacks) == ("adacap-gap", None)
