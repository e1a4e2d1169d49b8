"""Errors behind intervals in a model file: back to the bit, refused where they make no sense."""

import numpy as np
import pytest
import torch

from adacap import AdaCapRegressor
from adacap.exceptions import ModelFileError
from adacap.modelfile.diagnostics import interval_tensors, restore_intervals
from adacap.modelfile.evidence import take_intervals


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(33, 3))
    options = {"n_estimators": 3, "validation": "folds", "calibration_fraction": 0.2}
    settings = {"width": 8, "max_iter": 4, "random_state": 0}
    return AdaCapRegressor(**options, **settings).fit(X, X[:, :2], 1 + np.arange(33) % 2)


def restored(model, tensors):
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    widths = [member.width for member in model.members_]
    return restore_intervals(take_intervals(arrays, widths, 2), model.members_)


def test_back_to_the_bit(model):
    tensors = dict(interval_tensors(model.intervals_))
    again = dict(interval_tensors(restored(model, tensors)))
    assert again.keys() == tensors.keys()
    assert len(tensors) == 14
    for name, tensor in tensors.items():
        assert torch.equal(again[name], tensor), name


def test_nothing_comes_back_as_nothing(model):
    assert restored(model, {}) == type(model.intervals_)()


@pytest.mark.parametrize("kind", ["split", "folds", "loo"])
def test_errors_that_are_none(model, kind):
    tensors = dict(interval_tensors(model.intervals_))
    name = f"intervals.{kind}.values"
    values = tensors[name]
    for wrong in (values.float(), values[:, :1], values[:0], values / 0, values * np.nan):
        with pytest.raises(ModelFileError, match=name):
            restored(model, tensors | {name: wrong})
    weight = f"intervals.{kind}.weight"
    for wrong in (tensors[weight][1:], 0 * tensors[weight], tensors[weight].float()):
        with pytest.raises(ModelFileError, match=weight):
            restored(model, tensors | {weight: wrong})


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("folds.fold", lambda t: t + 1, "does not fit the members"),
        ("folds.fold", lambda t: t - 1, "does not fit the members"),
        ("folds.fold", lambda t: t.long(), "does not fit the members"),
        ("folds.fold", lambda t: t[1:], "does not fit the members"),
        ("folds.1.weight", lambda t: t[:, 1:], "folds.1.weight does not fit"),
        ("folds.2.bias", lambda t: t.double(), "folds.2.bias does not fit"),
        ("inflation", lambda t: 0.5 * t / t, "inflation is missing or below 1"),
        ("inflation", lambda t: t[:1], "inflation is missing or below 1"),
    ],
)
def test_parts_that_do_not_fit(model, name, change, message):
    tensors = dict(interval_tensors(model.intervals_))
    name = f"intervals.{name}"
    with pytest.raises(ModelFileError, match=message):
        restored(model, tensors | {name: change(tensors[name])})
    del tensors[name]
    with pytest.raises(ModelFileError):
        restored(model, tensors)


def test_parts_of_no_meaning(model):
    with pytest.raises(ModelFileError, match="unknown tensors"):
        restored(model, {"intervals.more": torch.ones(1)})
