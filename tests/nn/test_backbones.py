"""The named backbones: shapes, the start of their weights, formulas by hand; the image net."""

import math

import pytest
import torch
from torch import nn

from adacap.architectures import Architecture
from adacap.layers import ACTIVATIONS, BatchNorm, Dense
from adacap.nn.backbones import GLU, MLP, SNN, ConvNet, ResNet, glorot_uniform

TABULAR = pytest.mark.parametrize("backbone", [MLP, SNN, GLU, ResNet])
NAMES = {MLP: "mlp", SNN: "snn", GLU: "glu", ResNet: "resblock"}


@pytest.fixture(autouse=True)
def own_draws(seed):
    """Torch's generator seeded in the test, and as it was afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def count(module, kind):
    return sum(isinstance(layer, kind) for layer in module.modules())


def affine(net, i, x):
    return x @ net[str(i)]["weight"] + net[str(i)]["bias"]


def dense_weights(net):
    lead = 0 if net.k is None else 1
    named = net.named_parameters()
    return [p for name, p in named if name.endswith("weight") and p.ndim - lead == 2]


@TABULAR
@pytest.mark.parametrize("width", [1, 16])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("regularised", [False, True])
@pytest.mark.parametrize("k", [None, 3])
def test_rows_become_features(backbone, width, depth, regularised, k):
    options = {"dropout": 0.2, "batch_norm": True} if regularised else {}
    net = backbone(5, width=width, depth=depth, k=k, **options)
    hidden = net(torch.randn(7, 5))
    assert hidden.shape == ((7, width) if k is None else (k, 7, width))
    assert hidden.requires_grad


@TABULAR
def test_a_class_holds_the_layers_of_its_name(backbone):
    assert backbone(5).layers == Architecture(NAMES[backbone]).layers(5, width=512)
    options = {"dropout": 0.2, "activation": "tanh"}
    expected = Architecture(NAMES[backbone], **options).layers(5, width=8, depth=1)
    assert backbone(5, width=8, depth=1, **options).layers == expected


@TABULAR
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_any_activation_trains(backbone, activation):
    net = backbone(5, width=8, activation=activation)
    net(torch.randn(7, 5)).square().sum().backward()
    assert all(p.grad.isfinite().all() for p in net.parameters())


@TABULAR
def test_unknown_activation_is_named(backbone):
    with pytest.raises(ValueError, match=r"Unknown activation 'rleu'\. Did you mean 'relu'\?"):
        backbone(5, activation="rleu")


@TABULAR
@pytest.mark.parametrize("k", [None, 2])
def test_weights_start_kaiming_uniform(backbone, k):
    """Uniform in ±1/√d_in, as torch's nn.Linear; a batch norm starts as the identity."""
    net = backbone(300, width=400, k=k, batch_norm=True)
    weights = dense_weights(net)
    assert len(weights) == sum(isinstance(layer, Dense) for layer in _all(net.layers))
    for weight in weights:
        bound = 1 / math.sqrt(weight.shape[-2])
        assert weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
        assert weight.mean().item() == pytest.approx(0, abs=bound / 100)
    scales = [net[str(i)] for i, layer in enumerate(net.layers) if isinstance(layer, BatchNorm)]
    for held in scales:
        assert (held["weight"] == 1).all()
        assert (held["bias"] == 0).all()


def _all(layers):
    for layer in layers:
        yield from _all(layer.block) if hasattr(layer, "block") else [layer]


@TABULAR
@pytest.mark.parametrize("given", [False, True], ids=["torch's generator", "a generator"])
def test_same_seed_same_weights(backbone, given, seed):
    nets = []
    for _ in range(2):
        torch.manual_seed(seed)
        source = torch.Generator().manual_seed(seed) if given else None
        nets.append(backbone(5, width=8, generators=source))
    assert all(map(torch.equal, nets[0].parameters(), nets[1].parameters()))


@pytest.mark.parametrize("backbone", [MLP, SNN])
def test_mlp_by_hand(backbone):
    net, x = backbone(5, width=8, depth=2), torch.randn(7, 5)
    act = torch.relu if backbone is MLP else torch.selu
    torch.testing.assert_close(net(x), act(affine(net, 2, act(affine(net, 0, x)))))


@pytest.mark.parametrize(
    ("options", "act"),
    [({}, lambda a: a), ({"activation": "relu"}, torch.relu), ({"activation": "tanh"}, torch.tanh)],
    ids=["default", "relu", "tanh"],
)
def test_glu_by_hand(options, act):
    """Each block is activation(a) · sigmoid(b) with a and b two linear maps of its input."""
    net, x = GLU(5, width=8, depth=2, **options), torch.randn(7, 5)
    expected = x
    for i in (0, 2):
        both = affine(net, i, expected)
        expected = act(both[:, :8]) / (1 + torch.exp(-both[:, 8:]))
    torch.testing.assert_close(net(x), expected)


def test_resnet_by_hand():
    net, x = ResNet(5, width=8, depth=2, block_depth=2), torch.randn(7, 5)
    expected = torch.relu(affine(net, 0, x))
    for i in (2, 4):
        inner = torch.relu(affine(net[str(i)], 0, expected))
        expected = torch.relu(expected + affine(net[str(i)], 2, inner))
    torch.testing.assert_close(net(x), expected)


# ---------------------------------------------------------------------------- Glorot's start


@pytest.mark.parametrize("gain", [1.0, math.sqrt(2)])
@pytest.mark.parametrize("k", [None, 3])
def test_glorot_fills_the_interval_of_the_paper(gain, k):
    net = MLP(5, width=200, depth=3, k=k)
    glorot_uniform(net, gain=gain)
    for weight in dense_weights(net):
        bound = gain * math.sqrt(6 / sum(weight.shape[-2:]))
        assert 0.95 * bound < weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
    assert not any(p.any() for name, p in net.named_parameters() if name.endswith("bias"))


def test_glorot_leaves_batch_norm_alone_and_draws_from_the_generators(seed):
    before = torch.get_rng_state()
    source = torch.Generator().manual_seed(seed)
    net = MLP(5, width=8, batch_norm=True, generators=source)
    glorot_uniform(net, source)
    assert torch.equal(torch.get_rng_state(), before)
    assert (net["1"]["weight"] == 1).all()


# --------------------------------------------------------------------------------- image net


def test_convnet_has_the_shape_of_the_pytorch_example():
    shapes = [tuple(p.shape) for p in ConvNet().parameters()]
    conv1, conv2, dense = (32, 1, 3, 3), (64, 32, 3, 3), (128, 9216)
    assert shapes == [conv1, (32,), conv2, (64,), dense, (128,)]
    assert ConvNet()(torch.zeros(2, 1, 28, 28)).shape == (2, 128)


def test_convnet_by_hand():
    net, x = ConvNet((1, 8, 10), channels=(3, 4), width=6), torch.randn(5, 1, 8, 10)
    conv1, conv2 = (layer for layer in net.features if isinstance(layer, nn.Conv2d))
    (dense,) = (layer for layer in net.features if isinstance(layer, nn.Linear))
    pooled = torch.nn.functional.max_pool2d(torch.relu(conv2(torch.relu(conv1(x)))), 2)
    torch.testing.assert_close(net(x), torch.relu(dense(pooled.flatten(1))))
    torch.testing.assert_close(net(x.flatten(1)), net(x))


def test_convnet_dropout_only_when_asked():
    assert count(ConvNet((3, 8, 8)), nn.Dropout) == 0
    assert count(ConvNet((3, 8, 8), dropout=0.3), nn.Dropout) == 2


def test_convnet_has_a_dropout_of_its_own_at_each_place():
    layers = [*ConvNet((1, 8, 8), dropout=(0.25, 0.5)).features]
    drops = {place: layer.p for place, layer in enumerate(layers) if isinstance(layer, nn.Dropout)}
    assert drops == {5: 0.25, 9: 0.5}
    assert isinstance(layers[4], nn.MaxPool2d)
    assert isinstance(layers[8], nn.ReLU)
    assert count(ConvNet((1, 8, 8), dropout=(0.0, 0.5)), nn.Dropout) == 1


@pytest.mark.parametrize("image_shape", [(1, 6, 6), (3, 7, 9), (2, 28, 28)])
def test_convnet_takes_any_image_it_accepts(image_shape):
    net = ConvNet(image_shape, channels=(2, 3), width=4)
    assert net(torch.zeros(3, *image_shape)).shape == (3, 4)


def test_convnet_refuses_tiny_images():
    with pytest.raises(ValueError, match=r"at least 6×6, got image_shape=\(1, 5, 28\)"):
        ConvNet((1, 5, 28))
