"""The written-out chain rule gives what autograd gives; what is not known is left to autograd."""

import copy

import pytest
import torch
from adacap.training.members import Members, Net
from torch import nn

from adacap.nn import GLU, MLP, SNN, ConvNet, ResNet, TikhonovHead
from adacap.nn.backbones import Gate

KNOWN = {
    "mlp": lambda: MLP(4, width=6, depth=3),
    "tanh": lambda: MLP(4, width=6, activation="tanh"),
    "snn": lambda: SNN(4, width=6),
    "glu": lambda: GLU(4, width=6),
    "gated relu": lambda: GLU(4, width=6, activation="relu"),
    "resnet": lambda: ResNet(4, width=6),
    "own": lambda: nn.Sequential(nn.Sequential(nn.Linear(4, 5), nn.ELU()), nn.Linear(5, 3)),
    "function first": lambda: nn.Sequential(nn.ReLU(), nn.Linear(4, 3), nn.Identity(), nn.SELU()),
    "two functions": lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sigmoid(), nn.Tanh()),
}
ACTIVATIONS = [
    nn.ReLU(), nn.SELU(), nn.Tanh(), nn.Sigmoid(), nn.ELU(0.7), nn.LeakyReLU(0.2), nn.GELU(),
    nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(2.0, 1.0), nn.Identity(),
]  # fmt: skip
KNOWN |= {
    f"dense {act}": lambda act=act: nn.Sequential(nn.Linear(4, 6), copy.copy(act))
    for act in ACTIVATIONS
}
KNOWN |= {
    f"gated {act}": lambda act=act: nn.Sequential(nn.Linear(4, 6), Gate(copy.copy(act)))
    for act in ACTIVATIONS
}


N_MEMBERS, N_TRAIN = 3, 5


def bag(make, n_members=N_MEMBERS):
    """Nets, their inputs, and the features; gradients are those of the first rows alone."""
    torch.manual_seed(0)
    nets = [Net(make(), TikhonovHead()).double() for _ in range(n_members)]
    x = torch.randn(n_members, 7, 4, dtype=torch.float64)
    alone = torch.stack([net.backbone(rows) for net, rows in zip(nets, x, strict=True)])
    alone[:, :N_TRAIN].square().sum().backward()
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


def partly_frozen():
    net = MLP(4, width=6)
    net[0].weight.requires_grad_(False)
    return net


def with_a_hook_on_a_weight():
    net = MLP(4, width=6)
    net[0].weight.register_hook(lambda grad: grad)
    return net


UNKNOWN = {
    "shared": shares_a_layer,
    "hook": hooked,
    "own forward": lambda: Own(nn.Linear(4, 3)),
    "no bias": lambda: nn.Sequential(nn.Linear(4, 3, bias=False)),
    "norm": lambda: nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)),
    "parametrised": parametrised,
}


@pytest.mark.parametrize("n_members", [1, N_MEMBERS], ids=["one", "three"])
@pytest.mark.parametrize("name", [*KNOWN, *UNKNOWN])
def test_features_and_gradients_are_those_of_each_net(name, n_members):
    nets, x, expected = bag((KNOWN | UNKNOWN)[name], n_members)
    gradients = [
        {key: p.grad.clone() for key, p in net.backbone.named_parameters(prefix="backbone")}
        for net in nets
    ]
    members = Members(nets)
    assert members.is_chain == (name in KNOWN)
    given = x.clone()
    for _ in range(2):  # gradients are overwritten, not added up
        for parameter in members.parameters():
            parameter.grad = None
        features = members.features(x)
        members.pull_back(2 * features[:, :N_TRAIN])
    assert not features.requires_grad
    torch.testing.assert_close(features, expected)
    torch.testing.assert_close(x, given)  # no activation works in place on the data
    stacked = dict(zip(members._params, members.parameters(), strict=True))
    for k, of_net in enumerate(gradients):
        for key, gradient in of_net.items():
            found = stacked[key].grad if n_members == 1 else stacked[key].grad[k]
            found = found.T if key in members._turned else found
            torch.testing.assert_close(found, gradient)


@pytest.mark.parametrize("n_members", [1, N_MEMBERS], ids=["one", "three"])
@pytest.mark.parametrize("name", [*KNOWN, *UNKNOWN])
def test_autograd_can_follow_all_the_same(name, n_members):
    nets, x, expected = bag((KNOWN | UNKNOWN)[name], n_members)
    members = Members(nets)
    torch.testing.assert_close(members.hidden(x), expected)
    assert members.hidden(x).requires_grad
    with torch.no_grad():
        torch.testing.assert_close(members.hidden(x), expected)


def test_a_frozen_weight_keeps_its_value():
    net = Net(partly_frozen(), TikhonovHead())
    members = Members([net])
    assert not members.is_chain
    features = members.features(torch.randn(1, 6, 4))
    members.pull_back(features)
    assert net.backbone[0].weight.grad is None
    assert net.backbone[0].bias.grad is not None


def test_a_hook_on_a_weight_is_called():
    assert not Members([Net(with_a_hook_on_a_weight(), TikhonovHead())]).is_chain


@pytest.mark.parametrize("n_members", [1, N_MEMBERS], ids=["one", "three"])
@pytest.mark.parametrize("name", KNOWN)
def test_features_of_one_step_outlive_the_next(name, n_members):
    nets, x, _ = bag(KNOWN[name], n_members)
    members = Members(nets)
    features = members.features(x)
    kept = features.clone()
    members.pull_back(features.clone())
    members.features(x + 1)
    torch.testing.assert_close(features, kept, rtol=0, atol=0)


def test_one_activation_may_stand_in_two_places():
    act = nn.Tanh()
    nets, x, expected = bag(lambda: nn.Sequential(nn.Linear(4, 5), act, nn.Linear(5, 3), act))
    members = Members(nets)
    assert members.is_chain
    torch.testing.assert_close(members.features(x), expected)


def test_nets_keep_no_gradients_after_training():
    nets, x, _ = bag(lambda: MLP(4, width=6), 1)
    members = Members(nets)
    members.pull_back(members.features(x))
    assert all(parameter.grad is None for parameter in members.unstack()[0].parameters())


def test_images_go_through_vmap():
    nets = [Net(ConvNet((1, 6, 6), channels=(2, 3), width=4), TikhonovHead()) for _ in range(2)]
    x = torch.randn(2, 5, 36)
    members = Members(nets)
    assert not members.is_chain
    expected = torch.stack([net.backbone(rows) for net, rows in zip(nets, x, strict=True)])
    torch.testing.assert_close(members.hidden(x), expected, rtol=1e-4, atol=1e-5)


def test_rows_of_more_dimensions_go_through_vmap():
    nets = [Net(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), TikhonovHead()) for _ in range(2)]
    x = torch.randn(2, 5, 2, 4)
    expected = torch.stack([net.backbone(rows) for net, rows in zip(nets, x, strict=True)])
    torch.testing.assert_close(Members(nets).hidden(x), expected)
