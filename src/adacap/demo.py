"""A short tour: AdaCap beside simple methods and its own ablation, on two tables."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adacap.estimators import AdaCapRegressor
from adacap.estimators._base import Scheme
from adacap.training.callbacks import ProgressBar

__all__ = ["Score", "compare", "run_demo"]

Array = npt.NDArray[np.float64]

_SCHEMES: dict[str, Scheme] = {"plain": "plain", "Tikhonov": "tikhonov", "AdaCap": "adacap"}


class Score(NamedTuple):
    """Test error of one method and how long its fit took."""

    method: str
    rmse: float
    seconds: float
    model: Any


def _tables(seed: int) -> Iterator[tuple[str, Array, Array]]:
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes (442 patients, noisy)", X, y
    X, y = make_friedman1(200, noise=0.1, random_state=seed)
    yield "Friedman 1 (200 rows, smooth)", X, y


def _methods(seed: int) -> dict[str, Any]:
    return {
        "mean": DummyRegressor(),
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "random forest": RandomForestRegressor(random_state=seed),
        **{
            name: AdaCapRegressor(scheme=scheme, random_state=seed, callbacks=[ProgressBar(name)])
            for name, scheme in _SCHEMES.items()
        },
    }


def compare(X: Array, y: Array, seed: int) -> list[Score]:
    """Fit every method on 80 % of the rows and score it on the rest.

    The plain, Tikhonov and AdaCap bags differ in ``scheme`` alone.

    Examples
    --------
    >>> X, y = make_friedman1(60, random_state=0)
    >>> [score.method for score in compare(X, y, seed=0)]
    ['mean', 'ridge', 'random forest', 'plain', 'Tikhonov', 'AdaCap']
    """
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    scores = []
    for name, model in _methods(seed).items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        rmse = float(root_mean_squared_error(y_test, model.predict(X_test)))
        scores.append(Score(name, rmse, seconds, model))
    return scores


def run_demo(
    output: Path, seed: int = 0, *, quiet: bool = False, force: bool = False
) -> dict[str, Any]:
    """Compare on both tables, print the errors unless quiet, save the first AdaCap model.

    Returns
    -------
    dict
        Errors and seconds of each method on each table, and where the model is.
    """
    console = Console(quiet=quiet)
    saved = None
    tables = []
    for title, X, y in _tables(seed):
        scores = compare(X, y, seed)
        console.print(_render(title, scores))
        tables.append({"table": title, "methods": [_facts(score) for score in scores]})
        if saved is None:
            saved = scores[-1].model
            saved.set_params(callbacks=None)
            saved.save(output, force=force)
    console.print(f"Model of the first table saved to {output.resolve()}", soft_wrap=True)
    console.print(f'Use it with  adacap.load("{output}").predict(X)', soft_wrap=True)
    return {"tables": tables, "model": str(output.resolve()), "seed": seed}


def _facts(score: Score) -> dict[str, Any]:
    return {"method": score.method, "rmse": score.rmse, "seconds": score.seconds}


def _render(title: str, scores: list[Score]) -> Table:
    table = Table("method", "test RMSE", "fit seconds", title=title, title_justify="left")
    best = min(score.rmse for score in scores)
    for score in scores:
        style = "bold" if score.rmse == best else ""
        table.add_row(score.method, f"{score.rmse:.4g}", f"{score.seconds:.2f}", style=style)
    return table
