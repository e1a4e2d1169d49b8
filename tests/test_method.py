"""The library computes what adacap.method says, step by step, in float64."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from adacap import method
from adacap.architectures import mlp
from adacap.core import ridge
from adacap.nn import LinearHead, TikhonovHead
from adacap.nn.modules import Backbone, Nets
from adacap.training import MemberRows, MLRObjective, TrainingConfig, TrainingData, train

STEPS = 25
D_IN, WIDTH, N_VALID = 3, 12, 7


def as_sequential(backbone):
    """A single net of dense layers and ReLUs as torch's own modules."""
    layers = []
    for i in (0, 2):
        linear = nn.Linear(*backbone[str(i)]["weight"].shape, dtype=torch.float64)
        linear.weight.data = backbone[str(i)]["weight"].detach().T.clone()
        linear.bias.data = backbone[str(i)]["bias"].detach().clone()
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers)


class Case:
    """The same nets, rows and labels for the library and for the method."""

    def __init__(self, scheme, n_train, has_weights, intercept, k, normal):
        self.scheme, self.intercept, self.k = scheme, intercept, k
        n = n_train + N_VALID
        self.x = normal(n, D_IN)
        y = self.x[:, :1] * self.x[:, 1:2] + 0.3 * normal(n, 1)
        self.weight = normal(n).abs() + 0.2 if has_weights else None
        rows = [
            MemberRows(
                torch.arange(n).roll(5 * i)[:n_train], torch.arange(n).roll(5 * i)[n_train:], i
            )
            for i in range(k)
        ]
        self.rows, self.y = rows, y
        self.data = TrainingData(self.x, y, self.weight, rows, 4 if scheme == "adacap" else 0)
        if self.data.valid.weight is not None:  # the method scores without weights
            self.data.valid = type(self.data.valid)(
                *(self.data.valid.x, self.data.valid.targets, None)
            )
        generators = [torch.Generator().manual_seed(i) for i in range(k)]
        backbone = Backbone(mlp(D_IN, width=WIDTH), k=k, generators=generators).double()
        if scheme == "plain":
            head = LinearHead(WIDTH, 1, k=k, generators=generators).double()
        else:
            head = TikhonovHead(0.7, fit_intercept=intercept, k=k).double().set_lambda(0.7)
        self.nets = Nets(backbone, head)
        self.start = copy.deepcopy(self.nets)

    def by_library(self):
        config = TrainingConfig(max_iter=STEPS, optimizer="adam", max_lr=0.01)
        return train(self.nets, self.data, MLRObjective("rmse"), config, score="neg_rmse")

    def by_method(self, i):
        member, head = self.rows[i], None
        if self.scheme == "plain":
            head = nn.Linear(WIDTH, 1, dtype=torch.float64)
            head.weight.data = self.start.head.weight[i].detach().T.clone()
            head.bias.data = self.start.head.bias[i].detach().clone()
        return method.train(
            as_sequential(self.start.backbone.member(i)), self.scheme, self.x[member.train],
            self.data.labels[i].squeeze(-1), self.x[member.valid], self.y[member.valid],
            w=None if self.weight is None else self.weight[member.train],
            intercept=self.intercept, head=head, lam=0.7, max_iter=STEPS, max_lr=0.01,
        )  # fmt: skip

    def largest_difference(self):
        trained, worst = self.by_library(), 0.0
        for i in range(self.k):
            expected = self.by_method(i)
            assert trained.best_step[i] == expected.best
            pairs = [(trained.histories[i]["loss"], expected.losses)]
            if self.scheme != "plain":
                pairs.append((trained.histories[i]["lambda"], expected.lambdas))
            hidden = trained.nets.backbone.member(i)(self.x)
            found = hidden @ trained.coef[i] + trained.intercept[i]
            pairs.append((found.flatten().tolist(), expected.predict(self.x).flatten().tolist()))
            for ours, theirs in pairs:
                assert len(ours) == len(theirs) > 0
                worst = max(worst, *(abs(a - b) for a, b in zip(ours, theirs, strict=True)))
        return worst


@pytest.mark.parametrize("scheme", ["plain", "tikhonov", "adacap"])
@pytest.mark.parametrize("n_train", [40, 9], ids=["n > J", "n ≤ J"])
@pytest.mark.parametrize("has_weights", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
@pytest.mark.parametrize("k", [1, 5], ids=["one net", "five nets"])
def test_the_library_computes_what_the_method_says(
    scheme, n_train, has_weights, intercept, k, normal
):
    case = Case(scheme, n_train, has_weights, intercept, k, normal)
    assert case.largest_difference() < 1e-8


def test_a_wrong_gradient_does_not_pass(monkeypatch, normal):
    right = ridge._Solve.backward

    def wrong(ctx, *grads):
        at_hidden, *rest = right(ctx, *grads)
        return at_hidden + 0.01 * at_hidden.roll(1, -1), *rest  # Adam would forgive a mere factor

    monkeypatch.setattr(ridge._Solve, "backward", staticmethod(wrong))
    assert Case("adacap", 40, False, True, 5, normal).largest_difference() > 1e-5


def test_the_start_of_lambda_is_the_paper_s(normal):
    from adacap.core import initial_lambda, lambda_grid

    A, labels, w = normal(30, 6), normal(30, 5), normal(30).abs()
    for weight in (None, w):
        for intercept in (False, True):
            expected = method.start_of_lambda(A, labels, weight, intercept)
            found = initial_lambda(
                A,
                labels.unsqueeze(-1),
                lambda_grid(),
                sample_weight=weight,
                fit_intercept=intercept,
            )
            assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def test_it_is_short_and_it_runs():
    assert len(Path(method.__file__).read_text(encoding="utf-8").splitlines()) <= 150
    done = subprocess.run(
        [sys.executable, "-m", "adacap.method"], capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["plain", "tikhonov", "adacap"]
