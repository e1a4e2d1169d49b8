"""A fit that was interrupted goes on from its checkpoint and ends in the same bits."""

import numpy as np
import pytest
import torch
from joblib import parallel_config
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.checkpoint import Checkpoint
from adacap.estimators.mlr_net import MLRNetRegressor
from adacap.estimators.resuming import kept_member
from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.training import Callback, EarlyStopping

SMALL = {"width": 16, "max_iter": 12, "random_state": 3}
ALL_KINDS = ["ridge:bins", "kernel:rank", "trees", "nets", "nets:rank", "boosting"]


class Killed(BaseException):
    """Nothing catches this."""


class KillAt(Callback):
    """Ends everything at a step, counted over all nets."""

    def __init__(self, n=None):
        self._n, self.__n_steps = n, 0

    @property
    def n_steps(self):
        return self.__n_steps

    def on_step(self, state):
        self.__n_steps += 1
        if self.__n_steps == self._n:
            raise Killed


def own_net(d_in):
    return nn.Sequential(nn.Linear(d_in, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Tanh())


def own_sgd(groups, lr):
    return torch.optim.SGD(groups, lr=lr, momentum=0.9)


def dropout(**options):
    net = Architecture("mlp", dropout=0.2, batch_norm=True)
    return AdaCapRegressor(batch_size=16, architecture=net, **SMALL, **options)


MODELS = {
    "blend": lambda **o: AdaCapRegressor(quality=ALL_KINDS, **{**SMALL, "max_iter": 6}, **o),
    "nets": lambda **o: AdaCapRegressor(**SMALL, **o),
    "trained again": lambda **o: AdaCapRegressor(refit="net", n_estimators=3, **SMALL, **o),
    "dropout, small batches": dropout,
    "plain": lambda **o: AdaCapRegressor(scheme="plain", optimizer=("sgd", "cosine"), **SMALL, **o),
    "dithered": lambda **o: MLRNetRegressor(width=16, max_iter=12, random_state=3, **o),
    "two kinds of nets": lambda **o: AdaCapRegressor(
        architecture=["mlp", "snn"], n_estimators=4, **SMALL, **o
    ),
    "own net": lambda **o: AdaCapRegressor(
        architecture=own_net, n_estimators=1, max_iter=12, random_state=3, **o
    ),
    "own optimizer": lambda **o: AdaCapRegressor(
        optimizer=(own_sgd, None), n_estimators=1, **SMALL, **o
    ),
    "classifier": lambda **o: AdaCapClassifier(quality=["trees", "nets"], **SMALL, **o),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


@pytest.fixture
def table(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60)


def often(path, **options):
    return Checkpoint(path, every_seconds=0, **options)


def kill(model, table, path, at):
    """Fit a model that is killed at a step."""
    with pytest.raises(Killed):
        model(callbacks=[KillAt(at)]).fit(*table, checkpoint=often(path))


def assert_same(a, b):
    first, second = a.network_.state_dict(), b.network_.state_dict()
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


@pytest.mark.finding("L12", before="a kill lost all of a long fit")
@pytest.mark.parametrize("kind", MODELS)
def test_killed_three_times_and_still_the_same_bits(kind, table, path):
    model, (X, y) = MODELS[kind], table
    if kind == "classifier":
        table = X, y = X, y > 0
    whole, counter = KillAt(), KillAt()
    expected = model(callbacks=[whole]).fit(X, y)
    n_steps = whole.n_steps
    for at in (n_steps // 3, n_steps // 4, n_steps // 5):
        kill(model, table, path, at)
    found = model(callbacks=[counter]).fit(X, y, checkpoint=often(path))
    assert_same(found, expected)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert counter.n_steps <= n_steps - (n_steps // 3 + n_steps // 4 + n_steps // 5 - 3)
    assert not path.exists()


def test_a_member_that_is_no_net_is_trained_once(path):
    x = torch.linspace(-1, 1, 40)[:, None]
    data = FoldData(x, x.sign(), None, torch.arange(40) % 2, k=2, seed=0)
    tries = []

    def fit():
        tries.append(fit_boosting(data, BoostingSettings(n_trees=5)))
        return tries[-1]

    for _ in range(2):
        kept = Checkpoint.of(often(path, keep=True))
        kept.begin({}, [])
        sizes = {"k": 2, "d_in": 1, "n_out": 1}
        predictor, arrays = kept_member(kept, "0 boosting", fit, sizes, torch.device("cpu"))
        kept.end()
    assert len(tries) == 1
    assert predictor == tries[0][0]
    assert all(torch.equal(arrays[name], array) for name, array in tries[0][1].items())


def test_history_intervals_and_capacity_are_those_of_a_fit_at_one_go(table, path):
    expected = MODELS["nets"]().fit(*table)
    kill(MODELS["nets"], table, path, 7)
    found = MODELS["nets"]().fit(*table, checkpoint=often(path))
    assert [r["loss"] for r in found.history_] == [r["loss"] for r in expected.history_]
    seconds = found.history_["seconds"]
    assert seconds == sorted(seconds)
    X, _ = table
    np.testing.assert_array_equal(found.predict_interval(X), expected.predict_interval(X))
    assert found.effective_dof_ == expected.effective_dof_
    assert str(found.capacity_) == str(expected.capacity_)


def test_without_a_random_state_the_seeds_that_were_drawn_are_taken_up(table, path):
    def model(**options):
        return AdaCapRegressor(width=16, max_iter=12, **options)

    kill(model, table, path, 6)
    seeds = Checkpoint.of(path).seeds
    assert model().fit(*table, checkpoint=path).seeds_ == seeds


def test_early_stopping_waits_on(table, path):
    def model(callbacks):
        return AdaCapRegressor(
            width=16, max_iter=400, random_state=3, callbacks=[*callbacks, EarlyStopping(3)]
        )

    expected = model([]).fit(*table)
    assert expected.n_iter_ < 400
    kill(model, table, path, expected.n_iter_ - 3)
    found = model([]).fit(*table, checkpoint=often(path))
    assert found.n_iter_ == expected.n_iter_
    assert_same(found, expected)


@pytest.mark.filterwarnings("ignore:The 3 nets are trained one by one")
def test_nets_that_are_trained_one_by_one_in_threads_are_kept_too(table, path):
    def model(**options):
        return AdaCapRegressor(
            architecture=own_net, n_estimators=3, max_iter=12, random_state=3, **options
        )

    expected = model().fit(*table)
    kill(model, table, path, 20)
    with parallel_config("threading", n_jobs=2):
        assert_same(model().fit(*table, checkpoint=often(path)), expected)


def test_folds_of_times_whose_members_are_trained_twice(table, path):
    """In folds that look ahead, members that are no nets are trained again on all rows."""
    X, y = table
    when = {"time": np.arange(len(y))}

    def model(**options):
        return AdaCapRegressor(quality=["ridge:bins", "nets"], **SMALL, **options)

    expected = model().fit(X, y, **when)
    with pytest.raises(Killed):
        model(callbacks=[KillAt(9)]).fit(X, y, checkpoint=often(path), **when)
    found = model().fit(X, y, checkpoint=often(path, keep=True), **when)
    assert_same(found, expected)
    assert_same(model().fit(X, y, checkpoint=often(path), **when), expected)  # of pieces alone


def test_seeds_of_chance_are_taken_up_with_groups_too(table, path):
    X, y = table
    kin = {"groups": np.arange(len(y)) // 10}

    def model(**options):
        return AdaCapRegressor(width=16, max_iter=12, **options)

    with pytest.raises(Killed):
        model(callbacks=[KillAt(6)]).fit(X, y, checkpoint=often(path), **kin)
    seeds = Checkpoint.of(path).seeds
    found = model().fit(X, y, checkpoint=path, **kin).seeds_
    assert found == seeds[: len(found)]


def test_time_spent_before_counts(table, path):
    def model(**options):
        return AdaCapRegressor(width=16, max_iter=5000, time_limit=5, random_state=0, **options)

    kill(model, table, path, 5)
    old = Checkpoint.of(often(path, keep=True))
    part = old._parts["fit"]
    old.begin(part["fingerprint"], part["seeds"])
    old._before += 4.99
    old.end()
    assert model().fit(*table, checkpoint=path).n_iter_ < 5000


# --------------------------------------------------------------------------------- not used


def other_cell(X, y):
    X = X.copy()
    X[3, 2] += 1
    return {"X": X, "y": y}


CHANGES = {
    "X": other_cell,
    "y": lambda X, y: {"X": X, "y": y + 1},
    "sample_weight": lambda X, y: {"X": X, "y": y, "sample_weight": np.arange(1, 61)},
    "groups or time": lambda X, y: {"X": X, "y": y, "groups": np.arange(60) // 10},
    "validation rows": lambda X, y: {"X": X, "y": y, "X_val": X[:9], "y_val": y[:9]},
}


@pytest.mark.parametrize("what", CHANGES)
def test_other_data_are_named_and_the_fit_starts_anew(what, table, path):
    kill(MODELS["nets"], table, path, 6)
    data = CHANGES[what](*table)
    with pytest.warns(UserWarning, match=rf"is not used, the fit starts over: .*another .*{what}"):
        found = MODELS["nets"]().fit(**data, checkpoint=path)
    assert_same(found, MODELS["nets"]().fit(**data))
    assert not path.exists()


@pytest.mark.parametrize(
    "options", [{"max_lr": 0.02}, {"random_state": 4}, {"refit": "none"}], ids=str
)
def test_other_settings_are_named_and_the_fit_starts_anew(options, table, path):
    kill(MODELS["nets"], table, path, 6)
    model = MODELS["nets"]().set_params(**options)
    (name,) = options
    with pytest.warns(UserWarning, match=rf"of a fit with another .*{name}\."):
        found = model.fit(*table, checkpoint=path)
    assert_same(found, MODELS["nets"]().set_params(**options).fit(*table))


def test_another_estimator_does_not_take_it_up(table, path):
    kill(MODELS["nets"], table, path, 6)
    with pytest.warns(UserWarning, match="another estimator"):
        MODELS["dithered"]().fit(*table, checkpoint=path)


def test_a_damaged_file_costs_a_warning(table, path):
    kill(MODELS["nets"], table, path, 6)
    content = path.read_bytes()
    path.write_bytes(content[:-50])
    with pytest.warns(UserWarning, match="damaged"):
        found = MODELS["nets"]().fit(*table, checkpoint=path)
    assert_same(found, MODELS["nets"]().fit(*table))


def another_word(piece):
    piece["scheduler"]["_schedule_phases"][0]["end_lr"] = "auto"


def no_state(piece):
    piece["generators"][0][:] = 255


def no_fit(piece):
    for record in piece["records"]:
        del record["fit_true"]


def no_number(piece):
    piece["arrays"]["leaf"][:] = torch.nan


@pytest.mark.parametrize(
    ("kind", "at", "change"),
    [
        ("nets", 6, another_word),
        ("dropout, small batches", 6, no_state),
        ("nets", 6, no_fit),
        ("blend", 1, no_number),
    ],
)
def test_a_piece_that_no_fit_wrote_is_not_used(kind, at, change, table, path, monkeypatch):
    kill(MODELS[kind], table, path, at)
    plain, changed = Checkpoint.get, []

    def get(self, key):
        found = plain(self, key)
        try:
            change(found)
        except (KeyError, TypeError, IndexError):  # another piece
            return found
        changed.append(key)
        return found

    monkeypatch.setattr(Checkpoint, "get", get)
    with pytest.warns(UserWarning, match="damaged and not used, the fit starts over"):
        found = MODELS[kind]().fit(*table, checkpoint=path)
    assert changed
    monkeypatch.undo()
    assert_same(found, MODELS[kind]().fit(*table))


def test_going_on_by_warm_start_is_refused(table, path):
    model = AdaCapRegressor(warm_start=True, **SMALL).fit(*table, checkpoint=path)
    with pytest.raises(ValueError, match=r"warm_start=True continues .*Leave checkpoint out"):
        model.fit(*table, checkpoint=path)


def test_state_that_is_no_numbers_is_told_and_costs_the_net_under_way_only(table, path):
    class Odd(torch.optim.SGD):
        def state_dict(self):
            return {**super().state_dict(), "odd": object()}

    def model(**options):
        return AdaCapRegressor(
            optimizer=(lambda groups, lr: Odd(groups, lr=lr), None), n_estimators=1, **SMALL,
            **options,
        )  # fmt: skip

    with pytest.warns(UserWarning, match="cannot hold a object. Training continues") as told:
        found = model().fit(*table, checkpoint=often(path))
    assert len(told) == 1
    assert_same(found, model().fit(*table))
