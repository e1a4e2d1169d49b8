"""Splits of a table into rows to train and to test on, and methods fitted on the same splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from adacap._typing import Array, Index
from adacap.comparison.results import Comparison, ComparisonInterrupted
from adacap.comparison.scoring import check_predictions, score_shares, score_values
from adacap.estimators.dependence import Dependence, dependent_hold_out, read_dependence
from adacap.estimators.rows import hold_out

__all__ = ["compare", "split_dependent", "split_rows", "take_rows"]


def split_rows(y: Array, test_size: float, seed: int, *, by_class: bool) -> tuple[Index, Index]:
    """Training and test rows; test rows of classes absent from training are dropped.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    test_size : float
        Share of rows to test on.
    seed : int
    by_class : bool
        Each class gives its share.

    Examples
    --------
    >>> train, test = split_rows(np.arange(10.0), 0.2, seed=0, by_class=False)
    >>> len(train), len(test)
    (8, 2)
    """
    n_rows, rng = len(y), np.random.default_rng([seed, 1])
    if not by_class:
        return hold_out(n_rows, test_size, n_rows, None, rng)
    strata = np.unique(y, return_inverse=True)[1].astype(np.intp)
    train, test = hold_out(n_rows, test_size, n_rows, strata, rng)
    return train, test[np.isin(strata[test], strata[train])]


def split_dependent(
    dependence: Dependence,
    y: Array,
    test_size: float,
    seed: int,
    *,
    by_class: bool,
    turn: int = 0,
    n_turns: int = 1,
) -> tuple[Index, Index]:
    """The same for rows that are not independent: whole groups, or later rows, are tested.

    Each seed draws other groups. In time, the test part is a window of ``test_size`` of the
    rows and all earlier rows are trained on; the window moves from the middle of the table at the
    first turn to its end at the last. With both, those rows of the window are tested that belong
    to groups which are not trained on.

    Parameters
    ----------
    dependence : Dependence
    y, test_size, seed, by_class
        As of :func:`split_rows`.
    turn, n_turns : int
        Which of how many splits.

    Examples
    --------
    >>> rows = Dependence(time=np.arange(10))
    >>> y = np.zeros(10)
    >>> split_dependent(rows, y, 0.2, 0, by_class=False, turn=0, n_turns=2)
    (array([0, 1, 2, 3, 4, 5]), array([6, 7]))
    >>> split_dependent(rows, y, 0.2, 0, by_class=False, turn=1, n_turns=2)[1]
    array([8, 9])
    """
    strata = np.unique(y, return_inverse=True)[1].astype(np.intp) if by_class else None
    rows = np.arange(len(y))
    if dependence.time is not None:
        rows = _until(dependence.time, test_size, turn, n_turns)
        test_size = test_size * len(y) / len(rows)
    own = None if strata is None else strata[rows]
    rng = np.random.default_rng([seed, 1])
    part = dependence.take(rows)
    train, test = dependent_hold_out(part, test_size, len(y), own, rng)
    train, test = rows[train], rows[test]
    return train, test if strata is None else test[np.isin(strata[test], strata[train])]


def _until(time: Index, test_size: float, turn: int, n_turns: int) -> Index:
    """Rows up to the end of the test window of this turn."""
    first = min(1.0, max(0.5, 1 - test_size * n_turns) + test_size)
    share = 1.0 if n_turns == 1 else first + (1 - first) * turn / (n_turns - 1)
    last = np.sort(time)[max(1, round(share * len(time))) - 1]
    return np.flatnonzero(time <= last)


def take_rows(X: Any, rows: Index) -> Any:
    """Rows of an array, a list, or a frame of pandas, polars or arrow.

    Examples
    --------
    >>> take_rows([["a"], ["b"], ["c"]], np.array([2, 0]))
    [['c'], ['a']]
    """
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.take(rows) if hasattr(X, "take") and not isinstance(X, np.ndarray) else X[rows]


# --------------------------------------------------------------------------- methods on them


METRICS = {"regression": ("rmse", "r2"), "classification": ("accuracy", "auc")}
Contender: TypeAlias = Any  # an estimator, or a function of a seed that makes one


def compare(
    methods: Mapping[str, Contender],
    X: Any,
    y: Any,
    *,
    n_splits: int = 10,
    test_size: float = 0.2,
    random_state: int = 0,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    on_fit: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Fit every method on the same random splits of a table and score it on the rest.

    Parameters
    ----------
    methods : mapping of str to estimator or function
        Estimators are cloned for every split. A function is called with the seed of the split and
        returns an unfitted estimator. All are regressors or all are classifiers. Wrap methods that
        need numbers in :class:`Encoded` if the table has text.
    X : array-like or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    n_splits : int, default=10
    test_size : float, default=0.2
        Share of rows to test on; each class gives its share.
    random_state : int, default=0
        Seed of the first split; the next one has the next seed.
    sample_weight : array-like of shape (n_rows,), optional
        Of the training rows, for methods that take any; each test row counts once.
    groups, time : array-like of shape (n_rows,), optional
        Rows that belong together, and what orders them. A group is never on both sides of a split;
        test rows come after all training rows. Methods that take them in ``fit`` get them.
    on_fit : callable, optional
        Called with the fits done, the fits in all and the name of the method that is next.

    Returns
    -------
    Comparison
        RMSE and R², or accuracy and AUC. It prints as a table, the best method first.

    Raises
    ------
    ValueError
        If there is no method, more than one target, or too few rows for a test part.
    ComparisonInterrupted
        On Ctrl-C, with the splits that were finished.

    Notes
    -----
    An error of the first method is raised: there would be nothing to compare with. That of another
    is kept in ``failures``, and the others continue.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.dummy import DummyRegressor
    >>> from sklearn.linear_model import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = compare({"ridge": RidgeCV(), "mean": DummyRegressor()}, X, y, n_splits=5)
    >>> found.ranking
    ['ridge', 'mean']
    >>> found.difference("ridge", "mean").p_value < 0.01
    True
    """
    y = np.asarray(y)
    _check(methods, y, n_splits)
    task = _task_of(next(iter(methods.values())))
    by_class = task == "classification"
    dependence = read_dependence(groups, time, len(y))
    if dependence is not None:
        dependence.check()
        _check_groups(methods, dependence)
    found = Comparison(METRICS[task])
    ratios = []
    total = n_splits * len(methods)
    tell = on_fit or (lambda done, total, name: None)
    try:
        for index in range(n_splits):
            seed = random_state + index
            if dependence is None:
                train, test = split_rows(y, test_size, seed, by_class=by_class)
            else:
                train, test = split_dependent(
                    dependence, y, test_size, seed,
                    by_class=by_class, turn=index, n_turns=n_splits,
                )  # fmt: skip
            if not len(test):
                raise ValueError(f"{len(y)} rows are too few for a test part of {test_size:g}.")
            ratios.append(len(test) / len(train))
            found.test_ratio = sum(ratios) / len(ratios)
            more = {"sample_weight": sample_weight, "groups": groups, "time": time}
            part = _Part(task, X, y, train, test, more)
            for k, (name, method) in enumerate(methods.items()):
                tell(index * len(methods) + k, total, name)
                _add_scores(found, name, method, part, seed, is_first=k == 0)
            found.n_splits = index + 1
    except KeyboardInterrupt:
        found.forget_after(found.n_splits)
        raise ComparisonInterrupted(found) from None
    tell(total, total, "")
    return found


class _Part:
    """One split of a table."""

    def __init__(
        self, task: str, X: Any, y: Array, train: Index, test: Index, more: Mapping[str, Any]
    ) -> None:
        self.task, self.classes = task, np.unique(y)
        self.X_train, self.X_test = take_rows(X, train), take_rows(X, test)
        self.y_train, self.y_test = y[train], y[test]
        self.more = {k: np.asarray(v)[train] for k, v in more.items() if v is not None}

    def scores(self, model: Any) -> dict[str, float]:
        """Fit on the training rows, score on the test rows."""
        more = {name: v for name, v in self.more.items() if has_fit_parameter(model, name)}
        model.fit(self.X_train, self.y_train, **more)
        n_rows = len(self.y_test)
        if self.task == "regression":
            return score_values(self.y_test, check_predictions(model.predict(self.X_test), n_rows))
        if not hasattr(model, "predict_proba"):
            labels = check_predictions(model.predict(self.X_test), n_rows)
            return {"accuracy": float(np.mean(labels == self.y_test))}
        shares = check_predictions(model.predict_proba(self.X_test), n_rows, "probabilities")
        every = np.zeros((n_rows, len(self.classes)))
        every[:, np.searchsorted(self.classes, model.classes_)] = shares
        codes = np.searchsorted(self.classes, self.y_test)
        return score_shares(codes, every)


def _add_scores(
    found: Comparison, name: str, method: Contender, part: _Part, seed: int, is_first: bool
) -> None:
    start = perf_counter()
    try:
        scores = part.scores(_built(method, seed))
    except Exception as error:  # a foreign method may raise anything
        if is_first:
            raise
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        found.failures.setdefault(name, reason)
        scores = {}
    found.add(name, scores, perf_counter() - start)


def _built(method: Contender, seed: int) -> Any:
    return clone(method) if hasattr(method, "fit") else method(seed)


def _task_of(method: Contender) -> str:
    return "classification" if is_classifier(_built(method, 0)) else "regression"


def _check_groups(methods: Mapping[str, Contender], dependence: Dependence) -> None:
    """Refuse two groups where one that is left has to be divided again."""
    if dependence.n_groups != 2:
        return
    takes_groups = (n for n, m in methods.items() if has_fit_parameter(_built(m, 0), "groups"))
    if name := next(takes_groups, None):
        raise ValueError(
            f"{name} needs at least two training groups to hold one out, but only one remains: "
            "there are 2 groups, and one is tested on. Give at least 3 groups, or leave groups out."
        )


def _check(methods: Mapping[str, Contender], y: Array, n_splits: int) -> None:
    if not isinstance(methods, Mapping):
        raise TypeError(
            f"methods must be a dict of names and estimators, got {methods!r}. "
            "adacap.comparison.find_method('ridge').build('regression', 0) makes one by its name."
        )
    for name, method in methods.items():
        if not hasattr(method, "fit") and not callable(method):
            raise TypeError(f"Method {name!r} must be an estimator or a function, got {method!r}.")
    if not methods:
        raise ValueError("Nothing to compare: pass a dict of names and estimators.")
    if y.ndim != 1:
        raise ValueError(f"compare takes one target at a time, got y of shape {y.shape}.")
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}.")
