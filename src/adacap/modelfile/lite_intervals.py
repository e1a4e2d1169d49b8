"""Intervals of a saved model on NumPy: its folds one by one, and the width of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from adacap._typing import Floats
from adacap.estimators.bounds import (
    Errors,
    PredictedRows,
    describe,
    describe_sets,
    resolve,
    rows_of,
)
from adacap.modelfile.contents import ModelFile, Numbers
from adacap.modelfile.evidence import errors_in, formula_in
from adacap.modelfile.nets import NetGroup
from adacap.modelfile.numpy_operations import NumpyOperations
from adacap.modelfile.predictors import PredictorGroup, encoded
from adacap.widths import Widths

__all__ = ["LiteFolds", "LiteIntervals", "LiteSets", "promise"]


class _Net(NamedTuple):
    """A net of a fold: where it is, and the output layer that never saw the fold."""

    group: NetGroup
    place: int  # in the group
    weight: Floats  # (J, c)
    bias: Floats  # (c,)


class _FoldPart(NamedTuple):
    """A member of a blend, fold by fold."""

    factor: float
    nets: tuple[_Net, ...]
    predictor: PredictorGroup | None

    def each(self, x: Floats) -> Floats:
        """Outputs ``(K, n, c)``."""
        if self.predictor is not None:
            return self.factor * _each(self.predictor, x)
        hidden = {id(net.group): _hidden(net.group, x) for net in self.nets}
        outputs = [hidden[id(n.group)][n.place] @ n.weight + n.bias for n in self.nets]
        return self.factor * np.stack(outputs)


def _hidden(group: NetGroup, x: Floats) -> Floats:
    found = group.hidden(encoded(x, group.encoding))
    return np.broadcast_to(found, (group.n_members, *found.shape[-2:]))


def _each(group: PredictorGroup, x: Floats) -> Floats:
    """Outputs ``(K, n, c)`` of a member that is not a net."""
    rows = encoded(x, group.encoding)
    return np.asarray(group.predictor.apply(rows, group.arrays, NumpyOperations()))


@dataclass(frozen=True, eq=False)
class LiteFolds:
    """Predictions for each fold, by models that never saw it."""

    parts: tuple[_FoldPart, ...]

    @classmethod
    def of(cls, file: ModelFile) -> LiteFolds:
        """Folds of a file, with the output layers that were solved without them."""
        places = [(member["group"], member["index"]) for member in file.description["members"]]
        parts = []
        for part in file.parts:
            first = file.groups[part.groups[0]]
            if isinstance(first, PredictorGroup):
                parts.append(_FoldPart(part.factor, (), first))
                continue
            own = [m for m, (g, _) in enumerate(places) if g in part.groups]
            nets = tuple(_net(file, m, *places[m]) for m in own)
            parts.append(_FoldPart(part.factor, nets, None))
        return cls(tuple(parts))

    def outputs(self, x: Floats) -> Floats:
        """``(n, K, c)`` of encoded rows."""
        return np.asarray(sum(part.each(x) for part in self.parts)).transpose(1, 0, 2)


def _net(file: ModelFile, m: int, group: int, index: int) -> _Net:
    own, layer = file.groups[group], (f"folds.{m}.weight", f"folds.{m}.bias")
    assert isinstance(own, NetGroup)
    weight, bias = (file.intervals[name].astype(np.float64) for name in layer)
    return _Net(own, index, weight, bias)


@dataclass(frozen=True, eq=False)
class _Errors:
    """What intervals and sets of a saved model rest on."""

    tell: ClassVar[Any]  # what errors promise, in words

    there: dict[str, Errors | None]  # by method, the strongest promise first
    folds: LiteFolds | None

    def resolve(self, method: str) -> str:
        """Method that ``"auto"`` resolves to."""
        return resolve(method, self.there)

    def describe(self, coverage: float = 0.9, method: str = "auto") -> str:
        """What they rest on and what they promise, in words."""
        name = self.resolve(method)
        return str(self.tell(name, self.errors(name), coverage))

    def errors(self, method: str) -> Errors:
        """Errors that a method rests on; of sets, how badly rows fit their own class."""
        found = self.there[method]
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class LiteIntervals(_Errors):
    """What intervals of a saved model rest on."""

    tell = staticmethod(describe)

    inflation: Floats | None  # (c,)
    widths: Widths | None
    trees: PredictorGroup | None

    @classmethod
    def of(cls, file: ModelFile) -> LiteIntervals:
        """Intervals of a file."""
        own, trees = file.intervals, file.width_trees
        there = {name: errors_in(own, kind) for name, kind in _KINDS.items()}
        folds = None if there["cv+"] is None else LiteFolds.of(file)
        widths = None if trees is None else formula_in(own)
        return cls(there, folds, own.get("inflation"), widths, trees)

    def rows(
        self, chunks: Sequence[Floats], outputs: Callable[[Floats], Floats], method: str, width: str
    ) -> PredictedRows:
        """New rows and the errors to add to their outputs.

        ``chunks`` are encoded rows; ``outputs`` gives what the model says of each, ``(n, c)``.
        """
        return rows_of(
            self.errors(method),
            method,
            width,
            self.inflation,
            lambda: np.concatenate([outputs(x) for x in chunks]),
            lambda is_adaptive: self._each_fold(chunks, is_adaptive),
        )

    def _each_fold(
        self, chunks: Sequence[Floats], is_adaptive: bool
    ) -> tuple[Floats, Floats | None]:
        """Outputs and scale ``(m, K, c)`` of new rows under each fold."""
        assert self.folds is not None
        outputs = [self.folds.outputs(x) for x in chunks]
        if not is_adaptive:
            return np.concatenate(outputs), None
        assert self.widths is not None
        assert self.trees is not None
        sizes = [_each(self.trees, x).transpose(1, 0, 2) for x in chunks]
        pairs = zip(outputs, sizes, strict=True)
        scale = [self.widths.scale(centre, size) for centre, size in pairs]
        return np.concatenate(outputs), np.concatenate(scale)


@dataclass(frozen=True, eq=False)
class LiteSets(_Errors):
    """What sets of classes of a saved model rest on."""

    tell = staticmethod(describe_sets)

    fold: Any  # (n,), or None
    temperature: float  # of the scores

    @classmethod
    def of(cls, file: ModelFile) -> LiteSets:
        """Sets of a file."""
        own = file.intervals
        there = {name: errors_in(own, kind) for name, kind in _KINDS.items() if name != "loo"}
        folds = None if there["cv+"] is None else LiteFolds.of(file)
        return cls(there, folds, own.get("folds.fold"), float(own["temperature"][0]))


def promise(file: ModelFile, coverage: float) -> str | None:
    """What intervals or sets of a file rest on and promise; None without any."""
    tell = describe if isinstance(file.targets, Numbers) else describe_sets
    for name, kind in _KINDS.items():
        if (errors := errors_in(file.intervals, kind)) is not None:
            return tell(name, errors, coverage)
    return None


_KINDS = {"split": "split", "cv+": "folds", "loo": "loo"}
