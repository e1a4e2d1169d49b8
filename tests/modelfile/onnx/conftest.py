"""A table of every kind of column, and rows unlike those of fit."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

N = 60


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    gaps = rng.random((N, 4)) < 0.25
    return pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "gaps": np.where(gaps[:, 0], np.nan, 20_240_000.0 + rng.integers(0, 99, N)),
            "rooms": np.where(gaps[:, 3], np.nan, rng.integers(1, 5, N)),
            "rate": rng.choice([0.1, 0.2, 0.7], N),
            "sold": rng.random(N) < 0.5,
            "colour": rng.choice(["red", "green", "blue", None], N),
            "pair": rng.choice(["nan", "été"], N),
            "maybe": rng.choice(["yes", None], N),
            "city": pd.Series(rng.choice([f"city{i}" for i in range(20)], N)).mask(gaps[:, 1]),
            "when": pd.Series(
                pd.Timestamp("1969-01-01") + pd.to_timedelta(rng.integers(0, 19_000, N), "h")
            ).mask(gaps[:, 2]),
            "same": 1.0,
            "label": [f"row{i}" for i in range(N)],
        }
    )


@pytest.fixture(scope="session")
def unlike(frame: pd.DataFrame) -> pd.DataFrame:
    """Unseen categories, unseen numbers of few values, and gaps in every column."""
    other = frame.astype({"sold": object})
    other.loc[:9, "colour"] = "mauve"
    other.loc[5:14, "city"] = "nowhere"
    other.loc[3:7, "pair"] = "3"
    other.loc[15:19, "rooms"] = 99.0
    other.loc[20:24, "rate"] = 0.15
    other.loc[25:29, "size"] = -1e12
    for j, name in enumerate(other):
        other.loc[30 + j : 33 + j, name] = None
    return other


@pytest.fixture(scope="session")
def target(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    return np.asarray(5000 + 100 * frame["size"] + 50 * (frame["colour"] == "red"))
