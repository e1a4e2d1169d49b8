"""Fitted models that the tests of the report look at, fitted once."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor

TINY = {"width": 16, "max_iter": 40, "random_state": 0}


class Case(NamedTuple):
    """A fitted model, the rows it was fitted on and the rows to test on."""

    model: Any
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


def table(seed: int = 0, n: int = 160) -> tuple[pd.DataFrame, Any]:
    """Numbers, text, gaps, a constant and a name that is hostile to a page."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["signal", "other", "noise"])
    frame["city"] = rng.choice(["Paris", "Rome", "Oslo"], n)
    frame["gaps"] = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))
    frame["same"] = 1.0
    frame["<img src=x onerror=alert(1)>"] = rng.normal(size=n)
    y = 3 * frame["signal"] + (frame["city"] == "Rome") + 0.3 * rng.normal(size=n)
    return frame, y.to_numpy()


def split(model: Any, X: pd.DataFrame, y: Any) -> Case:
    train = np.arange(len(X)) % 3 > 0
    model.fit(X[train], y[train])
    return Case(model, X[train], y[train], X[~train], y[~train])


@pytest.fixture(scope="session")
def regression() -> Case:
    """A bag of three folds."""
    return split(AdaCapRegressor(n_estimators=3, validation="folds", **TINY), *table())


@pytest.fixture(scope="session")
def two_targets() -> Case:
    X, y = table()
    return split(AdaCapRegressor(**TINY), X, np.column_stack([y, 100 * X["other"]]))


@pytest.fixture(scope="session")
def binary() -> Case:
    """Two classes with the plain scheme, which is the default."""
    X, y = table()
    return split(AdaCapClassifier(**TINY), X, np.where(y > 0.3, "high", "</script>"))


@pytest.fixture(scope="session")
def multiclass() -> Case:
    X, y = table()
    return split(AdaCapClassifier(scheme="adacap", **TINY), X, np.digitize(y, [-1.0, 1.5]))
