"""Cells that are too large for float32: told by fit, and the only thing that readers differ by."""

import warnings

import numpy as np
import pytest
import torch

import adacap
from adacap import AdaCapRegressor, lite
from adacap.exceptions import NumericalWarning

NETS = {"quality": "nets", "preprocessing": "none", "max_iter": 10, "random_state": 0}


class InFloat64(torch.nn.Module):
    """A network that computes in float64."""

    def __init__(self, network):
        super().__init__()
        self.network = network.double()

    def forward(self, x):
        return self.network(x.double())


def data(scale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=100)
    return X * [1.0, 1.0, scale], y


@pytest.mark.finding("L14", before="load and lite differed by 0.9 of a spread of 1.1, silently")
@pytest.mark.parametrize("scale", [1e6, 1e8, 1e18])
@pytest.mark.filterwarnings("ignore:A matrix of size")
def test_fit_warns_and_float32_is_all_that_readers_differ_by(scale, seed, tmp_path):
    X, y = data(scale, seed)
    with pytest.warns(NumericalWarning, match=r"leaves cells up to \S+ in x2\. .*'default'"):
        model = AdaCapRegressor(**NETS).fit(X, y)
    model.save(tmp_path / "m.adacap")
    light, full = lite.load(tmp_path / "m.adacap"), adacap.load(tmp_path / "m.adacap")
    np.testing.assert_array_equal(full.predict(X), model.predict(X))
    full.network_ = InFloat64(full.network_)
    np.testing.assert_allclose(light.predict(X), full.predict(X), rtol=0, atol=1e-6 * y.std())


@pytest.mark.finding("L14", before="load and lite differed by 0.9 of a spread of 1.1, silently")
def test_cells_without_a_warning_cost_few_digits(seed, tmp_path):
    X, y = data(1.0, seed)
    X[:, 2] *= 1e4 / np.abs(X[:, 2]).max()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumericalWarning)
        AdaCapRegressor(**NETS).fit(X, y).save(tmp_path / "m.adacap")
    both = [read(tmp_path / "m.adacap").predict(X) for read in (adacap.load, lite.load)]
    np.testing.assert_allclose(*both, rtol=0, atol=5e-3 * y.std())


@pytest.mark.parametrize(
    "settings",
    [{"quality": ["trees", "ridge"], "preprocessing": "none"}, {"quality": "nets", "max_iter": 3}],
    ids=["trees", "default"],
)
def test_trees_and_the_default_take_any_scale(settings, seed, tmp_path):
    X, y = data(1e8, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumericalWarning)
        AdaCapRegressor(**settings, random_state=0).fit(X, y).save(tmp_path / "m.adacap")
    both = [read(tmp_path / "m.adacap").predict(X) for read in (adacap.load, lite.load)]
    np.testing.assert_allclose(*both, rtol=0, atol=1e-5 * y.std())


def test_samples_of_more_dimensions_are_told_without_names(seed):
    X, y = data(1.0, seed)
    images = 1e6 * np.stack([X, X], axis=1)

    def flat(shape):
        n = int(np.prod(shape))
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(n, 4), torch.nn.ReLU())

    with pytest.warns(NumericalWarning, match=r"leaves cells up to \S+e\+06\. Beside"):
        AdaCapRegressor(**NETS, architecture=flat).fit(images, y)
