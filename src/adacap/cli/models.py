"""Estimators as the command line makes them, and the rows it trains and tests them on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adacap.cli.common import UsageError

if TYPE_CHECKING:
    from adacap.cli.targets import Target

__all__ = ["build", "describe", "encode", "enough_rows", "split"]

Array = npt.NDArray[Any]
Index = npt.NDArray[np.intp]


def build(
    task: str,
    method: str | None,
    *,
    seed: int,
    n_estimators: int | None = None,
    time_limit: float | None = None,
) -> Any:
    """Unfitted estimator: a preset by name, or the default.

    Examples
    --------
    >>> build("regression", None, seed=0, n_estimators=8)
    AdaCapRegressor(bagging='folds', n_estimators=8, random_state=0)
    >>> build("regression", "fats", seed=0)
    Traceback (most recent call last):
    adacap.cli.common.UsageError: Unknown preset 'fats'. Did you mean 'fast'? Known: ...
    """
    from adacap.estimators import AdaCapClassifier, AdaCapRegressor, make

    options: dict[str, Any] = {"random_state": seed}
    if time_limit is not None:
        options["time_limit"] = time_limit
    if method is None:
        model: Any = (AdaCapRegressor if task == "regression" else AdaCapClassifier)(**options)
    else:
        try:
            model = make(
                method, "regression" if task == "regression" else "classification", **options
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
    if n_estimators is not None:
        bag = {"n_estimators": n_estimators, "bagging": "folds"}
        known = model.get_params(deep=False)
        model.set_params(**{name: value for name, value in bag.items() if name in known})
    return model


def describe(model: Any, n_rows: int) -> str:
    """A model in words, such as ``AdaCapRegressor, 5 nets (one per fold)``."""
    from adacap.estimators.settings import has_folds, members_of

    n = members_of(model, n_rows)
    folds = " (one per fold)" if has_folds(model, n) else ""
    return f"{type(model).__name__}, {n} {'net' if n == 1 else 'nets'}{folds}"


@contextmanager
def enough_rows(model: Any, n_rows: int) -> Iterator[None]:
    """Where there are fewer rows than folds, the way out that the command line has."""
    try:
        yield
    except ValueError as error:
        if "different rows" not in str(error):
            raise
        n = model.get_params(deep=False)["n_estimators"]
        raise UsageError(
            f"{n} nets, each with a fold of its own, need at least {n} different rows, got "
            f"{n_rows}. Train one net: --n-estimators 1."
        ) from error


def split(target: Target, test_size: float, seed: int) -> tuple[Index, Index]:
    """Rows to train on and to test on; each class gives its share, training first."""
    from adacap.estimators.rows import hold_out

    n_rows, rng = len(target.y), np.random.default_rng([seed, 1])
    if target.task == "regression":
        return hold_out(n_rows, test_size, n_rows, None, rng)
    strata = np.unique(target.y, return_inverse=True)[1].astype(np.intp)
    train, test = hold_out(n_rows, test_size, n_rows, strata, rng)
    return train, test[np.isin(strata[test], strata[train])]


def encode(target: Target, X_train: Any, y_train: Array, X_test: Any) -> tuple[Array, Array]:
    """Tables as AdaCap's default preprocessing gives them to a net."""
    from adacap.estimators.encoder import TableEncoder
    from adacap.estimators.tables import read_table
    from adacap.estimators.targets import ClassCodec, RegressionCodec

    codec: Any = ClassCodec if target.task == "classification" else RegressionCodec
    encoder = TableEncoder()
    coded = codec.fit(y_train).encode(y_train)
    x_train = encoder.fit_transform(read_table(X_train), coded)
    x_test = encoder.transform(read_table(X_test))
    if x_train.shape[1] == 0:  # no column says anything
        return np.zeros((len(x_train), 1)), np.zeros((len(x_test), 1))
    return x_train, x_test
