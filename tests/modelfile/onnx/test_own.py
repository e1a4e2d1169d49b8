"""A backbone of the user's own goes through torch's tracer, and is held against what it traces."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.exceptions import AdaCapError
from adacap.export import compare_onnx, to_onnx

onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

TINY = {"width": 16, "max_iter": 8, "random_state": 0}


def assert_same(model, folder, X):
    to_onnx(model, folder / "m.onnx")
    assert compare_onnx(model, folder / "m.onnx", X) <= 1e-5


def own_rows(d_in: int) -> nn.Module:
    return nn.Sequential(nn.Linear(d_in, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.5))


class OwnImages(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(shape[0], 2, 3)
        self.dense = nn.Linear(2 * (shape[1] - 2) * (shape[2] - 2), 8)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.dense(self.conv(x).reshape(x.shape[0], -1)))


class FixedRows(nn.Module):
    """Counts the rows in a way that a trace takes for a constant."""

    def __init__(self, d_in: int) -> None:
        super().__init__()
        self.dense = nn.Linear(d_in, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.dense(x).reshape(len(x), 8)


class Branching(FixedRows):
    """Goes one way on the zeros that are traced, and another on other rows."""

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.dense(x)
        return hidden if bool(x.any()) else 0 * hidden


class Untraceable(FixedRows):
    def forward(self, x: Tensor) -> Tensor:
        if torch.jit.is_tracing():
            raise RuntimeError("no tracing please")
        return self.dense(x)


@pytest.mark.parametrize("n_estimators", [1, 2])
def test_own_backbone_of_rows(frame, unlike, target, tmp_path, n_estimators):
    options = {"architecture": own_rows, "n_estimators": n_estimators}
    X = frame[["size", "colour", "rooms"]]
    if n_estimators == 1:
        model = AdaCapRegressor(**TINY, **options).fit(X, target)
    else:
        with pytest.warns(UserWarning, match="are trained one by one"):
            model = AdaCapRegressor(**TINY, **options).fit(X, target)
    assert_same(model, tmp_path, unlike[X.columns])


def test_own_backbone_of_images(tmp_path, seed):
    images = np.random.default_rng(seed).normal(size=(30, 1, 6, 5))
    options = {"architecture": OwnImages, "preprocessing": "none"}
    model = AdaCapClassifier(**TINY, **options).fit(images, images[:, 0, 0, 0] > 0)
    assert_same(model, tmp_path, images)
    (entry,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").get_inputs()
    assert (entry.name, entry.type, entry.shape) == ("X", "tensor(float)", ["n", 1, 6, 5])


@pytest.mark.parametrize(
    ("architecture", "reason"),
    [
        (FixedRows, r"its trace (fails|computes something else) on 3 rows"),
        (Branching, r"its trace computes something else on 3 rows"),
        (Untraceable, r"torch.onnx fails on it \(RuntimeError: no tracing please\)"),
    ],
)
def test_a_backbone_that_cannot_be_traced_is_refused(tmp_path, seed, architecture, reason):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    model = AdaCapRegressor(**TINY, architecture=architecture, n_estimators=1).fit(X, X[:, 0])
    with pytest.raises(AdaCapError, match=rf"The backbone \w+ cannot be exported: {reason}"):
        to_onnx(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
