"""Objectives: what a step minimises, and the output layer it implies."""

import pytest
import torch
from adacap.core.losses import LOSSES

from adacap.core import draw_permutations, mlr_loss, stack_labels
from adacap.nn import MLP, LinearHead, TikhonovHead
from adacap.training import Members, MLRObjective, Net, PlainObjective

K, N, J = 3, 12, 5


@pytest.fixture
def labels(normal, seed):
    draws = draw_permutations(N, 2, torch.Generator().manual_seed(seed))
    return torch.stack([stack_labels(normal(N, 2), draws) for _ in range(K)])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["difference", "absolute_gap"])
def test_mlr_objective_is_the_mlr_loss_of_each_member(
    fit_intercept, weighted, form, labels, normal
):
    members = Members([Net(MLP(4, width=J), TikhonovHead()).double() for _ in range(K)])
    lam = torch.tensor([0.1, 1.0, 10.0], dtype=torch.float64)
    members.set_lambda(lam)
    hidden, w = normal(K, N, J), normal(K, N).abs() if weighted else None
    step = MLRObjective("rmse", form, fit_intercept)(members, hidden, labels, w)
    for k in range(K):
        one = mlr_loss(
            hidden[k], labels[k], lam[k],
            form=form, sample_weight=None if w is None else w[k], fit_intercept=fit_intercept,
        )  # fmt: skip
        torch.testing.assert_close(step.value[k], one.value)
        torch.testing.assert_close(step.fit_true[k], one.fit_true)
        torch.testing.assert_close(step.fit_permuted[k], one.fit_permuted)
        torch.testing.assert_close(step.coef[k], one.ridge.coef)
        torch.testing.assert_close(step.intercept[k], one.ridge.intercept)
    assert not step.coef.requires_grad
    assert not step.intercept.requires_grad


def test_without_permuted_sets_it_is_the_tikhonov_scheme(labels, normal):
    members = Members([Net(MLP(4, width=J), TikhonovHead()).double() for _ in range(K)])
    step = MLRObjective("rmse")(members, normal(K, N, J), labels[:, :, :1], None)
    assert step.fit_permuted is None
    assert torch.equal(step.value, step.fit_true)


@pytest.mark.parametrize("n_members", [1, K])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["rmse", "ce"])
def test_plain_objective_is_the_loss_of_the_linear_layer(n_members, weighted, loss, normal):
    nets = [Net(MLP(4, width=J), LinearHead(J, 2)).double() for _ in range(n_members)]
    hidden, targets = normal(n_members, N, J), normal(n_members, N, 1, 2).softmax(-1)
    w = normal(n_members, N).abs() if weighted else None
    step = PlainObjective(loss)(Members(nets), hidden, targets, w)
    for k, net in enumerate(nets):
        prediction = net.head(hidden[k]).unsqueeze(1)
        expected = LOSSES[loss](prediction, targets[k], None if w is None else w[k])
        torch.testing.assert_close(step.value[k], expected[0])
        torch.testing.assert_close(step.coef[k], net.head.weight.T.detach())
        torch.testing.assert_close(step.intercept[k], net.head.bias.detach())
    assert step.fit_permuted is None
    assert step.value.requires_grad
    assert not step.coef.requires_grad


@pytest.mark.parametrize("n_members", [1, K])
@pytest.mark.parametrize(
    "objective",
    [
        MLRObjective("rmse"),
        MLRObjective("rmse", fit_intercept=True),
        MLRObjective("rmse", "absolute_gap"),
        MLRObjective("bce"),
        PlainObjective("rmse"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_sets", [1, 3])
def test_gradients_are_those_of_each_member_alone(
    objective, n_members, weighted, n_sets, labels, normal
):
    plain = isinstance(objective, PlainObjective)
    heads = [LinearHead(J, 2) if plain else TikhonovHead(k + 0.5) for k in range(n_members)]
    nets = [Net(MLP(4, width=J), head).double() for head in heads]
    hidden, labels = normal(n_members, N, J), labels[:n_members, :, :n_sets]
    w = normal(n_members, N).abs() if weighted else None
    if objective.loss == "bce":
        labels = labels.sign()
    expected = []
    for k, net in enumerate(nets):
        leaf, weight = hidden[k].clone().requires_grad_(), None if w is None else w[k]
        if plain:
            prediction = net.head(leaf).unsqueeze(1)
            value = LOSSES["rmse"](prediction, labels[k][:, :1], weight)[0]
        else:
            value = mlr_loss(
                leaf, labels[k], net.head.lam, loss=objective.loss, form=objective.form,
                sample_weight=weight, fit_intercept=objective.fit_intercept,
            ).value  # fmt: skip
        value.backward()
        expected.append((leaf.grad, [p.grad.clone() for p in net.head.parameters()]))
    members = Members(nets)
    for parameter in members.parameters():
        parameter.grad = None
    hidden.requires_grad_()
    found = objective(members, hidden, labels, w).backward(members, hidden)
    of_heads = [parameter.grad for parameter in members.parameters(of_head=True)]
    for k, (at_hidden, of_head) in enumerate(expected):
        torch.testing.assert_close(found[k], at_hidden)
        for gradient, one in zip(of_heads, of_head, strict=True):
            torch.testing.assert_close(gradient if n_members == 1 else gradient[k], one)
