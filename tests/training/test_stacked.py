"""Stacked dense layers do what each net does alone; what is not known is left to vmap."""

import pytest
import torch
from torch import nn

from adacap.nn import GLU, MLP, SNN, ConvNet, ResNet, TikhonovHead
from adacap.training.members import Members, Net

KNOWN = {
    "mlp": lambda: MLP(4, width=6, depth=3),
    "tanh": lambda: MLP(4, width=6, activation="tanh"),
    "snn": lambda: SNN(4, width=6),
    "glu": lambda: GLU(4, width=6),
    "gated relu": lambda: GLU(4, width=6, activation="relu"),
    "resnet": lambda: ResNet(4, width=6),
    "own": lambda: nn.Sequential(nn.Sequential(nn.Linear(4, 5), nn.ELU()), nn.Linear(5, 3)),
}


def bag(make):
    torch.manual_seed(0)
    nets = [Net(make(), TikhonovHead()) for _ in range(3)]
    x = torch.randn(3, 7, 4)
    alone = torch.stack([net.backbone(rows) for net, rows in zip(nets, x, strict=True)])
    alone.square().sum().backward()
    return nets, x, alone.detach()


def shares_a_layer():
    layer, act = nn.Linear(4, 4), nn.ReLU()
    return nn.Sequential(layer, act, layer, act)


def hooked():
    net = MLP(4, width=6)
    net[0].register_forward_hook(lambda layer, inputs, output: 2 * output)
    return net


class Square(nn.Module):
    def forward(self, weight):
        return weight.square()


def parametrised():
    layer = nn.Linear(4, 3)
    nn.utils.parametrize.register_parametrization(layer, "weight", Square())
    return nn.Sequential(layer)


class Own(nn.Sequential):
    def forward(self, x):
        return super().forward(x) + 1


UNKNOWN = {
    "shared": shares_a_layer,
    "hook": hooked,
    "own forward": lambda: Own(nn.Linear(4, 3)),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 3, bias=False)),
    "norm": lambda: nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)),
    "parametrised": parametrised,
}


@pytest.mark.parametrize("name", [*KNOWN, *UNKNOWN])
def test_features_and_gradients_are_those_of_each_net(name):
    nets, x, expected = bag((KNOWN | UNKNOWN)[name])
    members = Members(nets)
    assert (members._direct is not None) == (name in KNOWN)
    hidden = members.hidden(x)
    torch.testing.assert_close(hidden, expected)
    hidden.square().sum().backward()
    stacked = dict(zip(members._params, members.parameters(), strict=True))
    for k, net in enumerate(nets):
        for key, parameter in net.backbone.named_parameters(prefix="backbone"):
            found = stacked[key].grad[k]
            found = found.T if key in members._turned else found
            torch.testing.assert_close(found, parameter.grad, rtol=1e-4, atol=1e-5)


def test_one_activation_may_stand_in_two_places():
    act = nn.Tanh()
    nets, x, expected = bag(lambda: nn.Sequential(nn.Linear(4, 5), act, nn.Linear(5, 3), act))
    members = Members(nets)
    assert members._direct is not None
    torch.testing.assert_close(members.hidden(x), expected)


def test_images_go_through_vmap():
    nets = [Net(ConvNet((1, 6, 6), channels=(2, 3), width=4), TikhonovHead()) for _ in range(2)]
    x = torch.randn(2, 5, 36)
    members = Members(nets)
    assert members._direct is None
    expected = torch.stack([net.backbone(rows) for net, rows in zip(nets, x, strict=True)])
    torch.testing.assert_close(members.hidden(x), expected, rtol=1e-4, atol=1e-5)


def test_rows_of_more_dimensions_go_through_vmap():
    nets = [Net(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), TikhonovHead()) for _ in range(2)]
    x = torch.randn(2, 5, 2, 4)
    expected = torch.stack([net.backbone(rows) for net, rows in zip(nets, x, strict=True)])
    torch.testing.assert_close(Members(nets).hidden(x), expected)
