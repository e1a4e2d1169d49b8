"""The loop: which iteration is kept, when it stops, what it does when training fails.

And one net in a bag is that net alone.
"""

import math
import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

from adacap.architectures import glu, mlp, resnet, snn
from adacap.core import Ridge
from adacap.exceptions import DivergenceError, NotPositiveDefiniteError, NumericalWarning
from adacap.nn import ConvNet, TikhonovHead
from adacap.training import Callback, Trainer, TrainingConfig, TrainingData, train
from adacap.training.config import ELEMENTWISE, SCHEDULERS
from adacap.training.data import SCORES
from adacap.training.resuming import UpTo

CONFIG = TrainingConfig(max_iter=20, batch_size=32)
EXACT = {"rtol": 1e-7, "atol": 1e-9}  # float64, twenty steps
SCHEMES = pytest.mark.parametrize("scheme", ["plain", "tikhonov", "adacap"])
BARE_AND_REGULARISED = pytest.mark.parametrize(
    "layers",
    [mlp(4, width=16), mlp(4, width=16, batch_norm=True, dropout=0.2)],
    ids=["bare", "batch norm and dropout"],
)


class At(Callback):
    """Do something to the state after one step."""

    def __init__(self, step, action):
        self.step, self.action = step, action

    def on_step(self, state):
        if state.step == self.step:
            self.action(state)


def stop_at(step):
    return At(step, lambda state: setattr(state, "stop", True))


@torch.no_grad()
def poison(state):
    for parameter in state.nets.backbone.parameters():
        parameter.fill_(math.nan)


@torch.no_grad()
def predictions(task, result):
    """Outputs ``(K, m, c)`` of the nets kept, on their validation rows."""
    hidden = result.nets.eval().backbone(task.data().valid.x)
    return hidden @ result.coef + result.intercept.unsqueeze(1)


def valid_scores(task, result, score):
    """Scores of the nets kept, computed anew."""
    valid = task.data().valid
    return SCORES[score](predictions(task, result), valid.targets, valid.weight).tolist()


def assert_same_net(together, k, alone):
    """Net k of one run is the only net of another, its history but for the clock."""
    assert together.best_step[k] == alone.best_step[0]
    assert together.best_score[k] == pytest.approx(alone.best_score[0], rel=1e-6)
    torch.testing.assert_close(together.coef[k], alone.coef[0], **EXACT)
    torch.testing.assert_close(together.intercept[k], alone.intercept[0], **EXACT)
    own = alone.nets.state()
    for name, tensor in together.nets.state().items():
        torch.testing.assert_close(tensor[k], own[name][0], **EXACT, msg=name)
    columns, expected = together.histories[k].columns(), alone.histories[0].columns()
    assert columns.keys() == expected.keys()
    for name in columns.keys() - {"seconds"}:
        np.testing.assert_allclose(columns[name], expected[name], 1e-6, 1e-9, err_msg=name)


# ---------------------------------------------------------------------- the iteration kept


@SCHEMES
@BARE_AND_REGULARISED
@pytest.mark.parametrize(
    ("loss", "score"), [("rmse", "r2"), ("bce", "auc_bce"), ("ce", "auc_ce"), ("rmse", "neg_rmse")]
)
def test_best_iteration_of_each_net_is_kept_whole(scheme, layers, loss, score, problem):
    task = problem(layers, k=2, scheme=scheme, loss=loss, weighted=True)
    config = TrainingConfig(max_iter=30, max_lr=0.05, batch_size=32)
    result = task.run(config, score=score)
    for k, history in enumerate(result.histories):
        assert result.best_step[k] == int(np.argmax(history["valid_score"]))
        assert result.best_score[k] == max(history["valid_score"])
    assert valid_scores(task, result, score) == pytest.approx(result.best_score, abs=1e-5)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_valid", [0, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_layer_kept_is_the_solution_for_the_net_kept(fit_intercept, n_valid, weighted, problem):
    task = problem(
        n_valid=n_valid, fit_intercept=fit_intercept, weighted=weighted, dtype=torch.float64
    )
    result = task.run(TrainingConfig(max_iter=15))
    batch = next(task.data().batches(1000))
    hidden, lam = result.nets.backbone(batch.x), result.nets.head.lam
    ridge = Ridge(hidden, lam, sample_weight=batch.weight, fit_intercept=fit_intercept)
    expected = ridge.solve(batch.labels[:, :, 0])
    torch.testing.assert_close(result.coef, expected.coef.detach())
    torch.testing.assert_close(result.intercept, expected.intercept.detach())
    lams = result.histories[0]["lambda"]
    assert result.nets.head.lam.item() == pytest.approx(lams[result.best_step[0]])


@SCHEMES
def test_without_validation_the_last_iteration_is_kept(scheme, problem):
    result = problem(scheme=scheme, n_valid=0).run()
    assert result.best_step == [19]
    assert len(result.histories[0]) == 20
    assert "valid_score" not in result.histories[0].columns()
    assert result.trace is None


def test_a_score_that_is_no_number_is_never_the_best(problem):
    task = problem()
    x = task.x.clone()
    x[task.rows[0].valid[0]] = math.nan
    result = replace(task, x=x).run()
    assert np.isnan(result.histories[0]["valid_score"]).all()
    assert result.best_step == [0]
    assert result.best_score == [-math.inf]


def test_external_validation_rows_are_used(problem):
    task = problem()
    held = task.rows[0].valid
    external = task.x[held], task.targets[held], None
    rows = [replace(task.rows[0], valid=held[:0])]
    data = TrainingData(task.x, task.targets, None, rows, 3, external)
    expected = task.run().histories[0]["valid_score"]
    assert train(task.nets(), data, task.objective, CONFIG).histories[0]["valid_score"] == expected


def up_to(last, task, **options):
    return UpTo(task.nets(), task.data(), task.objective, CONFIG, last=last, **options).run()


@pytest.mark.parametrize("n_valid", [0, 20])
def test_an_iteration_asked_for_is_kept_whatever_its_score(n_valid, problem):
    task = problem(k=2, n_valid=n_valid, dtype=torch.float64)
    together = up_to([3, 8], task)
    assert together.best_step == [3, 8]
    for k, step in enumerate([3, 8]):
        alone = up_to([step], task.only(k))
        assert len(alone.histories[0]) == step + 1
        assert_same_net(together, k, alone)
        if not n_valid:  # the last iteration of a shorter run
            short = task.only(k).run(callbacks=[stop_at(step)])
            torch.testing.assert_close(alone.coef, short.coef)


def test_training_that_ends_before_the_iteration_asked_for_keeps_its_last(problem):
    assert up_to([8], problem(), callbacks=[stop_at(4)]).best_step == [4]


@pytest.mark.parametrize("k", [1, 2])
def test_running_statistics_belong_to_the_iteration_kept(k, problem):
    def make():
        return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())

    result = problem(make, k=k).run()
    seen = result.nets.state()["backbone.1.num_batches_tracked"]
    assert seen.tolist() == [step + 1 for step in result.best_step]


@pytest.mark.parametrize(("max_iter", "n_kept"), [(20, 20), (40, 20), (100, 25)])
def test_predictions_along_the_way_are_kept(max_iter, n_kept, problem):
    task = problem(k=2, n_valid=140)
    result = task.run(TrainingConfig(max_iter=max_iter))
    assert result.trace.shape == (2, n_kept, 128, 1)
    every = max_iter // n_kept
    for k, step in enumerate(result.best_step):
        if step % every == 0:
            expected = predictions(task, result)[k, :128]
            torch.testing.assert_close(result.trace[k, step // every], expected)


# ------------------------------------------------------------- a net in a bag is a net alone


class Own(nn.Module):
    """A user's module: residual, LayerNorm, a buffer, a frozen layer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.register_buffer("shift", torch.randn(4), persistent=False)

    def forward(self, x):
        h = torch.relu(self.stem(x + self.shift))
        return h + self.frozen(self.norm(h)).tanh()


BACKBONES = {
    "mlp": mlp(4, width=16),
    "deep": mlp(4, width=8, depth=4, activation="silu"),
    "snn": snn(4, width=16),
    "glu": glu(4, width=16),
    "resnet": resnet(4, width=16),
    "batch norm": mlp(4, width=16, batch_norm=True),
    "dropout": mlp(4, width=16, dropout=0.3),
    "resnet with all": resnet(4, width=8, batch_norm=True, dropout=0.2),
    "wider than the batch": mlp(4, width=48, depth=1),
    "own": Own,
    "own with batch norm": lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh()),
}


@pytest.mark.parametrize("backbone", BACKBONES.values(), ids=BACKBONES)
@pytest.mark.parametrize("scheme", ["adacap", "plain"])
def test_training_together_is_training_apart(backbone, scheme, problem):
    task = problem(backbone, k=3, scheme=scheme, dtype=torch.float64)
    together = task.run()
    for k in range(3):
        assert_same_net(together, k, task.only(k).run())


@pytest.mark.parametrize("loss", ["bce", "ce"])
@pytest.mark.parametrize("scheme", ["tikhonov", "adacap"])
def test_together_with_other_losses_weights_and_intercept(loss, scheme, problem):
    task = problem(
        k=3, loss=loss, scheme=scheme, weighted=True, fit_intercept=True, dtype=torch.float64
    )
    together = task.run(score=f"auc_{loss}")
    for k in range(3):
        assert_same_net(together, k, task.only(k).run(score=f"auc_{loss}"))


def test_together_on_images(problem):
    task = problem(
        lambda: ConvNet((1, 6, 6), channels=(3, 4), width=8),
        k=2, d_in=36, n_train=24, n_valid=8, dtype=torch.float64,
    )  # fmt: skip
    together = task.run()
    for k in range(2):
        assert_same_net(together, k, task.only(k).run())


def test_together_in_float32_up_to_rounding(problem):
    task = problem(k=3)
    for k, history in enumerate(task.run().histories):
        alone = task.only(k).run().histories[0]
        np.testing.assert_allclose(history["valid_score"], alone["valid_score"], rtol=0, atol=2e-3)


@pytest.mark.parametrize("optimizer", sorted(ELEMENTWISE))
def test_elementwise_optimizers_do_not_mix_nets(optimizer, problem):
    decay = 0.0 if optimizer == "rprop" else 0.01
    config = TrainingConfig(max_iter=8, batch_size=32, optimizer=optimizer, weight_decay=decay)
    task = problem(mlp(4, width=8), k=2, dtype=torch.float64)
    together = task.run(config)
    for k in range(2):
        assert_same_net(together, k, task.only(k).run(config))


# --------------------------------------------------------------------------------- progress


@SCHEMES
@pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
def test_the_objective_decreases(scheme, loss, problem):
    result = problem(scheme=scheme, loss=loss).run(TrainingConfig(max_iter=60), score=f"neg_{loss}")
    losses = result.histories[0]["loss"]
    assert losses[-1] < losses[0] - 0.05
    assert np.mean(losses[-10:]) < np.mean(losses[:10])


def test_adacap_learns_the_signal(problem):
    result = problem(n_train=200, n_valid=100).run(TrainingConfig(max_iter=80, max_lr=0.03))
    assert result.best_score[0] > 0.5


@SCHEMES
@pytest.mark.parametrize("n_valid", [0, 20])
def test_what_a_record_holds(scheme, n_valid, problem):
    columns = problem(scheme=scheme, n_valid=n_valid).run().histories[0].columns()
    expected = {"step", "loss", "fit_true", "learning_rate", "seconds"}
    expected |= {"valid_score"} if n_valid else set()
    expected |= {"lambda", "effective_dof"} if scheme != "plain" else set()
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


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("width", "n_train"), [(16, 60), (64, 40)], ids=["long", "wide"])
def test_degrees_of_freedom_are_those_of_the_step(fit_intercept, weighted, width, n_train, problem):
    task = problem(
        mlp(4, width=width), k=2, n_train=n_train,
        fit_intercept=fit_intercept, weighted=weighted, dtype=torch.float64,
    )  # fmt: skip
    expected = []

    class Watch(Callback):
        def on_step(self, state):
            options = {"sample_weight": state.batch.weight, "fit_intercept": fit_intercept}
            lam = torch.tensor(state.record["lambda"])
            expected.append(Ridge(state.hidden, lam, **options).dof().tolist())

    result = task.run(replace(CONFIG, max_iter=21), callbacks=[Watch()])
    for k, history in enumerate(result.histories):
        found = history["effective_dof"]
        assert [i for i, value in enumerate(found) if not math.isnan(value)] == [0, 10, 20]
        for step in (0, 10, 20):
            assert found[step] == pytest.approx(expected[step][k])


@SCHEMES
@BARE_AND_REGULARISED
@pytest.mark.parametrize("batch_size", [16, 1000])
@pytest.mark.usefixtures("global_state_untouched")
def test_same_seeds_same_bits(scheme, layers, batch_size, problem):
    config = TrainingConfig(max_iter=15, batch_size=batch_size)
    first, second = (problem(layers, k=2, scheme=scheme).run(config) for _ in range(2))
    assert torch.equal(first.coef, second.coef)
    assert torch.equal(first.intercept, second.intercept)
    assert all(map(torch.equal, first.nets.state().values(), second.nets.state().values()))
    for one, other in zip(first.histories, second.histories, strict=True):
        for name in one.columns().keys() - {"seconds"}:
            np.testing.assert_array_equal(one[name], other[name])


class Noisy(nn.Module):
    """Draws in its own way, which no list of layers shows."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 8)

    def forward(self, x):
        h = self.linear(x)
        return h + 0.1 * torch.randn_like(h) if self.training else h


@pytest.mark.parametrize(
    "make", [Noisy, lambda: nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3))], ids=["own", "torch's"]
)
@pytest.mark.usefixtures("global_state_untouched")
def test_what_a_users_module_draws_comes_from_the_seed(make, problem):
    first, second = (problem(make).run().histories[0]["loss"] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_feature_and_a_small_lambda(dtype, problem):
    """Many hidden features of one input depend on each other; training goes on."""
    task = problem(mlp(4, width=128), n_train=300, dtype=dtype)
    task.x = 30 * task.x[:, :1].expand(-1, 4)
    nets = task.nets()
    nets.head.set_lambda(1e-3)
    result = task.run(TrainingConfig(max_iter=8), nets=nets)
    assert len(result.histories[0]) == 8
    assert torch.isfinite(result.coef).all()


def test_steps_run_in_training_mode_and_scores_in_evaluation_mode(problem):
    modes = []

    class Spy(nn.Linear):
        def forward(self, x):
            modes.append((self.training, torch.is_grad_enabled(), len(x)))
            return super().forward(x)

    problem(partial(Spy, 4, 6)).run(replace(CONFIG, max_iter=3))
    assert modes == [(True, True, 32), (False, False, 20)] * 3


def test_after_training_nothing_is_left_behind(problem):
    result = problem(mlp(4, width=8, dropout=0.2)).run()
    assert result.nets.backbone.generators is None
    assert all(p.grad is None for p in result.nets.parameters())
    assert not result.coef.requires_grad


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
    history = problem().run(TrainingConfig(max_iter=6, optimizer=optimizer)).histories[0]
    assert len(history) == 6
    for moved in ("loss", "lambda"):  # at times rprop halts an entry for a step
        assert len(set(history[moved])) > 3


def test_optimizer_factory_is_the_same_as_its_name(problem):
    task = problem(dtype=torch.float64)
    by_name, by_factory = (
        task.run(replace(CONFIG, optimizer=optimizer)).histories[0]["loss"]
        for optimizer in ("sgd", torch.optim.SGD)
    )
    assert by_name == by_factory


@pytest.mark.parametrize(
    ("scheduler", "last"),
    [
        *((name, None) for name in SCHEDULERS),
        (None, 0.01),
        (lambda optimizer, n_steps: ExponentialLR(optimizer, 0.01 ** (1 / n_steps)), 0.000125),
    ],
)
def test_any_schedule_trains(scheduler, last, problem):
    rates = problem().run(replace(CONFIG, scheduler=scheduler)).histories[0]["learning_rate"]
    assert len(rates) == 20
    assert max(rates) <= 0.01 + 1e-12
    if last is not None:
        assert rates[-1] == pytest.approx(last, rel=0.02)


def test_weight_decay_leaves_lambda_alone(problem):
    """With a frozen backbone the decay has nothing else to act on."""
    task, found = problem(), []
    for decay in (0.0, 10.0):
        nets = task.nets()
        nets.backbone.requires_grad_(False)
        config = replace(CONFIG, optimizer="sgd", weight_decay=decay)
        found.append(task.run(config, nets=nets).histories[0]["lambda"])
    assert found[0] == found[1]
    assert len(set(found[0])) == 20


def test_weight_decay_shrinks_the_backbone(problem):
    task = problem(n_valid=0)
    norms = []
    for decay in (0.0, 5.0):
        result = task.run(replace(CONFIG, optimizer="sgd", weight_decay=decay))
        norms.append(sum(p.square().sum() for p in result.nets.backbone.parameters()))
    assert norms[1] < 0.5 * norms[0]


# ---------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize(("seconds", "n_most"), [(-1.0, 1), (0.05, 50_000)])
def test_deadline_stops_after_at_least_one_step(seconds, n_most, problem):
    task = problem()
    deadline = time.perf_counter() + seconds
    result = task.run(TrainingConfig(max_iter=100_000, deadline=deadline))
    assert 1 <= len(result.histories[0]) <= n_most
    assert valid_scores(task, result, "r2") == pytest.approx(result.best_score, abs=1e-5)


def test_a_callback_stops(problem):
    assert len(problem().run(callbacks=[stop_at(4)]).histories[0]) == 5


# --------------------------------------------------------------------------------- callbacks


class Diary(Callback):
    def __init__(self, name, pages):
        self.name, self.pages = name, pages

    def on_start(self, state):
        assert state.step == -1
        self.pages.append((self.name, "start"))

    def on_step(self, state):
        assert state.hidden.shape[:2] == state.batch.x.shape[:2]
        assert state.loss.value.shape == (state.nets.k,)
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


@pytest.mark.parametrize("k", [1, 2])
def test_the_end_is_reached_on_failure_too(k, problem):
    pages = []

    def fail(state):
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        problem(k=k).run(callbacks=[Diary("a", pages), At(1, fail)])
    assert pages == [("a", "start"), ("a", 0), ("a", 1), ("a", "end")]


def test_records_can_be_extended(problem):
    class Double(Callback):
        def on_step(self, state):
            state.record["double"] = [2.0 * state.step + k for k in range(state.nets.k)]

    for k, history in enumerate(problem(k=2).run(callbacks=[Double()]).histories):
        assert history["double"] == [2.0 * step + k for step in range(20)]


# ------------------------------------------------------------------ a rung of the ladder, own


def run_with(trainer, task, config=CONFIG):
    return trainer(task.nets(), task.data(), task.objective, config).run()


def test_a_trainer_may_take_features_its_own_way(problem):
    class Centred(Trainer):
        def features(self, x, training=True):
            hidden = super().features(x, training)
            return hidden - hidden.mean(1, keepdim=True)

    seen = []

    class Watch(Callback):
        def on_step(self, state):
            seen.append(state.hidden.mean(1).abs().max().item())

    task = problem()
    Centred(task.nets(), task.data(), task.objective, CONFIG, callbacks=[Watch()]).run()
    assert max(seen) < 1e-5


def test_a_trainer_may_move_its_own_way(problem):
    class Still(Trainer):
        def move(self, loss):
            pass

    task = problem(scheme="tikhonov")
    result = run_with(Still, task, replace(CONFIG, batch_size=1000))
    assert len(set(result.histories[0]["loss"])) == 1
    assert all(map(torch.equal, result.nets.parameters(), task.nets().parameters()))


def test_a_trainer_may_score_and_describe_and_end_its_own_way(problem):
    class Own(Trainer):
        def validate(self, loss):
            return [-abs(self.state.step - 3.0), -abs(self.state.step - 5.0)]

        def describe(self, loss):
            return {**super().describe(loss), "half": [self.state.step / 2] * self.nets.k}

        def is_over(self, next_end):
            return self.state.step >= 9 or super().is_over(next_end)

    result = run_with(Own, problem(k=2))
    assert result.best_step == [3, 5]
    assert result.best_score == [0.0, 0.0]
    for history in result.histories:
        assert history["half"] == [step / 2 for step in range(10)]


# -------------------------------------------------------------------------------- divergence


@SCHEMES
def test_divergence_keeps_the_best_so_far(scheme, problem):
    task = problem(scheme=scheme)
    text = r"diverged at step 6; the best iteration before that, \d, is kept.*max_lr \(now 0\.01\)"
    with pytest.warns(NumericalWarning, match=text):
        result = task.run(callbacks=[At(5, poison)])
    assert len(result.histories[0]) == 6
    assert torch.isfinite(result.coef).all()
    assert all(torch.isfinite(tensor).all() for tensor in result.nets.state().values())
    assert valid_scores(task, result, "r2") == pytest.approx(result.best_score, abs=1e-5)


@SCHEMES
def test_divergence_without_a_usable_iteration(scheme, problem):
    task = problem(scheme=scheme)
    nets = task.nets()
    with torch.no_grad():
        next(nets.backbone.parameters()).fill_(math.nan)
    text = r"diverged at step 0 before a usable iteration: .* max_lr is now 0\.01"
    with pytest.raises(DivergenceError, match=text):
        task.run(nets=nets)


@pytest.mark.parametrize("scheme", ["plain", "adacap"])
def test_one_diverged_net_of_many_is_an_error(scheme, problem):
    @torch.no_grad()
    def poison_one(state):
        next(state.nets.backbone.parameters())[1] = math.nan

    with pytest.raises(DivergenceError, match="step 6"):
        problem(k=3, scheme=scheme).run(callbacks=[At(5, poison_one)])


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
        result = train(task.nets(), task.data(), Failing(task.objective, 4), CONFIG)
    assert len(result.histories[0]) == 4
    with pytest.raises(DivergenceError, match="Matrix of size 3 is not positive definite"):
        train(task.nets(), task.data(), Failing(task.objective, 0), CONFIG)


# --------------------------------------------------------------------------- users' backbones


class Reshaped(nn.Module):
    def __init__(self, reshape):
        super().__init__()
        self.linear = nn.Linear(4, 6)
        self.reshape = reshape

    def forward(self, x):
        return self.reshape(self.linear(x))


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    ("reshape", "got"),
    [
        (lambda h: h[:, 0], r"\(32,\)"),
        (lambda h: h.reshape(len(h), 2, 3), r"\(32, 2, 3\)"),
        (lambda h: h[:-1], r"\(31, 6\)"),
    ],
)
def test_a_backbone_of_the_wrong_shape_is_refused(k, reshape, got, problem):
    text = rf"must map 32 rows to a tensor of shape \(32, J\), got {got}\. Flatten its output"
    with pytest.raises(ValueError, match=text):
        problem(partial(Reshaped, reshape), k=k).run()


def test_any_module_is_a_backbone(problem):
    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(5, 6)
            self.linear = nn.Linear(4, 6)

        def forward(self, x):
            token = x[:, 0].clamp(-2, 2).round().long() + 2
            return torch.relu(self.linear(x)) + self.table(token)

    result = problem(Tokens).run()
    assert isinstance(result.nets.head, TikhonovHead)
    assert result.coef.shape == (1, 6, 1)
    assert isinstance(result.nets.backbone.member(0), Tokens)
