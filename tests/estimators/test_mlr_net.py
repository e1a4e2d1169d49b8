"""MLR-NN: the settings of the supplement, its ablations, and the loop it shares with AdaCap."""

import json
import math
import zipfile

import numpy as np
import pytest
import torch

import adacap.lite
from adacap import AdaCapClassifier, AdaCapRegressor, load
from adacap.estimators.mlr_net import PACE, MLRNetClassifier, MLRNetRegressor
from adacap.estimators.settings import resolve
from adacap.exceptions import ModelFileError
from adacap.training.callbacks import Callback

SMALL = {"width": 16, "max_iter": 15, "random_state": 0}
ABLATION = {
    "NN": {"scheme": "plain", "target_dither": 0.0},
    "+ ridge": {"n_permutations": 0, "structured_dither": 0.0},
    "+ ridge, dithering": {"n_permutations": 0},
    "+ ridge, permutations": {"structured_dither": 0.0},
    "MLR": {},
    "MLR without target dither": {"target_dither": 0.0},
    "MLR, wide dither": {"structured_dither": 2.0},
    "MLR, λ given": {"lambda_init": 3.0},
    "MLR, other form": {"scheme": "adacap"},
    "MLR, as in the formula": {"dither_form": "fitted"},
    "MLR, other start": {"initialization": "kaiming"},
    "MLR, larger start": {"initialization": "glorot-relu"},
    "MLR, small batches": {"batch_size": 8},
}


class Seen(Callback):
    """First weights and the rows of each batch, by member."""

    def __init__(self):
        self.weights, self.rows = [], []

    def on_start(self, state):
        self.weights.append([p.detach().clone() for p in state.nets.parameters()])

    def on_step(self, state):
        self.rows.append(state.batch.x.shape[1])


# ---------------------------------------------------------------- the supplement's settings


@pytest.mark.parametrize(
    ("depth", "rate", "steps"), [(1, 1e-2, 200), (2, 1e-3, 200), (3, 10**-3.5, 400), (4, 1e-4, 400)]
)
def test_learning_rate_and_steps_follow_the_depth(depth, rate, steps, data):
    model = MLRNetRegressor(depth=depth, width=8, max_iter=2, random_state=0).fit(data.X, data.y)
    assert model.history_["learning_rate"] == [rate] * 2
    assert model.backbone_.depth == depth
    auto = resolve(MLRNetRegressor(depth=depth), 100)
    assert (auto.max_iter, auto.max_lr, auto.batch_size) == (steps, rate, 1024)
    assert PACE[depth] == (rate, steps)


def test_all_steps_are_run(data):
    assert MLRNetRegressor(width=8, random_state=0).fit(data.X, data.y).n_iter_ == 200


def test_deeper_nets_go_as_four_layers_do(data):
    model = MLRNetRegressor(depth=6, width=8, max_iter=3, random_state=0).fit(data.X, data.y)
    assert model.history_["learning_rate"] == [1e-4] * 3


def test_defaults_are_those_of_the_table():
    model = MLRNetRegressor()
    assert (model.width, model.n_permutations, model.structured_dither) == (1024, 16, 1.0)
    assert model.optimizer == ("adam", "constant")
    assert (model.scheme, model.fit_intercept, model.refit) == ("adacap-gap", False, "head")
    assert (model.validation, MLRNetClassifier().select_by) == (0.2, "r2")
    settings = [resolve(kind(), 100) for kind in (MLRNetRegressor, MLRNetClassifier)]
    assert [one.target_dither for one in settings] == [0.03, 0.0]
    assert [one.weight_decay for one in settings] == [0.0, 0.0]


@pytest.mark.parametrize("kind", [MLRNetRegressor, MLRNetClassifier])
def test_there_is_no_attribute_that_is_no_parameter(kind):
    """What ``set_params`` refuses is not there to be set."""
    model = kind()
    assert set(vars(model)) == set(model.get_params())
    for name in ("architecture", "warm_start", "quality", "weight_decay", "calibration_fraction"):
        assert not hasattr(model, name)


@pytest.mark.parametrize(("width", "rows"), [(16, 16), (64, 48)])
def test_a_batch_holds_as_many_rows_as_the_net_is_wide(width, rows, data):
    seen = Seen()
    MLRNetRegressor(width=width, max_iter=4, callbacks=[seen], random_state=0).fit(data.X, data.y)
    assert seen.rows == [rows] * 4  # 48 of the 60 rows are not held out


@pytest.mark.parametrize("scheme", ["adacap", "plain"])
def test_weights_start_as_glorot_says(scheme, data):
    seen = Seen()
    MLRNetRegressor(scheme=scheme, callbacks=[seen], **SMALL).fit(data.X, data.y)
    n_matrices = 0
    for tensor in seen.weights[0]:
        if tensor.ndim == 3:
            bound = math.sqrt(6 / sum(tensor.shape[1:]))
            assert 0.5 * bound < tensor.abs().max() <= bound
            n_matrices += 1
        elif tensor.ndim == 2:
            assert not tensor.any()
    assert n_matrices == (3 if scheme == "plain" else 2)


def test_the_best_iteration_is_that_of_the_best_r2(data):
    for model, y in ((MLRNetRegressor(**SMALL), data.y), (MLRNetClassifier(**SMALL), data.binary)):
        model.fit(data.X, y)
        scores = model.history_["valid_score"]
        assert model.best_iter_ == int(np.argmax(scores))
        assert model.members_[0].best_score == max(scores) <= 1


# -------------------------------------------------------------- one loop, every ablation


@pytest.mark.parametrize("target", ["y", "binary", "multiclass"])
def test_without_its_own_ingredients_it_is_adacap_to_the_bit(target, data):
    shared = {"lambda_init": 2.0, "fit_intercept": True, "refit": "head", "n_permutations": 4}
    shared |= {"scheme": "adacap", "max_lr": 0.01, "optimizer": "adam", **SMALL}
    calm = {"structured_dither": 0.0, "target_dither": 0.0, "initialization": "kaiming"}
    kind = (MLRNetRegressor, AdaCapRegressor) if target == "y" else (
        MLRNetClassifier, AdaCapClassifier,
    )  # fmt: skip
    calm |= {} if target == "y" else {"select_by": "loss"}
    ours = kind[0](batch_size=2048, **calm, **shared).fit(data.X, getattr(data, target))
    one = {"n_estimators": 1, "batch_size": 2048, "weight_decay": 0.0}
    theirs = kind[1](architecture="mlp", depth=2, **one, **shared).fit(
        data.X, getattr(data, target)
    )
    assert ours.history_["loss"] == theirs.history_["loss"]
    np.testing.assert_array_equal(ours.predict(data.X), theirs.predict(data.X))


@pytest.mark.parametrize("target", ["y", "binary", "multiclass"])
def test_every_ablation_trains_and_differs(target, data):
    kind = MLRNetRegressor if target == "y" else MLRNetClassifier
    losses = {}
    for name, settings in ABLATION.items():
        model = kind(**SMALL | settings).fit(data.X, getattr(data, target))
        assert np.isfinite(model.history_["loss"]).all()
        losses[name] = tuple(model.history_["loss"])
    if target != "y":  # classes bear no target dither
        assert losses.pop("MLR without target dither") == losses["MLR"]
    assert len(set(losses.values())) == len(losses)


def test_the_label_helps_where_it_stands_on_both_sides(data):
    fitted, printed = (
        MLRNetClassifier(dither_form=form, **SMALL).fit(data.X, data.binary).history_["fit_true"][0]
        for form in ("fitted", "printed")
    )
    assert fitted > printed


def test_two_fits_are_the_same_to_the_bit(data):
    models = [MLRNetRegressor(**SMALL).fit(data.X, data.y) for _ in range(2)]
    np.testing.assert_array_equal(models[0].predict(data.X), models[1].predict(data.X))


@pytest.mark.usefixtures("global_state_untouched")
def test_no_global_generator_moves(data):
    MLRNetRegressor(n_estimators=2, **SMALL).fit(data.X, data.y)


def test_classes_are_told_by_the_sign_of_the_output(data):
    model = MLRNetClassifier(**SMALL).fit(data.X, data.binary)
    output = model._outputs(data.X)[:, 0]
    np.testing.assert_array_equal(model.predict(data.X) == model.classes_[1], output > 0)


def test_training_stops_in_time(data, clock):
    model = MLRNetRegressor(width=64, max_iter=10**6, time_limit=0.5, random_state=0)
    model.fit(data.X, data.y)
    assert clock.now <= 0.5 + 2 * clock.tick
    assert 40 < model.n_iter_ < 64
    assert np.isfinite(model.predict(data.X)).all()


# ------------------------------------------------------------------------------- ensembles


def test_members_take_the_depths_in_turn(data):
    model = MLRNetRegressor(depth=(1, 2), n_estimators=5, **SMALL).fit(data.X, data.y)
    assert [spec.depth for spec in model.backbone_] == [1, 2, 1, 2, 1]
    for member, rate in zip(model.members_, (1e-2, 1e-3, 1e-2, 1e-3, 1e-2), strict=True):
        assert set(member.history["learning_rate"]) == {rate}
        assert len(member.backbone.layers) == (2 if rate == 1e-2 else 4)
    x = torch.as_tensor(model.encoder_.transform(data.X))
    with torch.no_grad():
        mean = torch.stack([member.network(x) for member in model.members_]).mean(0)
    expected = model.codec_.decode(mean.numpy())
    np.testing.assert_allclose(model.predict(data.X), expected, rtol=1e-5, atol=1e-6)


def test_the_first_member_of_a_mixed_bag_is_the_single_net(data):
    gentle = SMALL | {"optimizer": "sgd"}
    bag = MLRNetRegressor(depth=(1, 2), n_estimators=4, **gentle).fit(data.X, data.y)
    single = MLRNetRegressor(depth=1, **gentle).fit(data.X, data.y)
    np.testing.assert_allclose(bag.members_[0].history["loss"], single.history_["loss"], rtol=1e-4)


@pytest.mark.parametrize("top", [1, 3])
def test_the_best_members_by_validation_are_kept(top, data):
    settings = {"depth": (1, 2), "n_estimators": 6, **SMALL}
    everyone = MLRNetRegressor(**settings).fit(data.X, data.y)
    best = MLRNetRegressor(top=top, **settings).fit(data.X, data.y)
    scores = [member.best_score for member in everyone.members_]
    chosen = sorted(np.argsort(scores)[::-1][:top].tolist())
    assert [member.best_score for member in best.members_] == [scores[k] for k in chosen]
    assert best.seeds_ == [everyone.seeds_[k] for k in chosen]
    depths = [everyone.backbone_[k].depth for k in chosen]
    own = best.backbone_ if isinstance(best.backbone_, tuple) else [best.backbone_] * top
    assert [spec.depth for spec in own] == depths


def test_a_fold_bag_of_two_architectures(data):
    model = AdaCapRegressor(
        architecture=["glu", "mlp"], n_estimators=5, validation="folds", **SMALL
    ).fit(data.X, data.y)
    assert [spec.name for spec in model.backbone_] == ["glu", "mlp", "glu", "mlp", "glu"]
    held_out = np.concatenate([member.rows.valid for member in model.members_])
    assert sorted(held_out) == list(range(60))
    for name, members in (("glu", (0, 2, 4)), ("mlp", (1, 3))):
        alike = AdaCapRegressor(architecture=name, n_estimators=5, validation="folds", **SMALL)
        alike.fit(data.X, data.y)
        for k in members:
            np.testing.assert_allclose(
                model.members_[k].history["loss"][:5], alike.members_[k].history["loss"][:5],
                rtol=1e-3,
            )  # fmt: skip


def test_a_mixed_bag_can_go_on_training(data):
    model = AdaCapRegressor(
        architecture=("mlp", "snn"), depth=(1, 2), n_estimators=4, warm_start=True, **SMALL
    ).fit(data.X, data.y)
    assert [(s.name, s.depth) for s in model.backbone_[:2]] == [("mlp", 1), ("snn", 2)]
    assert model.fit(data.X, data.y).n_iter_ == 30
    with pytest.raises(ValueError, match="so architecture cannot change"):
        model.set_params(architecture="mlp").fit(data.X, data.y)


# ---------------------------------------------------------------------------- model files


@pytest.mark.parametrize("target", ["y", "binary", "multiclass"])
@pytest.mark.parametrize("settings", [{}, {"depth": (1, 2), "n_estimators": 4, "top": 3}], ids=str)
def test_saved_models_come_back(settings, target, data, tmp_path):
    kind = MLRNetRegressor if target == "y" else MLRNetClassifier
    model = kind(**settings, **SMALL).fit(data.X, getattr(data, target))
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    assert type(again) is kind
    assert again.get_params() == model.get_params()
    assert (again.backbone_, again.seeds_) == (model.backbone_, model.seeds_)
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    light = adacap.lite.load(tmp_path / "m.adacap")
    if target == "y":
        np.testing.assert_allclose(light.predict(data.X), model.predict(data.X), atol=1e-5)
    else:
        np.testing.assert_allclose(
            light.predict_proba(data.X), model.predict_proba(data.X), atol=1e-5
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda groups: groups.pop(), "a member belongs to no group"),
        (lambda groups: groups[1].update(layers=groups[0]["layers"]), "has no tensor"),
        (lambda groups: groups[1].update(layers=[]), "has no tensor"),
        (
            lambda groups: groups[1]["layers"][0].update(d_out=9),
            r"not float32 of shape \(1, 4, 9\)",
        ),
        (lambda groups: groups[1].pop("layers"), r"groups\[1\] is not an object of"),
    ],
)
def test_a_damaged_list_of_groups_is_refused(change, message, data, tmp_path):
    model = MLRNetRegressor(depth=(1, 2), n_estimators=3, **SMALL).fit(data.X, data.y)
    model.save(tmp_path / "m.adacap")
    with zipfile.ZipFile(tmp_path / "m.adacap") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    description = json.loads(parts["model.json"])
    change(description["groups"])
    parts["model.json"] = json.dumps(description).encode()
    with zipfile.ZipFile(tmp_path / "bad.adacap", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "bad.adacap")
    with pytest.raises(ModelFileError):
        adacap.lite.load(tmp_path / "bad.adacap")


def test_a_mixed_bag_is_exported(data, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs onnx and onnxruntime")
    from adacap.export import compare_onnx, to_onnx

    model = MLRNetRegressor(depth=(1, 2), n_estimators=3, **SMALL).fit(data.X, data.y)
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", data.X) < 1e-4


# --------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structured_dither": -1}, "structured_dither must be a number of at least 0, got -1"),
        (
            {"structured_dither": math.inf},
            "structured_dither must be a number of at least 0, got inf",
        ),
        (
            {"target_dither": "none"},
            "target_dither must be 'auto' or a number of at least 0, got 'none'",
        ),
        ({"initialization": "hee"}, "'glorot-relu', 'he' or 'kaiming', got 'hee'"),
        ({"dither_form": "half"}, "'halved', 'fitted' or 'printed', got 'half'"),
        ({"top": 0}, "top must be None or an integer of at least 1, got 0"),
        ({"top": 2}, "top must be at most n_estimators=1, got 2"),
        ({"depth": (1, 0), "n_estimators": 2}, r"depth must be an integer .*, got \(1, 0\)"),
        ({"depth": []}, r"depth must be an integer of at least 1 or a list of these, got \[\]"),
        ({"depth": (1, 2)}, r"depth=\(1, 2\) make 2 kinds of nets, which needs n_estimators"),
        ({"max_iter": "long"}, "max_iter must be 'auto', an integer .* or text .*, got 'long'"),
        ({"max_lr": "slow"}, "max_lr must be 'auto' or a positive number, got 'slow'"),
    ],
)
def test_parameters_that_cannot_work_are_refused(settings, message, data):
    with pytest.raises(ValueError, match=message):
        MLRNetRegressor(**settings).fit(data.X, data.y)


def test_a_list_of_architectures_holds_names(data):
    for wrong in ((), ("mlp", lambda d_in: None)):
        with pytest.raises(ValueError, match=r"architecture must be .*, a list of these or"):
            AdaCapRegressor(architecture=wrong, n_estimators=2).fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"got \('mlp', 'gluu'\)\. Did you mean 'glu'"):
        AdaCapRegressor(architecture=("mlp", "gluu"), n_estimators=2).fit(data.X, data.y)
