"""What a fit leaves behind, and inputs that are no tables."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from adacap import AdaCapRegressor

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
SCHEMES = ["adacap", "tikhonov", "plain"]


def fit(data, kind=AdaCapRegressor, /, **options):
    return kind(**ONE | options).fit(data.X, data.target(kind))


# --------------------------------------------------------------- what is fitted


@pytest.mark.parametrize("scheme", SCHEMES)
def test_columns_of_the_history(scheme, data):
    columns = fit(data, scheme=scheme).history_.columns()
    expected = {"step", "loss", "fit_true", "valid_score", "learning_rate", "seconds"}
    if scheme != "plain":
        expected |= {"lambda", "effective_dof"}
    if scheme == "adacap":
        expected |= {"fit_permuted"}
    assert columns.keys() == expected
    assert all(len(values) == 20 for values in columns.values())
    assert columns["step"] == list(range(20))
    assert np.all(np.diff(columns["seconds"]) > 0)
    if scheme == "adacap":
        gap = np.subtract(columns["fit_true"], columns["fit_permuted"])
        np.testing.assert_allclose(columns["loss"], gap, atol=1e-5)


def section(cls, title):
    """Names that a numpydoc section of a class docstring explains."""
    text = inspect.getdoc(cls).split(f"{title}\n{'-' * len(title)}\n")[1]
    lines = text.split("\n\n")[0].splitlines()
    heads = [line.split(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return [name for head in heads for name in head.split(", ")]


def test_the_docstring_lists_the_parameters(kind):
    assert section(kind, "Parameters") == list(inspect.signature(kind).parameters)
    assert sorted(section(kind, "Parameters")) == sorted(kind().get_params())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_docstring_lists_what_is_fitted(kind, scheme, data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = kind(scheme=scheme, **ONE).fit(frame, data.target(kind))
    documented = section(kind, "Attributes")
    assert [name for name in documented if not hasattr(model, name)] == []
    internal = {"codec_", "seeds_", "sample_shape_"}  # what predict and warm_start need
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted - set(documented) == internal


def test_what_the_plain_scheme_lacks_is_none(data):
    model = fit(data, scheme="plain")
    assert model.lambda_ is None
    assert model.effective_dof_ is None


def test_lambda_and_degrees_of_freedom_are_those_of_the_members(data):
    bag = fit(data, n_estimators=3)
    lams = [member.lam for member in bag.members_]
    assert bag.lambda_ == pytest.approx(np.prod(lams) ** (1 / 3))
    assert bag.effective_dof_ == pytest.approx(np.mean([m.effective_dof for m in bag.members_]))
    assert 0 < bag.effective_dof_ < 16


def test_the_network_is_frozen_and_ordinary(data):
    model = fit(data, preprocessing="none")
    assert isinstance(model.members_[0].network[-1], nn.Linear)
    assert not model.network_.training
    with torch.no_grad():
        coded = model.network_(torch.as_tensor(data.X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(model.codec_.decode(coded), model.predict(data.X), atol=1e-5)


# ----------------------------------------------------------------------- images


def images(seed, shape=(1, 4, 4)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, *shape)).astype(np.float32)
    return X, X.reshape(60, -1)[:, :3].sum(1)


def flat_net(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 16), nn.ReLU())


def test_samples_of_any_shape_reach_the_users_net(seed):
    X, y = images(seed)
    seen = []

    def build(shape):
        seen.append(shape)
        return flat_net(shape)

    model = AdaCapRegressor(architecture=build, preprocessing="none", **ONE).fit(X, y)
    assert set(seen) == {(1, 4, 4)}
    assert model.n_features_in_ == 16
    a = model.predict(X)
    np.testing.assert_array_equal(a, model.predict(torch.as_tensor(X)))
    np.testing.assert_array_equal(a, model.predict(X.reshape(60, 16)))  # rows of pixels


def test_samples_of_another_shape_are_refused(seed):
    X, y = images(seed)
    model = AdaCapRegressor(architecture=flat_net, preprocessing="none", **ONE)
    with pytest.raises(ValueError, match=r"X_val holds samples of shape \(1, 2, 8\), but training"):
        model.fit(X, y, X_val=X.reshape(60, 1, 2, 8), y_val=y)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"X holds samples of shape \(4, 4\), but .*\(1, 4, 4\)"):
        model.predict(X[:, 0])
    rows = AdaCapRegressor(preprocessing="none", **ONE).fit(X.reshape(60, 16), y)
    with pytest.raises(ValueError, match=r"shape \(1, 4, 4\), but training had rows of a table"):
        rows.predict(X)


def test_images_need_a_net_for_images(seed):
    X, y = images(seed)
    with pytest.raises(ValueError, match=r"'glu' takes rows, got samples of shape \(1, 4, 4\)"):
        AdaCapRegressor(preprocessing="none", **ONE).fit(X, y)
    with pytest.raises(ValueError, match=r"got shape=\(60, 1, 4, 4\)"):
        AdaCapRegressor(architecture=flat_net, **ONE).fit(X, y)


def test_preprocessing_none_takes_finite_numbers_only(data):
    model = AdaCapRegressor(preprocessing="none", **ONE)
    with pytest.raises(ValueError, match="takes no missing values, but column 0 contains NaN in 1"):
        model.fit(np.where(np.arange(240).reshape(60, 4) == 0, np.nan, data.X), data.y)
    with pytest.raises(ValueError, match="takes numbers only, but column 'a' is categorical"):
        model.fit(pd.DataFrame({"a": ["x", "y"] * 30}), data.y)
