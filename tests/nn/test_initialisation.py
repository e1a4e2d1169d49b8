"""Glorot's start: bounds by the sizes of a layer, zero biases."""

import math

import pytest
import torch
from torch import nn

from adacap.nn import MLP, glorot_uniform


@pytest.fixture
def net(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = MLP(5, width=200, depth=3)
        glorot_uniform(net)
    return net


def test_weights_fill_the_interval_of_the_paper(net):
    for layer in net:
        if isinstance(layer, nn.Linear):
            bound = math.sqrt(6 / (layer.in_features + layer.out_features))
            assert layer.weight.abs().max() <= bound
            assert layer.weight.abs().max() > 0.95 * bound
            assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
            assert not layer.bias.any()


def test_other_layers_and_absent_biases_are_left_alone():
    norm, bare = nn.BatchNorm1d(3), nn.Linear(3, 2, bias=False)
    before = norm.weight.clone()
    with torch.random.fork_rng():
        glorot_uniform(nn.Sequential(norm, bare))
    assert torch.equal(norm.weight, before)
    assert bare.bias is None
