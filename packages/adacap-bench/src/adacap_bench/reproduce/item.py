"""What an item of the ledger is: data, methods, repetitions, the paper's numbers, its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adacap_bench.reproduce.figure import FigureData, Series
from adacap_bench.reproduce.means import within_tasks
from adacap_bench.reproduce.verdicts import ClaimEffect, agrees, decide

if TYPE_CHECKING:
    from adacap_bench.methods import Method
    from adacap_bench.reproduce.results import Results
    from adacap_bench.sources import MadeTask

__all__ = [
    "SCALES", "Claim", "Grid", "Item", "Outcome", "Row", "Scale", "bars", "judged", "series_of",
]  # fmt: skip

SCALES = ("quick", "ledger", "paper")


@dataclass(frozen=True)
class Scale:
    """How much of a study is run.

    Options are what else differs between scales, such as which tasks; the item names them. The data
    folder of the run is for items that check whether their data are there.
    """

    splits: int = 1  # train/test splits, or draws of made data
    seeds: int = 1  # of the method on each
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = field(default=None, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    @property
    def tasks(self) -> list[str]:
        """Keys of the tasks that the options name, suites expanded."""
        from adacap_bench.datasets import find_tasks

        return [task.key for task in find_tasks(self["tasks"])]

    def grid(self, tasks: Sequence[str | MadeTask], methods: Sequence[str | Method]) -> Grid:
        """Jobs on all splits and seeds of the scale."""
        return Grid(tasks, methods, range(self.splits), range(self.seeds))


@dataclass(frozen=True)
class Grid:
    """Jobs of one call of the benchmark's runner: tasks × methods × splits × seeds."""

    tasks: Sequence[str | MadeTask]
    methods: Sequence[str | Method]
    splits: Sequence[int]
    seeds: Sequence[int] = (0,)


@dataclass(frozen=True)
class Row:
    """A number of the paper beside ours.

    The values are the number on each experiment, by its name, so that rows can be compared in
    pairs; of a row that is a geometric mean they are logarithms.
    """

    label: str
    ours: float  # of several tasks the mean of their means
    paper: float | None = None  # none where the paper shows a curve only, or nothing
    spread: float | None = None  # standard deviation over runs; none for several tasks
    n: int = 1  # runs
    digits: int = 4  # after the point, where shown
    extra: Mapping[str, float] = field(default_factory=dict)  # further means of the same runs
    values: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)
    log_values: bool = field(default=False, repr=False)

    @property
    def error(self) -> float | None:
        """Standard error of the mean over experiments of the same tasks; None if not known.

        Seeds on the same split are one experiment, and what tasks differ by is no error.

        Examples
        --------
        >>> Row("a", 1.5, spread=0.5, n=100, values={"split 0": 1.0, "split 1": 2.0}).error
        0.5
        """
        if not self.values:
            return self.spread / self.n**0.5 if self.spread is not None and self.n > 0 else None
        found = within_tasks(self.values, shared_rows=False)
        if found is None:
            return None
        return found[0] * (self.ours if self.log_values else 1.0)

    @property
    def spread_error(self) -> float:
        """Standard error of the spread of normal numbers; infinite where it is not known."""
        return self.spread / (2 * self.n - 2) ** 0.5 if self.spread and self.n > 1 else float("inf")

    @property
    def experiments(self) -> int:
        """Experiments that the mean is of."""
        return len(self.values) or self.n

    @property
    def verdict(self) -> str:
        """Whether ours is the paper's number, by :func:`~.verdicts.agrees`.

        Examples
        --------
        >>> Row("a", ours=0.52, paper=0.50).verdict, Row("a", ours=0.7, paper=0.5).verdict
        ('agrees', 'higher')
        """
        if self.paper is None:
            return ""
        if agrees(self.ours, self.paper, self.error, self.experiments):
            return "agrees"
        return "higher" if self.ours > self.paper else "lower"


def series_of(name: str, rows: Mapping[Any, Row], style: str = "line") -> Series:
    """Rows by their place as one series, with their standard errors."""
    ours = tuple(row.ours for row in rows.values())
    return Series(name, tuple(rows), ours, tuple(row.error or 0.0 for row in rows.values()), style)


def bars(rows: Mapping[str, Row]) -> tuple[Series, ...]:
    """Rows by name as bars, beside those of the paper where it has numbers."""
    ours = Series("ours", tuple(rows), tuple(row.ours for row in rows.values()), (), "bar")
    known = {name: row.paper for name, row in rows.items() if row.paper is not None}
    if not known:
        return (ours,)
    return ours, Series("paper", tuple(known), tuple(known.values()), (), "bar")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, the effects that decide it, and the numbers in words.

    ``holds`` follows from the effects of all claims of an item, see :func:`judged`; None where the
    runs cannot decide, and where the item ``waits`` for the rest of its runs.
    """

    text: str
    effects: Sequence[ClaimEffect]
    evidence: str
    holds: bool | None = None
    waits: bool = False

    @property
    def verdict(self) -> str:
        """In words."""
        if self.waits:
            return "waits for the rest of its runs"
        return {True: "reproduced", False: "not reproduced", None: "undecided"}[self.holds]

    @property
    def weakest(self) -> ClaimEffect | None:
        """The effect that speaks least for the claim, in standard errors where they are known."""
        if not self.effects:
            return None
        return min(self.effects, key=_strength)


def _strength(effect: ClaimEffect) -> float:
    return effect.value / effect.error if effect.error else effect.value


def judged(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Claims of one item, each with whether it holds by the one rule of the ledger.

    Examples
    --------
    >>> claims = judged([Claim("a", [ClaimEffect(0.5, 0.1, 12)], ""), Claim("b", [], "")])
    >>> [claim.verdict for claim in claims]
    ['reproduced', 'undecided']
    """
    verdicts = decide([claim.effects for claim in claims])
    return tuple(
        replace(claim, effects=tuple(claim.effects), holds=holds)
        for claim, holds in zip(claims, verdicts, strict=True)
    )


@dataclass(frozen=True)
class Outcome:
    """What the runs of an item say."""

    rows: Sequence[Row]
    figure: FigureData
    remarks: Sequence[str] = ()
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Item:
    """An entry of the ledger.

    An item with ``judge`` can be run in parts: its rows each speak of one method, which their
    labels begin with (``"xrf, single"``). A record of an item with ``claims`` can be judged again
    without a run: its rows, by label, decide all of them.
    """

    key: str  # what the command calls it
    title: str
    place: str  # figure, table or theorem of the paper
    measure: str  # what the numbers of the table are
    scales: Mapping[str, Scale]  # quick, ledger and paper
    grids: Callable[[Scale], Sequence[Grid]]
    extent: Callable[[Scale], str]  # the scale in words
    read: Callable[[Results, Scale], Outcome]
    notes: tuple[str, ...] = ()  # readings chosen where the sources are silent or disagree
    reads_store: bool = False  # whether the results may come from a benchmark store instead
    judge: Callable[[Sequence[Row]], Outcome] | None = None
    claims: Callable[[Mapping[str, Row]], Sequence[Claim]] | None = None

    def summarise(self, results: Results, scale: Scale) -> Outcome:
        """What the results say, with the claims that the rows decide."""
        outcome = self.read(results, scale)
        if self.claims is None:
            return outcome
        return replace(outcome, claims=self.claims({row.label: row for row in outcome.rows}))
