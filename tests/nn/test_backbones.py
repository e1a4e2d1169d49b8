"""Backbones: shapes, the parts asked for and no others, initialisation, formulas by hand."""

import math

import pytest
import torch
from torch import nn

from adacap.nn.backbones import ACTIVATIONS, GLU, MLP, SNN, ConvNet, ResNet

TABULAR = pytest.mark.parametrize("backbone", [MLP, SNN, GLU, ResNet])


def count(module, kind):
    return sum(isinstance(layer, kind) for layer in module.modules())


@TABULAR
@pytest.mark.parametrize("width", [1, 16])
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("regularised", [False, True])
def test_rows_become_features(backbone, width, depth, regularised):
    options = {"dropout": 0.2, "batch_norm": True} if regularised else {}
    net = backbone(5, width=width, depth=depth, **options)
    hidden = net(torch.randn(7, 5))
    assert hidden.shape == (7, width)
    assert hidden.requires_grad


@pytest.mark.parametrize(
    ("backbone", "n_linear", "activation"),
    [(MLP, 2, nn.ReLU), (SNN, 2, nn.SELU), (GLU, 3, None), (ResNet, 5, nn.ReLU)],
)
def test_defaults(backbone, n_linear, activation):
    net = backbone(5)
    assert net(torch.zeros(2, 5)).shape == (2, 512)
    assert count(net, nn.Linear) == n_linear
    found = {kind for kind in (nn.ReLU, nn.SELU) if count(net, kind)}
    assert found == ({activation} if activation else set())


@TABULAR
def test_dropout_and_batch_norm_only_when_asked(backbone):
    bare = backbone(5, width=8)
    assert count(bare, nn.Dropout) == count(bare, nn.BatchNorm1d) == 0
    n_linear = count(bare, nn.Linear)
    assert count(backbone(5, width=8, batch_norm=True), nn.BatchNorm1d) == n_linear
    dropped = backbone(5, width=8, dropout=0.2)
    assert count(dropped, nn.Dropout) == n_linear
    assert {layer.p for layer in dropped.modules() if isinstance(layer, nn.Dropout)} == {0.2}


@TABULAR
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS.keys() - {"identity"}))
def test_activation_is_used(backbone, activation):
    net = backbone(5, width=8, activation=activation)
    kinds = {name: type(make()) for name, make in ACTIVATIONS.items() if name != "identity"}
    assert [name for name, kind in kinds.items() if count(net, kind)] == [activation]


@TABULAR
def test_unknown_activation_is_named(backbone):
    with pytest.raises(ValueError, match=r"activation must be one of .*relu, .*, got 'rleu'"):
        backbone(5, activation="rleu")


@TABULAR
def test_weights_start_kaiming_uniform(backbone, seed):
    torch.manual_seed(seed)
    for layer in backbone(300, width=400).modules():
        if isinstance(layer, nn.Linear):
            bound = 1 / math.sqrt(layer.in_features)  # torch's slope √5 makes the gain √(1/3)
            assert layer.weight.abs().max() <= bound
            assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
            assert layer.weight.mean().item() == pytest.approx(0, abs=bound / 100)


@TABULAR
def test_same_seed_same_weights(backbone, seed):
    torch.manual_seed(seed)
    first = backbone(5, width=8)
    torch.manual_seed(seed)
    second = backbone(5, width=8)
    assert all(map(torch.equal, first.parameters(), second.parameters()))


@pytest.mark.parametrize("backbone", [MLP, SNN])
def test_mlp_by_hand(backbone):
    net, x = backbone(5, width=8, depth=2), torch.randn(7, 5)
    act = torch.relu if backbone is MLP else torch.selu
    first, second = net[0], net[2]
    expected = act(act(x @ first.weight.T + first.bias) @ second.weight.T + second.bias)
    torch.testing.assert_close(net(x), expected)


@pytest.mark.parametrize(
    ("options", "act"),
    [({}, lambda a: a), ({"activation": "relu"}, torch.relu), ({"activation": "tanh"}, torch.tanh)],
    ids=["default", "relu", "tanh"],
)
def test_glu_by_hand(options, act):
    """Each block is activation(a) · sigmoid(b) with a and b two linear maps of its input."""
    net, x = GLU(5, width=8, depth=2, **options), torch.randn(7, 5)
    expected = x
    for linear in (net[0], net[2]):
        a = expected @ linear.weight[:8].T + linear.bias[:8]
        b = expected @ linear.weight[8:].T + linear.bias[8:]
        expected = act(a) / (1 + torch.exp(-b))
    torch.testing.assert_close(net(x), expected)


def test_resnet_by_hand():
    net, x = ResNet(5, width=8, depth=2, block_depth=2), torch.randn(7, 5)
    expected = torch.relu(net[0](x))
    for residual in list(net)[2:]:
        first, second = residual.block[0], residual.block[2]
        expected = torch.relu(expected + second(torch.relu(first(expected))))
    torch.testing.assert_close(net(x), expected)


@pytest.mark.parametrize("block_depth", [1, 2, 3])
def test_resnet_block_depth_counts_linear_layers(block_depth):
    net = ResNet(5, width=8, depth=3, block_depth=block_depth)
    assert count(net, nn.Linear) == 1 + 3 * block_depth


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


@pytest.mark.parametrize("image_shape", [(1, 6, 6), (3, 7, 9), (2, 28, 28)])
def test_convnet_takes_any_image_it_accepts(image_shape):
    net = ConvNet(image_shape, channels=(2, 3), width=4)
    assert net(torch.zeros(3, *image_shape)).shape == (3, 4)


def test_convnet_refuses_tiny_images():
    with pytest.raises(ValueError, match=r"at least 6×6, got image_shape=\(1, 5, 28\)"):
        ConvNet((1, 5, 28))
