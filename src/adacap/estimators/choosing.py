"""Which transform of a target pays: found out of fold on some of the rows.

A small kernel and a few boosted trees, blended, stand for the model. Folds are drawn twice, and a
transform must lower the mean logarithm of the error, fold by fold, and the pooled error: neither
the few rows that make up most of a pooled error decide alone, nor folds of little at stake.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from adacap.estimators.blending import out_of_fold
from adacap.estimators.targets import RegressionCodec
from adacap.estimators.transforms import Floats, fit_transform
from adacap.members.blend import blend_weights
from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.members.kernel import KernelSettings, fit_kernel
from adacap.nn.predictors import Frozen

__all__ = ["choose_transforms"]

_MOST_ROWS = 400
_K, _N_REPEATS = 4, 2
_BOOSTING = BoostingSettings(n_trees=60, rate=0.2)
_SETTINGS = KernelSettings(n_steps=40, most_trained=150, most_solved=_MOST_ROWS)
_GAIN = 0.95  # error over that without a transform, at which one pays
_SKEWED = 1.0  # least skewness of a target that is worth a look
_LESS = 0.5  # of which a transform must leave at most this share
_LEAST_ROWS = 40


def choose_transforms(x: Floats, y: Floats, weight: Floats | None, seed: int) -> list[str]:
    """The transform of each target: none unless the error in its own units is clearly smaller.

    A target is looked at only if it is skewed and a transform makes it much less so; others cost
    nothing.

    Parameters
    ----------
    x : ndarray of shape (n, d)
        Encoded rows, in an order without meaning.
    y : ndarray of shape (n, c)
    weight : ndarray of shape (n,), optional
    seed : int

    Returns
    -------
    list of str

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)).astype(np.float32)
    >>> y = np.column_stack([np.exp(2 * x[:, 0]), x[:, 1]])
    >>> choose_transforms(x, y, None, seed=0)
    ['log', 'none']
    """
    rows = slice(0, _MOST_ROWS)
    some = None if weight is None else weight[rows]
    return [_choose(x[rows], column[rows], some, seed) for column in y.T]


def _choose(x: Floats, y: Floats, weight: Floats | None, seed: int) -> str:
    candidates = [kind for kind in ("log", "yeo-johnson") if _is_worth_a_look(y, kind)]
    if len(y) < _LEAST_ROWS or not candidates or x.shape[1] == 0:
        return "none"
    errors = {kind: _errors(x, y, weight, kind, seed) for kind in ("none", *candidates)}
    change = {kind: _change(errors[kind], errors["none"]) for kind in candidates}
    best = min(candidates, key=lambda kind: change[kind])
    return best if change[best] < np.log(_GAIN) else "none"


def _change(errors: Floats, before: Floats) -> float:
    """Logarithm of the error over that without a transform: the less of two kinds of gain."""
    by_fold = float(np.log(errors / before).mean())
    pooled = 0.5 * float(np.log((errors**2).mean() / (before**2).mean()))
    return max(by_fold, pooled)


def _is_worth_a_look(y: Floats, kind: str) -> bool:
    if y.min() == y.max() or (kind == "log" and y.min() < 0 < y.max()):
        return False
    before, after = _skewness(y), _skewness(fit_transform(y, kind).apply(y))
    return abs(before) > _SKEWED and abs(after) < _LESS * abs(before)


def _skewness(values: Floats) -> float:
    z = (values - values.mean()) / (values.std() or 1.0)
    return float((z**3).mean())


def _errors(x: Floats, y: Floats, weight: Floats | None, kind: str, seed: int) -> Floats:
    """Root mean squared errors out of fold, in units of y, of each fold of each repetition."""
    codec = RegressionCodec.fit(y, weight, None, [fit_transform(y, kind)])
    coded = codec.encode(y)
    w = None if weight is None else _tensor(weight)
    found = []
    for repeat in range(_N_REPEATS):
        order = np.random.default_rng([seed, repeat]).permutation(len(y))
        fold = torch.as_tensor(order % _K)
        data = FoldData(_tensor(x), _tensor(coded), w, fold, _K, seed)
        outputs = _outputs(data, coded)
        off = (codec.with_errors(outputs, coded).decode(outputs) - y) ** 2
        shares = np.ones(len(y)) if weight is None else weight
        parts = [(order % _K == k) & (shares > 0) for k in range(_K)]
        found += [np.average(off[at], weights=shares[at]) for at in parts if at.any()]
    return np.sqrt(np.maximum(found, np.finfo(float).tiny))


def _outputs(data: FoldData, coded: Floats) -> Floats:
    """Of a kernel and of boosted trees out of fold, blended."""
    kernel, trees = fit_kernel(data, _SETTINGS), fit_boosting(data, _BOOSTING)
    members = np.stack([
        out_of_fold(Frozen(one[0], one[1]).eval(), data.x, data.fold, _K).numpy().astype(np.float64)
        for one in (kernel, trees)
    ])  # fmt: skip
    residuals = (members - coded).reshape(len(members), -1)
    return np.asarray(np.tensordot(blend_weights(residuals), members, 1))


def _tensor(values: Floats) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
