"""What the benchmark teaches about tables like this one: a few facts per task, and their weight.

``facts.csv`` has a line per task of the benchmark: what the quick comparison said of its training
rows, and how the kinds of models did on its test rows. ``make bench-advise`` writes it.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from adacap._typing import Floats

__all__ = [
    "CombinedFact", "Fact", "blend_with_facts", "cost_of", "known_facts", "nearest_facts",
    "winner_of",
]  # fmt: skip


_MOST = 1.5  # of a logarithm of a ratio: beyond that, how far behind does not matter
_LEAST_ERROR = 0.01  # of a logarithm: no quick comparison is more certain than that
_WIDTH = 1.0  # distance at which a task counts 0.6 of one that is alike
_FLOOR = 0.05  # what a task counts at least
_LEAST_OFF, _MORE_OFF = 0.02, 0.4  # of a logarithm: scatter of a quick comparison, and per size
_AS_GOOD = 0.005  # of the error: where a linear model costs no more, take it


@dataclass(frozen=True)
class Fact:
    """One task of the benchmark, or a table that is to be compared with them.

    Errors are logarithms of ratios to that of AdaCap: ``quick`` of the quick comparison, ``bench``
    of models that the benchmark fitted, on test rows. ``seconds`` are those of the quick comparison
    and of one fit of each kind, on one machine.
    """

    task: str
    n_rows: int
    n_features: int  # after encoding
    unexplained: float  # share of the variance that the stand-in of AdaCap leaves, out of fold
    quick_linear: float
    quick_trees: float
    bench_linear: float = math.nan
    bench_trees: float = math.nan
    quick_seconds: float = math.nan
    adacap_seconds: float = math.nan
    linear_seconds: float = math.nan
    trees_seconds: float = math.nan

    @property
    def place(self) -> Floats:
        """Position of the table among others."""
        return np.array([
            math.log10(self.n_rows),
            math.log10(self.n_features) if self.n_features else 0.0,
            math.log10(min(max(self.unexplained, 1e-3), 1.0)),
            2 * min(self.quick_linear, _MOST),
            5 * min(max(self.quick_trees, -0.5), 0.5),
        ])  # fmt: skip


class CombinedFact(NamedTuple):
    """Two estimates of a log ratio, combined and each alone."""

    log_ratio: float
    standard_error: float
    quick: tuple[float, float]
    prior: tuple[float, float] | None


@functools.cache
def known_facts() -> tuple[Fact, ...]:
    """The facts that come with the library."""
    text = resources.files("adacap.advice").joinpath("facts.csv").read_text("utf-8")
    kinds = {field.name: field.type for field in fields(Fact)}
    read = {"str": str, "int": int, "float": float}
    return tuple(
        Fact(**{name: read[str(kinds[name])](cell) for name, cell in row.items()})
        for row in csv.DictReader(text.splitlines())
    )


def nearest_facts(own: Fact, facts: Sequence[Fact], n: int = 3) -> tuple[Fact, ...]:
    """The tasks most like a table."""
    weights = _weights(own, facts)
    return tuple(facts[i] for i in np.argsort(-weights, kind="stable")[:n])


def blend_with_facts(own: Fact, kind: str, error: float, facts: Sequence[Fact]) -> CombinedFact:
    """Ratio of a kind's error to AdaCap's: the quick one, corrected by the benchmark's facts.

    The quick comparison is corrected by the factor between what it predicted for tasks like this
    one and what came true; its variance is that of the comparison plus the scatter around that
    factor. What the benchmark found on tasks like this one is a second estimate with its own
    scatter. Both are weighted by precision.

    ``error`` is the standard error of the quick comparison; ``facts`` are empty for tables unlike
    any of the benchmark.

    Examples
    --------
    >>> facts = [Fact(str(k), 100, 5, 0.1, 0.5, 0.1 * k, 0.5, 0.05 * k) for k in range(9)]
    >>> own = Fact("mine", 100, 5, 0.1, 0.5, 0.4)
    >>> round(blend_with_facts(own, "trees", 0.02, facts).log_ratio, 2)  # it used to halve
    0.2
    """
    quick = float(np.clip(getattr(own, f"quick_{kind}"), -_MOST, _MOST))
    error = max(error if math.isfinite(error) else _MOST, _LEAST_ERROR)
    if len(facts) < 3:
        return CombinedFact(quick, error, (quick, error), None)
    weights = _weights(own, facts)
    bench = np.clip([getattr(fact, f"bench_{kind}") for fact in facts], -_MOST, _MOST)
    before = np.clip([getattr(fact, f"quick_{kind}") for fact in facts], -_MOST, _MOST)
    slope, off = _slope(before, bench, weights)
    prior, spread = _mean(bench, weights)
    mended = slope * quick, math.hypot(slope * error, off * _unit(quick))
    witnesses = mended, (prior, math.hypot(spread, _LEAST_ERROR))
    precision = [1 / deviation**2 for _, deviation in witnesses]
    total = sum(precision)
    value = sum(p * v for p, (v, _) in zip(precision, witnesses, strict=True)) / total
    return CombinedFact(value, math.sqrt(1 / total), *witnesses)


def _weights(own: Fact, facts: Sequence[Fact]) -> Floats:
    places = np.stack([fact.place for fact in facts])
    spread = np.maximum(places.std(0), 1e-9)
    apart = (((places - own.place) / spread) ** 2).mean(1)
    return np.asarray(np.exp(-apart / (2 * _WIDTH**2)) + _FLOOR)


def _unit(quick: Any) -> Any:
    """By how much the benchmark differs from a quick comparison: more for larger differences."""
    return _LEAST_OFF + _MORE_OFF * np.abs(quick)


def _slope(before: Floats, bench: Floats, weights: Floats) -> tuple[float, float]:
    """Factor from what a quick comparison says to what comes true, and the scatter around it."""
    w = weights / weights.sum() / _unit(before) ** 2
    squares = float(w @ before**2)
    slope = float(w @ (before * bench)) / squares if squares > 0 else 1.0
    slope = min(max(slope, 0.2), 2.0)
    off = float((weights / weights.sum()) @ ((bench - slope * before) / _unit(before)) ** 2)
    return slope, math.sqrt(off)


def _mean(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean, and the deviation of one more value from it."""
    w = weights / weights.sum()
    mean = float(w @ values)
    share = float(w @ w)
    variance = float(w @ (values - mean) ** 2) / max(1 - share, 1e-9)
    return mean, math.sqrt(variance * (1 + share))


def cost_of(kind: str, n_rows: int, quick_seconds: float, facts: Iterable[Fact]) -> float:
    """Seconds that one fit would take here, by a line through the benchmark's times.

    The logarithm of a fit's time over that of the quick comparison is taken as linear in the
    logarithm of the number of rows; the quick comparison is timed on both machines.
    """
    pairs = [
        (math.log(fact.n_rows), math.log(getattr(fact, f"{kind}_seconds") / fact.quick_seconds))
        for fact in facts
        if getattr(fact, f"{kind}_seconds") > 0 and fact.quick_seconds > 0
    ]
    if len(pairs) < 3:
        return math.nan
    rows, ratios = np.array(pairs).T
    slope, base = np.polyfit(rows, ratios, 1)
    return float(quick_seconds * math.exp(base + slope * math.log(n_rows)))


def winner_of(ratios: Mapping[str, float]) -> str:
    """Kind of the lowest expected error, or a linear model where it is as good.

    Examples
    --------
    >>> winner_of({"adacap": 1.0, "linear": 1.002, "trees": 1.1})
    'linear'
    """
    best = min(ratios, key=lambda kind: ratios[kind])
    return "linear" if ratios["linear"] <= (1 + _AS_GOOD) * ratios[best] else best
