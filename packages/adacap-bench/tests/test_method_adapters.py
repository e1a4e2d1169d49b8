"""What stands between the register and packages that need help: adapters, and fastai's learner."""

import contextlib
import logging
import pickle
import sys
import warnings
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from adacap.comparison.adapters import FirstFeasible
from adacap_bench.methods import METHODS, unavailable
from adacap_bench.methods.adapters import Quiet, quietly

# ------------------------------------------------------------------------------- catboost


def test_fast_catboost_takes_more_rows_only_where_a_tenth_is_nothing(rows_for):
    method = METHODS["fast-catboost"]
    if reason := unavailable(method):
        pytest.skip(reason)
    assert (
        method.build("regression", 0).fit(*rows_for("regression", 400)).get_params()["subsample"]
        == 0.1
    )
    small = method.build("regression", 0).fit(*rows_for("regression", 30))
    assert small.get_params()["subsample"] > 0.1


# ---------------------------------------------------------------------------------- quiet


class Noisy:
    """Prints, logs and warns as networks do."""

    def get_params(self, deep=True):
        return {"depth": 3}

    def fit(self, X, y):
        self.speak()

    def predict(self, X):
        self.speak()
        return np.zeros(len(X))

    def predict_proba(self, X):
        self.speak()
        return np.full((len(X), 2), 0.5)

    def speak(self):
        print("epoch 1")
        print("[####  ]", file=sys.stderr)
        logging.getLogger("noisy").warning("GPU available: False")
        warnings.warn("old call", FutureWarning, stacklevel=2)


def test_a_noisy_estimator_is_silenced(capfd, caplog):
    model = Quiet(Noisy())
    assert model.fit(None, None) is model
    assert model.predict([1, 2]).shape == (2,)
    assert model.predict_proba([1, 2]).shape == (2, 2)
    assert not hasattr(model, "decision_function")
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    assert model.get_params() == {"class": "Noisy", "depth": 3}


def test_quiet_lasts_no_longer_than_its_block(capsys):
    before = logging.root.manager.disable
    with quietly():
        print("inside")
    with pytest.raises(ZeroDivisionError), quietly():
        raise ZeroDivisionError
    print("outside")
    assert capsys.readouterr().out == "outside\n"
    assert logging.root.manager.disable == before


def test_a_warning_about_the_data_passes():
    with pytest.warns(UserWarning, match="constant column"), quietly():
        warnings.warn("constant column", UserWarning, stacklevel=1)


@pytest.mark.parametrize(
    "wrap", [Quiet, lambda inner: FirstFeasible([inner], KeyError)], ids=["Quiet", "FirstFeasible"]
)
def test_wrapped_estimators_can_be_pickled(wrap):
    from sklearn.linear_model import Ridge

    model = wrap(Ridge()).fit([[0.0], [1.0]], [0.0, 2.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict([[0.5]]), [1.0])


# --------------------------------------------------------------------------------- fastai


class Learner:
    """Stand-in for fastai's learner: least squares, or shares of the classes."""

    def __init__(self, loaders):
        self.dls = loaders

    no_bar = no_logging = contextlib.nullcontext

    def fit_one_cycle(self, n_epochs):
        self.n_epochs = n_epochs
        rows = self.dls.table
        target = rows.frame[rows.y_names]
        if rows.y_block == "numbers":
            targets = target.to_numpy()[:, None]
        else:
            targets = pd.get_dummies(target).to_numpy(dtype=float)
        A = self.design(rows.frame[rows.cont_names])
        self.weights = np.linalg.lstsq(A, targets, rcond=None)[0]

    def get_preds(self, dl):
        return SimpleNamespace(numpy=lambda: self.design(dl) @ self.weights), None

    def design(self, frame):
        return np.column_stack([frame.to_numpy(), np.ones(len(frame))])


class Fastai(ModuleType):
    """Stand-in for fastai.tabular.all that records how it is called."""

    def __init__(self):
        super().__init__("fastai.tabular.all")
        self.seeds = []
        self.RegressionBlock = lambda: "numbers"
        self.CategoryBlock = lambda: "classes"
        self.tabular_learner = Learner

    def no_random(self, seed):
        self.seeds.append(seed)
        return contextlib.nullcontext()

    def TabularPandas(self, frame, **settings):
        table = SimpleNamespace(frame=frame, **settings)
        table.dataloaders = lambda bs, device: SimpleNamespace(
            table=table, bs=bs, device=device, test_dl=lambda rows: rows
        )
        return table


@pytest.fixture
def fastai(monkeypatch):
    """The stand-in in the place of the package, installed or not."""
    stand_in = Fastai()
    for name in ("fastai", "fastai.tabular"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "fastai.tabular.all", stand_in)
    return stand_in


def test_fastai_is_available_when_it_can_be_imported(fastai):
    assert unavailable(METHODS["fastai"]) is None


@pytest.mark.parametrize(("n", "batch"), [(60, 60), (200, 64)])
def test_fastai_regressor_hands_over_all_rows(fastai, rows_for, n, batch):
    X, y = rows_for("regression", n)
    model = METHODS["fastai"].build("regression", 3).fit(X, y)
    given = model.learner_.dls.table
    assert given.splits == [list(range(n)), []]
    assert given.cont_names == ["x0", "x1", "x2", "x3"]
    assert model.learner_.dls.bs == batch
    assert model.learner_.n_epochs == 50
    assert fastai.seeds == [3]
    assert model.predict(X).shape == (n,)
    A = np.column_stack([X, np.ones(n)])
    np.testing.assert_allclose(model.predict(X), A @ np.linalg.lstsq(A, y)[0], atol=1e-4)


def test_fastai_classifier_gives_back_the_labels(fastai, rows_for):
    X, y = rows_for("multiclass")
    labels = np.array([2, 5, 9])[y]
    model = METHODS["fastai"].build("multiclass", 0).fit(X, labels)
    assert model.predict_proba(X).shape == (60, 3)
    assert np.mean(model.predict(X) == labels) > 0.6


def test_fastai_keeps_its_hands_off_the_rows(fastai, rows_for):
    X, y = rows_for("regression")
    before = X.copy()
    METHODS["fastai"].build("regression", 0).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, before)
