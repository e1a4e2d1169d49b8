"""A model of a table with numbers, text, dates and gaps, and more rows of the same kind."""

import datetime as dt

import numpy as np
import pytest

import adacap


def _rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    start = dt.date(2020, 1, 1)
    return {
        "size": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(80, 20, n_rows)),
        "rooms": rng.integers(1, 6, n_rows).astype(float),
        "city": rng.choice(["Lyon", "Nice", "Paris"], n_rows, p=[0.5, 0.3, 0.2]).tolist(),
        "street": [f"s{k}" for k in rng.integers(0, 40, n_rows)],
        "sold": [start + dt.timedelta(days=int(d)) for d in rng.integers(0, 1400, n_rows)],
        "garden": rng.random(n_rows) < 0.4,
    }


@pytest.fixture(scope="session")
def make_rows():
    """Maker of new rows of the same kind."""
    return _rows


@pytest.fixture(scope="session")
def target():
    """The target of such rows."""

    def of(table, seed=0):
        size = np.nan_to_num(table["size"], nan=80.0)
        nice = np.array(table["city"]) == "Nice"
        noise = np.random.default_rng(seed).normal(0, 5, len(size))
        return 3 * size + 20 * table["rooms"] + 50 * nice + noise

    return of


@pytest.fixture(scope="session")
def blend(make_rows, target):
    table = make_rows(300, 0)
    return adacap.AdaCapRegressor(quality="fast", random_state=0).fit(table, target(table))


@pytest.fixture(scope="session")
def nets(make_rows, target):
    table = make_rows(300, 0)
    model = adacap.AdaCapRegressor(width=8, max_iter=10, n_estimators=2, random_state=0)
    return model.fit(table, target(table))
