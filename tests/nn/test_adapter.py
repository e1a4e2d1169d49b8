"""A user's modules as one: the same features and state, or a reason; draws from generators."""

import copy
import re
import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from adacap.nn import MLP, ConvNet
from adacap.nn.adapter import Stacked, built_from, drawing_from, keeps_nothing, why_not_stacked


class Own(nn.Module):
    """Residual, LayerNorm, a buffer that no state_dict holds, a frozen layer."""

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
    """Keeps a statistic of its own, in place, as batch norm does."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 8)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        h = self.linear(x)
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * h.detach().mean(0))
        return torch.relu(h - self.mean)


MODULES = {
    "sequence": lambda: nn.Sequential(nn.Linear(4, 8), nn.ELU(), nn.Linear(8, 8)),
    "batch norm": lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()),
    "own": Own,
    "running mean": RunningMean,
    "backbone": lambda: MLP(4, width=8),
}
STACKABLE = pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)


def built(make, seed, k=3):
    return [built_from(make, seed + i, torch.zeros(2, 4)) for i in range(k)]


# ----------------------------------------------------------------------------------- stacked


@STACKABLE
@pytest.mark.parametrize("k", [1, 3])
def test_stacked_modules_compute_as_they_do_alone(make, k, normal, seed):
    """Features, gradients and buffers, in training and in evaluation mode."""
    stacked = Stacked(built(make, seed, k)).double()
    alone = [module.double() for module in built(make, seed, k)]
    x = normal(k, 7, 4)
    for training in (True, False):
        stacked.train(training)
        features = stacked(x)
        assert features.shape == (k, 7, 8)
        features.square().sum().backward()
        for i, module in enumerate(alone):
            own = module.train(training)(x[i])
            own.square().sum().backward()
            torch.testing.assert_close(features[i], own)
    for i, module in enumerate(alone):
        tensors = dict(module.named_parameters()) | dict(module.named_buffers())
        for name, tensor in stacked.state().items():
            torch.testing.assert_close(tensor[i], tensors[name].detach(), msg=name)
    wanted = [[p.grad for p in m.parameters() if p.requires_grad] for m in alone]
    found = [p.grad for p in stacked.parameters() if p.requires_grad]
    for j, grad in enumerate(found):
        for i in range(k):
            torch.testing.assert_close(grad if k == 1 else grad[i], wanted[i][j])


@STACKABLE
@pytest.mark.parametrize("k", [1, 3])
def test_a_member_has_its_state_and_no_gradient(make, k, normal, seed):
    modules = built(make, seed, k)
    stacked = Stacked(modules).train()
    x = normal(k, 7, 4, dtype=torch.float32)
    stacked(x).sum().backward()  # moves buffers
    with torch.no_grad():
        for tensor in stacked.state().values():
            tensor.mul_(0.5) if tensor.is_floating_point() else None
    features = stacked.eval()(x)
    for i in range(k):
        member = stacked.member(i)
        assert type(member) is type(modules[0])
        assert not member.training
        assert all(p.is_leaf and p.grad is None for p in member.parameters())
        torch.testing.assert_close(member(x[i]), features[i])


def test_frozen_layers_stay_frozen(seed):
    for k in (1, 3):
        stacked = Stacked(built(Own, seed, k))
        assert sum(p.requires_grad for p in stacked.parameters()) == 6
        frozen = dict(stacked.member(0).named_parameters())["frozen.weight"]
        assert not frozen.requires_grad


def test_modules_given_stay_as_they_were(normal, seed):
    modules = built(MODULES["batch norm"], seed)
    before = [copy.deepcopy(module.state_dict()) for module in modules]
    stacked = Stacked(modules).train()
    stacked(normal(3, 7, 4, dtype=torch.float32))
    for module, state in zip(modules, before, strict=True):
        for name, tensor in module.state_dict().items():
            assert torch.equal(tensor, state[name])


# -------------------------------------------------------------------------- why not stacked


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
    ("make", "reason"),
    [
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2)), r"'1' \(Dropout\) draws random"),
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.RReLU()), r"layer '1' \(RReLU\) draws"),
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.AlphaDropout()), r"\(AlphaDropout\) draws"),
        (FunctionalDropout, "torch.func cannot batch it: .*random"),
        (Noise, "torch.func cannot batch it: .*random"),
        (NumpyNoise, "different features when stacked"),
        (Branch, "torch.func cannot batch it: .*data-dependent control flow"),
        (LooseTensor, "the tensor 'shift' of its layer '' is neither parameter nor buffer"),
        (LooseChoice, "different features when stacked"),
        (PutBuffer, "different features when stacked"),
        (Tied, "torch.func cannot batch it"),
        (
            lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, momentum=None)),
            "cannot batch it",
        ),
    ],
)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.usefixtures("global_state_untouched")
def test_what_cannot_be_stacked_has_a_reason(make, reason, training, normal, seed):
    modules = [module.train(training) for module in built(make, seed)]
    answer = why_not_stacked(modules, normal(6, 4, dtype=torch.float32))
    assert answer is not None
    assert re.search(reason, answer), answer


@STACKABLE
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.usefixtures("global_state_untouched")
def test_asking_changes_nothing(make, training, normal, seed):
    modules = [module.train(training) for module in built(make, seed)]
    before = copy.deepcopy(modules)
    assert why_not_stacked(modules, normal(6, 4, dtype=torch.float32)) is None
    for module, old in zip(modules, before, strict=True):
        assert module.training is training
        for kind in ("parameters", "buffers"):
            assert all(map(torch.equal, getattr(module, kind)(), getattr(old, kind)()))
        assert all(p.grad is None for p in module.parameters())


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(36, 8), nn.Dropout(0.0)),
        lambda: ConvNet((1, 6, 6), channels=(2, 3), width=4),
    ],
    ids=["dropout of zero", "images"],
)
def test_no_obstacle(make, normal, seed):
    assert why_not_stacked(built(make, seed), normal(6, 36, dtype=torch.float32)) is None


# ---------------------------------------------------------------------- where draws come from

DRAWS = {
    "rand": lambda: torch.rand(3),
    "randn_like": lambda: torch.randn_like(torch.zeros(3)),
    "randint": lambda: torch.randint(99, (3,)),
    "randint from": lambda: torch.randint(5, 99, (3,)),
    "randperm": lambda: torch.randperm(9),
    "normal": lambda: torch.normal(torch.zeros(3), 1.0),
    "bernoulli": lambda: torch.bernoulli(torch.full((20,), 0.5)),
    "multinomial": lambda: torch.multinomial(torch.ones(9), 5),
    "in place": lambda: torch.zeros(3).uniform_(),
    "start of a layer": lambda: nn.Linear(2, 3).weight.detach(),
    "orthogonal": lambda: nn.init.orthogonal_(torch.empty(3, 3)),
    "dropout": lambda: F.dropout(torch.ones(20)),
    "RReLU": lambda: nn.RReLU()(-torch.ones(3)),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.usefixtures("global_state_untouched")
def test_draws_come_from_the_generator_alone(draw, seed):
    found = []
    for each in (seed, seed, seed + 1):
        with drawing_from(torch.Generator().manual_seed(each)):
            found.append((draw(), draw()))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    assert not torch.equal(found[0][0], found[0][1])
    assert not torch.equal(found[0][0], found[2][0])


def test_without_a_generator_draws_are_torchs():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected = torch.rand(3)
        torch.manual_seed(3)
        with drawing_from(None):
            assert torch.equal(torch.rand(3), expected)


def test_other_threads_draw_as_before(seed):
    """While one thread draws from a generator, another has torch's own, or one of its own."""
    inside, done, found = threading.Event(), threading.Event(), {}

    def other():
        assert inside.wait(300)
        before = torch.get_rng_state()
        torch.rand(3)
        found["moved"] = not torch.equal(torch.get_rng_state(), before)
        with drawing_from(torch.Generator().manual_seed(seed + 1)):
            found["own"] = torch.rand(3)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with torch.random.fork_rng(), drawing_from(torch.Generator().manual_seed(seed)):
        first = torch.rand(3)
        inside.set()
        assert done.wait(300)
        second = torch.rand(3)
        thread.join()
    expected = torch.Generator().manual_seed(seed)
    assert torch.equal(first, torch.rand(3, generator=expected))
    assert torch.equal(second, torch.rand(3, generator=expected))
    assert found["moved"]
    own = torch.Generator().manual_seed(seed + 1)
    assert torch.equal(found["own"], torch.rand(3, generator=own))


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5)),
        lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.RReLU()),
        FunctionalDropout,
        Noise,
    ],
    ids=["dropout", "RReLU", "functional dropout", "noise"],
)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_module_alone_draws_from_its_generator(make, normal, seed):
    found = []
    for each in (seed, seed, seed + 1):
        stacked = Stacked(built(make, seed, 1)).train()
        stacked.generators = [torch.Generator().manual_seed(each)]
        found.append(stacked(torch.ones(1, 20, 4)))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.usefixtures("global_state_untouched")
def test_what_is_built_from_a_seed_is_built_again(seed):
    rows = torch.zeros(2, 4)
    first, second, other = (built_from(Own, each, rows) for each in (seed, seed, seed + 1))
    for one, same, different in zip(*(m.buffers() for m in (first, second, other)), strict=True):
        assert torch.equal(one, same)
        assert not torch.equal(one, different)
    assert all(map(torch.equal, first.parameters(), second.parameters()))


@pytest.mark.usefixtures("global_state_untouched")
def test_lazy_layers_learn_their_size_from_the_rows_and_draw_from_the_seed(seed):
    def make():
        return nn.Sequential(nn.LazyLinear(6), nn.ReLU())

    first, second, other = (
        built_from(make, each, torch.zeros(2, 4)) for each in (seed, seed, seed + 1)
    )
    assert first[0].weight.shape == (6, 4)
    assert first[0].weight.requires_grad
    assert torch.equal(first[0].weight, second[0].weight)
    assert not torch.equal(first[0].weight, other[0].weight)


# ------------------------------------------------------------------------------ keeps_nothing


def hooked():
    net = nn.Sequential(nn.Linear(4, 8))
    net[0].register_forward_hook(lambda layer, inputs, output: 2 * output)
    return net


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout()), True),
        (lambda: MLP(4, width=8, batch_norm=True), True),
        (lambda: ConvNet((1, 6, 6)), True),
        (lambda: Stacked([nn.Linear(4, 8), nn.Linear(4, 8)]), True),
        (RunningMean, False),
        (lambda: nn.Sequential(nn.Linear(4, 8), RunningMean()), False),
        (hooked, False),
    ],
)
def test_several_threads_may_share_what_keeps_nothing(make, expected):
    with torch.random.fork_rng():
        assert keeps_nothing(make().eval()) is expected
