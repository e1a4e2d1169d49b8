"""One rule for verdicts: a claim is decided by its effect, its standard error and its experiments.

An *effect* is what speaks for a claim, measured on every experiment: positive where the claim is
right. It decides if it is beyond two standard errors of its mean over at least ten experiments.
With several claims in one item the bound is higher, by Holm: the clearest claim must be as unlikely
by chance as one among that many. A claim that says several things at once holds if each of them
does, and fails if one of them fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, stdev
from typing import Protocol

__all__ = ["ERRORS", "LEAST", "Effect", "agrees", "contrast", "decide", "effect_of"]

ERRORS = 2.0
"""Standard errors that one effect alone must exceed."""
LEAST = 10
"""Experiments without which nothing is decided."""
WITHIN = 0.1
"""Share of the paper's number within which ours agrees, whatever the errors."""

_NORMAL = NormalDist()
_LEVEL = 2 * _NORMAL.cdf(-ERRORS)


@dataclass(frozen=True)
class Effect:
    """What speaks for a claim, with its error.

    Attributes
    ----------
    value : float
        Mean over experiments; positive speaks for the claim.
    error : float or None
        Standard error of that mean; None where it is not known.
    n : int
        Experiments.
    trials : int
        Comparisons of which this one was picked as the clearest.
    values : tuple of float
        The effect on each experiment, where it is known.

    Examples
    --------
    >>> Effect(0.03, 0.01, 20).score
    3.0
    >>> Effect(0.03, 0.01, 9).score is None  # too few experiments
    True
    """

    value: float
    error: float | None
    n: int
    trials: int = 1
    values: tuple[float, ...] = field(default=(), repr=False, compare=False)

    @property
    def score(self) -> float | None:
        """Effect in standard errors; None where it can decide nothing."""
        if self.error is None or self.n < LEAST or not math.isfinite(self.value):
            return None
        if self.error == 0:
            return math.copysign(math.inf, self.value) if self.value else 0.0
        return self.value / self.error

    def chance(self, comparisons: int = 1) -> float:
        """How likely an effect this far from 0 is by chance, among some comparisons; 1 at most."""
        if self.score is None:
            return 1.0
        return min(1.0, 2 * _NORMAL.cdf(-abs(self.score)) * self.trials * comparisons)


def effect_of(values: Iterable[float]) -> Effect:
    """Effect whose values on the experiments are known.

    Examples
    --------
    >>> effect_of([1.0, 2.0, 3.0])
    Effect(value=2.0, error=0.5773502691896258, n=3, trials=1)
    >>> effect_of([1.0]).error is None
    True
    """
    known = tuple(float(value) for value in values)
    error = stdev(known) / math.sqrt(len(known)) if len(known) > 1 else None
    return Effect(fmean(known), error, len(known), values=known)


class Measured(Protocol):
    """A mean of one setting, its error, and its values by experiment where they are known."""

    @property
    def ours(self) -> float: ...
    @property
    def error(self) -> float | None: ...
    @property
    def experiments(self) -> int: ...
    @property
    def values(self) -> Mapping[str, float]: ...


def contrast(terms: Sequence[tuple[float, Measured]], constant: float = 0.0) -> Effect:
    """Weighted sum of means plus a constant: paired where all have values of the same experiments.

    Without values of the experiments the errors are added as of independent means, which is too
    wide an error for runs of the same splits, never one that is too narrow.

    Parameters
    ----------
    terms : sequence of (weight, row)
        Rows of a table, as :class:`~adacap_bench.reproduce.item.Row`.
    constant : float

    Examples
    --------
    >>> from adacap_bench.reproduce.item import Row
    >>> a = Row("a", 2.0, values={"0": 1.0, "1": 3.0})
    >>> b = Row("b", 1.5, values={"0": 0.5, "1": 2.5})
    >>> contrast([(1, a), (-1, b)])
    Effect(value=0.5, error=0.0, n=2, trials=1)
    >>> contrast([(1, Row("a", 2.0, spread=0.3, n=9)), (-1, Row("b", 1.5, spread=0.4, n=4))])
    Effect(value=0.5, error=0.22360679774997896, n=4, trials=1)
    """
    shared = set(terms[0][1].values).intersection(*(row.values for _, row in terms))
    if shared:
        return effect_of(
            [constant + sum(w * row.values[key] for w, row in terms) for key in sorted(shared)]
        )
    value = constant + sum(weight * row.ours for weight, row in terms)
    errors = [None if row.error is None else weight * row.error for weight, row in terms]
    error = None if None in errors else math.hypot(*(e for e in errors if e is not None))
    return Effect(value, error, min(row.experiments for _, row in terms))


def decide(claims: Sequence[Sequence[Effect]]) -> list[bool | None]:
    """Whether each claim of an item holds, by Holm's procedure over them.

    Parameters
    ----------
    claims : sequence of sequences of Effect
        Effects of each claim, all of which must be positive for it to hold.

    Returns
    -------
    list of bool or None
        None where the runs cannot decide.

    Examples
    --------
    >>> decide([[Effect(0.21, 0.1, 50)]])
    [True]
    >>> decide([[Effect(0.21, 0.1, 50)], [Effect(0.0, 0.1, 50)]])  # one of two: 2.28 are needed
    [None, None]
    >>> decide([[Effect(0.5, 0.1, 50), Effect(-0.5, 0.1, 50)], [Effect(9.0, 0.1, 9)]])
    [False, None]
    """
    sides = [_side(effects) for effects in claims]
    verdicts: list[bool | None] = [None] * len(sides)
    left = len(sides)
    for place in sorted(range(len(sides)), key=lambda place: sides[place][1]):
        holds, chance = sides[place]
        if chance > _LEVEL / left:
            break
        verdicts[place] = holds
        left -= 1
    return verdicts


def _side(effects: Sequence[Effect]) -> tuple[bool, float]:
    """To which side a claim leans, and how likely that is by chance."""
    scores = [effect.score for effect in effects]
    known = [score for score in scores if score is not None]
    if not known:
        return False, 1.0
    lowest = min(effects, key=lambda effect: math.inf if effect.score is None else effect.score)
    if (lowest.score or 0.0) < 0:
        return False, lowest.chance(len(effects))  # the worst was picked from all
    if len(known) < len(scores):
        return True, 1.0
    return True, max(effect.chance() for effect in effects)


def agrees(ours: float, paper: float, error: float | None, n: int) -> bool:
    """Whether a number is the paper's: within 10 %, or two standard errors of ten runs or more.

    Examples
    --------
    >>> agrees(0.54, 0.5, None, 1), agrees(0.7, 0.5, 0.2, 2), agrees(0.7, 0.5, 0.2, 10)
    (True, False, True)
    """
    near = abs(ours - paper) <= WITHIN * abs(paper)
    return near or (error is not None and n >= LEAST and abs(ours - paper) <= ERRORS * error)
