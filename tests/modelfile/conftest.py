"""Fitted models and the files they were saved to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from adacap import AdaCapClassifier, AdaCapRegressor, lite

N = 60


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Every kind of column, with missing cells where a kind can have them."""
    rng = np.random.default_rng(0)
    gaps = rng.random((N, 3)) < 0.25
    return pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "gaps": np.where(gaps[:, 0], np.nan, 1e6 + rng.lognormal(size=N)),
            "rooms": rng.integers(1, 5, N),
            "sold": rng.random(N) < 0.5,
            "colour": rng.choice(["red", "green", "blue", None], N),
            "pair": rng.choice(["nan", "inf"], N),
            "city": pd.Series(rng.choice([f"city{i}" for i in range(20)], N)).mask(gaps[:, 1]),
            "zone": pd.Categorical(rng.integers(0, 30, N)),
            "when": pd.Series(
                pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "h")
            ).mask(gaps[:, 2]),
            "same": 1.0,
        }
    )


@pytest.fixture(scope="session")
def target(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Standard deviation near 100, mean far from 0."""
    return np.asarray(5000 + 100 * frame["size"] + 50 * (frame["colour"] == "red"))


@pytest.fixture
def reload(tmp_path: Path) -> Callable[[Any], Any]:
    """Save an estimator and read the file without torch."""

    def through_file(model: Any) -> Any:
        path = tmp_path / "m.adacap"
        model.save(path)
        return lite.load(path)

    return through_file


@pytest.fixture(scope="session")
def any_model() -> Callable[..., tuple[Any, pd.DataFrame, pd.DataFrame]]:
    """Draw a table of given cells, and other rows of its columns; fit a model to the first."""

    def drawn(data: Any, cells: dict[str, Any]) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
        kinds = data.draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4))

        def rows(n: int) -> pd.DataFrame:
            found = [data.draw(st.lists(cells[kind], min_size=n, max_size=n)) for kind in kinds]
            named = {f"{kind}{j}": found[j] for j, kind in enumerate(kinds)}
            return pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in named.items()})

        train, new = rows(24), rows(6)
        kind = data.draw(st.sampled_from([AdaCapRegressor, AdaCapClassifier]))
        policy = data.draw(st.sampled_from(["default", "paper"]))
        model = kind(width=4, max_iter=2, preprocessing=policy, random_state=0)
        y = np.linspace(-1, 1, 24) ** 3 if kind is AdaCapRegressor else np.arange(24) % 3
        return model.fit(train, y), train, new

    return drawn


@pytest.fixture
def ridge_file(tmp_path: Path) -> Path:
    """A file of a model without nets."""
    rows = [[float(i)] for i in range(30)]
    model = AdaCapRegressor(quality=["ridge"], random_state=0)
    model.fit(rows, [i % 7 for i in range(30)]).save(tmp_path / "m.adacap")
    return tmp_path / "m.adacap"
