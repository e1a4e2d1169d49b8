"""Dithered objectives: noise of its own for each member, drawn anew at each step."""

import copy

import pytest
import torch

from adacap.core import draw_permutations, stack_labels
from adacap.nn import MLP, LinearHead, TikhonovHead
from adacap.training import (
    Dither,
    DitheredObjective,
    Members,
    MLRObjective,
    Net,
    PlainObjective,
    TrainingConfig,
    train,
)

K, N, J = 3, 12, 5
SEEDS = (7, 8, 9)


@pytest.fixture
def labels(normal, seed):
    draws = draw_permutations(N, 2, torch.Generator().manual_seed(seed))
    return torch.stack([stack_labels(normal(N, 1), draws) for _ in range(K)])


def members_of(head):
    return Members([Net(MLP(4, width=J), head()).double() for _ in range(K)])


def objective(inner=None, seeds=SEEDS, **dither):
    return DitheredObjective(inner or MLRObjective("rmse", "absolute_gap"), Dither(**dither), seeds)


def test_the_same_seeds_give_the_same_steps_and_each_step_its_own_noise(labels, normal):
    members, hidden = members_of(TikhonovHead), normal(K, N, J)
    one, other = objective(), objective()
    first = [one(members, hidden, labels, None).value for _ in range(2)]
    again = [other(members, hidden, labels, None).value for _ in range(2)]
    assert torch.equal(torch.stack(first), torch.stack(again))
    assert (first[0] != first[1]).all()


def test_a_member_sees_the_same_noise_alone_and_stacked(labels, normal):
    members, hidden = members_of(TikhonovHead), normal(K, N, J)
    together = objective(target=0.1)(members, hidden, labels, None)
    for k in range(K):
        alone = objective(seeds=SEEDS[k : k + 1], target=0.1)(
            Members([Net(MLP(4, width=J), TikhonovHead()).double()]),
            hidden[k : k + 1], labels[k : k + 1], None,
        )  # fmt: skip
        torch.testing.assert_close(alone.value[0], together.value[k])


def test_the_noise_has_the_scale_asked_for(normal, seed):
    """With H close to 0 the residual is Y + ξ + ε."""
    hidden = 1e-6 * normal(1, 4000, 2)
    labels = torch.zeros(1, 4000, 1, 1, dtype=torch.float64)
    members = Members([Net(MLP(4, width=2), TikhonovHead()).double()])
    for scales in ({"structured": 2.0}, {"structured": 0.0, "target": 2.0}):
        step = objective(seeds=(seed,), **scales)(members, hidden, labels, None)
        assert step.value.item() == pytest.approx(2.0, rel=0.05)


def test_no_noise_is_the_objective_itself(labels, normal):
    members, hidden = members_of(TikhonovHead), normal(K, N, J)
    inner = MLRObjective("rmse", "absolute_gap")
    expected = inner(members, hidden, labels, None)
    step = objective(inner, structured=0.0)(members, hidden, labels, None)
    assert torch.equal(step.value, expected.value)
    assert torch.equal(step.coef, expected.coef)


def test_the_plain_scheme_bears_target_noise_only(labels, normal):
    members = members_of(lambda: LinearHead(J, 1))
    hidden = normal(K, N, J)
    inner = PlainObjective("rmse")
    calm = inner(members, hidden, labels, None).value
    assert torch.equal(objective(inner)(members, hidden, labels, None).value, calm)
    assert (objective(inner, target=0.5)(members, hidden, labels, None).value != calm).all()


def test_classes_bear_no_target_noise(labels, normal):
    members, hidden = members_of(TikhonovHead), normal(K, N, J)
    inner = MLRObjective("bce", "absolute_gap")
    calm = objective(inner, structured=0.0)(members, hidden, labels.sign(), None).value
    noisy = objective(inner, structured=0.0, target=0.5)(members, hidden, labels.sign(), None)
    assert torch.equal(noisy.value, calm)


def test_the_form_is_passed_on(labels, normal):
    members, hidden = members_of(TikhonovHead), normal(K, N, J)
    fitted, halved = (
        objective(form=form)(members, hidden, labels, None).fit_true
        for form in ("fitted", "halved")
    )
    torch.testing.assert_close(2 * halved, fitted)


def test_without_permuted_sets_nothing_is_said_of_them(labels, normal):
    step = objective()(members_of(TikhonovHead), normal(K, N, J), labels[:, :, :1], None)
    assert step.fit_permuted is None


@pytest.mark.usefixtures("global_state_untouched")
def test_no_global_generator_is_drawn_from(labels, normal):
    with torch.random.fork_rng():
        members = members_of(TikhonovHead)
    objective(target=0.1)(members, normal(K, N, J), labels, None)


@pytest.mark.parametrize("name", ["structured", "target"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_a_scale_below_zero_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} dither must be 0 or more, got {value}"):
        Dither(**{name: value})


def test_the_loop_trains_on_it_and_members_do_not_mix(problem):
    task = problem(n_members=2, dtype=torch.float64)
    config = TrainingConfig(max_iter=15, batch_size=32, max_lr=0.1, optimizer="sgd")

    def run(part):
        dithered = DitheredObjective(part.objective, Dither(0.5), [row.seed for row in part.rows])
        nets = [copy.deepcopy(net) for net in part.nets]
        return train(Members(nets), part.data(), dithered, config)

    for k, together in enumerate(run(task)):
        (alone,) = run(task.only(k))
        assert together.history["loss"] == pytest.approx(alone.history["loss"], abs=1e-9)
    assert len(set(together.history["loss"])) == 15
