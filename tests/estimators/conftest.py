"""Small tables for the tests of estimators."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor


class Data(NamedTuple):
    """Features, a smooth target of them, and the same target cut into two or three classes."""

    X: Any
    y: Any
    binary: Any
    multiclass: Any

    def target(self, kind: type) -> Any:
        """What an estimator of this class can be fitted to."""
        return self.y if kind is AdaCapRegressor else self.binary


@pytest.fixture(params=[AdaCapRegressor, AdaCapClassifier])
def kind(request: pytest.FixtureRequest) -> Any:
    """Both estimators, one after the other."""
    return request.param


@pytest.fixture
def data(seed: int) -> Data:
    """60 rows of 4 normal features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=60)
    rank = y.argsort().argsort()
    return Data(
        X, y, np.where(rank < 30, "low", "top"), np.array(["high", "low", "mid"])[rank // 20]
    )
