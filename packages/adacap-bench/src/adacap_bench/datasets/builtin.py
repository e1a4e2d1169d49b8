"""Tables that need no download: those bundled with scikit-learn, and seeded synthetic ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.tasks import Task

if TYPE_CHECKING:
    import pandas

__all__ = ["MAKERS", "make"]


def make(task: Task) -> pandas.DataFrame:
    """Table of a built-in task, target in the last column."""
    if task.maker not in MAKERS:
        raise DataError(f"{task.key!r} names the maker {task.maker!r}. Known: {', '.join(MAKERS)}.")
    X, y, names = MAKERS[task.maker](**dict(task.options))
    import pandas

    frame: pandas.DataFrame = pandas.DataFrame(X, columns=names)
    frame["target"] = y
    return frame


def _bundled(name: str) -> tuple[Any, Any, list[str]]:
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    y = data.target
    if name != "diabetes":
        y = np.array([str(label) for label in data.target_names])[y]
    return data.data, y, [str(feature) for feature in data.feature_names]


def _synthetic(generator: str, n_samples: int, seed: int, **options: Any) -> tuple[Any, Any, Any]:
    from sklearn import datasets

    function = getattr(datasets, f"make_{generator}")
    X, y = function(n_samples=n_samples, random_state=seed, **options)
    return X, y, [f"x{j}" for j in range(X.shape[1])]


def _noisy_linear(
    n_samples: int, n_features: int, noise: float, seed: int
) -> tuple[Any, Any, list[str]]:
    """A linear target of correlated features, a fifth of which matter.

    The noise is measured in deviations of the signal.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) + 0.5 * rng.normal(size=(n_samples, 1))
    beta = np.where(np.arange(n_features) % 5 == 0, rng.normal(size=n_features), 0.0)
    signal = X @ beta
    y = signal + noise * signal.std() * rng.normal(size=n_samples)
    return X, y, [f"x{j}" for j in range(n_features)]


def _mixed_classes(n_samples: int, n_classes: int, seed: int) -> tuple[Any, Any, list[str]]:
    """Numbers, a text column and missing cells, with overlapping classes."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_samples, 6))
    group = rng.choice(["north", "south", "west"], size=n_samples)
    shift = (group == "north") - 1.0 * (group == "west")
    score = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + shift + 0.5 * rng.normal(size=n_samples)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    y = np.array([f"class {c}" for c in range(n_classes)])[np.searchsorted(edges, score)]
    numbers[rng.random(numbers.shape) < 0.02] = np.nan
    X = {f"x{j}": numbers[:, j] for j in range(6)} | {"group": group}
    return X, y, [*X]


MAKERS: dict[str, Callable[..., tuple[Any, Any, list[str]]]] = {
    "bundled": _bundled,
    "synthetic": _synthetic,
    "noisy-linear": _noisy_linear,
    "mixed-classes": _mixed_classes,
}
