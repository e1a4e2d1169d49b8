"""What an item of the ledger is: data, methods, repetitions, the paper's numbers, its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adacap.reproduce.figure import Figure

if TYPE_CHECKING:
    from adacap.bench.methods import Method
    from adacap.bench.sources import Source
    from adacap.reproduce.results import Results

__all__ = ["SCALES", "Claim", "Grid", "Item", "Outcome", "Row", "Scale", "exceeds"]

SCALES = ("quick", "ledger", "full")


@dataclass(frozen=True)
class Scale:
    """How much of a study is run.

    Attributes
    ----------
    splits, seeds : int
        Train/test splits (or draws of made data), and seeds of the method on each.
    options : mapping
        What else differs between scales, such as which tasks; named by the item.
    folder : path, optional
        Data folder of the run, for items that look whether their data are there.
    """

    splits: int = 1
    seeds: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.options[name]


@dataclass(frozen=True)
class Grid:
    """Jobs of one call of the benchmark's runner: tasks × methods × splits × seeds."""

    tasks: Sequence[str | Source]
    methods: Sequence[str | Method]
    splits: Sequence[int]
    seeds: Sequence[int] = (0,)


@dataclass(frozen=True)
class Row:
    """A number of the paper beside ours.

    Attributes
    ----------
    label : str
    ours : float
    paper : float or None
        None where the paper shows a curve only, or nothing.
    spread : float or None
        Standard deviation over runs.
    n : int
        Runs.
    digits : int
        After the point, where shown.
    extra : mapping of str to float
        Further means of the same runs, shown as columns of their own.
    """

    label: str
    ours: float
    paper: float | None = None
    spread: float | None = None
    n: int = 1
    digits: int = 4
    extra: Mapping[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where the spread is not known."""
        return self.spread / self.n**0.5 if self.spread is not None and self.n > 0 else 0.0

    @property
    def verdict(self) -> str:
        """Whether ours is the paper's number, within 10 % or two standard errors.

        Examples
        --------
        >>> Row("a", ours=0.52, paper=0.50).verdict, Row("a", ours=0.7, paper=0.5).verdict
        ('agrees', 'higher')
        """
        if self.paper is None:
            return ""
        difference = self.ours - self.paper
        if abs(difference) <= max(0.1 * abs(self.paper), 2 * self.error):
            return "agrees"
        return "higher" if difference > 0 else "lower"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether our runs bear it out, and the numbers that say so.

    ``holds`` is None where the runs cannot decide.
    """

    text: str
    holds: bool | None
    evidence: str

    def __post_init__(self) -> None:
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))  # not numpy's, for JSON

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "reproduced", False: "not reproduced", None: "undecided"}[self.holds]


def exceeds(difference: float, error: float) -> bool | None:
    """Whether a difference is positive, beyond two standard errors; None within them.

    Examples
    --------
    >>> exceeds(0.5, 0.1), exceeds(-0.5, 0.1), exceeds(0.1, 0.1)
    (True, False, None)
    """
    if abs(difference) <= 2 * error:
        return None
    return difference > 0


@dataclass(frozen=True)
class Outcome:
    """What the runs of an item say."""

    rows: Sequence[Row]
    claims: Sequence[Claim]
    figure: Figure
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Item:
    """An entry of the ledger.

    Attributes
    ----------
    key : str
        What the command calls it.
    title : str
    place : str
        Figure, table or theorem of the paper.
    measure : str
        What the numbers of the table are.
    scales : mapping of {"quick", "ledger", "full"} to Scale
    grids : callable
        From a scale to the jobs.
    extent : callable
        From a scale to its words.
    summarise : callable
        From the results and the scale to the outcome.
    notes : tuple of str
        Readings chosen where the sources are silent or disagree.
    reads_store : bool
        Whether the results may come from a benchmark store instead.
    judge : callable, optional
        From the rows alone to the outcome, for an item whose rows each speak of one method, which
        their labels begin with (``"xrf, single"``): such an item can be run in parts.
    """

    key: str
    title: str
    place: str
    measure: str
    scales: Mapping[str, Scale]
    grids: Callable[[Scale], Sequence[Grid]]
    extent: Callable[[Scale], str]
    summarise: Callable[[Results, Scale], Outcome]
    notes: tuple[str, ...] = ()
    reads_store: bool = False
    judge: Callable[[Sequence[Row]], Outcome] | None = None
