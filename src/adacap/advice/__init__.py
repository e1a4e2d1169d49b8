"""Whether to use AdaCap at all: what a table is like, and which kind of model should win on it.

``advise`` reads a table, compares stand-ins quickly, and asks what the benchmark says of its like.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from adacap.advice.facts import (
    Fact,
    blend_with_facts,
    cost_of,
    known_facts,
    nearest_facts,
    winner_of,
)
from adacap.advice.quick import KINDS, TREES, Quick, compare_quickly
from adacap.advice.readings import (
    best_transform,
    columns_at_risk,
    far_values,
    memorisation,
    neighbour_noise,
)
from adacap.advice.records import Advice, ColumnRisk, Expected, Memorisation, Transform, duration
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.tables.suspicions import skewness
from adacap.tables.table import Table, read_table

__all__ = ["Advice", "ColumnRisk", "Expected", "Transform", "advise"]

_MOST_ROWS = 1000
"""Rows that the quick comparison looks at, drawn at random from more."""
_LEAST_ROWS = 30

Task = Literal["auto", "regression", "classification"]


def advise(
    X: Any,
    y: Any,
    *,
    task: Task = "auto",
    random_state: int = 0,
    facts: Sequence[Fact] | None = None,
    on_fit: Callable[[int, int, str], None] | None = None,
) -> Advice:
    """Say in seconds what a table is like, and whether AdaCap, a linear model or trees should win.

    Cheap stand-ins of each kind are compared out of fold, a few times over; their result is
    corrected by, and combined with, what the benchmark found on tables like this one. Nothing is
    trained for use: fit the winner yourself, and compare with ``adacap evaluate`` where it matters.

    Parameters
    ----------
    X : array-like or frame of shape (n_rows, n_columns)
        Any table that the estimators take.
    y : array-like of shape (n_rows,)
        One target.
    task : {"auto", "regression", "classification"}, default="auto"
        ``"auto"`` treats text and booleans as labels, numbers as quantities.
    random_state : int, default=0
        Seed of the rows that are drawn, of folds and of forests.
    facts : sequence of Fact, optional
        In place of those that come with the library; an empty one leaves the quick comparison
        alone to judge.
    on_fit : callable, optional
        Called with the fits done, the fits in all and the name of the one that is next.

    Returns
    -------
    Advice
        It prints.

    Raises
    ------
    ValueError
        If there are fewer than 30 rows, several targets, or a constant one.

    Examples
    --------
    >>> import adacap
    >>> from sklearn.datasets import load_diabetes
    >>> advice = adacap.advise(*load_diabetes(return_X_y=True))
    >>> advice.winner in ("adacap", "linear", "trees"), advice.n_rows
    (True, 442)
    >>> 0.3 < advice.explained["linear"] < 0.6  # half of it is noise
    True
    """
    start = time.perf_counter()
    table = read_table(X)
    labels = np.asarray(getattr(y, "to_numpy", lambda: y)())
    is_class = _is_class(labels, task)
    codec: Any = ClassCodec if is_class else RegressionCodec
    values = codec.check(labels)
    _refuse(table, values)
    rows = _drawn(table.n_rows, random_state)
    part, seen = table.take(rows), values[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about columns: they are reported below
        fitted = codec.fit(seen)
        coded = fitted.encode(seen)
        encoder = TableEncoder()
        x = torch.from_numpy(np.array(encoder.set_output(transform="default")
                                      .fit_transform(part, coded), dtype=np.float32))  # fmt: skip
    x = x if x.shape[1] else torch.zeros(len(rows), 1)
    targets = torch.from_numpy(coded).float()
    quick = compare_quickly(x, targets, fitted.loss, random_state, on_fit)
    facts = (() if is_class else known_facts()) if facts is None else facts
    own = _fact_of(quick, table.n_rows, encoder.n_features_out_, coded, fitted.loss)
    expected = _expected(own, quick, facts)
    read = part.read([plan.reading for plan in encoder.columns_])
    gap = memorisation(quick.kernel, x, targets, torch.from_numpy(quick.fold), fitted.loss)
    explained = _explained(quick, coded, fitted.loss)
    found: dict[str, Any] = {
        "task": "classification" if is_class else "regression",
        "n_rows": table.n_rows,
        "n_columns": table.n_columns,
        "n_features": encoder.n_features_out_,
        "n_looked_at": len(rows),
        "explained": explained,
        "noise": 1 - max(explained.values()),
        "neighbour_noise": neighbour_noise(quick.kernel, x, targets),
        "memorisation": gap,
        "linearity": float(quick.errors["ridge"].mean() / quick.errors["kernel"].mean()),
        "n_target_outliers": 0 if is_class else len(far_values(values.astype(np.float64))),
        "skew": 0.0 if is_class else skewness(values.astype(np.float64)),
        "transform": None if is_class else best_transform(x, seen.astype(np.float64), quick),
        "best_trees": TREES[quick.best_trees],
        "quick_seconds": quick.seconds,
        "like": tuple(fact.task for fact in nearest_facts(own, facts)) if facts else (),
    }
    winner = winner_of({kind: one.ratio for kind, one in expected.items()})
    return Advice(
        winner=winner,
        expected=expected,
        reasons=tuple(_reasons(winner, expected, found)),
        columns=columns_at_risk(read.columns, encoder.columns_, seen, is_class),
        **found,
        seconds=time.perf_counter() - start,
    )


def _is_class(y: npt.NDArray[Any], task: str) -> bool:
    if task not in ("auto", "regression", "classification"):
        raise ValueError(f"task must be auto, regression or classification, got {task!r}.")
    if task != "auto":
        return task == "classification"
    is_text = y.dtype == object and any(isinstance(cell, str) for cell in y.flat)
    return is_text or y.dtype.kind in "USb"


def _refuse(table: Table, y: npt.NDArray[Any]) -> None:
    if y.ndim > 1 and y.shape[1] > 1:
        raise ValueError(f"advise looks at one target at a time, got y of shape {y.shape}.")
    if len(y) != table.n_rows:
        raise ValueError(f"y has {len(y)} values, but the table has {table.n_rows} rows.")
    if len(y) < _LEAST_ROWS:
        raise ValueError(
            f"advise needs at least {_LEAST_ROWS} rows to compare models on, got {len(y)}. For so "
            "few rows take a linear model, and leave-one-out errors: adacap.model_selection."
        )
    if len(np.unique(y)) < 2:
        raise ValueError(f"y is {y.flat[0]} in all {len(y)} rows: there is nothing to learn.")


def _drawn(n_rows: int, seed: int) -> npt.NDArray[np.intp]:
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, 23])
    return np.sort(rng.choice(n_rows, _MOST_ROWS, replace=False))


def _baseline(coded: npt.NDArray[Any], loss: str) -> float:
    """Error of a constant."""
    if loss == "rmse":
        return float(coded.std())
    shares = (coded + 1) / 2 if loss == "bce" else coded
    means = np.column_stack([shares, 1 - shares]) if loss == "bce" else shares
    frequencies = np.clip(means.mean(0), 1e-12, 1)
    return float(-(frequencies * np.log(frequencies)).sum())


def _explained(quick: Quick, coded: npt.NDArray[Any], loss: str) -> dict[str, float]:
    power = 2 if loss == "rmse" else 1
    base = _baseline(coded, loss) ** power
    return {kind: 1 - float((quick.of_kind(kind) ** power).mean()) / base for kind in KINDS}


def _fact_of(quick: Quick, n_rows: int, n_features: int, coded: Any, loss: str) -> Fact:
    """The quick comparison of a table, in the form of the benchmark's facts."""
    return Fact(
        "this table",
        n_rows,
        n_features,
        1 - _explained(quick, coded, loss)["adacap"],
        quick.ratio("linear")[0],
        quick.ratio("trees")[0],
        quick_seconds=quick.seconds,
    )


def _expected(own: Fact, quick: Quick, facts: Sequence[Fact]) -> dict[str, Expected]:
    def seconds(kind: str) -> float:
        return cost_of(kind, own.n_rows, own.quick_seconds, facts)

    found = {"adacap": Expected(1.0, 0.0, 1.0, 1.0 if facts else math.nan, seconds("adacap"))}
    for kind in ("linear", "trees"):
        blend = blend_with_facts(own, kind, quick.ratio(kind)[1], facts)
        ratio = math.exp(blend.log_ratio)
        prior = math.nan if blend.prior is None else math.exp(blend.prior[0])
        found[kind] = Expected(
            ratio, ratio * blend.standard_error, math.exp(blend.quick[0]), prior, seconds(kind)
        )
    return found


# ---------------------------------------------------------------------------------- in words


def _reasons(winner: str, expected: dict[str, Expected], found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{found['n_rows']:,} rows, {found['n_columns']} columns ({found['n_features']} after "
        "encoding)" + (f"; {found['n_looked_at']:,} rows were looked at." if
        found["n_looked_at"] < found["n_rows"] else ".")
    )  # fmt: skip
    yield _on_noise(found)
    yield _on_memory(found["memorisation"])
    yield _on_linearity(winner, expected["linear"], found["linearity"])
    trees = expected["trees"]
    yield (
        f"Trees ({found['best_trees']} did better) are expected at {trees.ratio:.2f} ± "
        f"{trees.standard_error:.2f} times AdaCap's error."
    )
    if found["like"]:
        yield f"Most like it in the benchmark: {', '.join(found['like'])}."
    elif found["task"] == "classification":
        yield "The benchmark's facts are about regression: the quick comparison stands alone."
    if found["n_target_outliers"]:
        n_far = found["n_target_outliers"]
        yield f"{n_far:,} targets lie far from all others and dominate the fit."
    if found["transform"] is not None:
        yield _on_transform(found["transform"], found["skew"])
    cost = expected[winner].seconds
    if cost == cost:
        yield f"One fit takes about {duration(cost)} here."


def _on_noise(found: dict[str, Any]) -> str:
    noise, near = found["noise"], found["neighbour_noise"]
    what = "variance" if found["task"] == "regression" else "uncertainty"
    return (
        f"Noise: {100 * noise:.0f} % of the {what} is left unexplained out of fold; nearest "
        f"neighbours differ by {100 * near:.0f} % of the variance."
    )


def _on_memory(gap: Memorisation) -> str:
    verdict = "the labels are far from random" if gap.p_value <= 0.05 else "no better than chance"
    return (
        f"Memorisation: a fit of the labels leaves {gap.fit_true:.2f}, of labels in random order "
        f"{gap.fit_permuted:.2f} (p {gap.p_value:.2f}): {verdict}."
    )


def _on_linearity(winner: str, linear: Expected, ratio: float) -> str:
    text = (
        f"A linear model is at {ratio:.2f} times the error of a kernel out of fold, and expected "
        f"at {linear.ratio:.2f} ± {linear.standard_error:.2f} times AdaCap's"
    )
    as_good = winner == "linear" or linear.ratio - linear.standard_error <= 1
    return f"{text}{': as good, and simpler.' if as_good else '.'}"


def _on_transform(found: Transform, skewed: float) -> str:
    pays = "pays" if found.pays else "does not pay"
    return (
        f"Target: skew {skewed:.1f}; {found.name} changes the error out of fold by "
        f"{-100 * found.gain:+.1f} ± {100 * found.standard_error:.1f} %: it {pays}."
    )
