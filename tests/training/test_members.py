"""Nets trained together equal nets trained one after another; what cannot is refused."""

import copy
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from adacap.training.members import can_stack
from torch import nn

from adacap.nn import GLU, MLP, SNN, ConvNet, LinearHead, ResNet, TikhonovHead
from adacap.training import Members, Net, TrainingConfig
from adacap.training.config import ELEMENTWISE

EXACT = {"rtol": 1e-7, "atol": 1e-9}  # float64, twenty steps


class Own(nn.Module):
    """A user's module: residual, LayerNorm, a buffer that no state_dict holds, a frozen layer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.inner = nn.Linear(8, 8)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.register_buffer("shift", torch.randn(4), persistent=False)

    def forward(self, x):
        h = torch.relu(self.stem(x + self.shift))
        return h + torch.relu(self.inner(self.norm(h))) + self.frozen(h).tanh()


class RunningMean(nn.Module):
    """Keeps a statistic of its own, in place, as batch-norm does."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 8)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        h = self.linear(x)
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return torch.relu(h - self.mean)


BACKBONES = {
    "mlp": lambda: MLP(4, width=16),
    "mlp deep": lambda: MLP(4, width=8, depth=4, activation="silu"),
    "snn": lambda: SNN(4, width=16),
    "glu": lambda: GLU(4, width=16),
    "resnet": lambda: ResNet(4, width=16),
    "mlp batch-norm": lambda: MLP(4, width=16, batch_norm=True),
    "resnet batch-norm": lambda: ResNet(4, width=8, batch_norm=True),
    "wider than the batch": lambda: MLP(4, width=48, depth=1),
    "own": Own,
    "running mean": RunningMean,
}
STACKED = pytest.mark.parametrize("name", BACKBONES)


def assert_same(together, apart, exact=EXACT):
    """Equal results of two runs, histories included but for the clock."""
    for one, other in zip(together, apart, strict=True):
        assert one.best_step == other.best_step
        assert one.best_score == pytest.approx(other.best_score, rel=1e-6)
        torch.testing.assert_close(one.coef, other.coef, **exact)
        torch.testing.assert_close(one.intercept, other.intercept, **exact)
        for tensors in ("named_parameters", "named_buffers"):
            expected = dict(getattr(other.net, tensors)())
            for name, tensor in getattr(one.net, tensors)():
                torch.testing.assert_close(tensor, expected[name], **exact, msg=name)
        assert len(one.history) == len(other.history)
        columns, expected = one.history.columns(), other.history.columns()
        assert columns.keys() == expected.keys()
        for name in columns.keys() - {"seconds"}:
            np.testing.assert_allclose(columns[name], expected[name], 1e-6, 1e-9, err_msg=name)


@STACKED
def test_stacked_features_are_each_nets_own(name, normal, seed):
    torch.manual_seed(seed)
    nets = [Net(BACKBONES[name](), TikhonovHead()).double() for _ in range(3)]
    x = normal(3, 7, 4)
    for training in (True, False):
        stacked = Members([copy.deepcopy(net) for net in nets])
        stacked.train(training)
        expected = torch.stack([net.train(training).backbone(x[k]) for k, net in enumerate(nets)])
        torch.testing.assert_close(stacked.hidden(x), expected)


@STACKED
@pytest.mark.parametrize("scheme", ["adacap", "plain"])
def test_training_together_is_training_apart(name, scheme, problem):
    task = problem(BACKBONES[name], n_members=3, scheme=scheme, dtype=torch.float64)
    assert can_stack(task.nets[0], task.x, *task.nets[1:]) is None
    assert_same(task.run(), [task.only(k).run()[0] for k in range(3)])


@pytest.mark.parametrize("loss", ["bce", "ce"])
@pytest.mark.parametrize("scheme", ["tikhonov", "adacap"])
def test_other_losses_with_weights_and_intercept(loss, scheme, problem):
    task = problem(
        n_members=3, loss=loss, scheme=scheme, weighted=True, fit_intercept=True,
        dtype=torch.float64,
    )  # fmt: skip
    options = {"score": f"auc_{loss}"}
    assert_same(task.run(**options), [task.only(k).run(**options)[0] for k in range(3)])


def test_images(problem):
    task = problem(
        lambda: ConvNet((1, 6, 6), channels=(3, 4), width=8),
        n_members=2, d_in=36, n_train=24, n_valid=8, dtype=torch.float64,
    )  # fmt: skip
    assert can_stack(task.nets[0], task.x) is None
    assert_same(task.run(), [task.only(k).run()[0] for k in range(2)])


def test_float32(problem):
    task = problem(n_members=3)
    apart = [task.only(k).run()[0] for k in range(3)]
    for one, other in zip(task.run(), apart, strict=True):
        np.testing.assert_allclose(
            one.history["valid_score"], other.history["valid_score"], rtol=0, atol=2e-3
        )


@pytest.mark.parametrize("optimizer", sorted(ELEMENTWISE))
def test_elementwise_optimizers_do_not_mix_members(optimizer, problem):
    decay = 0.0 if optimizer == "rprop" else 0.01
    config = TrainingConfig(max_iter=8, batch_size=32, optimizer=optimizer, weight_decay=decay)
    task = problem(lambda: MLP(4, width=8), n_members=2, dtype=torch.float64)
    assert_same(task.run(config), [task.only(k).run(config)[0] for k in range(2)])


def test_members_stop_apart(problem):
    """A member out of patience ends as it does alone, while the others go on."""
    config = TrainingConfig(max_iter=60, patience=4)
    task = problem(n_members=4, scheme="tikhonov", dtype=torch.float64)
    together = task.run(config)
    assert_same(together, [task.only(k).run(config)[0] for k in range(4)])
    assert len({len(result.history) for result in together}) > 1


def test_without_validation(problem):
    task = problem(n_members=2, n_valid=0, dtype=torch.float64)
    together = task.run()
    assert [result.best_step for result in together] == [19, 19]
    apart = [task.only(k).run()[0] for k in range(2)]
    for one, other in zip(together, apart, strict=True):
        torch.testing.assert_close(one.coef, other.coef, **EXACT)


# ------------------------------------------------------------------------------- can_stack


class OneLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 8)


class FunctionalDropout(OneLayer):
    def forward(self, x):
        return F.dropout(self.linear(x), 0.5, self.training)


class Noise(OneLayer):
    def forward(self, x):
        return self.linear(x) + torch.randn(8)


class NumpyNoise(OneLayer):
    generator = np.random.default_rng(0)

    def forward(self, x):
        return self.linear(x) * self.generator.random()


class Branch(OneLayer):
    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else -self.linear(x)


class LooseTensor(OneLayer):
    def __init__(self):
        super().__init__()
        self.shift = torch.randn(4)

    def forward(self, x):
        return self.linear(x + self.shift)


class LooseChoice(OneLayer):
    """Each instance uses columns of its own, in a plain list."""

    def __init__(self):
        super().__init__()
        self.columns = torch.randperm(8).tolist()

    def forward(self, x):
        return self.linear(x)[:, self.columns]


class PutBuffer(OneLayer):
    """Puts a new buffer in place at each pass instead of changing the old one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        h = self.linear(x)
        if self.training:
            self.mean = 0.5 * self.mean + 0.5 * h.detach().mean(0)
        return h - self.mean


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@pytest.mark.parametrize(
    ("backbone", "reason"),
    [
        (lambda: MLP(4, width=8, dropout=0.2), r"layer 'backbone\.2' \(Dropout\) draws random"),
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.RReLU()), r"'backbone\.1' \(RReLU\) draws"),
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.AlphaDropout()), r"\(AlphaDropout\) draws"),
        (FunctionalDropout, "torch.func cannot batch it: .*random"),
        (Noise, "torch.func cannot batch it: .*random"),
        (NumpyNoise, "other features stacked than alone"),
        (Branch, "torch.func cannot batch it: .*data-dependent control flow"),
        (LooseTensor, "the tensor 'shift' of layer 'backbone' is neither parameter nor buffer"),
        (LooseChoice, "other features stacked than alone"),
        (PutBuffer, "other features stacked than alone"),
        (Tied, "torch.func cannot batch it"),
        (lambda: MLP(4, width=8).append(nn.BatchNorm1d(8, momentum=None)), "cannot batch it"),
    ],
)
@pytest.mark.parametrize("training", [True, False])
def test_what_cannot_be_stacked_has_a_reason(backbone, reason, training, normal, seed):
    torch.manual_seed(seed)
    nets = [Net(backbone(), TikhonovHead()).train(training) for _ in range(3)]
    answer = can_stack(nets[0], normal(6, 4, dtype=torch.float32), *nets[1:])
    assert answer is not None
    assert re.search(reason, answer), answer


@STACKED
@pytest.mark.parametrize("training", [True, False])
def test_asking_changes_nothing(name, training, normal, seed):
    torch.manual_seed(seed)
    net = Net(BACKBONES[name](), TikhonovHead()).train(training)
    before = copy.deepcopy(net)
    generator = torch.get_rng_state()
    assert can_stack(net, normal(6, 4, dtype=torch.float32)) is None
    assert torch.equal(torch.get_rng_state(), generator)
    assert net.training is training
    for kind in ("parameters", "buffers"):
        assert all(map(torch.equal, getattr(net, kind)(), getattr(before, kind)()))
    assert all(p.grad is None for p in net.parameters())


def test_dropout_of_zero_is_no_obstacle(normal):
    net = Net(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.0)), TikhonovHead())
    assert can_stack(net, normal(6, 4, dtype=torch.float32)) is None


# --------------------------------------------------------------------------------- members


@pytest.mark.parametrize("n_members", [1, 3])
def test_parameters_by_part(n_members):
    members = Members([Net(Own(), TikhonovHead()) for _ in range(n_members)])
    backbone, head = (list(members.parameters(of_head=part)) for part in (False, True))
    assert len(backbone) == 6  # the frozen layer is not among them
    assert [p.numel() for p in head] == [n_members]
    assert len(list(members.parameters())) == 7
    assert all(p.is_leaf and p.requires_grad for p in members.parameters())


@pytest.mark.parametrize("n_members", [1, 3])
def test_lambda_and_head_carry_the_member_index(n_members):
    members = Members([Net(MLP(4, width=8), TikhonovHead()) for _ in range(n_members)])
    lam = torch.arange(1.0, n_members + 1)
    members.set_lambda(lam)
    torch.testing.assert_close(members.head("log_lambda").exp(), lam)
    for k, net in enumerate(members.unstack()):
        assert net.head.lam.item() == pytest.approx(k + 1)
    plain = Members([Net(MLP(4, width=8), LinearHead(8, 2)) for _ in range(n_members)])
    assert plain.head("weight").shape == (n_members, 2, 8)


@pytest.mark.parametrize(
    ("backbone", "n_members"),
    [(BACKBONES["mlp batch-norm"], 1), (BACKBONES["mlp batch-norm"], 3), (Own, 3), (PutBuffer, 1)],
)
def test_snapshot_and_restore(n_members, backbone, normal):
    members = Members([Net(backbone(), TikhonovHead()) for _ in range(n_members)])
    x = normal(n_members, 6, 4, dtype=torch.float32)
    members.train()
    members.hidden(x)
    snapshot = members.snapshot()
    members.train(False)
    before = members.hidden(x).detach()
    members.train()
    members.hidden(3 * x)  # moves the running statistics
    with torch.no_grad():
        for parameter in members.parameters():
            parameter.add_(1.0)
    members.restore(snapshot)
    members.train(False)
    torch.testing.assert_close(members.hidden(x), before)


def test_update_overwrites_the_chosen_members_only():
    members = Members([Net(MLP(4, width=8), TikhonovHead()) for _ in range(3)])
    old = members.snapshot()
    kept = {name: tensor.clone() for name, tensor in old.items()}
    with torch.no_grad():
        for parameter in members.parameters():
            parameter.add_(1.0)
    new = members.snapshot()
    members.update(old, [False, True, False])
    for name, tensor in old.items():
        assert torch.equal(tensor[1], new[name][1])
        assert torch.equal(tensor[0::2], kept[name][0::2])
    members.update(old, [False] * 3)
    assert torch.equal(old["head.log_lambda"][0], kept["head.log_lambda"][0])
    members.update(old, [True] * 3)
    assert all(torch.equal(old[name], new[name]) for name in new)


@STACKED
def test_unstack_writes_back(name, normal):
    nets = [Net(BACKBONES[name](), TikhonovHead()) for _ in range(3)]
    members = Members(nets)
    x = normal(3, 6, 4, dtype=torch.float32)
    members.train()
    members.hidden(x)
    with torch.no_grad():
        for parameter in members.parameters():
            parameter.mul_(0.5)
    members.train(False)
    together = members.hidden(x)
    back = members.unstack()
    assert all(a is b for a, b in zip(back, nets, strict=True))
    for k, net in enumerate(back):
        assert all(p.is_leaf for p in net.parameters())
        torch.testing.assert_close(net.eval().backbone(x[k]), together[k])
