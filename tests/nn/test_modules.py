"""K nets as one module are K nets; the output layer that is solved, and the one that is trained."""

import copy
import math

import pytest
import torch
from torch import nn

from adacap.architectures import Architecture, glu, mlp, resnet
from adacap.core import Ridge, mlr_loss, stack_labels
from adacap.core.mlr import LOSSES
from adacap.layers import Activation, BatchNorm, Dense, Dropout, Residual
from adacap.nn import MLP
from adacap.nn.linear import LinearHead, linear_from
from adacap.nn.modules import Backbone, Nets, TikhonovHead

K, N = 3, 12
LAYERS = {
    "mlp": mlp(4, width=8),
    "silu": mlp(4, width=8, depth=4, activation="silu"),
    "glu": glu(4, width=8),
    "gated tanh": glu(4, width=8, activation="tanh"),
    "resnet": resnet(4, width=8),
    "batch norm": mlp(4, width=8, batch_norm=True),
    "resnet with all": resnet(4, width=8, batch_norm=True, dropout=0.3),
    "norm first": (BatchNorm(4), Dense(4, 8), Activation("tanh")),
    "residual first": (Residual((Dense(4, 4), BatchNorm(4))), Dense(4, 8)),
}
EVERY = pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
SHAPES = pytest.mark.parametrize("shape", [(12, 5), (5, 12)], ids=["long", "wide"])
INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def generators(seed, k=K):
    return [torch.Generator().manual_seed(seed + i) for i in range(k)]


def rows(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_same_state(one, other):
    assert one.state().keys() == other.state().keys()
    for name, tensor in one.state().items():
        torch.testing.assert_close(tensor, other.state()[name], msg=name)


# ---------------------------------------------------------------------------- K nets at once


@EVERY
@pytest.mark.usefixtures("global_state_untouched")
def test_each_net_is_the_one_drawn_from_its_generator(layers, seed):
    many = Backbone(layers, k=K, generators=generators(seed))
    for i, generator in enumerate(generators(seed)):
        alone = Backbone(layers, generators=generator)
        for name, tensor in alone.state().items():
            assert torch.equal(many.state()[name][i], tensor), name


@EVERY
@pytest.mark.parametrize("training", [True, False])
def test_each_net_computes_as_it_does_alone(layers, training, seed):
    """Features, gradients, dropout and the statistics of batch norm, alone or in a bag."""
    many = Backbone(layers, k=K, generators=generators(seed)).double().train(training)
    nets = [Backbone(layers, generators=g).double().train(training) for g in generators(seed)]
    x, direction = rows(seed, K, N, 4).double(), rows(seed + 1, K, N, 8).double()
    many.generators = generators(seed + 7)
    features = many(x)
    assert features.shape == (K, N, 8)
    (features * direction).sum().backward()
    for i, (net, generator) in enumerate(zip(nets, generators(seed + 7), strict=True)):
        net.generators = generator
        own = net(x[i])
        torch.testing.assert_close(features[i], own)
        (own * direction[i]).sum().backward()
        for name, parameter in net.named_parameters():
            grads = many.get_parameter(name).grad[i], parameter.grad
            torch.testing.assert_close(*grads, msg=name)
        assert_same_state(many.member(i), net)


@EVERY
def test_rows_given_once_are_seen_by_all_nets(layers, seed):
    many, x = Backbone(layers, k=K, generators=generators(seed)).eval(), rows(seed, N, 4)
    torch.testing.assert_close(many(x), many(x.expand(K, N, 4)))


@EVERY
def test_one_net_in_a_bag_of_one_is_that_net(layers, seed):
    bag = Backbone(layers, k=1, generators=generators(seed, 1)).eval()
    alone = Backbone(layers, generators=generators(seed, 1)[0]).eval()
    x = rows(seed, N, 4)
    assert torch.equal(bag(x), alone(x).unsqueeze(0))


@EVERY
@pytest.mark.usefixtures("global_state_untouched")
def test_a_member_shares_its_memory_and_stands_alone(layers, seed):
    many, x = Backbone(layers, k=K, generators=generators(seed)).eval(), rows(seed, N, 4)
    alone = many.member(1)
    assert alone.k is None
    assert not alone.training
    assert all(p.is_leaf and p.requires_grad for p in alone.parameters())
    torch.testing.assert_close(alone(x), many(x)[1])
    with torch.no_grad():
        next(many.parameters())[1] += 1
    torch.testing.assert_close(alone(x), many(x)[1])
    torch.testing.assert_close(copy.deepcopy(alone)(x), many(x)[1])


@pytest.mark.parametrize("steps", [1, 5])
def test_batch_norm_is_torchs(steps, seed):
    """Output, gradient and running statistics of each net are those of nn.BatchNorm1d."""
    many = Backbone((BatchNorm(4),), k=K)
    twins = [nn.BatchNorm1d(4) for _ in range(K)]
    for step in range(steps):
        x = 3 * rows(seed + step, K, N, 4) + 1
        out = many(x)
        for i, twin in enumerate(twins):
            torch.testing.assert_close(out[i], twin(x[i]))
    held = many["0"]
    for i, twin in enumerate(twins):
        torch.testing.assert_close(held["running_mean"][i], twin.running_mean)
        torch.testing.assert_close(held["running_var"][i], twin.running_var)
        torch.testing.assert_close(many.eval()(x)[i], twin.eval()(x[i]))


def test_dropout_keeps_the_mean_and_is_still_in_prediction(seed):
    net = Backbone((Dropout(0.25),), k=2)
    net.generators = generators(seed, 2)
    x = torch.ones(2, 50, 400)
    first, second = net(x), net(x)
    torch.testing.assert_close(first.unique(), torch.tensor([0.0, 4 / 3]))
    torch.testing.assert_close(first.mean((1, 2)), torch.ones(2), rtol=0, atol=0.03)
    assert not torch.equal(first, second)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(net.eval()(x), x)


def test_weights_are_drawn_again_with_another_start(seed):
    net = Backbone(mlp(4, width=8), k=2, generators=generators(seed, 2))
    before = copy.deepcopy(net.state())
    net.reset_parameters(generators(seed, 2), start=lambda d_in, d_out: 2 * d_in**-0.5)
    for name, tensor in net.state().items():
        scale = 2 if name.endswith("weight") else 1
        torch.testing.assert_close(tensor, scale * before[name])


def test_the_state_dict_can_be_loaded(seed):
    layers = LAYERS["resnet with all"]
    first, second = (Backbone(layers, k=2, generators=generators(s, 2)) for s in (seed, seed + 9))
    second.load_state_dict(first.state_dict())
    assert_same_state(first, second)


def test_the_number_of_generators_must_be_that_of_the_nets(seed):
    with pytest.raises(ValueError, match="zip"):
        Backbone(mlp(4, width=8), k=3, generators=generators(seed, 2))


def test_repr_shows_the_nets_and_their_layers():
    text = repr(MLP(4, width=8, depth=1, k=2))
    assert text.startswith("MLP(\n  k=2, Dense(d_in=4, d_out=8), Activation(name='relu')")


# ------------------------------------------------------------------ the layer that is solved


@SHAPES
@INTERCEPT
@WEIGHTED
def test_head_is_ridge_with_its_lambda(shape, fit_intercept, weighted, normal):
    hidden, targets = normal(*shape), normal(shape[0], 2)
    w = normal(shape[0]).abs() if weighted else None
    head = TikhonovHead(0.3, fit_intercept=fit_intercept).double()
    ridge = Ridge(hidden, head.lam, sample_weight=w, fit_intercept=fit_intercept)
    expected = ridge.solve(targets)
    torch.testing.assert_close(head(hidden, targets, w), expected.fitted)
    for ours, theirs in zip(head.solve(hidden, targets, w), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@SHAPES
@INTERCEPT
@WEIGHTED
def test_frozen_head_reproduces_the_fit(shape, fit_intercept, weighted, normal):
    hidden, targets = normal(*shape) + 1, normal(shape[0], 2) + 2
    w = normal(shape[0]).abs() if weighted else None
    head = TikhonovHead(0.3, fit_intercept=fit_intercept)
    layer = head.freeze(hidden, targets, w)
    assert type(layer) is nn.Linear
    assert layer.weight.dtype == torch.float64
    torch.testing.assert_close(layer(hidden), head(hidden, targets, w))
    if not fit_intercept:
        assert torch.equal(layer.bias, torch.zeros_like(layer.bias))


@pytest.mark.parametrize("k", [None, 3])
def test_lambda_is_the_only_parameter(k):
    head = TikhonovHead(2.5, k=k)
    assert list(head.state_dict()) == ["log_lambda"]
    assert head.log_lambda.shape == (() if k is None else (k,))
    torch.testing.assert_close(head.lam, torch.full_like(head.lam, 2.5))
    assert head.set_lambda(40.0) is head
    torch.testing.assert_close(head.log_lambda, torch.full_like(head.lam, math.log(40)))
    assert head.log_lambda.requires_grad


@pytest.mark.parametrize("lam", [0.0, -1.0, float("nan"), torch.tensor([1.0, -2.0])])
def test_lambda_is_not_set_to_what_is_not_positive(lam):
    head = TikhonovHead(2.0)
    with pytest.raises(ValueError, match=r"lam must be positive, got"):
        head.set_lambda(lam)
    assert float(head.lam.detach()) == pytest.approx(2.0)


def test_each_net_has_its_own_lambda():
    lam = torch.tensor([0.1, 1.0, 10.0], dtype=torch.float64)
    torch.testing.assert_close(TikhonovHead(k=3).set_lambda(lam).lam, lam.float())


def test_lambda_gets_a_gradient(normal):
    head = TikhonovHead(0.3).double()
    head(normal(9, 4), normal(9, 1)).square().sum().backward()
    assert head.log_lambda.grad < 0  # more λ, smaller fitted values


@pytest.mark.parametrize("form", ["difference", "absolute_gap"])
@INTERCEPT
@WEIGHTED
def test_the_loss_of_each_net_is_that_of_the_function(form, fit_intercept, weighted, normal):
    head = TikhonovHead(fit_intercept=fit_intercept, k=K).double()
    head.set_lambda(torch.tensor([0.1, 1.0, 10.0]))
    hidden, w = normal(K, 9, 4), normal(K, 9).abs() if weighted else None
    labels = stack_labels(normal(9, 1).sign(), torch.arange(9).roll(2).unsqueeze(0))
    labels = labels.expand(K, *labels.shape)
    options = {"loss": "bce", "form": form}
    together = head.mlr_loss(hidden, labels, sample_weight=w, **options)
    for k in range(K):
        own = {"sample_weight": None if w is None else w[k], "fit_intercept": fit_intercept}
        alone = mlr_loss(hidden[k], labels[k], head.lam[k], **own, **options)
        torch.testing.assert_close(together.value[k], alone.value)
        torch.testing.assert_close(together.fit_permuted[k], alone.fit_permuted)
        torch.testing.assert_close(together.layer.coef[k], alone.layer.coef)


@pytest.mark.parametrize("lam", [0.0, -3.0, math.nan])
def test_lambda_must_be_positive(lam):
    with pytest.raises(ValueError, match=f"lam must be positive, got {lam}"):
        TikhonovHead(lam)


def test_repr_shows_lambda():
    assert repr(TikhonovHead(1.0)) == "TikhonovHead(lam=1.0, fit_intercept=False)"
    assert "lam=[1.0, 1.0]" in repr(TikhonovHead(1.0, k=2))


# ----------------------------------------------------------------- the layer that is trained


def test_linear_from_copies(normal):
    coef, intercept = normal(4, 2), normal(2)
    layer = linear_from(coef, intercept)
    x = normal(3, 4)
    torch.testing.assert_close(layer(x), x @ coef + intercept)
    coef.zero_()
    assert layer.weight.abs().max() > 0


@pytest.mark.usefixtures("global_state_untouched")
def test_solved_layers_draw_no_random_numbers(normal):
    TikhonovHead().freeze(normal(9, 4), normal(9, 1))
    LinearHead.of(normal(2, 4, 1), normal(2, 1))


@pytest.mark.usefixtures("global_state_untouched")
def test_linear_heads_of_a_bag_are_those_drawn_alone(seed):
    many = LinearHead(8, 2, k=K, generators=generators(seed))
    hidden = rows(seed, K, N, 8)
    for i, generator in enumerate(generators(seed)):
        alone = LinearHead(8, 2, generators=generator)
        assert torch.equal(many.weight[i], alone.weight)
        assert torch.equal(many.bias[i], alone.bias)
        assert alone.weight.abs().max() <= 8**-0.5
        torch.testing.assert_close(many(hidden)[i], alone(hidden[i]))


@pytest.mark.parametrize("lead", [(), (3,)], ids=["single", "bag"])
def test_a_linear_head_of_given_weights(lead, normal):
    coef, intercept, hidden = normal(*lead, 4, 2), normal(*lead, 2), normal(*lead, 9, 4)
    head = LinearHead.of(coef, intercept)
    torch.testing.assert_close(head(hidden), hidden @ coef + intercept.unsqueeze(-2))


@WEIGHTED
@pytest.mark.parametrize("loss", ["rmse", "ce"])
def test_the_loss_of_a_linear_head_is_that_of_its_output(weighted, loss, normal):
    """Permuted labels are not looked at: there is nothing to solve for them."""
    head = LinearHead(5, 2, k=K).double()
    hidden, labels = normal(K, N, 5), normal(K, N, 3, 2).softmax(-1)
    w = normal(K, N).abs() if weighted else None
    step = head.mlr_loss(hidden, labels, loss=loss, sample_weight=w)
    for k in range(K):
        output = (hidden[k] @ head.weight[k] + head.bias[k]).unsqueeze(1)
        expected = LOSSES[loss](output, labels[k, :, :1], None if w is None else w[k])
        torch.testing.assert_close(step.value[k], expected[0])
    assert step.fit_permuted is None
    assert step.ridge is None
    assert step.value.requires_grad
    assert not step.layer.coef.requires_grad
    torch.testing.assert_close(step.layer.coef, head.weight.detach())


# ----------------------------------------------------------------------------- both together


def test_nets_name_their_state_by_part(seed):
    layers = Architecture("mlp", batch_norm=True).layers(4, width=8, depth=1)
    nets = Nets(Backbone(layers, k=2, generators=generators(seed, 2)), TikhonovHead(k=2))
    assert nets.k == 2
    state = nets.state()
    assert list(state) == [
        "backbone.0.weight", "backbone.0.bias", "backbone.1.weight", "backbone.1.bias",
        "backbone.1.running_mean", "backbone.1.running_var", "head.log_lambda",
    ]  # fmt: skip
    assert all(len(tensor) == 2 and not tensor.requires_grad for tensor in state.values())
