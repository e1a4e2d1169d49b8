"""A fitted estimator's own capacity: measured by ``fit``, returned by ``capacity()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from adacap._typing import Floats
from adacap.core.diagnostics import cook_distance
from adacap.estimators._capacity_text import as_html, as_text, remarks_of
from adacap.estimators.settings import Share

__all__ = ["Capacity", "InfluentialRow", "MemberCapacity"]


class InfluentialRow(NamedTuple):
    """One row of the training table and how much it matters to the output layer."""

    row: int
    leverage: float
    residual: float
    influence: float


@dataclass(frozen=True)
class MemberCapacity:
    """Readings of one net; ``None`` where there is nothing to read.

    Attributes
    ----------
    lam : float or None
        λ of the output layer.
    effective_dof : float or None
        ``tr H``, the intercept not counted.
    fit_true, fit_permuted : float or None
        Loss of the output layer solved for the labels, and the mean over permutations of them.
    p_value : float or None
        Share of permutations that fit as well as the truth, on the rows the net was trained on.
    press_r2 : float or None
        R² of the output layer's leave-one-out predictions.
    holdout_p_value : float or None
        The same share for predictions of rows that were held out, before any training on them.
    """

    lam: float | None = None
    effective_dof: float | None = None
    fit_true: float | None = None
    fit_permuted: float | None = None
    p_value: float | None = None
    press_r2: float | None = None
    holdout_p_value: float | None = None


_SUMMARY = ("n_solved", "baseline", "p_value", "press_r2", "holdout_p_value")
_STORED = ("fit_true", "fit_permuted", "p_value", "press_r2", "holdout_p_value")


@dataclass(frozen=True, eq=False, repr=False)
class Capacity:
    """How much a fitted net can learn by heart, and how much of that it used.

    All of it is about the output layer *given* the features: the hidden layers have seen the
    labels too, so ``p_value``, ``press_r2`` and the leave-one-out residuals flatter the model
    where the features themselves are overfitted. ``holdout_p_value`` does not: it comes from rows
    set aside before training. Only the best iteration was chosen on them, and for labels in
    random order it is chosen too.

    Attributes
    ----------
    estimator : str
    scheme : str or None
        None where no nets were trained.
    n_rows, n_distinct : int
        Rows of the training table, and different ones among them.
    n_solved : float
        Rows, or their total weight, that the output layer is solved on.
    n_features : int
        Size of the last hidden layer, the most ``effective_dof`` can be.
    loss : {"rmse", "bce", "ce"}
        What ``fit_true`` and ``fit_permuted`` are; the RMSE is in standard deviations of the
        target.
    baseline : float
        Loss of the best constant.
    members : tuple of MemberCapacity
        One per net.
    p_value : float or None
        Permutation p-value of ``fit_true`` given the features; of an ensemble, of the mean fit.
    press_r2 : float or None
        R² of the leave-one-out predictions; of an ensemble, those of the averaged prediction.
    holdout_p_value : float or None
        Permutation p-value of the predictions of rows held out, by the iteration that suits the
        labels best in each order of them; None where fewer than 4 were held out, or where
        ``warm_start`` continued with nets that may have been trained on them.
    rows : ndarray of shape (m,)
        Positions in the training table of the rows read: all different ones, or a sample of them.
    residuals : ndarray of shape (m, n_targets)
        Leave-one-out residuals in the units of the target; coded labels for a classifier.
    leverage : ndarray of shape (m,)
        Share of its own label in the fit of a row, the intercept included.
    permuted_fits : ndarray of shape (T,)
        Fit of each permutation, mean over members.
    read_from : Share or None
        The member of a blend that all this was read from, with its weight, which may be 0. None
        for nets alone, and where no member has an output layer.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from adacap import AdaCapRegressor
    >>> X, y = make_friedman1(100, random_state=0)
    >>> capacity = AdaCapRegressor(random_state=0).fit(X, y).capacity()
    >>> capacity.fit_true < capacity.fit_permuted
    True
    >>> len(capacity.most_influential(3))
    3
    """

    estimator: str
    scheme: str | None
    n_rows: int
    n_distinct: int
    n_solved: float
    n_features: int
    loss: str
    baseline: float
    members: tuple[MemberCapacity, ...]
    p_value: float | None
    press_r2: float | None
    holdout_p_value: float | None
    rows: npt.NDArray[np.int64]
    residuals: Floats
    leverage: Floats
    permuted_fits: Floats
    read_from: Share | None = None

    # ------------------------------------------------------------------ means over members

    @property
    def lam(self) -> float | None:
        """λ, geometric mean over members; None for the plain scheme."""
        return self._mean("lam", lambda v: float(np.exp(np.mean(np.log(v)))) if v.min() > 0 else 0)

    @property
    def lambda_per_row(self) -> float | None:
        """λ/n, which compares between tables of different length."""
        return None if self.lam is None else self.lam / self.n_solved

    @property
    def effective_dof(self) -> float | None:
        """Effective degrees of freedom of the output layer."""
        return self._mean("effective_dof")

    @property
    def dof_per_row(self) -> float | None:
        """Effective degrees of freedom per row: 0 is a constant, 1 learns every label by heart."""
        return None if self.effective_dof is None else self.effective_dof / self.n_solved

    @property
    def fit_true(self) -> float | None:
        """Loss of the output layer on the labels it was solved for."""
        return self._mean("fit_true")

    @property
    def fit_permuted(self) -> float | None:
        """Loss of the output layer solved for labels in random order."""
        return self._mean("fit_permuted")

    @property
    def memorisation_gap(self) -> float | None:
        """``fit_permuted − fit_true``: how much better the truth is fitted than noise.

        Near 0 the layer treats truth and noise alike: it memorises, or learns nothing.
        """
        if self.fit_true is None or self.fit_permuted is None:
            return None
        return self.fit_permuted - self.fit_true

    @property
    def memorised(self) -> float | None:
        """Share of a pattern-free target that the layer fits: ``1 − fit_permuted / baseline``."""
        if self.fit_permuted is None or self.baseline == 0:
            return None
        return 1 - self.fit_permuted / self.baseline

    @property
    def n_permutations(self) -> int:
        """Permutations behind a p-value; it cannot be below ``1 / (1 + n_permutations)``."""
        return len(self.permuted_fits)

    def _mean(self, name: str, mean: Callable[[Floats], float] = np.mean) -> float | None:
        values = [getattr(member, name) for member in self.members]
        known = np.array([value for value in values if value is not None], dtype=np.float64)
        return float(mean(known)) if len(known) else None

    # ---------------------------------------------------------------------------- single rows

    @property
    def influence(self) -> Floats:
        """Cook's distance of each row of ``rows``."""
        if not len(self.rows):
            return np.zeros(0)
        parts = torch.from_numpy(self.residuals), torch.from_numpy(self.leverage)
        distance: Floats = cook_distance(*parts).numpy()
        return distance

    def most_influential(self, n: int = 5) -> list[InfluentialRow]:
        """Rows whose absence would move the fit most, by Cook's distance.

        Parameters
        ----------
        n : int, default=5

        Returns
        -------
        list of InfluentialRow
            ``row`` is the position in the table given to ``fit`` (of equal rows, the first);
            ``residual`` that of the target where it is largest.
        """
        influence = self.influence
        order = np.argsort(-influence, kind="stable")[:n]
        found = []
        for i in order:
            largest = self.residuals[i][np.abs(self.residuals[i]).argmax()]
            values = float(self.leverage[i]), float(largest), float(influence[i])
            found.append(InfluentialRow(int(self.rows[i]), *values))
        return found

    # ------------------------------------------------------------------------------ printing

    def remarks(self) -> list[str]:
        """What the readings mean, in plain words."""
        return remarks_of(self)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    # ------------------------------------------------------------------------------- storing

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Numbers that a model file keeps; the rest of it is in the file already."""
        table = [[getattr(member, name) for name in _STORED] for member in self.members]
        summary = [getattr(self, name) for name in _SUMMARY]
        return {
            "members": np.array(table, dtype=np.float64),  # None becomes NaN
            "summary": np.array(summary, dtype=np.float64),
            "rows": self.rows,
            "residuals": self.residuals,
            "leverage": self.leverage,
            "permuted_fits": self.permuted_fits,
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, npt.NDArray[Any]],
        lams: list[float | None],
        dofs: list[float | None],
        **facts: Any,
    ) -> Capacity:
        """The inverse of :meth:`to_arrays`, with what the file keeps elsewhere."""
        rows = [dict(zip(_STORED, map(_number, row), strict=True)) for row in arrays["members"]]
        members = [
            MemberCapacity(lam=lam, effective_dof=dof, **row)
            for lam, dof, row in zip(lams, dofs, rows, strict=True)
        ]
        numbers = zip(_SUMMARY, map(_number, arrays["summary"]), strict=True)
        names = ("rows", "residuals", "leverage", "permuted_fits")
        parts: dict[str, Any] = dict(numbers) | {name: arrays[name] for name in names}
        return cls(members=tuple(members), **parts, **facts)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
