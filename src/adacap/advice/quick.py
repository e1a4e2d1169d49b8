"""A quick comparison: cheap stand-ins of each kind of model, in the same folds, a few times over.

- *linear*: ridge or logistic regression, its penalty by leave-one-out error;
- *trees*: boosted symmetric trees, and extremely randomised ones;
- *adacap*: a blend of kernel, boosting and both linear members, as ``quality="fast"`` has them. Its
  weights for a fold come from the other folds, so that its error is as honest as theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adacap._typing import Floats, Index
from adacap.comparison.results import corrected_error
from adacap.encodings import fit_encoding
from adacap.estimators.blending import out_of_fold
from adacap.estimators.dependence import Dependence, dependent_folds
from adacap.estimators.rows import fold_rows, folds_as_arrays
from adacap.members.blend import blend_weights, class_weights, log_loss
from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.members.forest import fit_extra_trees
from adacap.members.kernel import KernelSettings, fit_kernel
from adacap.members.linear import fit_linear
from adacap.nn.predictors import EncodingModule, Frozen

__all__ = ["ADACAP", "KINDS", "TREES", "Quick", "compare_quickly", "repeats_for"]


KINDS = ("adacap", "linear", "trees")
ADACAP = ("kernel", "boosting", "ridge", "ridge:bins")  # what the stand-in of AdaCap blends
TREES = {"boosting": "boosted trees", "trees": "a forest of extremely randomised trees"}
N_FOLDS = 5
_KERNEL = KernelSettings(n_steps=60, most_trained=120, most_solved=1000)
_BOOSTING = BoostingSettings(n_trees=100, rate=0.2)
_N_TREES = 40
_MANY_CELLS = 20_000  # of encoded rows; above it, one repetition takes seconds

_FIT: dict[str, Callable[[FoldData], tuple[Any, ...]]] = {
    "ridge": fit_linear,
    "ridge:bins": fit_linear,
    "kernel": lambda data: fit_kernel(data, _KERNEL),
    "boosting": lambda data: fit_boosting(data, _BOOSTING),
    "trees": lambda data: fit_extra_trees(data, n_trees=_N_TREES),
}


@dataclass(frozen=True, eq=False)
class Quick:
    """Errors of stand-ins on rows they had not seen."""

    errors: Mapping[str, Floats]  # RMSE of coded y or log-loss, by member and split
    outputs: Mapping[str, Floats]  # (n, c) out of fold, of the first repetition
    fold: Index  # (n,) in it; -1 for none
    first: Index  # rows that its first fold trains on
    test_ratio: float  # rows held out per row trained on
    kernel: Any  # a FittedKernel
    seconds: float  # of this thread, whatever else the machine was doing

    @property
    def best_trees(self) -> str:
        """The member of trees with the lower error."""
        return min(TREES, key=lambda name: float(self.errors[name].mean()))

    def of_kind(self, kind: str) -> Floats:
        """Errors of a kind of model, split by split."""
        return self.errors[{"linear": "ridge", "trees": self.best_trees}.get(kind, kind)]

    def ratio(self, kind: str) -> tuple[float, float]:
        """Logarithm of a kind's error over AdaCap's, and its standard error over splits."""
        logs = np.log(self.of_kind(kind) / self.errors["adacap"])
        return float(logs.mean()), float(corrected_error(logs, self.test_ratio))


def repeats_for(n_rows: int, n_features: int = 1) -> int:
    """Repetitions of the folds: more where the table is small, and a repetition costs little.

    Examples
    --------
    >>> repeats_for(80), repeats_for(500), repeats_for(500, n_features=100)
    (3, 2, 1)
    """
    if n_rows * n_features > _MANY_CELLS:
        return 1
    return 3 if n_rows <= 150 else 2 if n_rows <= 600 else 1


def compare_quickly(
    x: Tensor,
    targets: Tensor,
    loss: str,
    seed: int = 0,
    on_fit: Callable[[int, int, str], None] | None = None,
    dependence: Dependence | None = None,
) -> Quick:
    """Fit the stand-ins in folds of the encoded rows (n, d) and score each on held-out rows.

    Targets (n, c) are coded as the loss wants them. With a dependence whole groups and later rows
    are held out, and folds that would be the same each time are made once. ``on_fit`` is called
    with the fits done, the fits in all and the name of the one that is next.

    Examples
    --------
    >>> x = torch.linspace(-2, 2, 120)[:, None]
    >>> quick = compare_quickly(x, torch.sin(2 * x), "rmse")
    >>> bool(quick.ratio("linear")[0] > 1)  # a straight line is far behind
    True
    """
    start, n_repeats = time.thread_time(), repeats_for(*x.shape)
    n_repeats = 1 if _is_one_split(dependence) else n_repeats
    encoded = {"": x, "bins": EncodingModule(fit_encoding("bins", x.numpy()))(x)}
    found: list[dict[str, Floats]] = []
    first: tuple[dict[str, Floats], Index, Index, float, Any] | None = None
    for repeat in range(n_repeats):
        fold, trains, ratio = _folds(len(x), _strata(targets, loss), seed + repeat, dependence)
        k = int(fold.max()) + 1
        outputs: dict[str, Floats] = {}
        kernel: Any = None
        for i, name in enumerate(_FIT):
            if on_fit is not None:
                on_fit(repeat * len(_FIT) + i, n_repeats * len(_FIT), name)
            own = encoded[name.partition(":")[2]]
            data = FoldData(own, targets, None, fold, k, seed + repeat, loss, trains)
            fitted = _FIT[name](data)
            frozen = Frozen(fitted[0], fitted[1]).eval()
            outputs[name] = out_of_fold(frozen, own, fold, k).numpy()
            kernel = fitted if name == "kernel" else kernel
        codes = fold.numpy().astype(np.intp)
        found.append(_errors(outputs, data.shares.double().numpy(), codes, loss))
        first = first or (outputs, codes, data.train_rows(0).numpy(), ratio, kernel)
    assert first is not None
    errors = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    return Quick(errors, *first, time.thread_time() - start)


def _is_one_split(dependence: Dependence | None) -> bool:
    """Whether there is one way to make the folds: blocks of time, or a group in each."""
    if dependence is None:
        return False
    n_groups = dependence.n_groups
    return dependence.time is not None or (n_groups is not None and n_groups <= N_FOLDS)


def _folds(
    n_rows: int, strata: Index | None, seed: int, dependence: Dependence | None
) -> tuple[Tensor, Tensor | None, float]:
    """Fold of each row, rows that each trains on if not all others, and held-out rows per row."""
    rng = np.random.default_rng([seed, 22])
    if dependence is None:
        folds = fold_rows(n_rows, N_FOLDS, n_rows, strata, rng)
        return torch.from_numpy(folds_as_arrays(folds, n_rows)[0]), None, 1 / (N_FOLDS - 1)
    parts = dependent_folds(dependence, N_FOLDS, n_rows, strata, rng)
    fold, trains = map(torch.from_numpy, folds_as_arrays(parts, n_rows))
    ratio = float(np.mean([len(valid) / len(train) for train, valid in parts]))
    return fold, trains, ratio


def _strata(targets: Tensor, loss: str) -> Index | None:
    if loss == "rmse":
        return None
    codes = targets[:, 0] > 0 if loss == "bce" else targets.argmax(1)
    return np.asarray(codes.numpy()).astype(np.intp)


def _errors(
    outputs: Mapping[str, Floats], targets: Floats, fold: Index, loss: str
) -> dict[str, Floats]:
    """Error of each member and of the blend, fold by fold.

    Outputs for classes are scaled by the temperature that the other folds ask for, as a user of the
    probabilities would do.
    """
    blended = _blend([outputs[name] for name in ADACAP], targets, fold, loss)
    every = {**outputs, "adacap": blended}
    if loss != "rmse":
        every |= {name: _blend([out], targets, fold, loss) for name, out in outputs.items()}
    parts = [fold == k for k in range(fold.max() + 1)]
    return {
        name: np.array([max(_error(out[part], targets[part], loss), 1e-12) for part in parts])
        for name, out in every.items()
    }


def _error(outputs: Floats, targets: Floats, loss: str) -> float:
    if loss == "rmse":
        return float(np.sqrt(np.mean((outputs - targets) ** 2)))
    return log_loss(outputs, targets)


def _blend(members: Sequence[Floats], targets: Floats, fold: Index, loss: str) -> Floats:
    """Outputs of the blend, each fold with the weights that the other folds give."""
    stacked = np.stack(members)
    found = np.zeros_like(members[0])
    for k in range(fold.max() + 1):
        others, own = (fold != k) & (fold >= 0), fold == k
        if loss == "rmse":
            residuals = (stacked[:, others] - targets[others]).reshape(len(stacked), -1)
            weights = blend_weights(residuals)
        else:
            weights = class_weights(stacked[:, others], targets[others])
        found[own] = np.tensordot(weights, stacked[:, own], 1)
    return found
