"""What advice is: frozen records that print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from adacap.text import number, table_lines

__all__ = ["Advice", "ColumnRisk", "Expected", "Memorisation", "Transform", "duration"]

TITLES = {"adacap": "AdaCap", "linear": "a linear model", "trees": "trees"}


class ColumnRisk(NamedTuple):
    """A column to look at, what is wrong with it, and in which way."""

    column: str
    risk: str
    note: str


class Memorisation(NamedTuple):
    """Loss of a solved layer on the labels and on labels in random order; the gap between them.

    ``p_value`` is the share of random orders that are fitted as well as the truth.
    """

    fit_true: float
    fit_permuted: float
    gap: float
    p_value: float


class Transform(NamedTuple):
    """A transform of the target: the share of the error it saves out of fold, in its own units."""

    name: str
    gain: float
    standard_error: float
    pays: bool


class Expected(NamedTuple):
    """What to expect of a kind of model.

    ``ratio`` is its test error over AdaCap's, ``standard_error`` that of the ratio; ``quick`` is
    what the quick comparison alone says, ``prior`` what tables like this one in the benchmark do,
    NaN where there are none; ``seconds`` one fit takes.
    """

    ratio: float
    standard_error: float
    quick: float
    prior: float
    seconds: float


@dataclass(frozen=True)
class Advice:
    """What a table is like, and which kind of model should be expected to win on it.

    Attributes
    ----------
    winner : {"adacap", "linear", "trees"}
        Kind of the lowest expected error; a linear model also where it is as good.
    expected : dict of str to Expected
        Error of each kind relative to AdaCap's, with its standard error and its cost.
    reasons : tuple of str
        Why, in sentences with numbers.
    columns : tuple of ColumnRisk
        Columns at risk.
    task : {"regression", "classification"}
    why_task : str
        What the target holds, and how to choose the other task.
    n_rows, n_columns, n_features : int
        Rows, columns, and columns after encoding.
    n_looked_at : int
        Rows that the quick comparison saw.
    split_by : tuple of str
        "group", "time" or both, where rows depend on each other.
    explained : dict of str to float
        Share of the target's variance (for classes: of the log-loss of their frequencies) that
        each stand-in explains on rows it has not seen.
    noise : float
        Share that the best of them does not explain.
    neighbour_noise : float
        Share of the variance by which nearest neighbours differ.
    memorisation : Memorisation
    linearity : float
        Error of a linear model over that of a kernel: 1 for a linear table.
    n_target_outliers : int
        Targets far from all others.
    skew : float
        Of the target.
    transform : Transform or None
        The best transform of the target, with whether it pays; None where none was tried.
    best_trees : str
        Which trees did better.
    like : tuple of str
        Tasks of the benchmark that this table is most like.
    quick_seconds, seconds : float
        The quick comparison took of its thread's time, and the advice in all.
    """

    winner: str
    expected: Mapping[str, Expected]
    reasons: tuple[str, ...]
    columns: tuple[ColumnRisk, ...]
    task: str
    why_task: str
    n_rows: int
    n_columns: int
    n_features: int
    n_looked_at: int
    split_by: tuple[str, ...]
    explained: Mapping[str, float]
    noise: float
    neighbour_noise: float
    memorisation: Memorisation
    linearity: float
    n_target_outliers: int
    skew: float
    transform: Transform | None
    best_trees: str
    like: tuple[str, ...]
    quick_seconds: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            **asdict(self),
            "expected": {kind: one._asdict() for kind, one in self.expected.items()},
            "columns": [one._asdict() for one in self.columns],
            "memorisation": self.memorisation._asdict(),
            "transform": None if self.transform is None else self.transform._asdict(),
            "reasons": list(self.reasons),
            "like": list(self.like),
            "split_by": list(self.split_by),
        }

    def rows(self) -> list[list[str]]:
        """Cells of the table of expected errors, the lowest first."""
        order = sorted(self.expected, key=lambda kind: self.expected[kind].ratio)
        return [
            [
                kind,
                f"{one.ratio:.3f} ± {one.standard_error:.3f}",
                number(one.quick, 3),
                number(one.prior, 3),
                duration(one.seconds),
            ]
            for kind in order
            for one in [self.expected[kind]]
        ]

    @property
    def titles(self) -> list[str]:
        """Titles of that table."""
        return ["kind", "error / AdaCap's", "quick", "benchmark", "one fit"]

    def __str__(self) -> str:
        lines = [self.headline, f"Task: {self.task} ({self.why_task}).", ""]
        lines += [*table_lines(self.titles, self.rows(), n_text=1), ""]
        lines += [f"- {reason}" for reason in self.reasons]
        if self.columns:
            cells = [[one.column, one.risk, one.note] for one in self.columns]
            lines += ["", *table_lines(["column at risk", "risk", "what to know"], cells, n_text=3)]
        return "\n".join(lines)

    @property
    def headline(self) -> str:
        """The advice in one sentence."""
        others = {k: one for k, one in self.expected.items() if k != self.winner}
        own = self.expected[self.winner].ratio
        gaps = [f"{_percent(one.ratio / own - 1)} % for {TITLES[k]}" for k, one in others.items()]
        name = "trees such as CatBoost" if self.winner == "trees" else TITLES[self.winner]
        return f"Use {name}; expected error against it: {', '.join(gaps)}."


def _percent(share: float) -> str:
    """A change in whole percent.

    Examples
    --------
    >>> _percent(0.14), _percent(-0.002), _percent(-0.2)
    ('+14', '+0', '-20')
    """
    text = f"{100 * share:+.0f}"
    return "+0" if text == "-0" else text


def duration(seconds: float) -> str:
    """Seconds in few digits.

    Examples
    --------
    >>> duration(0.034), duration(95.0), duration(float("nan"))
    ('0.03 s', '95 s', '–')
    """
    if seconds != seconds:
        return "–"
    digits = 2 if seconds < 1 else 1 if seconds < 10 else 0
    return f"{seconds:.{digits}f} s"
