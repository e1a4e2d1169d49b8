"""Columns to encoded features, as nodes: the plan of :class:`adacap.TableEncoder` in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adacap._typing import Floats
from adacap.modelfile.onnx.graph import Graph
from adacap.modelfile.onnx.inputs import Input
from adacap.tables import plan
from adacap.tables.plan import NOISE, PERIOD_DAYS, ColumnPlan, Level

__all__ = ["encode"]


def encode(
    graph: Graph,
    columns: Sequence[ColumnPlan],
    inputs: Sequence[Input],
    layout: Sequence[int],
    missing_text: str,
) -> str:
    """Add the nodes from the inputs to the float32 matrix that the networks read.

    ``layout`` has the columns in the order of their outputs in the matrix, and ``missing_text`` is
    what a missing cell of text holds. If every column was dropped, the matrix has one feature of
    zeros.
    """
    pieces: list[str] = []
    center: list[float] = []
    scale: list[float] = []
    for j in layout:
        own = columns[j]
        if own.parts:
            column = _GraphColumn(graph, inputs[j], missing_text)
            pieces += [PARTS[type(part)](column, part) for part in own.parts]
            center += own.center
            scale += own.scale
    if not pieces:
        return _zeros(graph, inputs[0].name)
    joined = graph.call("Concat", *pieces, axis=1)
    centred = graph.call("Sub", joined, graph.constant([center]))
    return graph.cast(graph.call("Div", centred, graph.constant([scale])), "float32")


def _zeros(graph: Graph, like: str) -> str:
    """One feature of zeros for as many rows as an input has."""
    shape = graph.call("Shape", like)
    rows = graph.call("Gather", shape, graph.constant([0], np.int64))
    size = graph.call("Concat", rows, graph.constant([1], np.int64), axis=0)
    return graph.call("Expand", graph.constant([[0.0]], np.float32), size)


class _GraphColumn:
    """One input while its nodes are added; what several parts need is added once."""

    def __init__(self, graph: Graph, entry: Input, missing_text: str) -> None:
        self.graph = graph
        self.is_text = entry.kind == "categorical"
        self._missing_text = missing_text
        self._codes: dict[tuple[Level, ...], str] = {}
        self.values, self._missing = entry.name, ""
        if self.is_text:
            return
        if entry.dtype != "float64":
            self.values = graph.cast(self.values, "float64")
        if entry.kind == "datetime":
            self.values = graph.call("Div", self.values, graph.constant([86_400.0]))
        self._missing = graph.call("IsNaN", self.values)

    def filled(self, fill: float) -> str:
        """Numbers with ``fill`` in place of missing ones."""
        return self.graph.call("Where", self._missing, self.graph.constant([fill]), self.values)

    def missing(self) -> str:
        """1.0 where the cell is missing, else 0.0."""
        if self.is_text:
            found = self.graph.look_up(self.values, {self._missing_text: 1}, 0)
            return self.graph.cast(found, "float64")
        return self.graph.cast(self._missing, "float64")

    def codes(self, levels: tuple[Level, ...]) -> str:
        """Index of each cell in ``levels``, ``len(levels)`` for any other value."""
        if levels not in self._codes:
            find = self._text_codes if self.is_text else self._number_codes
            self._codes[levels] = find(levels)
        return self._codes[levels]

    def _text_codes(self, levels: tuple[Level, ...]) -> str:
        texts = [self._missing_text if level is None else str(level) for level in levels]
        keys = {text: k for k, text in enumerate(texts)}
        return self.graph.look_up(self.values, keys, len(levels))

    def _number_codes(self, levels: tuple[Level, ...]) -> str:
        """Nearest level, if it is as near as float32 rounding; the levels are sorted."""
        graph, unseen = self.graph, len(levels)
        known = np.array([level for level in levels if level is not None], dtype=np.float64)
        of_missing = levels.index(None) if None in levels else unseen
        nearest = self._count_below(known[:-1] / 2 + known[1:] / 2)
        gap = graph.call("Sub", self.values, graph.call("Gather", graph.constant(known), nearest))
        room = graph.call("Gather", graph.constant(NOISE * np.abs(known)), nearest)
        close = graph.call("LessOrEqual", graph.call("Abs", gap), room)
        found = graph.call("Where", close, nearest, graph.constant([unseen], np.int64))
        return graph.call("Where", self._missing, graph.constant([of_missing], np.int64), found)

    def _count_below(self, borders: Floats) -> str:
        """How many of the sorted ``borders`` each number exceeds."""
        if not len(borders):
            return self.graph.constant([0], np.int64)
        above = self.graph.call("Greater", self.values, self.graph.constant(borders[None, :]))
        ones = self.graph.cast(above, "int64")
        return self.graph.call("ReduceSum", ones, self.graph.constant([1], np.int64), keepdims=1)

    def table(self, levels: tuple[Level, ...], values: Sequence[float]) -> str:
        """Number that ``values`` holds for each level, the last one for none of them."""
        return self.graph.call("Gather", self.graph.constant(values), self.codes(levels))


def _number(column: _GraphColumn, part: plan.Number) -> str:
    call, constant = column.graph.call, column.graph.constant
    z = call("Sub", column.filled(part.fill), constant([part.center]))
    z = call("Div", z, constant([part.scale]))
    if part.clip is None:
        return z
    z = call("Clip", z, constant(-1e30), constant(1e30))
    ratio = call("Div", z, constant([part.clip]))
    square = call("Add", call("Mul", ratio, ratio), constant([1.0]))
    return call("Div", z, call("Sqrt", square))


def _one_hot(column: _GraphColumn, part: plan.OneHot) -> str:
    graph, levels = column.graph, part.levels
    places = graph.constant(np.arange(len(levels))[None, :], np.int64)
    return graph.cast(graph.call("Equal", column.codes(levels), places), "float64")


def _target_mean(column: _GraphColumn, part: plan.TargetMean) -> str:
    pairs = zip(part.means, part.unseen, strict=True)
    means = [column.table(part.levels, [*means, unseen]) for means, unseen in pairs]
    return means[0] if len(means) == 1 else column.graph.call("Concat", *means, axis=1)


def _words(column: _GraphColumn, part: plan.Words) -> str:
    raise ValueError(
        "A column of free text cannot be exported: ONNX has no operator that hashes words. Fit "
        "without that column or with preprocessing={'read_text': False}, or predict with "
        "adacap.lite."
    )


def _cycle(column: _GraphColumn, part: plan.Cycle) -> str:
    """Sine and cosine of the phase, taken in float32: few runtimes have them in float64."""
    graph, length = column.graph, PERIOD_DAYS[part.period]
    days = graph.call("Mod", column.filled(part.fill), graph.constant([length]), fmod=1)
    negative = graph.call("Less", days, graph.constant([0.0]))
    shifted = graph.call("Add", days, graph.constant([length]))
    days = graph.call("Where", negative, shifted, days)
    phase = graph.cast(graph.call("Mul", days, graph.constant([2 * math.pi / length])), "float32")
    waves = graph.call("Concat", graph.call("Sin", phase), graph.call("Cos", phase), axis=1)
    return graph.cast(waves, "float64")


PARTS: dict[type[plan.ColumnPart], Callable[[_GraphColumn, Any], str]] = {
    plan.Unchanged: lambda column, part: column.values,
    plan.Number: _number,
    plan.MissingFlag: lambda column, part: column.missing(),
    plan.Binary: lambda column, part: column.table(part.levels, [0.0, 1.0, part.unseen]),
    plan.OneHot: _one_hot,
    plan.Frequency: lambda column, part: column.table(
        part.levels, np.log1p([*part.counts, 0.0]).tolist()
    ),
    plan.TargetMean: _target_mean,
    plan.Cycle: _cycle,
    plan.Words: _words,
}
