"""A stranger's backbone: described once, it is trained, bagged, saved, loaded, run and exported."""

import numpy as np
import pytest

from adacap import AdaCapRegressor, Architecture, lite, load
from adacap.architectures import BACKBONES
from adacap.export import compare_onnx, to_onnx


def recipe():
    from adacap.architectures import register
    from adacap.layers import Activation, Dense, Gate, Residual

    @register("funnel")
    def funnel(d_in, *, width, depth=1, activation="mish"):
        layers = (Dense(d_in, 2 * width), Gate(activation))
        for _ in range(depth):
            layers += (Residual((Dense(width, width), Activation("tanh"))), Activation(activation))
        return layers


@pytest.fixture
def funnel(recipe):
    recipe()
    yield "funnel"
    del BACKBONES["funnel"]


def test_a_new_backbone_goes_all_the_way(funnel, tmp_path, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model = AdaCapRegressor(
        architecture=Architecture(funnel, activation="gelu"), width=16, max_iter=60, random_state=0
    ).fit(X, y)
    assert len(model.members_) == 5
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "m.adacap")
    np.testing.assert_array_equal(load(tmp_path / "m.adacap").predict(X), model.predict(X))
    light = lite.load(tmp_path / "m.adacap")
    np.testing.assert_allclose(light.predict(X), model.predict(X), atol=1e-5)
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", X) < 1e-4


def test_lite_needs_no_registration(funnel, tmp_path):
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    model = AdaCapRegressor(architecture=funnel, width=4, max_iter=2, random_state=0).fit(X, y)
    model.save(tmp_path / "m.adacap")
    known = BACKBONES.pop(funnel)
    try:
        np.testing.assert_allclose(
            lite.load(tmp_path / "m.adacap").predict(X), model.predict(X), rtol=1e-5, atol=1e-5
        )
        with pytest.raises(ValueError, match=r"its backbone is unknown here .*'funnel'"):
            load(tmp_path / "m.adacap")
    finally:
        BACKBONES[funnel] = known
