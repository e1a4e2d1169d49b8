"""Fitted models that the tests of explanations look at, fitted once."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor


class Case(NamedTuple):
    """A fitted model, the rows it was fitted on, and new ones."""

    model: Any
    X: pd.DataFrame
    y: Any
    new: pd.DataFrame


def table(n: int = 110, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Numbers that act alone and together, a category, gaps, dates and a constant."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["alone", "one", "other"])
    frame["city"] = rng.choice(["Paris", "Rome", "Oslo"], n)
    frame["gaps"] = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    frame["same"] = 1.0
    frame.index = [f"row {i}" for i in range(n)]
    y = 3 * frame["alone"] + 2 * frame["one"] * frame["other"] + 2 * (frame["city"] == "Rome")
    y = y + frame["gaps"].isna() + 0.3 * rng.normal(size=n)
    return frame, y.to_numpy()


def fitted(quality: Any, **options: Any) -> Case:
    X, y = table()
    model = AdaCapRegressor(quality=quality, random_state=0, **options).fit(X[:90], y[:90])
    return Case(model, X[:90], y[:90], X[90:])


@pytest.fixture(scope="session")
def blend() -> Case:
    """A kernel, ridge and trees."""
    return fitted(["kernel", "ridge:bins", "boosting"])


@pytest.fixture(scope="session")
def ridge() -> Case:
    """A sum of functions of one column each."""
    return fitted(["ridge:bins"])


@pytest.fixture(scope="session")
def nets() -> Case:
    return fitted("nets", width=16, max_iter=40)


@pytest.fixture(scope="session")
def classes() -> Case:
    X, y = table()
    labels = np.digitize(y, [-1.0, 2.0])
    model = AdaCapClassifier(width=16, max_iter=40, random_state=0).fit(X[:90], labels[:90])
    return Case(model, X[:90], labels[:90], X[90:])


@pytest.fixture(params=["blend", "ridge", "nets"])
def case(request: pytest.FixtureRequest) -> Case:
    """Each kind of regression in turn."""
    found: Case = request.getfixturevalue(request.param)
    return found
