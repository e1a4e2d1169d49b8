"""A table with text, missing and date-like columns, a small model of it, and ways to call."""

import csv
import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import adacap
from adacap.cli import app

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(adacap.__file__).parents[1])}


def _write_houses(path, n_rows=160, seed=0, separator=",", decimal=".", with_price=True):
    """A CSV file of houses: text, dates, booleans, missing cells, an id, two targets."""
    rng = np.random.default_rng(seed)
    header = ["id", "size", "rooms", "city", "sold", "garage", "price", "rent", "kind"]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow([name for name in header if with_price or name not in header[6:]])
        for i in range(n_rows):
            size, rooms = rng.normal(80, 20), int(rng.integers(1, 6))
            city = str(rng.choice(["Lyon", "Nice", "Paris"]))
            sold = dt.date(2020, 1, 1) + dt.timedelta(days=int(rng.integers(0, 1400)))
            price = 3 * size + 20 * rooms + 50 * (city == "Nice") + rng.normal(0, 10)
            row = [
                f"h{i}",
                "" if rng.random() < 0.1 else f"{size:.2f}".replace(".", decimal),
                rooms,
                "" if rng.random() < 0.1 else city,
                sold.isoformat(),
                str(rng.random() < 0.5).lower(),
            ]
            if with_price:
                shown = f"{price:.2f}".replace(".", decimal)
                rent = f"{price / 25 + rng.normal():.2f}".replace(".", decimal)
                row += [shown if i % 40 else "", rent, "villa" if price > 340 else "flat"]
            writer.writerow(row)
    return path


@pytest.fixture(scope="session")
def write_houses():
    """Maker of such files."""
    return _write_houses


@pytest.fixture(scope="session")
def environment():
    """Variables of a process that uses this source."""
    return ENVIRONMENT


@pytest.fixture(scope="session")
def houses(tmp_path_factory):
    return _write_houses(tmp_path_factory.mktemp("houses") / "houses.csv")


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call of the command in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def call_it(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call_it


# Tests may run in the background, where processes are born deaf to Ctrl-C.
LISTENING = """
import signal
from adacap.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def _start(*arguments, cwd, program=("-c", LISTENING)):
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="session")
def start():
    """Start the command as a process of its own, which Ctrl-C can reach."""
    return _start


@pytest.fixture(scope="session")
def run():
    """Output of the command as a process of its own, which must succeed."""

    def run_it(*arguments, cwd):
        process = _start(*arguments, cwd=cwd, program=("-m", "adacap"))
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors
        return output

    return run_it


@pytest.fixture(scope="session")
def house_model(houses, tmp_path_factory):
    """Model file of a small fold bag on the houses, and the estimator itself."""
    from adacap import AdaCapRegressor
    from adacap.files import open_table

    table = open_table(houses).read()
    known = table.filter(table.column("price").is_valid())
    X = known.select(["size", "rooms", "city", "sold", "garage"])
    model = AdaCapRegressor(
        width=16, max_iter=40, n_estimators=3, validation="folds", random_state=0
    ).fit(X, known.column("price").to_numpy())
    path = tmp_path_factory.mktemp("model") / "houses.adacap"
    model.save(path)
    return path, model
