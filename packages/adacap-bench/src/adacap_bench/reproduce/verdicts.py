"""One rule for verdicts: a claim is decided by its effect, its standard error and its experiments.

An *effect* is what speaks for a claim, measured on every experiment: positive where the claim is
right. It decides if, over at least ten experiments, it is further from 0 than chance alone brings
it in 4.55 % of all cases: two standard errors of many experiments, and as many more of few as
Student's t asks, 2.3 of ten. With several claims in one item the bound is higher, by Holm: the
clearest claim must be as unlikely by chance as one among that many. A claim that says several
things at once holds if each of them does, and fails if one of them fails.

The mean is over tasks and the error is that of the same tasks, so what tasks differ by does not
enter; where a task has a single experiment there is no such error, and the spread over tasks, which
is wider, stands for it. Splits of one table share rows, so what holds on them may not hold on other
rows of their kind: an effect has that error too, by the correction of Nadeau and Bengio, which the
ledger shows and which decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Protocol

from adacap_bench.reproduce.means import mean_of, spread_over_tasks, within_tasks

__all__ = [
    "ERRORS", "LEAST", "LEVEL", "ClaimEffect", "agrees", "as_elsewhere", "contrast", "decide",
    "effect_of",
]  # fmt: skip

ERRORS = 2.0
"""Standard errors of many experiments that one effect alone must exceed."""
LEAST = 10
"""Experiments without which nothing is decided."""
WITHIN = 0.1
"""Share of the paper's number within which ours agrees, whatever the errors."""

LEVEL = 2 * NormalDist().cdf(-ERRORS)
"""How likely an effect that decides may be by chance."""


@dataclass(frozen=True)
class ClaimEffect:
    """What speaks for a claim, with its error.

    ``elsewhere`` is the error for other rows of the same kind, where that differs: splits of one
    table share rows. An effect is ``uneven`` where one of the means it compares has further
    experiments, which it leaves out.

    Examples
    --------
    >>> ClaimEffect(0.03, 0.01, 20).score
    3.0
    >>> ClaimEffect(0.03, 0.01, 9).score is None  # too few experiments
    True
    """

    value: float  # mean over tasks of the mean over experiments; positive speaks for the claim
    error: float | None  # standard error of that mean
    n: int  # experiments
    trials: int = 1  # comparisons of which this one was picked as the clearest
    df: float | None = field(default=None, repr=False)  # degrees of freedom if not n - 1
    elsewhere: float | None = field(default=None, repr=False)
    uneven: bool = field(default=False, repr=False)
    values: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)

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
        from scipy.special import stdtr  # distribution function of Student's t

        df = self.n - 1 if self.df is None else self.df
        return min(1.0, 2 * float(stdtr(df, -abs(self.score))) * self.trials * comparisons)


def effect_of(values: Mapping[str, float], *, trials: int = 1) -> ClaimEffect:
    """Effect whose values on the experiments are known, by names as those of :mod:`.means`.

    Examples
    --------
    >>> effect_of({"seed 0": 1.0, "seed 1": 3.0})
    ClaimEffect(value=2.0, error=1.0, n=2, trials=1)
    >>> effect_of({"split 0": 1.0, "split 1": 3.0}).elsewhere > 1.2  # of one table
    True
    >>> effect_of({"seed 0": 1.0}).error is None
    True
    """
    known = {name: float(value) for name, value in values.items()}
    error, df = within_tasks(known, shared_rows=False) or spread_over_tasks(known) or (None, None)
    wider, _ = within_tasks(known, shared_rows=True) or (error, df)
    return ClaimEffect(
        mean_of(known), error, len(known), trials, df, None if wider == error else wider,
        values=known,
    )  # fmt: skip


def as_elsewhere(effect: ClaimEffect) -> ClaimEffect:
    """An effect with its error for other rows of the same kind."""
    return effect if effect.elsewhere is None else replace(effect, error=effect.elsewhere)


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


def contrast(
    terms: Sequence[tuple[float, Measured]], constant: float = 0.0, *, trials: int = 1
) -> ClaimEffect:
    """Weighted sum of means plus a constant, in pairs: over the experiments that all have.

    Without values of the experiments the errors are added as of independent means, which is too
    wide an error for runs of the same splits, never one that is too narrow. Of several comparisons
    (trials) this may be the one that was picked.

    Examples
    --------
    >>> from adacap_bench.reproduce.item import Row
    >>> a = Row("a", 2.0, values={"seed 0": 1.0, "seed 1": 3.0})
    >>> b = Row("b", 1.5, values={"seed 0": 0.5, "seed 1": 2.5})
    >>> contrast([(1, a), (-1, b)])
    ClaimEffect(value=0.5, error=0.0, n=2, trials=1)
    >>> contrast([(1, Row("a", 2.0, spread=0.3, n=9)), (-1, Row("b", 1.5, spread=0.4, n=4))])
    ClaimEffect(value=0.5, error=0.22360679774997896, n=4, trials=1)
    """
    known = [row.values for _, row in terms]
    shared = [name for name in known[0] if all(name in values for values in known)]
    if shared:
        values = {
            name: constant + sum(weight * row.values[name] for weight, row in terms)
            for name in shared
        }
        uneven = any(len(values) < len(one) for one in known)
        return replace(effect_of(values, trials=trials), uneven=uneven)
    value = constant + sum(weight * row.ours for weight, row in terms)
    if all(known):  # pairs were asked for and there is none
        return ClaimEffect(value, None, 0, trials, uneven=True)
    errors = [None if row.error is None else weight * row.error for weight, row in terms]
    error = None if None in errors else math.hypot(*(e for e in errors if e is not None))
    return ClaimEffect(value, error, min(row.experiments for _, row in terms), trials)


def decide(claims: Sequence[Sequence[ClaimEffect]]) -> list[bool | None]:
    """Whether each claim of an item holds, by Holm's procedure over them.

    All effects of a claim must be positive for it to hold; None where the runs cannot decide.

    Examples
    --------
    >>> decide([[ClaimEffect(0.21, 0.1, 50)]])
    [True]
    >>> two = ClaimEffect(0.21, 0.1, 50), ClaimEffect(0.0, 0.1, 50)
    >>> decide([[effect] for effect in two])  # one of two: 2.34 are needed
    [None, None]
    >>> apart = [ClaimEffect(0.5, 0.1, 50), ClaimEffect(-0.5, 0.1, 50)]
    >>> decide([apart, [ClaimEffect(9.0, 0.1, 9)]])
    [False, None]
    """
    sides = [_side(effects) for effects in claims]
    verdicts: list[bool | None] = [None] * len(sides)
    left = len(sides)
    for place in sorted(range(len(sides)), key=lambda place: sides[place][1]):
        holds, chance = sides[place]
        if chance > LEVEL / left:
            break
        verdicts[place] = holds
        left -= 1
    return verdicts


def _side(effects: Sequence[ClaimEffect]) -> tuple[bool, float]:
    """To which side a claim leans, and how likely that is by chance."""
    scores = [effect.score for effect in effects]
    against = [effect for effect in effects if (effect.score or 0.0) < 0]
    if against:  # the worst was picked from all
        return False, min(effect.chance(len(effects)) for effect in against)
    if not scores or None in scores:
        return True, 1.0
    return True, max(effect.chance() for effect in effects)


def agrees(ours: float, paper: float, error: float | None, n: int) -> bool:
    """Whether a number is the paper's: within 10 %, or two standard errors of ten experiments.

    The bound is two errors whatever their degrees of freedom, and the error is that of splits of
    this very table, which the paper's number is about as well: a wider one would find agreement
    more easily.

    Examples
    --------
    >>> agrees(0.54, 0.5, None, 1), agrees(0.7, 0.5, 0.2, 2), agrees(0.7, 0.5, 0.2, 10)
    (True, False, True)
    """
    near = abs(ours - paper) <= WITHIN * abs(paper)
    return near or (error is not None and n >= LEAST and abs(ours - paper) <= ERRORS * error)
