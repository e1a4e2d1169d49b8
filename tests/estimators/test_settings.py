"""Settings: what "auto" became, recorded, and the same for every scheme and architecture."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from torch import nn

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
from adacap.estimators.settings import CLASSIFICATION, REGRESSION, SCHEMES, Settings, Share, resolve

SMALL = {"width": 8, "max_iter": 3, "random_state": 0}


# ------------------------------------------------------------------ a fair ablation


@pytest.mark.parametrize("n_rows", [6, 200, 5000])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("quality", ["balanced", "best", "nets"])  # those with nets
def test_autos_do_not_depend_on_the_scheme(kind, quality, scheme, n_rows):
    default = resolve(kind(quality=quality), n_rows)
    other = resolve(kind(quality=quality, scheme=scheme), n_rows)
    assert replace(other, scheme=default.scheme, auto=default.auto) == default


@pytest.mark.parametrize("architecture", ["snn", Architecture("glu", dropout=0.5), nn.Identity])
@pytest.mark.parametrize("quality", ["balanced", "best", "nets"])  # those with nets
def test_autos_do_not_depend_on_the_architecture(kind, quality, architecture):
    default = resolve(kind(quality=quality), 200)
    other = resolve(kind(quality=quality, architecture=architecture), 200)
    net = {"architecture": default.architecture, "width": default.width, "depth": default.depth}
    assert replace(other, **net, auto=default.auto) == default


@pytest.mark.filterwarnings("ignore:The 5 members are trained one by one")
def test_bags_of_every_scheme_are_alike(kind, data):
    """Equal in nets, layers, rows, steps, rate and batch: they differ in the loss alone."""
    y = data.target(kind)
    models = [kind(scheme=s, width=8, max_iter=3, random_state=0).fit(data.X, y) for s in SCHEMES]
    first = models[0]
    for model in models[1:]:
        assert model.backbone_ == first.backbone_
        assert len(model.members_) == len(first.members_)
        for one, other in zip(model.members_, first.members_, strict=True):
            np.testing.assert_array_equal(one.rows.train, other.rows.train)
            np.testing.assert_array_equal(one.rows.valid, other.rows.valid)
        assert model.history_["learning_rate"] == first.history_["learning_rate"]
        assert model.n_iter_ == first.n_iter_


@pytest.mark.parametrize("name", ["width", "max_iter", "max_lr", "lambda_init"])
def test_docstrings_tell_what_auto_is_alone_and_in_the_default_blend(name):
    values = [getattr(resolve(AdaCapRegressor(quality=q), 500), name) for q in ("nets", "auto")]
    alone, blended = values
    text = " ".join(AdaCapRegressor.__doc__.split(f"    {name} : ")[1].split("\n    ")[1:9])
    told = f"Auto is {alone:g}, and {blended:g} in the default blend."
    assert told in " ".join(text.split())
    values = [getattr(resolve(AdaCapClassifier(quality=q), 500), name) for q in ("nets", "auto")]
    assert values[0] == values[1]


def test_a_fit_without_nets_has_no_settings_of_nets(kind, data, tmp_path):
    model = kind(quality=["ridge"], random_state=0).fit(data.X, data.target(kind))
    settings = model.settings_
    told = {row.partition(" ")[0] for row in str(settings).splitlines()}
    assert not told & {"scheme", "architecture", "width", "max_iter", "max_lr", "lambda_init"}
    assert (settings.scheme, settings.batch_size, settings.refit) == (None, None, None)
    assert settings.auto == ("n_estimators", "validation")
    assert (model.scheme_, model.backbone_, model.capacity().scheme) == (None, None, None)
    model.save(tmp_path / "m.adacap")
    again = adacap.load(tmp_path / "m.adacap")
    assert (again.settings_, again.scheme_, again.backbone_) == (settings, None, None)
    assert repr(again.capacity()) == repr(model.capacity())


@pytest.mark.parametrize(
    ("members", "weight", "source"),
    [
        (["nets", "ridge", "kernel"], {"nets": 0.0, "kernel": 0.4}, "nets"),
        (["ridge", "nets:bins", "nets"], {"nets": 0.2, "nets:bins": 0.0}, "nets"),
        (["ridge", "kernel", "kernel:rank"], {"kernel:rank": 0.6, "kernel": 0.1}, "kernel:rank"),
        (["ridge", "trees"], {"ridge": 1.0}, None),
        (["nets", "kernel"], {"kernel": 1.0}, "kernel"),  # time was too short for nets
    ],
)
def test_capacity_is_read_from_the_heaviest_nets_or_the_heaviest_kernel(members, weight, source):
    shares = [Share(name, w, 0.5, 0.1) for name, w in weight.items()]
    settings = resolve(AdaCapRegressor(quality=members), 200)
    found = replace(settings, blend=tuple(shares)).read_from
    assert (found.name if found else None) == source


def test_members_that_were_not_trained_are_named():
    settings = resolve(AdaCapRegressor(quality=["ridge", "kernel", "nets"], time_limit=9.0), 200)
    assert settings.untrained_text == ""  # nothing is trained yet
    shares = tuple(Share(name, 0.5, 0.5, 0.1) for name in ("ridge", "kernel"))
    found = str(replace(settings, blend=shares))
    assert found.endswith(
        "Not trained, since time_limit=9 left no time, or others were far ahead: nets."
    )


def test_the_values_are_those_documented():
    kinds = AdaCapRegressor, AdaCapClassifier
    regression, classes = (resolve(kind(quality="nets"), 500) for kind in kinds)
    expected = ("adacap", Architecture("glu"), 5, "folds", 130, 0.03, 512, 3.0, 3.0, "head")
    names = ("scheme", "architecture", "n_estimators", "validation", "max_iter", "max_lr")
    names += ("batch_size", "lambda_init", "weight_decay", "refit")
    assert tuple(getattr(regression, name) for name in names) == expected
    regular = Architecture("mlp", dropout=0.2, batch_norm=True)
    expected = ("plain", regular, 1, 0.2, 200, 0.01, 2048, "max_sensitivity", 0.0, "net")
    assert tuple(getattr(classes, name) for name in names) == expected
    assert set(REGRESSION) == set(CLASSIFICATION)


def test_decay_fades_with_the_rows_that_a_net_is_trained_on():
    assert resolve(AdaCapRegressor(), 1000).weight_decay == 1500 / 800
    assert resolve(AdaCapRegressor(validation=0), 1000).weight_decay == 1.5
    assert resolve(AdaCapRegressor(), 1000, has_validation_rows=True).weight_decay == 1.5
    assert resolve(AdaCapRegressor(), 10).weight_decay == 3.0


# ---------------------------------------------------------------------- what is held out


@pytest.mark.parametrize("n_rows", [2, 3, 4, 7, 10, 23, 60])
@pytest.mark.parametrize(
    "options",
    [{}, {"validation": 0.2}, {"n_estimators": 1}, {"n_estimators": 2}, {"validation": 0.9},
     {"validation": 0}, {"validation": "folds"}],
    ids=str,
)  # fmt: skip
def test_epochs_are_counted_in_rows_that_are_not_held_out(options, n_rows, data):
    """The number of rows that settings count with is the one that nets get."""
    model = AdaCapRegressor(width=4, batch_size=1, max_iter="1 epoch", **options)
    model.fit(data.X[:n_rows], data.y[:n_rows])
    assert model.settings_.max_iter == len(model.members_[0].rows.train)
    assert model.settings_.n_estimators == len(model.members_)


def test_several_seeds_hold_out_a_share_each(data):
    model = AdaCapRegressor(n_estimators=4, validation=0.2, **SMALL).fit(data.X, data.y)
    held = [tuple(member.rows.valid.tolist()) for member in model.members_]
    assert [len(rows) for rows in held] == [12] * 4
    assert len(set(held)) == 4


def test_folds_hold_out_every_row_once(data):
    model = AdaCapRegressor(n_estimators=4, **SMALL).fit(data.X, data.y)
    held = np.concatenate([member.rows.valid for member in model.members_])
    assert sorted(held) == list(range(60))
    assert model.settings_.validation == "folds"


@pytest.mark.parametrize(
    ("options", "refit"),
    [
        ({"n_estimators": 1}, "net"),
        ({"n_estimators": 1, "validation": 0.05}, "head"),
        ({"n_estimators": 1, "warm_start": True}, "head"),
        ({"validation": 0.2}, "net"),
        ({"validation": 0}, "head"),
        ({}, "head"),
        ({"refit": "none"}, "none"),
    ],
    ids=str,
)
def test_auto_refits_the_net_where_much_is_held_out(options, refit):
    assert resolve(AdaCapRegressor(**options), 100).refit == refit


# ------------------------------------------------------------------------------ the record


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_nothing_is_auto_any_more(kind, data):
    settings = kind(**SMALL).fit(data.X, data.target(kind)).settings_
    assert "auto" not in [getattr(settings, field.name) for field in fields(settings)]
    assert set(settings.auto) == {
        "quality", "architecture", "scheme", "n_estimators", "validation", "max_lr", "batch_size",
        "weight_decay", "refit", "lambda_init",
    }  # fmt: skip


def test_it_is_frozen_and_goes_with_the_fit(data):
    model = AdaCapRegressor(**SMALL).fit(data.X, data.y)
    with pytest.raises(FrozenInstanceError):
        model.settings_.max_iter = 5
    before = model.settings_
    model.set_params(max_iter=5)
    assert model.settings_ == before
    assert model.fit(data.X, data.y).settings_.max_iter == 5


def test_it_prints_in_two_columns_with_marks():
    text = str(resolve(AdaCapRegressor(max_iter=50), 200))
    lines = text.splitlines()
    assert "max_iter              50" in lines
    assert "max_lr                0.03  (auto)" in lines
    assert "architecture          glu  (auto)" in lines
    assert len(lines) < 25
    assert len({len(line) - len(line[22:]) for line in lines}) == 1
    assert all(line[20:22] == "  " and line[22] != " " for line in lines)


def test_a_mixed_bag_has_one_value_per_net():
    mixed = resolve(MLRNetRegressor(depth=(1, 2), n_estimators=4), 100)
    assert (mixed.depth, mixed.max_iter) == ((1, 2, 1, 2), 200)
    assert mixed.max_lr == (1e-2, 1e-3, 1e-2, 1e-3)
    assert (mixed.of_net(1).depth, mixed.of_net(1).max_lr) == (2, 1e-3)


def test_a_network_of_ones_own_goes_by_its_name():
    settings = resolve(AdaCapRegressor(architecture=nn.Identity), 100)
    assert settings.architecture == "torch.nn.modules.linear.Identity"
    assert (settings.width, settings.depth) == (None, None)
    assert "width" not in str(settings)


@pytest.mark.parametrize(
    "model",
    [
        AdaCapRegressor(**SMALL),
        AdaCapRegressor(architecture=["glu", Architecture("mlp", dropout=0.0)], **SMALL),
        AdaCapRegressor(lambda_init=[0.1, 1.0], optimizer=("sgd", None), max_lr=1e-3, **SMALL),
        AdaCapRegressor(scheme="adacap-gap", refit="none", time_limit=60, **SMALL),
        AdaCapClassifier(calibration_fraction=None, validation=(0.2, "auc"), **SMALL),
        MLRNetRegressor(depth=(1, 2), n_estimators=4, top=2, **SMALL),
        MLRNetClassifier(**SMALL),
    ],
    ids=str,
)
def test_it_is_kept_in_the_model_file(model, data, tmp_path):
    y = data.binary if hasattr(model, "predict_proba") else data.y
    model.fit(data.X, y).save(tmp_path / "m.adacap")
    again = adacap.load(tmp_path / "m.adacap")
    assert again.settings_ == model.settings_
    assert again.capacity().scheme == model.capacity().scheme == model.settings_.scheme
    assert type(again.settings_) is Settings
