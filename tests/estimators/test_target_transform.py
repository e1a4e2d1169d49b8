"""Transforms of the target: chosen where they pay, and undone without bias."""

import json

import numpy as np
import pytest

from adacap import AdaCapRegressor, load
from adacap.estimators import choosing
from adacap.estimators.choosing import choose_transforms
from adacap.estimators.dependence import Dependence
from adacap.estimators.transforms import TargetTransform, fit_transform

MEMBERS = ["ridge"]


@pytest.fixture(scope="module")
def table():
    """A target that is a product: linear in its logarithm."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.exp(2 + X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=300))


def values(name):
    rng = np.random.default_rng(1)
    own = np.exp(rng.normal(size=200))
    return {
        "positive": own,
        "with zeros": np.where(rng.random(200) < 0.2, 0.0, own),
        "negative": -own,
        "mixed": own - 1,
        "huge": 1e200 * own,
        "tiny": 1e-200 * own,
    }[name]


NAMES = ["positive", "with zeros", "negative", "mixed", "huge", "tiny"]


@pytest.mark.parametrize("kind", ["log", "yeo-johnson"])
@pytest.mark.parametrize("name", NAMES)
def test_a_transform_can_be_undone_and_keeps_or_turns_the_order(kind, name):
    y = values(name)
    transform = fit_transform(y, kind)
    z = transform.apply(y)
    assert np.isfinite(z).all()
    assert transform.inverse(z) == pytest.approx(y, rel=1e-9, abs=1e-9 * np.abs(y).max())
    steps = np.diff(z[np.argsort(y)])
    assert (steps >= 0).all() or (steps <= 0).all()


@pytest.mark.parametrize("name", ["positive", "with zeros", "negative", "mixed"])
def test_units_of_the_target_do_not_matter(name):
    y = values(name)
    for kind in ("log", "yeo-johnson"):
        one, other = fit_transform(y, kind), fit_transform(1000 * y, kind)
        gap = other.apply(1000 * y) - one.apply(y)
        assert gap == pytest.approx(np.full(200, gap[0]), abs=1e-4)


def test_a_constant_target_is_left_alone(table):
    X, _ = table
    for kind in ("log", "auto"):
        model = AdaCapRegressor(quality=MEMBERS, target_transform=kind).fit(X, np.full(300, 3.0))
        assert model.settings_.target_transform == "none"
        assert model.predict(X[:2]) == pytest.approx([3.0, 3.0])


def test_predictions_are_means_and_not_medians(table):
    X, y = table
    model = AdaCapRegressor(quality=MEMBERS, target_transform="log", random_state=0).fit(X, y)
    medians = model.codec_.invert(model._outputs(X))
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.08)
    assert medians.mean() < 0.93 * y.mean()


def test_auto_takes_the_logarithm_of_a_product_and_errs_less(table):
    X, y = table
    errors = {}
    for kind in ("none", "auto"):
        model = AdaCapRegressor(quality=MEMBERS, target_transform=kind, random_state=0)
        model.fit(X[:200], y[:200])
        errors[kind] = np.sqrt(np.mean((model.predict(X[200:]) - y[200:]) ** 2))
    assert model.settings_.target_transform in ("log", "yeo-johnson")
    assert "target_transform" in model.settings_.auto
    assert errors["auto"] < 0.9 * errors["none"]


def test_auto_leaves_a_target_alone_that_is_not_skewed_or_not_a_product(table):
    X, _ = table
    rng = np.random.default_rng(2)
    additive = 10 + X[:, 0] + 0.3 * rng.normal(size=300)
    skewed = np.maximum(X[:, 0], 0) * 3 + rng.exponential(size=300)
    found = choose_transforms(X, np.column_stack([additive, skewed]), None, seed=0)
    assert found == ["none", "none"]


@pytest.mark.parametrize("by", ["group", "time"])
def test_auto_is_chosen_on_rows_that_depend_on_none_trained_on(table, monkeypatch, by):
    X, y = table
    rank = np.random.default_rng(3).permutation(len(y))
    rank = rank % 12 if by == "group" else rank
    seen = []
    fit = choosing.fit_kernel
    monkeypatch.setattr(
        choosing, "fit_kernel", lambda data, own: seen.append(data) or fit(data, own)
    )
    kinds = choose_transforms(X, y[:, None], None, 0, Dependence(**{by: rank}))
    assert kinds[0] != "none"
    for data in seen:
        for k, trains in enumerate(data.inside().bool().numpy()):
            held = data.fold.numpy() == k
            assert held.any()
            if by == "group":
                assert not set(rank[trains]) & set(rank[held])
            else:
                assert rank[trains].max() < rank[held].min()
    assert len(seen) % (2 if by == "group" else 1) == 0
    too_few = Dependence(**{by: np.zeros(len(y), dtype=int)})
    assert choose_transforms(X, y[:, None], None, 0, too_few) == ["none"]


def test_where_it_is_off_predictions_are_those_without_it(table):
    X, _ = table
    y = X[:, 0] + np.sin(X[:, 1])
    plain, auto = (
        AdaCapRegressor(quality=MEMBERS, target_transform=kind, random_state=0).fit(X, y)
        for kind in ("none", "auto")
    )
    assert plain.codec_.transforms == ()
    assert np.array_equal(plain.predict(X), auto.predict(X))
    assert np.array_equal(plain.predict_interval(X), auto.predict_interval(X))


def test_each_of_several_targets_has_its_own(table):
    X, y = table
    many = np.column_stack([y, X[:, 2], -y])
    model = AdaCapRegressor(quality=MEMBERS, target_transform="auto", random_state=0).fit(X, many)
    kinds = model.settings_.target_transform
    assert [kind != "none" for kind in kinds] == [True, False, True]
    assert (model.predict(X)[:, 2] < 0).all()


def test_bounds_are_mapped_and_hold(table):
    X, y = table
    model = AdaCapRegressor(quality=MEMBERS, target_transform="log", random_state=0)
    lower, upper = model.fit(X[:200], y[:200]).predict_interval(X[200:]).T
    assert (lower > 0).all()
    assert 0.82 <= np.mean((lower <= y[200:]) & (y[200:] <= upper)) <= 0.98
    width = upper - lower
    assert width.max() > 5 * width.min()  # wide where the target is large


@pytest.mark.parametrize("kind", ["log", "yeo-johnson"])
def test_files_lite_and_onnx_predict_the_same(table, tmp_path, kind):
    from adacap import lite
    from adacap.export import compare_onnx, to_onnx

    X, y = table
    many = np.column_stack([y, -y, X[:, 0]])
    model = AdaCapRegressor(quality=MEMBERS, target_transform=kind, random_state=0).fit(X, many)
    model.save(tmp_path / "m.adacap")
    loaded = load(tmp_path / "m.adacap")
    assert loaded.settings_ == model.settings_
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict_interval(X), model.predict_interval(X))
    small = lite.load(tmp_path / "m.adacap").predict(X)
    assert small == pytest.approx(model.predict(X), rel=1e-5, abs=1e-5)
    pytest.importorskip("onnxruntime")
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", X) < 1e-5


def test_what_is_no_transform_is_refused(table):
    X, y = table
    with pytest.raises(ValueError, match=r"target_transform must be .*'logg'"):
        AdaCapRegressor(target_transform="logg").fit(X, y)


def test_a_transform_is_plain_data():
    transform = fit_transform(np.arange(1.0, 9.0), "log").with_errors(np.linspace(-1, 1, 50))
    data = json.loads(json.dumps(transform.__dict__))
    assert TargetTransform(**{**data, "errors": tuple(data["errors"])}) == transform
