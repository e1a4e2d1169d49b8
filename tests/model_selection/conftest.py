"""Tables with a signal inside the band in which the MLR criterion is valid."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest


class Table(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def draw(seed: int, n: int = 100, d: int = 60, n_targets: int | None = None) -> Table:
    """Strongly correlated features, and a signal as strong as the noise in few directions."""
    rng = np.random.default_rng(seed)
    steps = np.arange(d)
    root = np.linalg.cholesky(0.95 ** np.abs(steps - steps[:, None]))
    X = rng.standard_normal((n, d)) @ root.T
    signal = X @ rng.uniform(0, 1, size=(d, n_targets or 1))
    y = signal / signal.std(0) + rng.standard_normal(signal.shape)
    return Table(X, y if n_targets else y[:, 0])


@pytest.fixture
def banded() -> Callable[..., Table]:
    """Maker of such tables."""
    return draw


@pytest.fixture
def table(seed: int) -> Table:
    return draw(seed)


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)
