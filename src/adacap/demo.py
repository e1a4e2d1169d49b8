"""A short tour: AdaCap beside simple methods and its own ablation, on two tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes, make_friedman1

from adacap._typing import Floats
from adacap.comparison import Comparison, Encoded, baselines, compare
from adacap.estimators import AdaCapRegressor
from adacap.estimators._base import Scheme
from adacap.text import table_lines
from adacap.training.callbacks import ProgressBar

__all__ = ["methods", "run_demo"]


_SCHEMES: dict[str, Scheme] = {"plain": "plain", "Tikhonov": "tikhonov", "AdaCap": "adacap"}


def _tables(seed: int) -> Iterator[tuple[str, Floats, Floats]]:
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes (442 patients, noisy)", X, y
    X, y = make_friedman1(200, noise=0.1, random_state=seed)
    yield "Friedman 1 (200 rows, smooth)", X, y


def methods(seed: int) -> dict[str, Any]:
    """Simple methods, and three bags that differ in ``scheme`` alone.

    Examples
    --------
    >>> list(methods(seed=0))
    ['mean', 'ridge', 'random forest', 'plain', 'Tikhonov', 'AdaCap']
    """
    simple = {name: Encoded(model) for name, model in baselines("regression", seed).items()}
    return {**simple, **{name: _bag(name, seed) for name in _SCHEMES}}


def _bag(name: str, seed: int) -> AdaCapRegressor:
    callbacks = [ProgressBar(name)]
    return AdaCapRegressor(scheme=_SCHEMES[name], random_state=seed, callbacks=callbacks)


def run_demo(
    output: Path, seed: int = 0, *, quiet: bool = False, force: bool = False
) -> dict[str, Any]:
    """Compare on both tables, print the errors unless quiet, save AdaCap's model of the first.

    Errors are of one split, 80 % to train on; the model that is saved is trained on all rows.
    Returns errors and seconds of each method on each table, and where the model is.
    """
    say = (lambda text: None) if quiet else print
    tables = []
    for title, X, y in _tables(seed):
        found = compare(methods(seed), X, y, n_splits=1, random_state=seed)
        say("\n".join([title, *_lines(found), ""]))
        tables.append({"table": title, "methods": list(_facts(found))})
    _, X, y = next(_tables(seed))
    _bag("AdaCap", seed).fit(X, y).set_params(callbacks=None).save(output, force=force)
    say(f"Model of the first table, trained on all rows, saved to {output.resolve()}")
    say(f'Use it with  adacap.load("{output}").predict(X)')
    return {"tables": tables, "model": str(output.resolve()), "seed": seed}


def _facts(found: Comparison) -> Iterator[dict[str, Any]]:
    for name in found.scores:
        rmse, seconds = found.estimate(name).mean, found.mean_seconds(name)
        yield {"method": name, "rmse": rmse, "seconds": seconds}


def _lines(found: Comparison) -> list[str]:
    rows = [[one["method"], f"{one['rmse']:.4g}", f"{one['seconds']:.2f}"] for one in _facts(found)]
    return table_lines(["method", "test RMSE", "seconds"], rows)
