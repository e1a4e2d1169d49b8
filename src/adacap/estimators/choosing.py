"""Which transform of a target helps: found out of fold on some of the rows.

A small kernel and a few boosted trees, blended, stand for the model. Folds are drawn twice, of
whole groups where there are any; in time, blocks are predicted from earlier rows, once. A transform
must lower the mean logarithm of the error, fold by fold, and the pooled error: so neither the few
rows that dominate a pooled error nor folds of small errors decide alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap._typing import Floats, Index
from adacap.estimators.blending import out_of_fold
from adacap.estimators.dependence import Dependence, dependent_folds
from adacap.estimators.rows import folds_as_arrays
from adacap.estimators.targets import RegressionCodec
from adacap.estimators.transforms import fit_transform
from adacap.members.blend import blend_weights
from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.members.kernel import KernelSettings, fit_kernel
from adacap.nn.predictors import Frozen

__all__ = ["TRANSFORM_FOLDS", "Tried", "choose_transforms", "try_transforms"]

_MOST_ROWS = 400
TRANSFORM_FOLDS, _N_REPEATS = 4, 2
_BOOSTING = BoostingSettings(n_trees=60, rate=0.2)
_SETTINGS = KernelSettings(n_steps=40, most_trained=150, most_solved=_MOST_ROWS)
_GAIN = 0.95  # error over that without a transform, below which a transform is used
_SKEWED = 1.0  # minimum skewness of a target to consider
_LESS = 0.5  # of which a transform must leave at most this share
_LEAST_ROWS = 40


def choose_transforms(
    x: Floats,
    y: Floats,
    weight: Floats | None,
    seed: int,
    dependence: Dependence | None = None,
) -> list[str]:
    """The transform of each target: none unless the error in its own units is clearly smaller.

    A target is considered only if it is skewed and a transform makes it much less so; others cost
    nothing.

    Encoded rows (n, d) are in arbitrary order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)).astype(np.float32)
    >>> y = np.column_stack([np.exp(2 * x[:, 0]), x[:, 1]])
    >>> choose_transforms(x, y, None, seed=0)
    ['log', 'none']
    """
    every = try_transforms(x, y, weight, seed, dependence)
    return [tried[0].kind if tried and tried[0].pays else "none" for tried in every]


class Tried(NamedTuple):
    """A transform that was tried out of fold.

    ``change`` is the logarithm of the error over that without a transform, in the target's own
    units: the smaller of two kinds of gain, by fold and pooled. ``by_fold`` is what each fold of
    each repetition adds; its mean is the change.
    """

    kind: str
    change: float
    by_fold: Floats

    @property
    def pays(self) -> bool:
        """Whether the error is so much smaller that the transform is used."""
        return bool(self.change < np.log(_GAIN))


def try_transforms(
    x: Floats,
    y: Floats,
    weight: Floats | None,
    seed: int,
    dependence: Dependence | None = None,
) -> list[list[Tried]]:
    """Of each target the transforms worth a look, the best first; parameters as above."""
    rows = slice(0, _MOST_ROWS)
    some = None if weight is None else weight[rows]
    own = None if dependence is None else dependence.take(rows)
    folds = _Folds.drawn(min(len(y), _MOST_ROWS), seed, own)
    return [_try_each(x[rows], column[rows], some, seed, folds) for column in y.T]


class _Folds(NamedTuple):
    """Fold of each row, -1 for none, and which rows each trains on, if not all others."""

    fold: Index
    trains: npt.NDArray[np.bool_] | None = None

    @property
    def k(self) -> int:
        return int(self.fold.max()) + 1

    @classmethod
    def drawn(cls, n_rows: int, seed: int, dependence: Dependence | None) -> list[_Folds]:
        """Folds of each repetition; none where rows cannot be split as they depend."""
        rngs = [np.random.default_rng([seed, repeat]) for repeat in range(_N_REPEATS)]
        if dependence is None:
            return [cls(rng.permutation(n_rows) % TRANSFORM_FOLDS) for rng in rngs]
        try:
            dependence.check()
            once = rngs if dependence.time is None else rngs[:1]
            found = [
                dependent_folds(dependence, TRANSFORM_FOLDS, n_rows, None, rng) for rng in once
            ]
        except ValueError:  # of the sampled rows; those of the fit may work
            return []
        return [cls(*folds_as_arrays(parts, n_rows)) for parts in found]


def _try_each(
    x: Floats, y: Floats, weight: Floats | None, seed: int, folds: Sequence[_Folds]
) -> list[Tried]:
    candidates = [kind for kind in ("log", "yeo-johnson") if _is_worth_a_look(y, kind)]
    if len(y) < _LEAST_ROWS or not candidates or x.shape[1] == 0 or not folds:
        return []
    before = _errors(x, y, weight, "none", seed, folds)
    tried = []
    for kind in candidates:
        errors = _errors(x, y, weight, kind, seed, folds)
        kinds = np.log(errors / before), _pooled(errors, before)
        worse = max(kinds, key=lambda parts: float(parts.mean()))
        tried.append(Tried(kind, float(worse.mean()), worse))
    return sorted(tried, key=lambda one: one.change)


def _pooled(errors: Floats, before: Floats) -> Floats:
    """Logarithm of the ratio of pooled errors, and what each fold adds to it, to first order."""
    squares, others = errors**2, before**2
    own, other = squares / squares.mean(), others / others.mean()
    found: Floats = 0.5 * (np.log(squares.mean() / others.mean()) + own - other)
    return found


def _is_worth_a_look(y: Floats, kind: str) -> bool:
    if y.min() == y.max() or (kind == "log" and y.min() < 0 < y.max()):
        return False
    before, after = _skewness(y), _skewness(fit_transform(y, kind).apply(y))
    return abs(before) > _SKEWED and abs(after) < _LESS * abs(before)


def _skewness(values: Floats) -> float:
    z = (values - values.mean()) / (values.std() or 1.0)
    return float((z**3).mean())


def _errors(
    x: Floats, y: Floats, weight: Floats | None, kind: str, seed: int, folds: Sequence[_Folds]
) -> Floats:
    """Root mean squared errors out of fold, in units of y, of each fold of each repetition."""
    codec = RegressionCodec.fit(y, weight, None, [fit_transform(y, kind)])
    coded = codec.encode(y)
    w = None if weight is None else _tensor(weight)
    found = []
    for own in folds:
        trains = None if own.trains is None else torch.as_tensor(own.trains)
        fold = torch.as_tensor(own.fold)
        data = FoldData(_tensor(x), _tensor(coded), w, fold, own.k, seed, trains=trains)
        held = np.flatnonzero(own.fold >= 0)
        outputs = _outputs(data, coded, held)
        off = (codec.with_errors(outputs, coded[held]).decode(outputs) - y[held]) ** 2
        shares = np.ones(len(held)) if weight is None else weight[held]
        parts = [(own.fold[held] == k) & (shares > 0) for k in range(own.k)]
        found += [np.average(off[at], weights=shares[at]) for at in parts if at.any()]
    return np.sqrt(np.maximum(found, np.finfo(float).tiny))


def _outputs(data: FoldData, coded: Floats, held: Index) -> Floats:
    """Of a kernel and of boosted trees on the rows held out, blended."""
    kernel, trees = fit_kernel(data, _SETTINGS), fit_boosting(data, _BOOSTING)
    every = [
        out_of_fold(Frozen(one[0], one[1]).eval(), data.x, data.fold, data.k)
        for one in (kernel, trees)
    ]
    members = np.stack([one.numpy().astype(np.float64)[held] for one in every])
    residuals = (members - coded[held]).reshape(len(members), -1)
    return np.asarray(np.tensordot(blend_weights(residuals), members, 1))


def _tensor(values: Floats) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
