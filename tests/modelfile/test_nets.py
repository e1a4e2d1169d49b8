"""Layers in NumPy against the torch modules they stand for."""

import numpy as np
import pytest
import torch

from adacap.architectures import BACKBONES, Architecture, describe
from adacap.exceptions import ModelFileError
from adacap.layers import ACTIVATIONS, Activation, Dense, Gate, Residual, run, tensors
from adacap.modelfile.nets import Facts, NetGroup, NumpyOperations, _nested, sigmoid
from adacap.nn import Backbone


def randomised(net, seed):
    """The nets in float64 with all tensors drawn anew, running statistics included."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in net.state().items():
        draw = torch.randn(tensor.shape, generator=generator) / 3
        tensor.copy_(draw.abs() + 0.1 if name.endswith("running_var") else draw)
    return net.double().eval()


def stored(net):
    """Tensors of a group in a model file."""
    probe = net(torch.zeros(1, 4, dtype=torch.float64)).detach().numpy()[:, 0]
    tensors = {
        **{f"backbone.{name}": tensor.numpy() for name, tensor in net.state().items()},
        "head.log_lambda": np.zeros(net.k),
        "output.weight": np.ones((*probe.shape, 1)),
        "output.bias": np.zeros((net.k, 1)),
        "probe": probe,
    }
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def read(layers, tensors):
    """The group of three nets that these tensors make."""
    named = {"kind": "nets", "name": "mlp", "options": {}, "width": 6, "depth": 1, "factory": None}
    facts = Facts(shape=(4,), n_out=1, n_members=3, head={"kind": "tikhonov"})
    return NetGroup.read({**named, "layers": describe(layers), "encoding": None}, tensors, facts)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", BACKBONES)
def test_backbones(name, batch_norm, dropout, depth, seed):
    architecture = Architecture(name, dropout=dropout, batch_norm=batch_norm)
    layers = architecture.layers(4, width=6, depth=depth)
    net = randomised(Backbone(layers, k=3), seed)
    arrays = {name: tensor.numpy() for name, tensor in net.state().items()}
    group = NetGroup(layers, _nested(layers, arrays), np.ones((3, 6, 1)), np.zeros((3, 1)))
    x = np.random.default_rng(seed).normal(size=(5, 4))
    with torch.no_grad():
        expected = net(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(group.hidden(x), expected, 1e-10, 1e-12)
    np.testing.assert_allclose(group.total(x)[:, 0], expected.sum((0, 2)), 1e-10)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_torchs(name):
    x = torch.linspace(-40, 40, 81, dtype=torch.float64)[:, None]
    found = run((Activation(name),), x.numpy(), {"0": {}}, NumpyOperations())
    expected = Backbone((Activation(name),))(x)
    np.testing.assert_allclose(found, expected.numpy(), 1e-12, 1e-15)


@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_the_gate_multiplies_the_halves(activation):
    x = np.array([[2.0, 3.0, 0.0, -1000.0]])
    assert run((Gate(activation),), x, {"0": {}}, NumpyOperations()).tolist() == [[1.0, 0.0]]


def test_sigmoid_at_the_ends():
    x = np.array([-700.0, -40.0, 0.0, 40.0, 700.0])
    np.testing.assert_allclose(sigmoid(x), torch.sigmoid(torch.from_numpy(x)).numpy(), 1e-14)


def ones(*shape):
    return np.ones(shape, dtype=np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("backbone.0.bias"), r"no tensor backbone\.0\.bias"),
        (lambda t: t.pop("probe"), "no tensor probe"),
        (lambda t: t.update(probe=t["probe"] + 1), "different features"),
        (lambda t: t.update(probe=t["probe"] * np.nan), "probe holds NaN or infinite values"),
        (lambda t: t.update(probe=t["probe"].astype(float)), "probe is float64"),
        (lambda t: t.update(more=ones(1)), "the network has no tensor"),
        (lambda t: t.pop("head.log_lambda"), r"no tensor head\.log_lambda"),
        (lambda t: t.update({"backbone.0.bias": ones(3, 5)}), r"of shape \(3, 5\), not .*\(3, 6\)"),
        (lambda t: t.update({"output.bias": ones(3, 1) * np.nan}), "NaN or infinite"),
        (lambda t: t.update({"output.weight": ones(6, 1)}), "weight is missing or not of 3 nets"),
        (lambda t: t.update({"output.weight": ones(3, 6, 2)}), "3 nets and 1 outputs"),
    ],
)
def test_what_does_not_fit_is_named(change, message, seed):
    layers = (Dense(4, 6), Activation("relu"))
    found = stored(randomised(Backbone(layers, k=3), seed))
    assert read(layers, found).n_members == 3
    change(found)
    with pytest.raises(ModelFileError, match=message):
        read(layers, found)


def test_names_become_a_tree():
    layers = (Dense(1, 1), Activation("relu"), Residual((Activation("relu"), Dense(1, 1))))
    arrays = {name: i for i, name in enumerate(tensors(layers))}
    inside = {"0": {}, "1": {"weight": 2, "bias": 3}}
    assert _nested(layers, arrays) == {"0": {"weight": 0, "bias": 1}, "1": {}, "2": inside}
