"""What each column adds to a prediction: Shapley values, in the shapes of SHAP's plots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Index, Matrix
from adacap.explain.evaluating import Evaluator, Link, cells_of, row_labels
from adacap.nn.predictors import Blend, Frozen
from adacap.predictors import Linear
from adacap.text import table_lines

__all__ = ["Explanation", "explain"]

Algorithm = Literal["auto", "exact", "permutation"]

_MOST_COLUMNS = 10  # to enumerate all coalitions of, unless asked to
_MOST_EVALUATED = 400_000  # rows, by enumeration, unless asked to
_MOST_EXACT = 20  # columns, even if asked to


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of columns to predictions.

    ``values.sum(1) + base_values`` are the predictions. The first four attributes are those of
    SHAP's own object: ``shap.Explanation(e.values, e.base_values, e.data,
    feature_names=e.feature_names)`` is drawn by all of its plots.

    Attributes
    ----------
    values : ndarray of shape (n, d) or (n, d, c)
        In the unit of the prediction; c outputs for several targets, or the probabilities of the
        classes.
    base_values : ndarray of shape (n,) or (n, c)
        Mean prediction of the background.
    data : ndarray of shape (n, d)
        The user's cells.
    feature_names : list of str
    output_names : list of str or None
        Classes or targets; None for one output.
    errors : ndarray of the shape of values
        Standard errors of sampling; zeros where values are exact.
    method : {"additive", "enumeration", "permutation"}
        How values were found; the first two are exact.
    n_background : int
        Rows of the background.
    labels : ndarray of shape (n,)
        The user's labels of the rows.
    """

    values: Floats
    base_values: Floats
    data: npt.NDArray[Any]
    feature_names: list[str]
    output_names: list[str] | None
    errors: Floats
    method: str
    n_background: int
    labels: npt.NDArray[Any]

    @property
    def is_exact(self) -> bool:
        """Whether values are free of sampling error."""
        return self.method != "permutation"

    def __len__(self) -> int:
        return len(self.values)

    def output(self, k: int | str) -> Explanation:
        """Contributions to one of several outputs, by its number or name."""
        if self.output_names is None:
            raise ValueError("There is one output only: use the explanation as it is.")
        index = self.output_names.index(k) if isinstance(k, str) else int(k)
        names = ("values", "base_values", "errors")
        parts: dict[str, Any] = {name: getattr(self, name)[..., index] for name in names}
        return replace(self, **parts, output_names=None)

    def top(self, row: int = 0, k: int = 5) -> list[tuple[str, Any, Floats]]:
        """Name, cell and contribution of the columns that move a row's prediction most."""
        size = np.abs(self.values[row]).reshape(len(self.feature_names), -1).sum(1)
        order = np.argsort(-size, kind="stable")[:k]
        return [(self.feature_names[j], self.data[row, j], self.values[row, j]) for j in order]

    def to_frame(self) -> Any:
        """Pandas frame with a row per row, and a column per column (and output)."""
        import pandas as pd

        names: list[Any] = ["base", *self.feature_names]
        whole = np.concatenate([self.base_values[:, None], self.values], 1)
        if self.output_names is not None:
            names = [f"{name} → {out}" for name in names for out in self.output_names]
            whole = whole.reshape(len(whole), -1)
        return pd.DataFrame(whole, index=self.labels, columns=names)

    def __str__(self) -> str:
        if self.output_names is not None or not len(self):
            return repr(self)
        rows = [[f"{name} = {_cell(cell)}", f"{value:+.4g}"] for name, cell, value in self.top(0)]
        total = float(self.base_values[0] + self.values[0].sum())
        rows = [["base", f"{self.base_values[0]:.4g}"], *rows]
        rest = total - float(self.base_values[0]) - sum(float(v) for _, _, v in self.top(0))
        if len(self.feature_names) > 5:
            rows.append(["other columns", f"{rest:+.4g}"])
        rows.append(["prediction", f"{total:.4g}"])
        return "\n".join(table_lines([f"row {self.labels[0]}", "adds"], rows))

    def __repr__(self) -> str:
        return (
            f"Explanation({len(self)} rows, {len(self.feature_names)} columns, {self.method}, "
            f"{self.n_background} background rows)"
        )


def _cell(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def explain(
    estimator: Any,
    X: Any,
    background: Any = None,
    *,
    method: Algorithm = "auto",
    n_permutations: int = 200,
    max_background: int = 50,
    link: Link = "identity",
    random_state: int = 0,
) -> Explanation:
    """Contributions of the user's columns to each prediction.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X : array-like or frame of shape (n_samples, n_features)
    background : array-like or frame, optional
        Rows that a prediction is compared with, such as those of training. None is a sample of
        them that ``fit`` keeps in memory; a loaded model has none, and takes the rows of ``X``.
    method : {"auto", "exact", "permutation"}, default="auto"
        Exact where the model is a sum of functions of one column each, or all coalitions of columns
        can be enumerated; else random orders of the columns, each with its reverse. Auto is exact
        for a sum, and for up to 10 columns where that takes at most 400,000 predictions.
    n_permutations : int, default=200
        Orders per row, rounded up so that every background row begins equally many, and four at
        least.
    max_background : int, default=50
        Background rows to use at most, drawn at random.
    link : {"identity", "logit"}, default="identity"
        Contributions to probabilities of classes, or to what they are made of: of two classes the
        log-odds of the second; of more one score each, of which the probabilities are the softmax.
        The difference of two scores is the logarithm of the odds between both classes.
    random_state : int, default=0

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = AdaCapRegressor(quality=["kernel"], random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> found = explain(model, X[:4])
    >>> found.values.shape, found.method
    ((4, 3), 'enumeration')
    >>> bool(np.allclose(found.values.sum(1) + found.base_values, model.predict(X[:4])))
    True
    """
    evaluator = Evaluator(estimator, link)
    _check(method, n_permutations, max_background)
    rows, predicted = evaluator.encode(X), evaluator.predict(X)
    rng = np.random.default_rng(random_state)
    behind = _background(evaluator, rows, background)
    if len(behind) > max_background:
        behind = behind[np.sort(rng.permutation(len(behind))[:max_background])]
    game = Game(evaluator, rows, predicted, behind)
    chosen = _choose(game, method)
    shapley = _run(game, chosen, n_permutations, rng)
    return _told(game, shapley, chosen, X)


def _check(method: str, n_permutations: int, max_background: int) -> None:
    if method not in ("auto", "exact", "permutation"):
        raise ValueError(f"method must be 'auto', 'exact' or 'permutation', got {method!r}.")
    for name, value, least in (
        ("n_permutations", n_permutations, 4),
        ("max_background", max_background, 1),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}.")


def _background(evaluator: Evaluator, rows: Matrix, given: Any) -> Matrix:
    if given is not None:
        return evaluator.encode(given)
    kept = evaluator.estimator.background_.rows
    if kept is not None:
        return np.asarray(kept, dtype=np.float32)
    if len(rows) < 2 or (rows.size and (rows == rows[0]).all()):
        same = "" if len(rows) < 2 else ", all the same"
        raise ValueError(
            "A prediction is explained beside others, but a loaded model keeps no rows and X has "
            f"{len(rows)}{same}. Pass background=X_train, or any rows like it."
        )
    return rows


def _choose(game: Game, method: str) -> str:
    """The way to find values: additive, enumeration or permutation."""
    if method != "permutation" and is_additive(game.evaluator):
        return "additive"
    d = len(game.players)
    cost = 2**d * len(game.background) * len(game.rows)
    if method == "exact" and d > _MOST_EXACT:
        raise ValueError(
            f"method='exact' goes through all coalitions of columns, 2^{d} of them here. Use "
            "method='permutation', which states its error."
        )
    fits = d <= _MOST_COLUMNS and cost <= _MOST_EVALUATED
    is_exact = method == "exact" or (method == "auto" and fits)
    return "enumeration" if is_exact or d < 2 else "permutation"


def _run(game: Game, chosen: str, n_permutations: int, rng: np.random.Generator) -> Shapley:
    if chosen == "additive":
        return _additive(game)
    if chosen == "enumeration":
        return _enumerate_all(game)
    m = len(game.background)
    n_each = max(2, -(-n_permutations // (2 * m)))
    return _by_permutations(game, n_each, rng)


def is_additive(evaluator: Evaluator) -> bool:
    """Whether the model is a sum of functions of one column: ridge on encodings of single columns.

    Probabilities are not, log-odds and scores are; nor is a target that is transformed back.
    """
    network = evaluator.estimator.network_
    if not isinstance(network, Blend):
        return False
    linear = all(isinstance(m, Frozen) and isinstance(m.predictor, Linear) for m in network.members)
    if not linear or evaluator.is_classes:
        return linear and evaluator.link == "logit"
    codec = evaluator.estimator.codec_
    at = np.repeat(np.array([[-2.0], [0.0], [2.0]]), codec.n_targets, 1)
    low, middle, high = np.asarray(codec.decode(at)).reshape(3, -1)
    return bool(np.allclose(low + high, 2 * middle, rtol=1e-9, atol=1e-9 * np.ptp(at)))


def _told(game: Game, shapley: Shapley, method: str, X: Any) -> Explanation:
    evaluator = game.evaluator
    shape = (len(game.rows), len(evaluator.names), game.predicted.shape[1])
    values, errors = np.zeros(shape), np.zeros(shape)
    values[:, game.players], errors[:, game.players] = shapley.values, shapley.errors
    base = np.repeat(shapley.base[None], len(values), 0)
    names = evaluator.output_names
    if names is None:
        values, errors, base = values[..., 0], errors[..., 0], base[..., 0]
    return Explanation(
        values, base, cells_of(evaluator.estimator, X), list(evaluator.names), names, errors,
        method, len(game.background), row_labels(X, len(values)),
    )  # fmt: skip


# ---------------------------------------------------------------- the game of Shapley values
# A coalition of columns has its values from the row, all other columns have theirs from a
# background row, and the worth of the coalition is the mean prediction over the background. The
# values of all columns add up to the prediction less the mean prediction of the background.

Masks = npt.NDArray[np.bool_]

_AT_ONCE = 32_768  # rows evaluated in one call


@dataclass(frozen=True, eq=False)
class Game:
    """Rows to explain and the background they are compared with."""

    evaluator: Evaluator
    rows: Matrix  # (n, d), encoded
    predicted: Floats  # (n, c), as the estimator gives them
    background: Matrix  # (m, d), encoded

    @property
    def players(self) -> Index:
        """Columns that the model sees."""
        return np.array(self.evaluator.used, dtype=np.intp)

    def spread(self, masks: Masks) -> Masks:
        """Masks ``(s, players)`` of the user's columns as masks ``(s, d)`` of encoded ones."""
        place = np.empty(len(self.evaluator.names), dtype=np.intp)
        place[self.players] = np.arange(len(self.players))
        found: Masks = masks[:, place[self.evaluator.column_of]]
        return found


@dataclass(frozen=True, eq=False)
class Shapley:
    """Values ``(n, players, c)``, their standard errors, and the prediction they start from."""

    values: Floats
    errors: Floats
    base: Floats  # (c,)


def _additive(game: Game) -> Shapley:
    """Values where the model is a sum of functions of one column each.

    A column then adds the same whatever the others are: ``gⱼ(x) - mean gⱼ(background)``, read at
    any one row. Rounding is shared out, so that the values add up.
    """
    evaluate, background = game.evaluator, game.background
    base = evaluate(background).mean(0)
    both = np.concatenate([game.rows, background])
    start = background[:1]
    values = np.empty((len(game.rows), len(game.players), game.predicted.shape[1]))
    for i, j in enumerate(game.players):
        mixed = np.repeat(start, len(both), 0)
        block = evaluate.blocks[int(j)]
        mixed[:, block] = both[:, block]
        found = evaluate(mixed)
        values[:, i] = found[: len(game.rows)] - found[len(game.rows) :].mean(0)
    rest = game.predicted - base - values.sum(1)
    values += rest[:, None] / max(1, len(game.players))
    return Shapley(values, np.zeros_like(values), base)


def _enumerate_all(game: Game) -> Shapley:
    """Values from the worth of all 2^d coalitions."""
    base = game.evaluator(game.background).mean(0)
    d, (n, c) = len(game.players), game.predicted.shape
    masks = (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(np.bool_)
    spread = game.spread(masks)
    values = np.empty((n, d, c))
    for i in range(n):
        worth = np.empty((2**d, c))
        worth[0], worth[-1] = base, game.predicted[i]
        step = max(1, _AT_ONCE // len(game.background))
        for start in range(1, 2**d - 1, step):
            part = slice(start, min(start + step, 2**d - 1))
            worth[part] = _mean_worth(game, i, spread[part])
        values[i] = _from_worth(worth, masks)
    return Shapley(values, np.zeros_like(values), base)


def _mean_worth(game: Game, i: int, masks: Masks) -> Floats:
    """Worth ``(s, c)`` of coalitions: the mean over the background."""
    mixed = np.where(masks[:, None], game.rows[i], game.background)
    found = game.evaluator(mixed.reshape(-1, mixed.shape[-1]))
    return found.reshape(len(masks), len(game.background), -1).mean(1)  # type: ignore[no-any-return]


def _from_worth(worth: Floats, masks: Masks) -> Floats:
    """Shapley values ``(d, c)`` of the worth ``(2^d, c)`` of all coalitions."""
    d = masks.shape[1]
    sizes = masks.sum(1)
    share = np.array([factorial(s) * factorial(d - s - 1) / factorial(d) for s in range(d)])
    found = np.empty((d, worth.shape[1]))
    for j in range(d):
        without = np.flatnonzero(~masks[:, j])
        gain = worth[without + (1 << j)] - worth[without]
        found[j] = share[sizes[without]] @ gain
    return found


def _by_permutations(game: Game, n_each: int, rng: np.random.Generator) -> Shapley:
    """Values by random orders of the columns, each order with its reverse.

    A walk from a background row to the row, one column after another, gives every column its gain;
    gains of a walk add up to the difference of both predictions, and so do their means. Every
    background row begins equally many walks.

    ``n_each`` pairs of walks begin at each background row, 2 at least: their differences give the
    error.
    """
    d, (n, c) = len(game.players), game.predicted.shape
    first = game.evaluator(game.background)  # (m, c)
    origin = np.tile(np.arange(len(first)), n_each)
    n_pairs = len(origin)
    orders = np.argsort(rng.random((n_pairs, d)), axis=1)
    orders = np.stack([orders, orders[:, ::-1]], 1)  # (pairs, 2, d)
    rank = np.argsort(orders, axis=2)
    steps = rank[:, :, None] < np.arange(1, d)[:, None]  # (pairs, 2, d - 1, d)
    masks = game.spread(steps.reshape(-1, d))
    starts = np.repeat(game.background[origin], 2 * (d - 1), 0)
    values, errors = np.empty((n, d, c)), np.empty((n, d, c))
    size = max(1, _AT_ONCE // max(1, len(masks)))
    for at in range(0, n, size):
        part = slice(at, min(at + size, n))
        inside = _inside(game, part, masks, starts).reshape(-1, n_pairs, 2, d - 1, c)
        gains = _gains(inside, first[origin], game.predicted[part])
        own = np.take_along_axis(gains, rank[None, ..., None], 3).mean(2)  # (rows, pairs, d, c)
        values[part] = own.mean(1)
        errors[part] = _errors(own, n_each)
    return Shapley(values, errors, first.mean(0))


def _errors(found: Floats, n_each: int) -> Floats:
    """Standard errors of the means over pairs ``(rows, pairs, d, c)``.

    The background is given, so that only pairs from the same background row measure chance.
    """
    each = found.reshape(len(found), n_each, -1, *found.shape[2:])
    error: Floats = np.sqrt(each.var(1, ddof=1).mean(1) / found.shape[1])
    return error


def _inside(game: Game, part: slice, masks: Masks, starts: Matrix) -> Floats:
    """Predictions at the inner points of all walks of some rows."""
    rows = game.rows[part]
    found = []
    for row in rows if len(masks) > _AT_ONCE else [rows]:
        for at in range(0, max(1, len(masks)), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            mixed = np.where(masks[some], np.atleast_2d(row)[:, None], starts[some])
            found.append(game.evaluator(mixed.reshape(-1, mixed.shape[-1])))
    return np.concatenate(found)


def _gains(inside: Floats, start: Floats, end: Floats) -> Floats:
    """Differences along walks ``(rows, pairs, 2, d, c)`` from start to end."""
    n, pairs, _, _, c = inside.shape
    first = np.broadcast_to(start[None, :, None, None], (n, pairs, 2, 1, c))
    last = np.broadcast_to(end[:, None, None, None], (n, pairs, 2, 1, c))
    return np.diff(np.concatenate([first, inside, last], 3), axis=3)
