"""Members: trained together or apart, in one process or two, they are the same nets."""

import sys
import warnings
from contextlib import contextmanager, nullcontext

import joblib
import numpy as np
import pytest
import torch
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.estimators import fitting
from adacap.training.callbacks import Callback

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
DROPOUT = Architecture("glu", dropout=0.2)
# Adam turns a gradient that is zero but for rounding into a full step; SGD keeps rounding small.
GENTLE = SMALL | {"optimizer": "sgd", "max_lr": 0.1}


class Own(nn.Module):
    """A user's backbone: a residual layer, a buffer, a layer norm."""

    def __init__(self, d_in):
        super().__init__()
        self.first = nn.Linear(d_in, 16)
        self.second = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self.register_buffer("shift", torch.full((16,), 0.1))

    def forward(self, x):
        h = torch.tanh(self.first(x))
        return self.norm(h + torch.tanh(self.second(h)) + self.shift)


class FlattensRows(nn.Module):
    """What torch.func cannot batch: a decision that looks at values."""

    def __init__(self, d_in):
        super().__init__()
        self.linear = nn.Linear(d_in, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)) if float(x.detach().sum()) > -1e9 else self.linear(x)


def own_dropout(d_in):
    return nn.Sequential(nn.Linear(d_in, 8), nn.Dropout(0.2), nn.Tanh())


def fragile(n):
    """A backbone of which every n-th net overflows."""

    class Fragile(nn.Module):
        n_built = 0

        def __init__(self, d_in):
            super().__init__()
            self.linear = nn.Linear(d_in, 8)
            Fragile.n_built += 1
            self.register_buffer("boost", torch.tensor(1.0 if Fragile.n_built % n else 1e25))

        def forward(self, x):
            return self.linear(x) * self.boost

    return Fragile


@contextmanager
def told_of_divergence():
    """All members are tried apart, after a warning, before the error."""
    with (
        pytest.raises(ArithmeticError, match="diverged at step 0"),
        pytest.warns(UserWarning, match="one by one, since one of them diverged"),
    ):
        yield


class Rows(Callback):
    """Count of the rows in each batch, one list per training run."""

    def __init__(self):
        self.runs = []

    def on_start(self, state):
        self.runs.append([])

    def on_step(self, state):
        self.runs[-1].append(state.batch.x.shape[1])


@pytest.fixture
def apart(monkeypatch):
    """Trainer of members one by one, whatever they are."""

    def force(estimator, *data):
        with monkeypatch.context() as patch:
            patch.setattr(fitting.BagTraining, "_why_apart", lambda bag: "the test says so")
            with pytest.warns(UserWarning, match="one by one, since the test says so"):
                return estimator.fit(*data)

    return force


# ------------------------------------------------------------------ together or apart


def assert_same_members(together, alone, X):
    """Equal rows, losses and outputs, up to the rounding of float32."""
    x = torch.as_tensor(together.encoder_.transform(X))
    n_compared = 0
    for a, b in zip(together.members_, alone.members_, strict=True):
        np.testing.assert_array_equal(a.rows.valid, b.rows.valid)
        np.testing.assert_allclose(a.history["loss"], b.history["loss"], atol=1e-4)
        if a.best_iter == b.best_iter:  # rounding may tip the choice between equal scores
            with torch.no_grad():
                np.testing.assert_allclose(a.network(x), b.network(x), atol=1e-3)
            n_compared += 1
    assert n_compared > 0


@pytest.mark.parametrize("validation", [0.2, "folds"])
@pytest.mark.parametrize("architecture", ["glu", "snn", "mlp", "resblock", "fourier", Own])
def test_stacked_training_is_training_one_by_one(architecture, validation, data, apart):
    def model():
        return AdaCapRegressor(
            architecture=architecture, n_estimators=3, validation=validation, **GENTLE
        )

    together, alone = model().fit(data.X, data.y), apart(model(), data.X, data.y)
    assert_same_members(together, alone, data.X)


@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
@pytest.mark.parametrize("target", ["binary", "multiclass", "y"])
def test_stacked_predictions_are_those_of_nets_trained_one_by_one(scheme, target, data, apart):
    """Without hold-out there is no choice of iteration, and all of the bag must agree."""

    def model():
        kind = AdaCapRegressor if target == "y" else AdaCapClassifier
        return kind(architecture="mlp", scheme=scheme, n_estimators=3, validation=0, **GENTLE)

    y = getattr(data, target)
    together, alone = model().fit(data.X, y), apart(model(), data.X, y)
    assert_same_members(together, alone, data.X)
    for method in ("predict_proba",) if target != "y" else ("predict",):
        a, b = (getattr(m, method)(data.X) for m in (together, alone))
        np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("target", ["binary", "multiclass"])
def test_stacked_folds_of_classes_are_those_trained_one_by_one(target, data, apart):
    def model():
        return AdaCapClassifier(architecture="mlp", n_estimators=3, validation="folds", **GENTLE)

    y = getattr(data, target)
    assert_same_members(model().fit(data.X, y), apart(model(), data.X, y), data.X)


def test_stacked_training_by_adam_is_training_one_by_one(data, apart):
    def model():
        return AdaCapRegressor(n_estimators=3, **SMALL)

    together, alone = model().fit(data.X, data.y), apart(model(), data.X, data.y)
    for a, b in zip(together.members_, alone.members_, strict=True):
        np.testing.assert_allclose(a.history["loss"], b.history["loss"], atol=1e-3)


def test_weights_and_minibatches_stack_too(data, apart):
    weight = np.random.default_rng(0).uniform(0.5, 2, len(data.y))

    def model():
        return AdaCapRegressor(n_estimators=3, batch_size=16, **GENTLE)

    together, alone = model().fit(data.X, data.y, weight), apart(model(), data.X, data.y, weight)
    assert_same_members(together, alone, data.X)


def test_folds_are_trained_as_one_though_rows_are_left_over(data, apart):
    def model():
        return AdaCapRegressor(n_estimators=4, validation="folds", **GENTLE)

    X, y = data.X[:58], data.y[:58]
    together, alone = model().fit(X, y), apart(model(), X, y)
    assert [(len(m.rows.train), len(m.rows.valid)) for m in together.members_] == [(44, 14)] * 4
    assert_same_members(together, alone, X)


def test_groups_that_fit_in_memory_are_the_same_nets(data, monkeypatch):
    whole = AdaCapRegressor(n_estimators=4, **GENTLE).fit(data.X, data.y)
    monkeypatch.setattr(fitting, "_MOST_TOGETHER", 2 * 16 * 60)
    halves = AdaCapRegressor(n_estimators=4, **GENTLE).fit(data.X, data.y)
    assert_same_members(whole, halves, data.X)


def test_member_0_of_a_bag_of_seeds_is_the_single_net(data, apart):
    single = AdaCapRegressor(**ONE).fit(data.X, data.y)
    bag = apart(AdaCapRegressor(n_estimators=3, validation=0.2, **SMALL), data.X, data.y)
    state, first = single.members_[0].network.state_dict(), bag.members_[0].network.state_dict()
    assert single.seeds_ == bag.seeds_[:1]
    assert all(torch.equal(state[name], first[name]) for name in state)
    assert single.history_["loss"] == bag.history_["loss"]


def test_stacked_member_0_is_the_single_net_up_to_rounding(data):
    single = AdaCapRegressor(**ONE).fit(data.X, data.y)
    bag = AdaCapRegressor(n_estimators=3, validation=0.2, **SMALL).fit(data.X, data.y)
    np.testing.assert_allclose(single.history_["loss"], bag.history_["loss"], rtol=1e-3, atol=1e-4)
    assert single.best_iter_ == bag.members_[0].best_iter


def test_the_prediction_of_a_bag_is_the_mean_of_its_members(data):
    bag = AdaCapRegressor(n_estimators=3, preprocessing="none", **SMALL).fit(data.X, data.y)
    x = torch.as_tensor(data.X, dtype=torch.float32)
    with torch.no_grad():
        outputs = [bag.codec_.decode(m.network(x).numpy()) for m in bag.members_]
    np.testing.assert_allclose(bag.predict(data.X), np.mean(outputs, axis=0), atol=1e-5)


def test_folds_hold_out_every_row_once(data):
    bag = AdaCapRegressor(n_estimators=5, validation="folds", **SMALL).fit(data.X, data.y)
    held = torch.cat([m.rows.valid for m in bag.members_])
    assert held.sort().values.tolist() == list(range(60))


def test_members_of_a_bag_of_seeds_differ_in_all_their_draws(data):
    bag = AdaCapRegressor(n_estimators=3, **SMALL).fit(data.X, data.y)
    assert len(set(bag.seeds_)) == 3
    assert len({tuple(m.rows.valid.tolist()) for m in bag.members_}) == 3
    assert len({m.history[0]["loss"] for m in bag.members_}) == 3


# ----------------------------------------------------------------------- falling back


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"architecture": own_dropout}, r"its layer '1' \(Dropout\) draws random numbers"),
        ({"architecture": FlattensRows}, "torch.func cannot batch it: "),
        ({"optimizer": "adafactor"}, "optimizer='adafactor' may mix their weights"),
        ({"optimizer": torch.optim.SGD}, "optimizer=.*SGD.* may mix their weights"),
    ],
    ids=["dropout", "data-dependent", "optimizer", "own optimizer"],
)
def test_falling_back_says_why_once_and_where(options, reason, data):
    model = AdaCapRegressor(n_estimators=2, **SMALL | options)
    with pytest.warns(UserWarning, match=f"The 2 nets are trained one by one, since {reason}") as w:
        model.fit(data.X, data.y)
    assert len(w) == 1
    assert w[0].filename == __file__
    assert np.isfinite(model.predict(data.X)).all()


def test_a_single_net_never_warns(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaCapRegressor(architecture=DROPOUT, **ONE).fit(data.X, data.y)


def test_a_member_that_diverges_does_not_harm_the_others(data):
    """One of two nets sees its loss overflow: they are trained again, apart."""

    model = AdaCapRegressor(
        architecture=fragile(2), n_estimators=2, scheme="plain", refit="head", **SMALL
    )
    with told_of_divergence():
        model.fit(data.X, data.y)
    assert not hasattr(model, "members_")


# --------------------------------------------------------------------- processes, seeds


@pytest.mark.parametrize("falls_back", [False, True], ids=["stacked", "apart"])
def test_processes_do_not_change_the_result(falls_back, data):
    # Defined here, so that it is sent to other processes as it is.
    def own(d):
        return nn.Sequential(nn.Linear(d, 8), nn.Dropout(0.2))

    architecture = own if falls_back else "glu"
    predictions = []
    for n_jobs in (None, 1, 2):
        model = AdaCapRegressor(architecture=architecture, n_estimators=3, **SMALL)
        told = pytest.warns(UserWarning, match="one by one") if falls_back else nullcontext()
        with told, joblib.parallel_config(n_jobs=n_jobs):
            predictions.append(model.fit(data.X, data.y).predict(data.X))
    np.testing.assert_array_equal(predictions[1], predictions[0])
    np.testing.assert_array_equal(predictions[2], predictions[0])


# ------------------------------------------------------------------------ training anew


def test_refit_net_trains_on_all_rows_up_to_the_best_iteration(data):
    rows = Rows()
    model = AdaCapRegressor(refit="net", callbacks=[rows], **ONE).fit(data.X, data.y)
    first, again = rows.runs
    assert set(first) == {48}
    assert set(again) == {60}
    assert len(first) == model.n_iter_ == 20
    assert len(again) == model.best_iter_ + 1
    assert len(model.members_[0].rows.valid) == 12  # still tells what the choice was made on


def test_refit_net_off_trains_once(data):
    rows = Rows()
    AdaCapRegressor(refit="head", callbacks=[rows], **ONE).fit(data.X, data.y)
    assert [set(run) for run in rows.runs] == [{48}]


def test_a_fresh_net_is_trained_anew(data):
    """The second training starts from the weights of the first, and ends elsewhere."""
    options = ONE | {"validation": 0.2}
    anew = AdaCapRegressor(refit="net", **options).fit(data.X, data.y)
    # The same by hand: all rows, no hold-out, as many steps, the schedule of the first run.
    steps = anew.best_iter_ + 1

    class Stop(Callback):
        def on_step(self, state):
            state.stop = state.step + 1 >= steps

    by_hand = AdaCapRegressor(callbacks=[Stop()], **options | {"validation": 0})
    np.testing.assert_array_equal(anew.predict(data.X), by_hand.fit(data.X, data.y).predict(data.X))


@pytest.mark.parametrize(
    ("options", "n_runs"),
    [
        ({}, 2),
        ({"validation": 0.05}, 1),
        ({"validation": 0}, 1),
        ({"n_estimators": 2, "validation": 0.2}, 2),
        ({"n_estimators": 2}, 1),
        ({"n_estimators": 2, "validation": "folds"}, 1),
        ({"warm_start": True}, 1),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_auto_trains_anew_where_much_is_held_out(options, n_runs, data):
    rows = Rows()
    AdaCapRegressor(callbacks=[rows], **ONE | options).fit(data.X, data.y)
    assert len(rows.runs) == n_runs


def test_refit_head_solves_on_all_rows(data):
    """With a given net, the output layer is the ridge solution on all rows."""
    model = AdaCapRegressor(refit="head", preprocessing="none", **ONE).fit(data.X, data.y)
    backbone, head = model.members_[0].network
    with torch.no_grad():
        A = backbone(torch.as_tensor(data.X, dtype=torch.float32)).double().numpy()
    A = A - A.mean(0)
    coef = np.linalg.solve(A.T @ A + model.lambda_ * np.eye(16), A.T @ model.codec_.encode(data.y))
    np.testing.assert_allclose(head.weight.detach().numpy().T, coef, rtol=1e-3, atol=1e-4)
    dof = np.trace(A @ np.linalg.solve(A.T @ A + model.lambda_ * np.eye(16), A.T))
    assert model.effective_dof_ == pytest.approx(dof, rel=1e-3)


def test_refit_head_off_keeps_the_layer_of_the_best_iteration(data):
    options = ONE | {"max_iter": 5}
    on = AdaCapRegressor(refit="head", **options).fit(data.X, data.y)
    off = AdaCapRegressor(refit="none", **options).fit(data.X, data.y)
    assert on.history_["loss"] == off.history_["loss"]
    on, off = (model.members_[0].group for model in (on, off))
    assert not torch.equal(on.output.weight, off.output.weight)
    assert all(map(torch.equal, on.nets.backbone.parameters(), off.nets.backbone.parameters()))


# ----------------------------------------------------------------------- fewer hands


class Hands(Callback):
    """Functions of the library on the way to the loop, the outermost first."""

    def on_start(self, state):
        frame, self.names = sys._getframe(1), []
        while frame is not None:
            if frame.f_globals["__name__"].startswith("adacap."):
                self.names.insert(0, frame.f_code.co_name)
            frame = frame.f_back


@pytest.mark.parametrize(("quality", "most"), [("nets", 5), (["kernel", "nets"], 9)])
def test_few_hands_from_fit_to_the_loop(quality, most, data):
    hands = Hands()
    AdaCapRegressor(quality=quality, callbacks=[hands], **SMALL).fit(data.X, data.y)
    assert (hands.names[0], hands.names[-1]) == ("fit", "run")
    assert len(hands.names) <= most, hands.names


# ------------------------------------------------------------------------------ time


@pytest.mark.parametrize(
    "options",
    [{}, {"n_estimators": 3}, {"scheme": "plain", "n_estimators": 3}, {"refit": "head"}],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_time_limit_is_kept(options, data, clock):
    model = AdaCapRegressor(time_limit=1.0, **ONE | {"max_iter": 10**6} | options)
    model.fit(data.X, data.y)
    assert model.provenance_.fit_seconds <= 1.0 + clock.tick
    assert 40 < model.n_iter_ < 128  # a step looks at the clock once, and the refit has its half
    assert np.isfinite(model.predict(data.X)).all()
