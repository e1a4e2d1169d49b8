"""The loop: which iteration is kept, when it stops, what it does when training fails."""

import math
import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

from adacap.core import ridge_fit
from adacap.exceptions import DivergenceError, NotPositiveDefiniteError, NumericalWarning
from adacap.nn import MLP, TikhonovHead
from adacap.training import Callback, Members, TrainingConfig, TrainingData, train
from adacap.training.config import ELEMENTWISE, SCHEDULERS
from adacap.training.scores import SCORES

CONFIG = TrainingConfig(max_iter=20, batch_size=32)
SCHEMES = pytest.mark.parametrize("scheme", ["plain", "tikhonov", "adacap"])
BACKBONES = pytest.mark.parametrize(
    "backbone",
    [
        partial(MLP, 4, width=16),
        partial(MLP, 4, width=16, batch_norm=True, dropout=0.2),
    ],
    ids=["bare", "batch-norm and dropout"],
)


class At(Callback):
    """Do something to the state after one step."""

    def __init__(self, step, action):
        self.step, self.action = step, action

    def on_step(self, state):
        if state.step == self.step:
            self.action(state)


@torch.no_grad()
def poison(state):
    for parameter in state.members.parameters(of_head=False):
        parameter.fill_(math.nan)


def valid_score(task, result, score, k=0):
    """Score of a returned member on its validation rows, computed anew."""
    rows = task.rows[k].valid
    net = result.net.eval()
    with torch.no_grad():
        prediction = net.backbone(task.x[rows]) @ result.coef + result.intercept
    weight = None if task.weight is None else task.weight[rows][None]
    return SCORES[score](prediction[None], task.targets[rows][None], weight).item()


# ---------------------------------------------------------------------- the iteration kept


@SCHEMES
@BACKBONES
@pytest.mark.parametrize(
    ("loss", "score"), [("rmse", "r2"), ("bce", "auc_bce"), ("ce", "auc_ce"), ("rmse", "neg_rmse")]
)
def test_best_iteration_is_kept_whole(scheme, backbone, loss, score, problem):
    task = problem(backbone, scheme=scheme, loss=loss, weighted=True)
    (result,) = task.run(TrainingConfig(max_iter=30, max_lr=0.05, batch_size=32), score=score)
    scores = result.history["valid_score"]
    assert result.best_step == int(np.argmax(scores))
    assert result.best_score == max(scores)
    assert valid_score(task, result, score) == pytest.approx(result.best_score, abs=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_valid", [0, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_layer_kept_is_the_solution_for_the_net_kept(fit_intercept, n_valid, weighted, problem):
    task = problem(
        n_valid=n_valid, fit_intercept=fit_intercept, weighted=weighted, dtype=torch.float64
    )
    (result,) = task.run(TrainingConfig(max_iter=15))
    rows = task.rows[0].train
    expected = ridge_fit(
        result.net.backbone(task.x[rows]), task.targets[rows], result.net.head.lam,
        sample_weight=None if task.weight is None else task.weight[rows],
        fit_intercept=fit_intercept,
    )  # fmt: skip
    torch.testing.assert_close(result.coef, expected.coef.detach())
    torch.testing.assert_close(result.intercept, expected.intercept.detach())
    assert result.net.head.lam.item() == pytest.approx(result.history["lambda"][result.best_step])


@SCHEMES
def test_without_validation_the_last_iteration_is_kept(scheme, problem):
    (result,) = problem(scheme=scheme, n_valid=0).run()
    assert result.best_step == 19
    assert len(result.history) == 20
    assert "valid_score" not in result.history.columns()


def test_a_score_that_is_no_number_is_never_the_best(problem):
    task = problem()
    x = task.x.clone()
    x[task.rows[0].valid[0]] = math.nan
    (result,) = replace(task, x=x).run()
    assert np.isnan(result.history["valid_score"]).all()
    assert result.best_step == 0
    assert result.best_score == -math.inf


def test_external_validation_rows_are_used(problem):
    task = problem()
    held = task.rows[0].valid
    external = task.x[held], task.targets[held], None
    rows = [replace(task.rows[0], valid=held[:0])]
    data = TrainingData(task.x, task.targets, None, rows, 3, external)
    members = Members(task.nets)
    (expected,) = task.run()
    (result,) = train(members, data, task.objective, CONFIG)
    assert result.history["valid_score"] == expected.history["valid_score"]


@pytest.mark.parametrize("n_valid", [0, 20])
def test_an_iteration_asked_for_is_kept_whatever_its_score(n_valid, problem):
    task = problem(n_members=2, n_valid=n_valid, dtype=torch.float64)
    together = task.run(keep_at=[3, 8])
    for k, step in enumerate([3, 8]):
        (alone,) = task.only(k).run(keep_at=[step])
        (short,) = task.only(k).run(
            callbacks=[At(step, lambda state: setattr(state, "stop", True))]
        )
        assert together[k].best_step == alone.best_step == step
        assert len(together[k].history) == len(alone.history) == step + 1
        torch.testing.assert_close(together[k].coef, alone.coef)
        if not n_valid:  # the last iteration of a shorter run
            torch.testing.assert_close(alone.coef, short.coef)


def test_training_that_ends_before_the_iteration_asked_for_keeps_its_last(problem):
    stop = At(4, lambda state: setattr(state, "stop", True))
    (result,) = problem().run(keep_at=[8], callbacks=[stop])
    assert result.best_step == 4


# --------------------------------------------------------------------------------- progress


@SCHEMES
@pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
def test_the_objective_decreases(scheme, loss, problem):
    task = problem(scheme=scheme, loss=loss)
    (result,) = task.run(TrainingConfig(max_iter=60), score=f"neg_{loss}")
    losses = result.history["loss"]
    assert losses[-1] < losses[0] - 0.05
    assert np.mean(losses[-10:]) < np.mean(losses[:10])


def test_adacap_learns_the_signal(problem):
    (result,) = problem(n_train=200, n_valid=100).run(TrainingConfig(max_iter=80, max_lr=0.03))
    assert result.best_score > 0.5


@SCHEMES
@pytest.mark.parametrize("n_valid", [0, 20])
def test_what_a_record_holds(scheme, n_valid, problem):
    (result,) = problem(scheme=scheme, n_valid=n_valid).run()
    columns = result.history.columns()
    expected = {"step", "loss", "fit_true", "learning_rate", "seconds"}
    expected |= {"valid_score"} if n_valid else set()
    expected |= {"lambda"} if scheme != "plain" else set()
    expected |= {"fit_permuted"} if scheme == "adacap" else set()
    assert set(columns) == expected
    assert columns["step"] == list(range(20))
    assert columns["seconds"] == sorted(columns["seconds"])
    if scheme == "adacap":
        gap = np.subtract(columns["fit_true"], columns["fit_permuted"])
        np.testing.assert_allclose(columns["loss"], gap, atol=1e-6)
    if scheme != "plain":  # λ of the forward pass, before the step moves it
        assert columns["lambda"][0] == pytest.approx(2.0)
        assert len(set(columns["lambda"])) == 20


@SCHEMES
@pytest.mark.parametrize("batch_size", [16, 1000])
def test_same_seeds_same_bits(scheme, batch_size, problem):
    config = TrainingConfig(max_iter=15, batch_size=batch_size)
    (first,), (second,) = (problem(scheme=scheme).run(config) for _ in range(2))
    assert torch.equal(first.coef, second.coef)
    assert torch.equal(first.intercept, second.intercept)
    assert all(map(torch.equal, first.net.parameters(), second.net.parameters()))
    for name in first.history.columns().keys() - {"seconds"}:
        assert first.history[name] == second.history[name]


@pytest.mark.usefixtures("global_state_untouched")
def test_no_global_generator_is_used(problem):
    state = torch.get_rng_state()
    task = problem()
    torch.set_rng_state(state)
    task.run()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_feature_and_a_small_lambda(dtype, problem):
    """Many hidden features of one input depend on each other; training goes on."""
    task = problem(lambda: MLP(4, width=128), n_train=300, dtype=dtype)
    task.x = 30 * task.x[:, :1].expand(-1, 4)
    task.nets[0].head.set_lambda(1e-3)
    (result,) = task.run(TrainingConfig(max_iter=8))
    assert len(result.history) == 8
    assert torch.isfinite(result.coef).all()


def test_steps_run_in_training_mode_and_scores_in_evaluation_mode(problem):
    modes = []

    class Own(nn.Linear):
        def forward(self, x):
            modes.append((self.training, torch.is_grad_enabled(), len(x)))
            return super().forward(x)

    task = problem(partial(Own, 4, 6))
    modes.clear()
    task.run(replace(CONFIG, max_iter=3))
    assert modes == [(True, True, 32), (False, False, 20)] * 3


@pytest.mark.parametrize("n_members", [1, 2])
def test_running_statistics_belong_to_the_iteration_kept(n_members, problem):
    task = problem(partial(MLP, 4, width=16, batch_norm=True), n_members=n_members)
    for result in task.run():
        assert result.net.backbone[1].num_batches_tracked == result.best_step + 1


# ------------------------------------------------------------------ optimisers and schedules


@pytest.mark.parametrize(
    "optimizer",
    [
        *sorted(ELEMENTWISE),
        "adafactor",
        torch.optim.RMSprop,
        partial(torch.optim.SGD, momentum=0.9),
    ],
)
def test_any_optimizer_trains(optimizer, problem):
    task = problem()
    (result,) = task.run(TrainingConfig(max_iter=6, optimizer=optimizer))
    assert len(result.history) == 6
    for moved in ("loss", "lambda"):  # at times rprop halts an entry for a step
        assert len(set(result.history[moved])) > 3


def test_optimizer_factory_is_the_same_as_its_name(problem):
    task = problem(dtype=torch.float64)
    (by_name,) = task.run(replace(CONFIG, optimizer="sgd"))
    (by_factory,) = task.run(replace(CONFIG, optimizer=torch.optim.SGD))
    assert by_name.history["loss"] == by_factory.history["loss"]


@pytest.mark.parametrize(
    ("scheduler", "last"),
    [
        *((name, None) for name in SCHEDULERS),
        (None, 0.01),
        (lambda optimizer, n_steps: ExponentialLR(optimizer, 0.01 ** (1 / n_steps)), 0.000125),
    ],
)
def test_any_schedule_trains(scheduler, last, problem):
    (result,) = problem().run(replace(CONFIG, scheduler=scheduler))
    rates = result.history["learning_rate"]
    assert len(rates) == 20
    assert max(rates) <= 0.01 + 1e-12
    if last is not None:
        assert rates[-1] == pytest.approx(last, rel=0.02)


def test_weight_decay_leaves_lambda_alone(problem):
    """With a frozen backbone the decay has nothing else to act on."""
    task = problem()
    task.nets[0].backbone.requires_grad_(False)
    plain, decayed = (
        task.run(replace(CONFIG, optimizer="sgd", weight_decay=decay))[0] for decay in (0.0, 10.0)
    )
    assert plain.history["lambda"] == decayed.history["lambda"]


def test_weight_decay_shrinks_the_backbone(problem):
    task = problem(n_valid=0)
    plain, decayed = (
        task.run(replace(CONFIG, optimizer="sgd", weight_decay=decay))[0] for decay in (0.0, 5.0)
    )
    norms = [sum(p.square().sum() for p in r.net.backbone.parameters()) for r in (plain, decayed)]
    assert norms[1] < 0.5 * norms[0]


# ---------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("patience", [1, 3, 8])
def test_patience_stops(patience, problem):
    config = TrainingConfig(max_iter=300, max_lr=0.1, patience=patience)
    (result,) = problem(n_train=20).run(config)
    assert len(result.history) < 300
    assert len(result.history) == result.best_step + patience + 1
    assert result.best_step == int(np.argmax(result.history["valid_score"]))


def test_patience_without_validation_never_stops(problem):
    (result,) = problem(n_valid=0).run(replace(CONFIG, patience=1))
    assert len(result.history) == 20


@pytest.mark.parametrize(("seconds", "n_most"), [(-1.0, 1), (0.05, 50_000)])
def test_deadline_stops_after_at_least_one_step(seconds, n_most, problem):
    task = problem()
    deadline = time.perf_counter() + seconds
    (result,) = task.run(TrainingConfig(max_iter=100_000, deadline=deadline))
    assert 1 <= len(result.history) <= n_most
    assert valid_score(task, result, "r2") == pytest.approx(result.best_score, abs=1e-5)


def test_a_callback_stops(problem):
    (result,) = problem().run(callbacks=[At(4, lambda state: setattr(state, "stop", True))])
    assert len(result.history) == 5


# --------------------------------------------------------------------------------- callbacks


class Diary(Callback):
    def __init__(self, name, pages):
        self.name, self.pages = name, pages

    def on_start(self, state):
        assert state.step == -1
        self.pages.append((self.name, "start"))

    def on_step(self, state):
        assert state.hidden.shape[:2] == state.batch.x.shape[:2]
        assert state.loss.value.shape == (state.members.n_members,)
        self.pages.append((self.name, state.step))

    def on_end(self, state):
        self.pages.append((self.name, "end"))


def test_moments_come_in_order(problem):
    pages = []
    config = replace(CONFIG, max_iter=2)
    problem().run(config, callbacks=[Diary("a", pages), Diary("b", pages)])
    assert pages[:2] == [("a", "start"), ("b", "start")]
    assert pages[2:6] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert sorted(pages[6:]) == [("a", "end"), ("b", "end")]


@pytest.mark.parametrize("n_members", [1, 2])
def test_the_end_is_reached_on_failure_too(n_members, problem):
    pages = []

    def fail(state):
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        problem(n_members=n_members).run(callbacks=[Diary("a", pages), At(1, fail)])
    assert pages == [("a", "start"), ("a", 0), ("a", 1), ("a", "end")]


def test_records_can_be_extended(problem):
    class Double(Callback):
        def on_step(self, state):
            state.record["double"] = [2.0 * state.step] * state.members.n_members

    for result in problem(n_members=2).run(callbacks=[Double()]):
        assert result.history["double"] == [2.0 * step for step in range(20)]


# -------------------------------------------------------------------------------- divergence


@SCHEMES
def test_divergence_keeps_the_best_so_far(scheme, problem):
    task = problem(scheme=scheme)
    text = r"diverged at step 6; the best iteration before that, \d, is kept.*max_lr \(now 0\.01\)"
    with pytest.warns(NumericalWarning, match=text):
        (result,) = task.run(callbacks=[At(5, poison)])
    assert len(result.history) == 6
    assert torch.isfinite(result.coef).all()
    assert all(torch.isfinite(p).all() for p in result.net.parameters())
    assert valid_score(task, result, "r2") == pytest.approx(result.best_score, abs=1e-5)


@SCHEMES
def test_divergence_without_a_usable_iteration(scheme, problem):
    task = problem(scheme=scheme)
    with torch.no_grad():
        next(task.nets[0].backbone.parameters()).fill_(math.nan)
    text = r"diverged at step 0 before a usable iteration: .* max_lr is now 0\.01"
    with pytest.raises(DivergenceError, match=text):
        task.run()


def test_one_diverged_member_of_many_is_an_error(problem):
    @torch.no_grad()
    def poison_one(state):
        next(iter(state.members.parameters()))[1] = math.nan

    with pytest.raises(DivergenceError, match="step 6"):
        problem(n_members=3).run(callbacks=[At(5, poison_one)])


def test_a_matrix_that_cannot_be_factorised_is_a_divergence(problem):
    @dataclass
    class Failing:
        objective: object
        n_good: int

        def __call__(self, *arguments):
            self.n_good -= 1
            if self.n_good < 0:
                raise NotPositiveDefiniteError("Matrix of size 3 is not positive definite.")
            return self.objective(*arguments)

    task = problem()
    with pytest.warns(NumericalWarning, match="diverged at step 4"):
        (result,) = train(Members(task.nets), task.data(), Failing(task.objective, 4), CONFIG)
    assert len(result.history) == 4
    with pytest.raises(DivergenceError, match="Matrix of size 3 is not positive definite"):
        train(Members(task.nets), task.data(), Failing(task.objective, 0), CONFIG)


class Reshaped(nn.Module):
    def __init__(self, reshape):
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.reshape = reshape

    def forward(self, x):
        return self.reshape(self.linear(x))


@pytest.mark.parametrize("n_members", [1, 2])
@pytest.mark.parametrize(
    ("reshape", "got"),
    [
        (lambda h: h[:, 0], r"\(32,\)"),
        (lambda h: h.reshape(len(h), 2, 3), r"\(32, 2, 3\)"),
        (lambda h: h[:-1], r"\(31, 6\)"),
    ],
)
def test_a_backbone_of_the_wrong_shape_is_refused(n_members, reshape, got, problem):
    task = problem(partial(nn.Linear, 4, 6), n_members=n_members)
    for net in task.nets:
        net.backbone = Reshaped(reshape)
    text = rf"must map 32 rows to a tensor of shape \(32, J\), got {got}\. Flatten its output"
    with pytest.raises(ValueError, match=text):
        task.run()


def test_any_module_is_a_backbone(problem):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 6)
            self.linear = nn.Linear(4, 6)

        def forward(self, x):
            token = x[:, 0].clamp(-2, 2).round().long() + 2
            return torch.relu(self.linear(x)) + self.table(token)

    (result,) = problem(Own).run()
    assert isinstance(result.net.head, TikhonovHead)
    assert result.coef.shape == (6, 1)
