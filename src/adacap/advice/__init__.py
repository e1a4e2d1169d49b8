"""Whether to use AdaCap at all: what a table is like, and which kind of model should win on it.

``advise`` reads a table, compares stand-ins quickly, and asks what the benchmark says of its like.
"""

from __future__ import annotations

import math
import time as clock
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from adacap._typing import Index
from adacap.advice.facts import (
    Fact,
    blend_with_facts,
    cost_of,
    known_facts,
    nearest_facts,
    winner_of,
)
from adacap.advice.quick import KINDS, N_FOLDS, TREES, Quick, compare_quickly, repeats_for
from adacap.advice.readings import (
    best_transform,
    columns_at_risk,
    far_values,
    memorisation,
    neighbour_noise,
)
from adacap.advice.records import Advice, ColumnRisk, Expected, Memorisation, Transform, duration
from adacap.estimators.dependence import Dependence, read_dependence
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.tables.suspicions import skewness
from adacap.tables.table import Table, read_table
from adacap.tables.targets import id_or_free_text, what_y_holds
from adacap.text import counted

__all__ = ["Advice", "ColumnRisk", "Expected", "Transform", "advise"]

_MOST_ROWS = 1000
"""Rows that the quick comparison looks at, drawn at random from more."""
_LEAST_ROWS = 30
_NEAR = 0.05  # of a ratio from 1, within which errors are as good as equal
_SURE = 0.1  # standard error of a ratio, up to which an interval that holds 1 means as good
_HELD = {
    ("group",): "whole groups that were not trained on",
    ("time",): "rows later than all that were trained on",
    ("group", "time"): "later rows of groups that were not trained on",
}
_NEIGHBOURS = {
    (): "",
    ("group",): " of other groups",
    ("time",): " among earlier rows",
    ("group", "time"): " among earlier rows of other groups",
}
_TOO_ROUGH = ": too rough an estimate to tell which is better"

TaskChoice = Literal["auto", "regression", "classification"]


def advise(
    X: Any,
    y: Any,
    *,
    task: TaskChoice = "auto",
    groups: Any = None,
    time: Any = None,
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
        ``"auto"`` reads the target as the command line does: text that spells numbers is numbers;
        text, booleans, two values, and few whole numbers are labels; other numbers are quantities.
    groups, time : array-like of shape (n_rows,), optional
        Of rows that depend on each other, as ``fit`` takes them. All errors are then on whole
        groups, or on rows later than those trained on; the benchmark, whose rows are independent,
        has no say.
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
        If there are fewer than 30 rows, several targets, a constant one, or one that names rows;
        or if rows cannot be split by their groups and times.

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
    start = clock.perf_counter()
    table = read_table(X)
    labels = np.asarray(getattr(y, "to_numpy", lambda: y)())
    is_class, why_task = _task_of(y, labels, task)
    codec: Any = ClassCodec if is_class else RegressionCodec
    values = codec.check(labels)
    _refuse(table, values, is_class)
    rows = _drawn(table.n_rows, random_state)
    part, seen = table.take(rows), values[rows]
    dependence = _dependence(groups, time, table.n_rows, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about columns: they are reported below
        fitted = codec.fit(seen)
        coded = fitted.encode(seen)
        encoder = TableEncoder()
        x = torch.from_numpy(np.array(encoder.set_output(transform="default")
                                      .fit_transform(part, coded), dtype=np.float32))  # fmt: skip
    x = x if x.shape[1] else torch.zeros(len(rows), 1)
    targets = torch.from_numpy(coded).float()
    quick = compare_quickly(x, targets, fitted.loss, random_state, on_fit, dependence)
    timed: Sequence[Fact] = () if is_class else known_facts()
    if facts is not None:
        timed = facts
    elif is_class or dependence is not None:
        facts = ()
    else:
        facts = timed
    explained = _explained(quick, coded, fitted.loss, dependence)
    own = _fact_of(quick, table.n_rows, encoder.n_features_out_, explained)
    expected = _expected(own, quick, facts, timed)
    read = part.read([plan.reading for plan in encoder.columns_])
    gap = memorisation(quick, x, targets, fitted.loss)
    found: dict[str, Any] = {
        "task": "classification" if is_class else "regression",
        "why_task": why_task,
        "n_rows": table.n_rows,
        "n_columns": table.n_columns,
        "n_features": encoder.n_features_out_,
        "n_looked_at": len(rows),
        "split_by": () if dependence is None else dependence.by,
        "explained": explained,
        "noise": 1 - max(explained.values()),
        "neighbour_noise": neighbour_noise(quick.kernel, x, targets, dependence),
        "memorisation": gap,
        "linearity": float(quick.errors["ridge"].mean() / quick.errors["kernel"].mean()),
        "n_target_outliers": 0 if is_class else len(far_values(values.astype(np.float64))),
        "skew": 0.0 if is_class else skewness(values.astype(np.float64)),
        "transform": None if is_class else best_transform(part, seen, random_state, dependence),
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
        seconds=clock.perf_counter() - start,
    )


def _task_of(y: Any, labels: npt.NDArray[Any], task: str) -> tuple[bool, str]:
    """Whether a target holds classes, and why it is taken so."""
    if task not in ("auto", "regression", "classification"):
        raise ValueError(f"task must be auto, regression or classification, got {task!r}.")
    if labels.ndim > 1 and labels.shape[1] > 1:
        raise ValueError(f"advise looks at one target at a time, got y of shape {labels.shape}.")
    if task != "auto":
        return task == "classification", "as asked for"
    held = what_y_holds(y)
    return held.task == "classification", held.why("task='{task}'")


def _refuse(table: Table, y: npt.NDArray[Any], is_class: bool) -> None:
    if len(y) != table.n_rows:
        raise ValueError(f"y has {len(y)} values, but the table has {table.n_rows} rows.")
    if len(y) < _LEAST_ROWS:
        raise ValueError(
            f"advise needs at least {_LEAST_ROWS} rows to compare models on, got {len(y)}. For so "
            "few rows take a linear model, and leave-one-out errors: adacap.model_selection."
        )
    if len(np.unique(y)) < 2:
        raise ValueError(f"y is {y.flat[0]} in all {len(y)} rows: there is nothing to learn.")
    if is_class and (told := id_or_free_text(y, "y")):
        raise ValueError(f"{told} If these are numbers, correct how they are written.")


def _drawn(n_rows: int, seed: int) -> Index:
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    rng = np.random.default_rng([seed, 23])
    return np.sort(rng.choice(n_rows, _MOST_ROWS, replace=False))


def _dependence(groups: Any, time: Any, n_rows: int, rows: Index) -> Any:
    """Groups and times of the rows that are looked at, which can be split; None without any."""
    found = read_dependence(groups, time, n_rows)
    if found is None:
        return None
    found = found.take(rows)
    found.check()
    return found


def _baseline(coded: npt.NDArray[Any], loss: str) -> float:
    """Error of a constant."""
    if loss == "rmse":
        return float(coded.std())
    shares = (coded + 1) / 2 if loss == "bce" else coded
    means = np.column_stack([shares, 1 - shares]) if loss == "bce" else shares
    frequencies = np.clip(means.mean(0), 1e-12, 1)
    return float(-(frequencies * np.log(frequencies)).sum())


def _explained(
    quick: Quick, coded: npt.NDArray[Any], loss: str, dependence: Dependence | None
) -> dict[str, float]:
    power = 2 if loss == "rmse" else 1
    held = coded if dependence is None else coded[quick.fold >= 0]  # of late rows, if in time
    base = max(_baseline(held, loss) ** power, 1e-12)
    return {kind: 1 - float((quick.of_kind(kind) ** power).mean()) / base for kind in KINDS}


def _fact_of(quick: Quick, n_rows: int, n_features: int, explained: dict[str, float]) -> Fact:
    """The quick comparison of a table, in the form of the benchmark's facts."""
    usual = N_FOLDS * repeats_for(len(quick.fold), n_features)
    return Fact(
        "this table",
        n_rows,
        n_features,
        1 - explained["adacap"],
        quick.ratio("linear")[0],
        quick.ratio("trees")[0],
        quick_seconds=quick.seconds * usual / len(quick.errors["adacap"]),
    )


def _expected(
    own: Fact, quick: Quick, facts: Sequence[Fact], timed: Sequence[Fact]
) -> dict[str, Expected]:
    """Errors by the facts that can be compared, and costs by those that were timed."""

    def seconds(kind: str) -> float:
        return cost_of(kind, own.n_rows, own.quick_seconds, timed)

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
        f"{found['n_rows']:,} rows, {counted(found['n_columns'], 'column')} "
        f"({found['n_features']} after "
        "encoding)" + (f"; {found['n_looked_at']:,} rows were looked at." if
        found["n_looked_at"] < found["n_rows"] else ".")
    )  # fmt: skip
    if found["split_by"]:
        yield f"Errors are on {_HELD[found['split_by']]}."
    yield _on_noise(found)
    yield _on_memory(found["memorisation"], found["split_by"])
    yield _on_linearity(expected["linear"], found["linearity"])
    trees = expected["trees"]
    yield (
        f"Trees ({found['best_trees']} did better) are expected at {trees.ratio:.2f} ± "
        f"{trees.standard_error:.2f} times AdaCap's error."
    )
    if found["like"]:
        yield f"Most like it in the benchmark: {', '.join(found['like'])}."
    elif found["task"] == "classification":
        yield "The benchmark's facts are about regression: the quick comparison stands alone."
    elif found["split_by"]:
        yield "The benchmark's rows are independent: the quick comparison stands alone."
    if found["n_target_outliers"]:
        n_far = found["n_target_outliers"]
        lie, dominate = ("lies", "dominates") if n_far == 1 else ("lie", "dominate")
        yield f"{counted(n_far, 'target')} {lie} far from all others and {dominate} the fit."
    if found["transform"] is not None:
        yield _on_transform(found["transform"], found["skew"])
    cost = expected[winner].seconds
    if cost == cost:
        yield f"One fit takes about {duration(cost)} here."


def _on_noise(found: dict[str, Any]) -> str:
    noise, near = found["noise"], found["neighbour_noise"]
    what = "variance" if found["task"] == "regression" else "uncertainty"
    none_better = ", so no kind does better than a constant" if noise >= 1 else ""
    return (
        f"Noise: {100 * noise:.0f} % of the {what} is left unexplained out of fold{none_better}; "
        f"nearest neighbours{_NEIGHBOURS[found['split_by']]} differ by {100 * near:.0f} % of the "
        "variance."
    )


def _on_memory(gap: Memorisation, split_by: tuple[str, ...]) -> str:
    text = (
        f"Memorisation: a fit of the labels leaves {gap.fit_true:.2f}, of labels in random order "
        f"{gap.fit_permuted:.2f} (p {gap.p_value:.2f})"
    )
    if split_by:
        near = "of one group" if "group" in split_by else "near in time"
        return f"{text}. Rows {near} may be alike, so this says little of others."
    verdict = "the labels are far from random" if gap.p_value <= 0.05 else "no better than chance"
    return f"{text}: {verdict}."


def _on_linearity(linear: Expected, ratio: float) -> str:
    text = (
        f"A linear model is at {ratio:.2f} times the error of a kernel out of fold, and expected "
        f"at {linear.ratio:.2f} ± {linear.standard_error:.2f} times AdaCap's"
    )
    return f"{text}{_against_one(linear)}."


def _against_one(linear: Expected) -> str:
    """What an estimate says of a linear model: only a sure one, or one near 1, says it is as good.

    Examples
    --------
    >>> told = [(1.01, 0.04), (1.08, 0.09), (1.52, 0.57), (1.52, 0.1), (0.8, 0.05), (0.8, 0.5)]
    >>> for ratio, error in told:
    ...     print(ratio, error, _against_one(Expected(ratio, error, 1.0, 1.0, 1.0)))
    1.01 0.04 : as good, and simpler
    1.08 0.09 : as good, and simpler
    1.52 0.57 : too rough an estimate to tell which is better
    1.52 0.1
    0.8 0.05 : better, and simpler
    0.8 0.5 : too rough an estimate to tell which is better
    """
    ratio, error = linear.ratio, linear.standard_error
    is_near, is_sure = abs(ratio - 1) <= _NEAR, error <= _SURE
    if abs(ratio - 1) > max(error, _NEAR):
        return ": better, and simpler" if ratio < 1 else ""
    return ": as good, and simpler" if is_near or is_sure else _TOO_ROUGH


def _on_transform(found: Transform, skewed: float) -> str:
    verdict = (
        f"it pays, and target_transform='auto' uses {found.name}" if found.pays
        else "it does not pay"
    )  # fmt: skip
    return (
        f"Target: skew {skewed:.1f}; {found.name} changes the error out of fold by "
        f"{-100 * found.gain:+.1f} ± {100 * found.standard_error:.1f} %: {verdict}."
    )
