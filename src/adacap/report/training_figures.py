"""Numbers of the figures that a fitted model alone gives: how it learned, and what it can learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from adacap._typing import Floats
from adacap.training.history import History

__all__ = [
    "CapacityPaths", "LabelFits", "LearningDynamics", "WeightClusters", "capacity_paths",
    "label_fits", "learning_dynamics", "weight_clusters",
]  # fmt: skip


_LOSSES = {
    "rmse": "RMSE, in SDs of the target",
    "bce": "cross-entropy, in nats",
    "ce": "cross-entropy, in nats",
}


@dataclass(frozen=True, eq=False)
class LearningDynamics:
    """Score of training and of held-out rows at each iteration.

    Attributes
    ----------
    iteration : ndarray of shape (n,)
    train : ndarray of shape (n,)
        Of the minibatch that the step was taken on.
    valid : ndarray of shape (n,) or None
        Of the rows held out; None where none were.
    train_name, valid_name : str
        What they measure: R², cross-entropy or AUC, with its unit.
    best_iter : int
        Iteration that was kept.
    others : tuple of ndarray
        ``valid`` of the other members of an ensemble.
    others_best : tuple of int
        Iteration that each of them kept.
    """

    iteration: Floats
    train: Floats
    valid: Floats | None
    train_name: str
    valid_name: str
    best_iter: int
    others: tuple[Floats, ...] = ()
    others_best: tuple[int, ...] = ()


def learning_dynamics(estimator: Any) -> LearningDynamics:
    """Train and validation score per iteration, of the first net.

    Where the net was then trained again on all rows, this is the run that found the best iteration.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(max_iter=30).fit(np.eye(20), np.arange(20.0))
    >>> learning_dynamics(model).train.shape
    (30,)
    """
    check_is_fitted(estimator)
    loss = estimator.codec_.loss
    score = estimator.codec_.score(estimator.settings_.select_by or "loss")
    train = _column(estimator.history_, "fit_true")
    train_name = _LOSSES[loss]
    if loss == "rmse":  # targets are standardised
        train, train_name = 1 - train**2, "R²"
    members = _others(estimator)
    others = [_valid(member.history, score) for member in members]
    return LearningDynamics(
        iteration=np.arange(len(train), dtype=np.float64),
        train=train,
        valid=_valid(estimator.history_, score),
        train_name=train_name,
        valid_name=_valid_name(score),
        best_iter=int(estimator.best_iter_),
        others=tuple(values for values in others if values is not None),
        others_best=tuple(int(member.best_iter) for member in members),
    )


def _others(estimator: Any) -> Any:
    """Nets trained beside the one that the history is of; of a blend, those of its member."""
    for part in estimator.blend_:
        if part.nets and list(part.nets[0].history) == list(estimator.history_):
            return part.nets[1:]
    return () if estimator.blend_ else estimator.members_[1:]


def _valid(history: History, score: str) -> Floats | None:
    values = _column(history, "valid_score")
    if np.isnan(values).all():
        return None
    return -values if score.startswith("neg_") else values


def _valid_name(score: str) -> str:
    if score == "r2":
        return "R²"
    return "AUC" if score.startswith("auc") else _LOSSES[score.removeprefix("neg_")]


def _column(history: History, name: str) -> Floats:
    return np.array(history[name], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CapacityPaths:
    """λ and effective degrees of freedom along training, one array per member.

    Attributes
    ----------
    lam : tuple of ndarray of shape (n,)
        At every iteration.
    dof_iteration, dof : tuple of ndarray of shape (m,)
        Every tenth iteration, on the minibatch.
    best_iter : tuple of int
    n_features : int
        Size of the last hidden layer, the most that ``dof`` can be.
    """

    lam: tuple[Floats, ...]
    dof_iteration: tuple[Floats, ...]
    dof: tuple[Floats, ...]
    best_iter: tuple[int, ...]
    n_features: int


def capacity_paths(estimator: Any) -> CapacityPaths | None:
    """How λ and the degrees of freedom moved; None for the plain scheme, which has neither.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(n_estimators=1, max_iter=30).fit(np.eye(20), np.arange(20.0))
    >>> capacity_paths(model).dof_iteration
    (array([ 0., 10., 20.]),)
    """
    check_is_fitted(estimator)
    if estimator.scheme_ == "plain" or not len(estimator.history_):
        return None
    histories, best = _paths(estimator)
    dofs = [_column(history, "effective_dof") for history in histories]
    known = [np.flatnonzero(~np.isnan(dof)) for dof in dofs]
    return CapacityPaths(
        lam=tuple(_column(history, "lambda") for history in histories),
        dof_iteration=tuple(index.astype(np.float64) for index in known),
        dof=tuple(dof[index] for dof, index in zip(dofs, known, strict=True)),
        best_iter=best,
        n_features=estimator.capacity().n_features,
    )


def _paths(estimator: Any) -> tuple[list[History], tuple[int, ...]]:
    """History and best iteration of each net; of a blend, of those that its own history is of."""
    members = _others(estimator) if estimator.blend_ else estimator.members_
    histories, best = [m.history for m in members], [int(m.best_iter) for m in members]
    if estimator.blend_:  # whether its member was kept or not
        histories, best = [estimator.history_, *histories], [int(estimator.best_iter_), *best]
    return histories, tuple(best)


@dataclass(frozen=True, eq=False)
class LabelFits:
    """Fit of the true labels beside that of permuted ones.

    Attributes
    ----------
    name : str
        The loss, lower is better.
    true : float
    permuted : ndarray of shape (T,)
    baseline : float
        Loss of the best constant.
    gap, p_value, holdout_p_value : float or None
        As in :class:`~adacap.estimators.capacity.Capacity`.
    true_path, permuted_path : ndarray of shape (n,)
        Both losses at each iteration of the first net; NaN where permuted labels are not used.
    """

    name: str
    true: float
    permuted: Floats
    baseline: float
    gap: float
    p_value: float
    holdout_p_value: float | None
    true_path: Floats
    permuted_path: Floats


def label_fits(estimator: Any) -> LabelFits | None:
    """True-label against permuted-label fit of the output layer; None for the plain scheme.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(max_iter=30).fit(np.eye(20), np.arange(20.0))
    >>> label_fits(model).permuted.shape
    (199,)
    """
    check_is_fitted(estimator)
    capacity = estimator.capacity()
    if capacity.fit_true is None:
        return None
    return LabelFits(
        name=_LOSSES[capacity.loss],
        true=capacity.fit_true,
        permuted=capacity.permuted_fits,
        baseline=capacity.baseline,
        gap=capacity.memorisation_gap,
        p_value=capacity.p_value,
        holdout_p_value=capacity.holdout_p_value,
        true_path=_column(estimator.history_, "fit_true"),
        permuted_path=_column(estimator.history_, "fit_permuted"),
    )


@dataclass(frozen=True, eq=False)
class WeightClusters:
    """Correlations between the units of the last hidden layer, like ones side by side.

    Attributes
    ----------
    correlation : ndarray of shape (k, k)
        Absolute correlation of the incoming weights of two units, in clustered order.
    cluster : ndarray of shape (k,)
        Cluster of each unit, in the same order.
    n_units : int
        Units of the layer; ``k`` of them, evenly spread, are compared.
    n_clusters : int
        Groups whose units have a mean absolute correlation above 0.5.
    mean : float
        Mean absolute correlation of two different units.
    """

    correlation: Floats
    cluster: npt.NDArray[np.int64]
    n_units: int
    n_clusters: int
    mean: float


def weight_clusters(estimator: Any, member: int = 0, most: int = 128) -> WeightClusters | None:
    """Clustered correlation of the last hidden layer's weights (the paper's figure).

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    member : int, default=0
        Which net of an ensemble.
    most : int, default=128
        Units to compare at most.

    Returns
    -------
    WeightClusters or None
        None without nets, or without a linear layer of at least two units and two inputs.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(architecture="mlp", width=16, max_iter=5)
    >>> weight_clusters(model.fit(np.eye(20), np.arange(20.0))).correlation.shape
    (16, 16)
    """
    check_is_fitted(estimator)
    own = estimator.members_[member : member + 1]  # none of a blend without nets
    last = own[0].last_weights if own else None
    if last is None or min(last.shape) < 2:
        return None
    weights = last.double().cpu().numpy()
    if len(weights) == 2 * estimator.capacity().n_features:
        weights = weights[: len(weights) // 2]  # of a gated layer, the units without their gates
    pick = np.linspace(0, len(weights) - 1, min(len(weights), most)).round().astype(np.intp)
    R = _absolute_correlation(weights[pick])
    tree = linkage(squareform(1 - R, checks=False), "average")
    order = leaves_list(tree)
    groups = fcluster(tree, 0.5, "distance").astype(np.int64)
    off = ~np.eye(len(R), dtype=bool)
    return WeightClusters(
        correlation=R[np.ix_(order, order)],
        cluster=groups[order],
        n_units=len(weights),
        n_clusters=int(groups.max()),
        mean=float(R[off].mean()),
    )


def _absolute_correlation(rows: Floats) -> Floats:
    """|correlation| of rows; a constant row correlates with itself alone."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, norm, out=np.zeros_like(centred), where=norm > 0)
    R: Floats = np.clip(np.abs(unit @ unit.T), 0.0, 1.0)
    np.fill_diagonal(R, 1.0)
    return R
