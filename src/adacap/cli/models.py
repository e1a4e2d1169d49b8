"""Estimators as the command line makes them, and the rows it trains and tests them on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap._typing import Array, Index
from adacap.cli.common import UsageError
from adacap.exceptions import suggest

if TYPE_CHECKING:
    from adacap.cli.targets import Target

__all__ = [
    "build", "column_doubts", "describe", "enough_rows", "fitted_encoder",
    "repeated_rows", "split",
]  # fmt: skip

_PRESETS_TOO = ("nets",)  # as a preset, a bag of nets that is not blended
TRANSFORMS = ("none", "log", "yeo-johnson", "auto")


def build(
    task: str,
    method: str | None,
    *,
    seed: int,
    n_estimators: int | None = None,
    time_limit: float | None = None,
    read_text: bool | str = True,
    target_transform: str | None = None,
    class_weight: Any = None,
) -> Any:
    """Unfitted estimator: a preset by name, a blend of some members, or the default.

    Examples
    --------
    >>> build("regression", None, seed=0, n_estimators=8)
    AdaCapRegressor(n_estimators=8, random_state=0)
    >>> build("regression", "kernel,boosting", seed=0)
    AdaCapRegressor(quality=['kernel', 'boosting'], random_state=0)
    >>> build("regression", "fats", seed=0)
    Traceback (most recent call last):
    adacap.exceptions.UsageError: Unknown preset 'fats'. Did you mean 'fast'? Nearest of ...
    """
    from adacap.estimators import AdaCapClassifier, AdaCapRegressor, make
    from adacap.estimators.preprocessing import encoder_options

    members = None if method is None else _members(method)
    given = {"random_state": seed, "time_limit": time_limit, "class_weight": class_weight}
    given["quality"] = members
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if method is None or members is not None:
        model: Any = (AdaCapRegressor if task == "regression" else AdaCapClassifier)(**options)
    else:
        kind: Any = task
        try:
            model = make(method, kind, **options)
        except ValueError as error:
            raise UsageError(str(error)) from error
    if n_estimators is not None:
        model.set_params(n_estimators=n_estimators)
        if model.validation != "auto":  # one net per fold, whatever the preset says
            model.set_params(validation="folds" if n_estimators > 1 else 0.2)
    if target_transform is not None:
        _set_transform(model, target_transform)
    if read_text is not True:
        options = {**encoder_options(model.preprocessing), "read_text": read_text}
        model.set_params(preprocessing=options)
    return model


def _members(method: str) -> list[str] | None:
    """Members of a blend, where a method is one or a list of some; None for a preset."""
    from adacap.estimators.quality import MEMBERS

    words = [word.strip() for word in method.split(",")]
    if len(words) == 1 and (words[0] not in MEMBERS or words[0] in _PRESETS_TOO):
        return None
    for word in words:
        if word not in MEMBERS:
            raise UsageError(suggest(word, MEMBERS, "member"))
    if len(set(words)) < len(words):
        raise UsageError(f"--method {method} names a member twice.")
    return words


def _set_transform(model: Any, kind: str) -> None:
    """Transform of the target, where the model supports it."""
    if "target_transform" not in model.get_params(deep=False):
        what = "classes" if hasattr(model, "predict_proba") else type(model).__name__
        raise UsageError(f"--target-transform {kind} has no meaning for {what}. Leave it out.")
    if kind not in TRANSFORMS:
        raise UsageError(suggest(kind, TRANSFORMS, "target transform"))
    model.set_params(target_transform=kind)


def describe(model: Any, n_rows: int, dependence: dict[str, Any] | None = None) -> str:
    """A model in words, such as ``AdaCapRegressor, 5 nets (one per fold)``."""
    from adacap.estimators.quality import NETS_ALONE
    from adacap.estimators.settings import resolve

    settings = resolve(model, n_rows, split=_row_split(model, n_rows, dependence))
    n, name = settings.n_estimators, type(model).__name__
    if settings.members != NETS_ALONE:
        return f"{name}, a blend in {n} folds of {', '.join(settings.members)}"
    folds = " (one per fold)" if settings.validation == "folds" else ""
    return f"{name}, {n} {'net' if n == 1 else 'nets'}{folds}"


def _row_split(model: Any, n_rows: int, dependence: dict[str, Any] | None) -> Any:
    from adacap.estimators.dependence import folds_wanted, read_dependence, split_folds

    found = dependence and read_dependence(dependence.get("groups"), dependence.get("time"), n_rows)
    if not found or model.validation not in ("auto", "folds"):
        return None
    n_folds = folds_wanted(found, model.n_estimators, n_rows)
    return split_folds(found, n_folds, n_rows, None, 0)[0]


@contextmanager
def enough_rows(model: Any, n_rows: int) -> Iterator[None]:
    """For fewer rows than folds, an error with the command-line option that helps."""
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


def split(
    target: Target, test_size: float, seed: int, dependence: dict[str, Any] | None = None
) -> tuple[Index, Index]:
    """Rows to train on and to test on; each class gives its share, training first.

    With groups, the test part is of whole groups; with time, of the last rows. It is empty where
    one group alone would be left to train on.
    """
    from adacap.comparison import split_dependent, split_rows
    from adacap.estimators.dependence import read_dependence

    by_class = target.task == "classification"
    if not dependence:
        return split_rows(target.y, test_size, seed, by_class=by_class)
    if not test_size:
        return np.arange(len(target.y)), np.arange(0)
    found = read_dependence(dependence.get("groups"), dependence.get("time"), len(target.y))
    assert found is not None
    if found.n_groups == 2 and found.time is None:
        return np.arange(len(target.y)), np.arange(0)
    return split_dependent(found, target.y, test_size, seed, by_class=by_class)


def fitted_encoder(target: Target, model: Any, X: Any) -> Any:
    """Encoder that a model would learn on all rows, to say what becomes of the columns."""
    from adacap.estimators.encoder import TableEncoder
    from adacap.estimators.preprocessing import encoder_options
    from adacap.tables.table import read_table

    encoder = TableEncoder(**encoder_options(model.preprocessing))
    return encoder.fit(read_table(X), _coded(target, target.y))


def column_doubts(target: Target, encoder: Any, X: Any, transform: str | None = None) -> list[str]:
    """Sentences about leaks and a target that is hard to learn, with row numbers of the file."""
    from adacap.estimators.telling import doubts
    from adacap.tables.table import read_table

    is_class = target.task == "classification"
    numbers = np.flatnonzero(target.known) + 1
    table = read_table(X)
    return doubts(encoder, table, target.y, is_class, target.names, numbers, transform)


def repeated_rows(target: Target, X: Any, train: Index, test: Index) -> str:
    """Sentence about test rows that are also training rows; empty if they are few."""
    from adacap.tables.table import read_table

    keys = read_table(X).row_keys()
    codes = np.unique(target.y.reshape(len(target.y), -1), axis=0, return_inverse=True)[1]
    rows = np.unique(np.column_stack([keys, codes.astype(np.uint64)]), axis=0, return_inverse=True)
    whole = rows[1].ravel()
    n_twice = int(np.isin(whole[test], whole[train]).sum())
    if n_twice <= 0.01 * len(test):
        return ""
    return (
        f"{n_twice:,} of the {len(test):,} test rows are in the training part too, with the same "
        "target: scores may be too good. Remove repeated rows, if they are copies."
    )


def _coded(target: Target, y: Array) -> Any:
    from adacap.estimators.targets import ClassCodec, RegressionCodec

    codec: Any = ClassCodec if target.task == "classification" else RegressionCodec
    return codec.fit(y).encode(y)
