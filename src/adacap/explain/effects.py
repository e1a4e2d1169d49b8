"""How predictions change along a column: partial dependence, with the spread of the folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Index, Matrix
from adacap.exceptions import suggest
from adacap.explain.evaluating import Evaluator, cells_of
from adacap.explain.interactions import Interaction, interactions
from adacap.explain.sensitivity import sensitivity
from adacap.text import table_lines

__all__ = ["Effect", "Effects", "effects"]

_MOST_LEVELS = 12


@dataclass(frozen=True, eq=False)
class Effect:
    """Mean prediction along the values of one column.

    Attributes
    ----------
    name : str
    kind : {"numeric", "boolean", "categorical", "datetime"}
    values : ndarray of shape (g,)
        Values of the column that were tried, in order, the most frequent levels of a category
        first; the last one is None or NaN where the column has missing cells.
    mean : ndarray of shape (g,) or (g, c)
        Mean prediction with the column at this value in all rows.
    deviation : ndarray of the shape of mean
        Standard deviation of that mean over the models of the folds, or the nets of a bag.
    share : float
        Of the column in what drives predictions, as ``feature_importances_``.
    """

    name: str
    kind: str
    values: npt.NDArray[Any]
    mean: Floats
    deviation: Floats
    share: float

    @property
    def is_missing(self) -> npt.NDArray[np.bool_]:
        """Which of the values stands for missing cells."""
        found = [v is None or v != v for v in self.values.tolist()]
        return np.array(found, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects of columns, and interactions of the strongest pairs.

    Attributes
    ----------
    effects : tuple of Effect
        The column that drives predictions most comes first.
    interactions : tuple of Interaction
        The strongest pair first.
    output_names : tuple of str or None
        Classes or targets, where effects have several columns. Of two classes the effect is that
        on the probability of the second.
    output : str
        What is averaged, in words.
    n_rows, n_models : int
        Rows averaged over, and models whose spread is given.
    """

    effects: tuple[Effect, ...]
    interactions: tuple[Interaction, ...]
    output_names: tuple[str, ...] | None
    output: str
    n_rows: int
    n_models: int

    def __getitem__(self, name: str) -> Effect:
        """Effect of a column by its name."""
        names = [effect.name for effect in self.effects]
        if name not in names:
            raise KeyError(suggest(name, names, "column"))
        return self.effects[names.index(name)]

    def __str__(self) -> str:
        rows = [[e.name, f"{np.ptp(e.mean, axis=0).max():.4g}", f"{e.share:.0%}"]
                for e in self.effects]  # fmt: skip
        lines = table_lines(["column", "from least to most", "share"], rows)
        pairs = [[" × ".join(p.names), f"{p.h:.2f}", f"{p.strength:.4g}"]
                 for p in self.interactions]  # fmt: skip
        if pairs:
            lines += ["", *table_lines(["pair", "Friedman's H", "strength"], pairs)]
        return "\n".join(lines)


def effects(
    estimator: Any,
    X: Any,
    columns: Sequence[str | int] | None = None,
    *,
    n_columns: int = 6,
    n_values: int = 16,
    n_pairs: int = 3,
    max_rows: int = 200,
    random_state: int = 0,
) -> Effects:
    """Partial dependence of the predictions on columns, and interactions of the strongest pairs.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X : array-like or frame of shape (n_samples, n_features)
        Rows to average over; no labels are needed.
    columns : sequence of str or int, optional
        Columns to follow, by name or number; None is those that drive predictions most.
    n_columns : int, default=6
        How many of them.
    n_values : int, default=16
        Values of a number or date: quantiles, which some row has. Of a category the 12 most
        frequent levels are taken.
    n_pairs : int, default=3
        Interactions to return, of all pairs of the four strongest columns; 0 for none.
    max_rows : int, default=200
        Rows to average over, drawn at random.
    random_state : int, default=0

    Returns
    -------
    Effects

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=50, random_state=0).fit(X, 2 * X[:, 1])
    >>> found = effects(model, X)
    >>> found.effects[0].name, bool(np.all(np.diff(found["x1"].mean) > 0))
    ('x1', True)
    """
    evaluator = Evaluator(estimator)
    encoded, cells = evaluator.encode(X), cells_of(estimator, X)
    rng = np.random.default_rng(random_state)
    if len(encoded) > max_rows:
        drawn = np.sort(rng.permutation(len(encoded))[:max_rows])
        encoded, cells = encoded[drawn], cells[drawn]
    shares = sensitivity(evaluator, encoded, random_state)
    strongest = [int(j) for j in np.argsort(-shares, kind="stable") if int(j) in evaluator.blocks]
    chosen = strongest[:n_columns] if columns is None else _places(evaluator, columns)
    kinds = [plan.kind for plan in estimator.encoder_.columns_]
    found = tuple(
        _effect(evaluator, encoded, cells[:, j], j, kinds[j], n_values, float(shares[j]))
        for j in chosen
    )
    pairs = interactions(evaluator, encoded, strongest, n_pairs) if n_pairs else ()
    return Effects(
        found, pairs, _names(evaluator), _output(evaluator), len(encoded), _n_models(evaluator)
    )


def _places(evaluator: Evaluator, columns: Sequence[str | int]) -> list[int]:
    found = []
    for column in columns:
        if isinstance(column, str) and column not in evaluator.names:
            raise ValueError(suggest(column, evaluator.names, "column"))
        j = evaluator.names.index(column) if isinstance(column, str) else int(column)
        if not 0 <= j < len(evaluator.names):
            raise ValueError(f"There are {len(evaluator.names)} columns, got the number {column}.")
        found.append(j)
    return found


def _n_models(evaluator: Evaluator) -> int:
    return int(evaluator.each(np.zeros((1, len(evaluator.column_of)), dtype=np.float32)).shape[0])


def _names(evaluator: Evaluator) -> tuple[str, ...] | None:
    names = evaluator.output_names
    return None if names is None or _is_binary(evaluator) else tuple(names)


def _is_binary(evaluator: Evaluator) -> bool:
    return evaluator.is_classes and len(evaluator.estimator.codec_.classes) == 2


def _output(evaluator: Evaluator) -> str:
    if _is_binary(evaluator):
        return f"probability of {evaluator.estimator.codec_.classes[1]}"
    return "probability" if evaluator.is_classes else "prediction"


def _effect(
    evaluator: Evaluator,
    encoded: Matrix,
    cells: npt.NDArray[Any],
    j: int,
    kind: str,
    n_values: int,
    share: float,
) -> Effect:
    """Effect of one column; rows that have a value lend their encoded cells."""
    donors = _donors(cells, kind, n_values)
    block = evaluator.blocks.get(j, slice(0, 0))
    n = len(encoded)
    mixed = np.tile(encoded, (len(donors), 1))
    mixed[:, block] = np.repeat(encoded[donors, block], n, 0)
    each = evaluator.each(mixed)
    each = each.reshape(len(each), len(donors), n, -1).mean(2)
    mean, deviation = each.mean(0), each.std(0)
    if _is_binary(evaluator):
        mean, deviation = mean[:, 1], deviation[:, 1]
    elif evaluator.output_names is None:
        mean, deviation = mean[:, 0], deviation[:, 0]
    return Effect(evaluator.names[j], kind, cells[donors], mean, deviation, share)


def _donors(cells: npt.NDArray[Any], kind: str, n_values: int) -> Index:
    """Rows whose value of the column is tried, in the order of values, a missing one last."""
    listed = cells.tolist()
    missing = np.array([v is None or v != v for v in listed], dtype=np.bool_)
    known = np.flatnonzero(~missing)
    last = np.flatnonzero(missing)[:1]
    if kind == "categorical":
        _, first, counts = np.unique(
            cells[known].astype(str), return_index=True, return_counts=True
        )
        order = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
        return np.concatenate([known[first[order]], last]).astype(np.intp)
    dtype = "M8[s]" if kind == "datetime" else np.float64
    order = known[np.argsort(cells[known].astype(dtype), kind="stable")]
    if not len(order):
        return last
    picked = order[np.unique(np.linspace(0, len(order) - 1, n_values).round().astype(np.intp))]
    first = np.unique(cells[picked].astype(dtype), return_index=True)[1]
    return np.concatenate([picked[first], last]).astype(np.intp)
