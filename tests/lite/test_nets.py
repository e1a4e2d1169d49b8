"""Layers of arrays against the torch modules they stand for."""

import numpy as np
import pytest
import torch
from torch import nn

from adacap.exceptions import ModelFileError
from adacap.lite.nets import Activation, Dense, Gate, backbone, forward, sigmoid
from adacap.nn.presets import BACKBONES


def randomised(net: nn.Module, seed: int) -> nn.Module:
    """The net in float64 with all tensors drawn anew, running statistics included."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in (*net.named_parameters(), *net.named_buffers()):
        if tensor.is_floating_point():
            draw = torch.randn(tensor.shape, generator=generator) / 3
            tensor.data.copy_(draw.abs() + 0.1 if name.endswith("running_var") else draw)
    return net.double().eval()


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", BACKBONES)
def test_backbones(name, batch_norm, dropout, depth, seed):
    sizes = {"width": 6, "depth": depth, "dropout": dropout, "batch_norm": batch_norm}
    net = randomised(BACKBONES[name](4, **sizes), seed)
    arrays = {n: t.detach().numpy() for n, t in (*net.named_parameters(), *net.named_buffers())}
    x = np.random.default_rng(seed).normal(size=(5, 4))
    found = forward(backbone({"name": name, **sizes}, arrays), x)
    with torch.no_grad():
        np.testing.assert_allclose(found, net(torch.from_numpy(x)).numpy(), 1e-10, 1e-12)


def test_selu_is_torchs():
    x = torch.linspace(-40, 40, 81, dtype=torch.float64)
    found = forward((Activation("selu"),), x.numpy()[:, None])[:, 0]
    np.testing.assert_allclose(found, torch.selu(x).numpy(), 1e-14)


def test_the_gate_multiplies_the_halves():
    x = np.array([[2.0, 3.0, 0.0, -1000.0]])
    assert forward((Gate(),), x).tolist() == [[1.0, 0.0]]


def test_sigmoid_at_the_ends():
    x = np.array([-700.0, -40.0, 0.0, 40.0, 700.0])
    np.testing.assert_allclose(sigmoid(x), torch.sigmoid(torch.from_numpy(x)).numpy(), 1e-14)


def test_a_missing_tensor_is_named():
    with pytest.raises(ModelFileError, match=r"no tensor 0\.bias"):
        backbone(
            {"name": "mlp", "depth": 1, "dropout": 0.0, "batch_norm": False},
            {"0.weight": np.ones((2, 2))},
        )


def test_dense():
    assert forward((Dense(np.ones((2, 1)), np.array([0.5])),), np.ones((1, 2))).tolist() == [[2.5]]
