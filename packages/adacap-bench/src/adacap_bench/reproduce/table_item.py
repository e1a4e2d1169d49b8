"""Items that are a table: one number of the paper per task and method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adacap_bench.methods import Method
from adacap_bench.reproduce.figure import FigureData, Panel, Series
from adacap_bench.reproduce.item import Claim, Grid, Item, Outcome, Row, Scale
from adacap_bench.reproduce.results import NoResultError, Results
from adacap_bench.reproduce.verdicts import ClaimEffect

__all__ = ["PaperCell", "RowsByLabel", "Rule", "table_item"]

RowsByLabel = Mapping[str, Row]


@dataclass(frozen=True)
class PaperCell:
    """One cell of the paper's table, how to measure it, and its place in the figure."""

    label: str  # of the row; rules look it up by that
    task: str  # key of the catalogue
    method: Method | str
    paper: float | None = None
    series: str = ""  # curve it belongs to
    x: Any = None  # place on that curve, a number or text
    panel: str = ""  # title of the axes, where the figure has several
    splits: Sequence[int] | None = None  # where they are not those of the scale
    seeds: Sequence[int] | None = None
    extra: Mapping[str, float] = field(default_factory=dict)  # further numbers of the paper

    @property
    def method_name(self) -> str:
        """Name of the method."""
        return self.method if isinstance(self.method, str) else self.method.name


@dataclass(frozen=True)
class Rule:
    """A claim of the paper and the effects of the rows that decide it.

    ``measure`` gives the effects and the evidence in words; it may fail with ``KeyError`` where the
    scale leaves out a row, and then the claim is undecided.
    """

    text: str
    measure: Callable[[RowsByLabel], tuple[Sequence[ClaimEffect], str]]

    def claim(self, rows: RowsByLabel) -> Claim:
        """Apply the rule."""
        try:
            effects, evidence = self.measure(rows)
        except KeyError as error:
            effects, evidence = (), f"this scale has no row {error}"
        return Claim(self.text, tuple(effects), evidence)


@dataclass(frozen=True)
class _Table:
    """Grids and summary of a table, from its cells."""

    cells: Callable[[Scale], Sequence[PaperCell]]
    rules: Sequence[Rule]
    metric: str
    caption: str
    x_label: str
    y_label: str
    digits: int = 4
    log_x: bool = False
    log_y: bool = False
    bars: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)

    def grids(self, scale: Scale) -> list[Grid]:
        grids: dict[tuple[str, tuple[int, ...], tuple[int, ...]], dict[str, Method | str]] = {}
        for cell in self.cells(scale):
            splits = tuple(range(scale.splits) if cell.splits is None else cell.splits)
            seeds = tuple(range(scale.seeds) if cell.seeds is None else cell.seeds)
            grids.setdefault((cell.task, splits, seeds), {})[cell.method_name] = cell.method
        return [
            Grid([task], list(methods.values()), splits, seeds)
            for (task, splits, seeds), methods in grids.items()
        ]

    def summarise(self, results: Results, scale: Scale) -> Outcome:
        pairs: list[tuple[PaperCell, Row]] = []
        missing: dict[str, NoResultError] = {}
        for cell in self.cells(scale):
            try:
                pairs.append((cell, self._row(results, cell)))
            except NoResultError as error:
                missing[cell.label] = error
        if not pairs:
            raise next(iter(missing.values()))
        rows = {cell.label: row for cell, row in pairs}
        notes = _absent(missing, unfinished=results.n_left > 0)
        return Outcome(list(rows.values()), self._figure(pairs), notes)

    def claims(self, rows: RowsByLabel) -> list[Claim]:
        return [rule.claim(rows) for rule in self.rules]

    def _row(self, results: Results, cell: PaperCell) -> Row:
        extra = self.extra
        if extra:
            known = results.of(cell.method_name, cell.task)[0]
            extra = {
                title: name
                for title, name in extra.items()
                if name in known.payload or name == "fit_seconds"
            }
        row = results.row(
            cell.label, cell.method_name, cell.paper,
            metric=self.metric, task=cell.task, digits=self.digits, extra=extra,
        )  # fmt: skip
        return replace(row, extra={**row.extra, **cell.extra})

    def _figure(self, pairs: Sequence[tuple[PaperCell, Row]]) -> FigureData:
        panels = []
        for title in dict.fromkeys(cell.panel for cell, _ in pairs):
            here = [(cell, row) for cell, row in pairs if cell.panel == title]
            series = [
                one
                for name in dict.fromkeys(cell.series for cell, _ in here)
                for one in _series(name, [pair for pair in here if pair[0].series == name], self)
            ]
            x_label, y_label = (self.y_label, "") if self.bars else (self.x_label, self.y_label)
            log_x, log_y = (self.log_y, False) if self.bars else (self.log_x, self.log_y)
            panels.append(Panel(title, x_label, y_label, tuple(series), log_x=log_x, log_y=log_y))
        return FigureData(self.caption, tuple(panels))


def _absent(missing: Mapping[str, NoResultError], *, unfinished: bool) -> list[str]:
    """Notes on rows without a run; of a study in pieces one note, since their turn will come."""
    if missing and unfinished:
        return [f"Not run yet: {'; '.join(missing)}."]
    return [f"{label} is absent: {error}" for label, error in missing.items()]


def _series(name: str, here: Sequence[tuple[PaperCell, Row]], table: _Table) -> list[Series]:
    """Our curve, and the paper's where it gives numbers."""
    places = tuple(cell.x for cell, _ in here)
    ours = tuple(row.ours for _, row in here)
    error = tuple(row.error or 0.0 for _, row in here)
    label = f"{name}, ours" if name else "ours"
    found = [Series(label, places, ours, error, "bar" if table.bars else "line")]
    known = [(cell.x, cell.paper) for cell, _ in here if cell.paper is not None]
    if known:
        label = f"{name}, paper" if name else "paper"
        x, y = zip(*known, strict=True)
        found.append(Series(label, x, y, (), "bar" if table.bars else "dashed"))
    return found


def table_item(
    key: str,
    title: str,
    place: str,
    *,
    cells: Callable[[Scale], Sequence[PaperCell]],
    rules: Sequence[Rule],
    scales: Mapping[str, Scale],
    extent: Callable[[Scale], str],
    measure: str = "Test RMSE, targets standardised",
    metric: str = "test_rmse",
    notes: tuple[str, ...] = (),
    **looks: Any,
) -> Item:
    """Item of a table of the paper, whose cells are measured by a metric of the records.

    Looks of the figure are ``caption``, ``x_label``, ``y_label``, ``log_x``, ``log_y`` and
    ``bars``; of the table ``digits`` and ``extra``.
    """
    table = _Table(cells, rules, metric, **looks)
    return Item(
        key, title, place, measure, scales, table.grids, extent, table.summarise, notes,
        claims=table.claims,
    )  # fmt: skip
