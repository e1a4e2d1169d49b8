"""AdaCap-SNN beside CatBoost on three small tables, and the ablation of AdaCap on one of them.

    ADACAP_DATA=<folder> python benchmarks/small_tables.py [--splits 10] [--seeds 20]

Every method gets the same 80 % of the rows and is scored on the rest. Errors are root mean squares
of a target that the training part standardises. CatBoost has its default settings and gets the
columns as the paper's preprocessing gives them to the nets.
"""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

import adacap
from adacap._typing import Floats

COMPARED = ("adacap-snn", "catboost")
ABLATION = ("snn", "tikhonov-snn", "adacap-snn")


class Run(NamedTuple):
    """One cell of a table: which data, method, split and seed."""

    table: str
    method: str
    split: int
    seed: int


def slump(folder: Path) -> tuple[pd.DataFrame, Floats]:
    """Compressive strength of concrete: paper id 1, 103 rows."""
    data = pd.read_csv(folder / "raw" / "concrete-slump" / "slump_test.data")
    return data.iloc[:, 1:-1], data.iloc[:, -1].to_numpy()


def yacht(folder: Path) -> tuple[pd.DataFrame, Floats]:
    """Resistance of yachts, logarithm: paper id 12, 307 rows, of which four columns are used."""
    path = folder / "raw" / "yacht" / "yacht_hydrodynamics.data"
    data = pd.read_csv(path, sep=r"\s+", header=None).iloc[1:]
    return _named(data.iloc[:, 2:6]), np.log(data.iloc[:, -1].to_numpy())


def hardware(folder: Path) -> tuple[pd.DataFrame, Floats]:
    """Estimated performance of computers, logarithm: paper id 9, 209 rows."""
    data = pd.read_csv(folder / "raw" / "computer-hardware" / "machine.data", header=None)
    return _named(data.iloc[:, :-1]), np.log(data.iloc[:, -1].to_numpy())


TABLES = {"slump": slump, "yacht": yacht, "hardware": hardware}


def _named(data: pd.DataFrame) -> pd.DataFrame:
    return data.rename(columns=lambda j: f"c{j}")


def _model(method: str, seed: int) -> Any:
    if method != "catboost":
        return adacap.make(method, random_state=seed)
    from catboost import CatBoostRegressor

    catboost = CatBoostRegressor(
        random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )
    return catboost


def rmse(run: Run, folder: Path) -> float:
    """Test error of one run, on one thread."""
    torch.set_num_threads(1)
    X, y = TABLES[run.table](folder)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=run.split)
    mean, scale = y_train.mean(), y_train.std()
    model = _model(run.method, run.seed)
    if run.method == "catboost":  # the presets encode by themselves
        encoder = adacap.TableEncoder("paper")
        X_train, X_test = encoder.fit_transform(X_train), encoder.transform(X_test)
    model.fit(X_train, (y_train - mean) / scale)
    residual = model.predict(X_test) - (y_test - mean) / scale
    return float(np.sqrt(np.mean(residual**2)))


def measure(runs: Iterable[Run], folder: Path, n_jobs: int = 2) -> pd.Series:
    """Error of each run, indexed by table, method, split and seed."""
    runs = list(runs)
    errors = Parallel(n_jobs=n_jobs)(delayed(rmse)(run, folder) for run in runs)
    return pd.Series(errors, pd.MultiIndex.from_tuples(runs, names=Run._fields), name="rmse")


def compare(
    folder: Path, n_splits: int, tables: Iterable[str] = tuple(TABLES), n_jobs: int = 2
) -> pd.Series:
    """Errors of AdaCap-SNN and CatBoost; the seed of a run is that of its split."""
    cells = [Run(t, method, s, s) for t in tables for s in range(n_splits) for method in COMPARED]
    return measure(cells, folder, n_jobs)


def ablate(folder: Path, n_seeds: int, n_jobs: int = 2) -> pd.Series:
    """Errors of the plain, Tikhonov and AdaCap net on one split of the slump table."""
    cells = [Run("slump", method, 0, seed) for seed in range(n_seeds) for method in ABLATION]
    return measure(cells, folder, n_jobs)


def summary(errors: pd.Series, order: Iterable[str]) -> pd.DataFrame:
    """Mean error and its standard error, per table and method."""
    groups = errors.groupby(["table", "method"], sort=False)
    frame = pd.DataFrame({"mean": groups.mean(), "standard error": groups.sem()})
    return frame.reindex(list(order), level="method")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10, help="splits of each table")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of the ablation")
    options = parser.parse_args()
    if "ADACAP_DATA" not in os.environ:
        parser.error("set ADACAP_DATA to the folder that holds raw/concrete-slump and the others")
    folder = Path(os.environ["ADACAP_DATA"])
    print(f"Test RMSE, {options.splits} splits")
    print(summary(compare(folder, options.splits), COMPARED).round(4).to_string())
    print(f"\nTest RMSE, one split of slump, {options.seeds} seeds")
    print(summary(ablate(folder, options.seeds), ABLATION).round(4).to_string())


if __name__ == "__main__":
    main()
