"""Dithered objectives: noise of its own for each net, drawn anew at each step."""

import pytest
import torch

from adacap.architectures import mlp
from adacap.core import draw_permutations, stack_labels
from adacap.nn import Backbone, LinearHead, TikhonovHead
from adacap.nn.modules import Nets
from adacap.training import Batch, MLRObjective, TrainingConfig, train
from adacap.training.dithering import Dither, DitheredObjective

K, N, J = 3, 12, 5
SEEDS = (7, 8, 9)


@pytest.fixture
def labels(normal, seed):
    draws = draw_permutations(N, 2, torch.Generator().manual_seed(seed))
    return torch.stack([stack_labels(normal(N, 1), draws) for _ in range(K)])


def nets_of(head):
    return Nets(Backbone(mlp(4, width=J), k=K, generators=torch.Generator()), head).double()


def batch_of(labels, weight=None):
    return Batch(torch.empty(*labels.shape[:2], 4), labels, weight)


def objective(loss="rmse", form="absolute_gap", seeds=SEEDS, **dither):
    names = {"structured", "target", "dither_form"} & dither.keys()
    options = {name.removeprefix("dither_"): dither[name] for name in names}
    return DitheredObjective(loss, form, Dither(**options), seeds)


def tikhonov(k=K):
    return nets_of(TikhonovHead(k=k))


def test_the_same_seeds_give_the_same_steps_and_each_step_its_own_noise(labels, normal):
    nets, hidden, batch = tikhonov(), normal(K, N, J), batch_of(labels)
    one, other = objective(), objective()
    first = [one(nets, hidden, batch).value for _ in range(2)]
    again = [other(nets, hidden, batch).value for _ in range(2)]
    assert torch.equal(torch.stack(first), torch.stack(again))
    assert (first[0] != first[1]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_net_sees_the_same_noise_alone_and_in_a_bag(labels, normal, weighted):
    hidden, w = normal(K, N, J), normal(K, N).abs() if weighted else None
    together = objective(target=0.1)(tikhonov(), hidden, batch_of(labels, w))
    for k in range(K):
        one = slice(k, k + 1)
        alone = objective(seeds=SEEDS[one], target=0.1)(
            tikhonov(k=1), hidden[one], batch_of(labels[one], None if w is None else w[one])
        )
        torch.testing.assert_close(alone.value[0], together.value[k])
        torch.testing.assert_close(alone.layer.coef[0], together.layer.coef[k])


def test_the_noise_has_the_scale_asked_for(normal, seed):
    """With H close to 0 the residual is Y + ξ + ε."""
    hidden, batch = 1e-6 * normal(1, 4000, 2), batch_of(torch.zeros(1, 4000, 1, 1).double())
    for scales in ({"structured": 2.0}, {"structured": 0.0, "target": 2.0}):
        step = objective(seeds=(seed,), **scales)(tikhonov(k=1), hidden, batch)
        assert step.value.item() == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_noise_is_the_mlr_objective(labels, normal, fit_intercept):
    nets, hidden = nets_of(TikhonovHead(k=K, fit_intercept=fit_intercept)), normal(K, N, J)
    batch = batch_of(labels, normal(K, N).abs())
    expected = MLRObjective("rmse", "absolute_gap")(nets, hidden, batch)
    step = objective(structured=0.0)(nets, hidden, batch)
    assert torch.equal(step.value, expected.value)
    assert torch.equal(step.layer.coef, expected.layer.coef)


def test_the_plain_scheme_bears_target_noise_only(labels, normal):
    nets, hidden, batch = nets_of(LinearHead(J, 1, k=K)), normal(K, N, J), batch_of(labels)
    calm = MLRObjective("rmse")(nets, hidden, batch).value
    assert torch.equal(objective()(nets, hidden, batch).value, calm)
    assert (objective(target=0.5)(nets, hidden, batch).value != calm).all()


def test_classes_bear_no_target_noise(labels, normal):
    nets, hidden, batch = tikhonov(), normal(K, N, J), batch_of(labels.sign())
    calm = objective("bce", structured=0.0)(nets, hidden, batch).value
    noisy = objective("bce", structured=0.0, target=0.5)(nets, hidden, batch).value
    assert torch.equal(noisy, calm)


def test_the_forms_are_passed_on(labels, normal):
    nets, hidden, batch = tikhonov(), normal(K, N, J), batch_of(labels)
    fitted, halved = (
        objective(dither_form=form)(nets, hidden, batch).fit_true for form in ("fitted", "halved")
    )
    torch.testing.assert_close(2 * halved, fitted)
    gap = objective(form="difference")(nets, hidden, batch)
    torch.testing.assert_close(gap.value, gap.fit_true - gap.fit_permuted)


def test_without_permuted_sets_nothing_is_said_of_them(labels, normal):
    step = objective()(tikhonov(), normal(K, N, J), batch_of(labels[:, :, :1]))
    assert step.fit_permuted is None


@pytest.mark.usefixtures("global_state_untouched")
def test_no_global_generator_is_drawn_from(labels, normal):
    objective(target=0.1)(tikhonov(), normal(K, N, J), batch_of(labels))


@pytest.mark.parametrize("name", ["structured", "target"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_a_scale_below_zero_is_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} dither must be 0 or more, got {value}"):
        Dither(**{name: value})


def test_the_loop_trains_on_it_and_nets_do_not_mix(problem):
    task = problem(k=2, dtype=torch.float64)
    config = TrainingConfig(max_iter=15, batch_size=32, max_lr=0.1, optimizer="sgd")

    def run(part):
        seeds = [row.seed for row in part.rows]
        dithered = DitheredObjective("rmse", "difference", Dither(0.5), seeds)
        return train(part.nets(), part.data(), dithered, config).histories

    for k, together in enumerate(run(task)):
        (alone,) = run(task.only(k))
        assert together["loss"] == pytest.approx(alone["loss"], abs=1e-9)
    assert len(set(together["loss"])) == 15
