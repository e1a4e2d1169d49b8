"""AdaCap for regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import (
    AdaCapBase,
    ArchitectureLike,
    LambdaInit,
    NumberScheme,
    OptimizerPair,
    RandomState,
)
from adacap.estimators.bounds import IntervalMethod, WidthMethod
from adacap.estimators.constraints import REGRESSOR
from adacap.estimators.held_out import Evidence
from adacap.estimators.intervals import (
    IntervalData,
    errors_of,
    fresh_errors,
    interval,
    scale_of_rows,
)
from adacap.estimators.intervals import quantiles as _quantiles
from adacap.estimators.preprocessing import Preprocessing
from adacap.estimators.settings import REGRESSION
from adacap.estimators.targets import RegressionCodec
from adacap.training.callbacks import Callback

__all__ = ["AdaCapRegressor"]


class AdaCapRegressor(RegressorMixin, AdaCapBase):
    """Regression on small tables by a blend of nets, kernels, trees and ridge.

    Members are trained in the same five folds and weighted by their out-of-fold error. The nets are
    feed-forward nets whose output layer is the closed-form ridge solution on their last hidden
    layer, trained to fit the labels but not their permutations; ``quality="nets"`` is a bag of
    them alone. Takes frames with text and missing values as they are; several targets share one
    model.

    Parameters come in four groups. For most users: ``quality`` to ``calibration_fraction``.
    For tuning: ``max_iter`` to ``refit``. For research: ``n_permutations`` to ``fit_intercept``.
    For running: ``time_limit`` to ``verbose``. What ``"auto"`` resolves to depends on ``quality``
    and the number of rows alone, so that nets that differ in ``scheme`` or ``architecture`` are
    trained alike; ``settings_`` has the values.

    Parameters
    ----------
    quality : {"auto", "fast", "balanced", "best", "nets"} or list of str, default="auto"
        What is trained. Fast, balanced and best are blends: nets, kernels, trees and ridge, trained
        in the same folds and weighted by their out-of-fold error; higher levels train more members
        for longer. ``"nets"`` is nets alone, and so is all else with fewer than 20 rows. A list
        names the members of a blend by kind and encoding: ``["kernel", "nets:bins"]``. Auto is
        balanced, or nets with ``X_val`` or any parameter that describes nets: ``architecture`` to
        ``n_estimators``, ``validation``, those for tuning and research, ``warm_start``. With a
        quality they describe the nets of its blend; those that leave no folds are refused, and so
        are parameters of nets with a quality that trains none, such as fast.
    architecture : str, Architecture, list of these or callable, default="auto"
        ``"glu"``, ``"snn"``, ``"mlp"``, ``"resblock"``, ``"fourier"``, or a name with options:
        ``Architecture("mlp", dropout=0.2, batch_norm=True)``. Auto is glu. The members of a bag
        take the items of a list in turn. A callable gets the number of encoded columns (or the
        shape of one sample) and returns an ``nn.Module`` that maps a batch to ``(n, J)``.
    scheme : {"auto", "adacap", "adacap-gap", "tikhonov", "plain"}, default="auto"
        ``"adacap"``: closed-form output layer and MLR loss; ``"adacap-gap"``: the same with the
        absolute gap of the paper's appendix in the loss; ``"tikhonov"``: the output layer alone;
        ``"plain"``: an ordinary net. Any of them with ``"-mse"`` at the end is trained on the mean
        squared error, not its root. Auto is adacap.
    width : int or "auto", default="auto"
        Size of the hidden layers, of named architectures. Auto is 128, and 64 in the default blend.
        What this and the autos below are in the default blend holds for up to 2000 rows; for more
        rows and other qualities, see ``settings_``.
    depth : int, list of int or None, default=None
        Number of hidden layers or blocks; None is the default of the architecture. The members
        of a bag take the items of a list in turn.
    n_estimators : int or "auto", default="auto"
        Nets whose outputs are averaged, and folds of a blend. Auto is 5 (fewer below 10 rows).
    preprocessing : {"default", "paper", "none"} or dict, default="default"
        How columns become numbers: a policy of :class:`TableEncoder`, or its options, such as
        ``{"read_text": False}`` for text that stays text even where it spells numbers.
    validation : {"auto", "folds"} or float, default="auto"
        What each net holds out to choose its best iteration, at most 2048 rows: its own fold, or
        a share of the rows in [0, 1), drawn by its own seed. With 0 nothing is held out and the
        last iteration is kept. Auto is folds for several nets, 0.2 for one.
    calibration_fraction : float, default=0.0
        Share of the rows that training never sees, for intervals of method ``"split"``.
    target_transform : {"auto", "log", "yeo-johnson", "none"}, default="none"
        Transform of each target that is learned in its place. Predictions are still means in units
        of the target: the inverse averages over out-of-fold errors. Auto is log, Yeo-Johnson or
        none: none unless the target is skewed and a small blend of a kernel and trees errs at least
        5 % less out of fold with a transform, in units of the target.
    max_iter : int, str or "auto", default="auto"
        Optimiser steps, or epochs in words: ``"20 epochs"``. Auto is 130, and 80 in the default
        blend.
    max_lr : float or "auto", default="auto"
        Highest learning rate. Auto is 0.03, and 0.05 in the default blend.
    batch_size : int or "auto", default="auto"
        Rows of a step. Auto is 512.
    optimizer : str, callable or pair, default="adamw"
        Any torch optimiser by name, or ``(param_groups, lr=...) -> Optimizer``, with the One-Cycle
        schedule. A pair ``(optimizer, scheduler)`` has another one: ``"onecycle"``, ``"cosine"``,
        ``"linear"``, ``"constant"``, ``(optimizer, n_steps) -> LRScheduler`` or None.
    weight_decay : float or "auto", default="auto"
        On the backbone, never on λ. Auto is ``min(3, 1500 / n)``, with n rows that a net is
        trained on.
    refit : {"auto", "net", "head", "none"}, default="auto"
        What is done on all rows, held-out ones included, at the end. ``"net"``: train again up to
        the best iteration, then solve the output layer; ``"head"``: solve the output layer, not
        available for plain nets; ``"none"``: nothing. Auto is net where at least a tenth of the
        rows is held out, unless there is a net per fold or ``warm_start=True``; else head.
    n_permutations : int, default=16
        Permuted label sets of the MLR loss, drawn once. For the adacap schemes only.
    lambda_init : float, "max_sensitivity", "published", sequence or "auto", default="auto"
        Start of λ: a number, or the paper's rule on the first minibatch, which chooses among 12
        values from 0.1 to 10⁴ or among those of a sequence; ``"published"`` is that of the code
        of 2021. Auto is 3, and 1 in the default blend. Plain nets have no λ.
    fit_intercept : bool, default=True
        Unpenalised intercept of the closed-form output layer; plain nets have one anyway.
    time_limit : float or None, default=None
        Seconds after which training stops; a model is returned all the same. A blend leaves out
        the last of its members when time runs short.
    warm_start : bool, default=False
        Another ``fit`` continues to train the nets of the last one, with the same encoding.
    device : str or None, default=None
        Torch device; None is a GPU if there is one.
    random_state : int, RandomState, Generator or None, default=None
        Fixes every random choice; with the same integer a fit gives the same model.
    callbacks : sequence of Callback or None, default=None
        Called during the training of nets, see :mod:`adacap.training`; a warning says so if none
        are trained.
    verbose : int or bool, default=0
        1 shows progress.

    Attributes
    ----------
    settings_ : Settings
        Every setting of the fit, with ``"auto"`` resolved. It prints.
    network_ : nn.Module
        What predicts, with output layers frozen; maps encoded rows to coded targets.
    blend_ : tuple of Part
        Members of a blend, the heaviest first: name, weight, out-of-fold error, seconds and what
        predicts. Empty for nets alone. ``settings_.blend`` lists those without weight too.
    members_ : tuple of FittedMember
        The single nets, with their own λ, history and best iteration. In a blend, those of its
        members of nets one after another; empty if there are none.
    lambda_ : float or None
        λ at the best iteration, geometric mean over members; None for the plain scheme. In a blend
        that of the first member of nets, with or without weight; where none was trained, that of
        the heaviest kernel.
    effective_dof_ : float or None
        Effective degrees of freedom of the output layer, mean over members; in a blend of the same
        nets or kernel as ``lambda_``.
    history_ : History
        One record per step of the first member: losses, validation score, λ, learning rate, … In a
        blend of the first net of the first member of nets; empty where none was trained.
    n_iter_ : int
        Steps run.
    best_iter_ : int
        Step that was kept, of the first member.
    scheme_ : str or None
        The scheme, as in ``settings_``, whatever the loss; None where no nets were trained.
    backbone_ : BackboneSpec, tuple of BackboneSpec or None
        One for all members, or one for each where they differ; None where no nets were trained.
    encoder_ : TableEncoder
        What happens to each column; ``encoder_.summary()`` lists it.
    capacity_ : Capacity
        What ``capacity()`` returns.
    provenance_ : Provenance
        Rows trained on, seconds, date and versions.
    background_ : Background
        What is kept of the training rows, for :meth:`explain`.
    seen_ : Seen
        Summary of the training rows that new rows are compared with, for
        :func:`adacap.drift.check_drift`.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the variation of predictions; they sum to 1.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names.
    intervals_ : IntervalData
        Errors on rows that nets have not seen, for :meth:`predict_interval`;
        ``intervals_.describe()`` says in words what they guarantee.
    interval_method_ : str or None
        What intervals of method ``"auto"`` are: ``"split"``, ``"cv+"`` or ``"loo"``; None where the
        model cannot make them.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = AdaCapRegressor(random_state=0).fit(X[:200], y[:200])
    >>> model.predict(X[200:]).shape
    (100,)
    >>> model.score(X[200:], y[200:]) > 0.95
    True
    """

    _codec = RegressionCodec
    _constraints = REGRESSOR
    _autos: ClassVar[Mapping[str, Any]] = REGRESSION
    intervals_: IntervalData

    def __init__(
        self,
        *,
        quality: str | Sequence[str] = "auto",
        architecture: ArchitectureLike = "auto",
        scheme: Literal["auto"] | NumberScheme = "auto",
        width: int | Literal["auto"] = "auto",
        depth: int | Sequence[int] | None = None,
        n_estimators: int | Literal["auto"] = "auto",
        preprocessing: Preprocessing = "default",
        validation: float | Literal["auto", "folds"] = "auto",
        calibration_fraction: float = 0.0,
        target_transform: Literal["auto", "log", "yeo-johnson", "none"] = "none",
        max_iter: int | str = "auto",
        max_lr: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        optimizer: OptimizerPair = "adamw",
        weight_decay: float | Literal["auto"] = "auto",
        refit: Literal["auto", "net", "head", "none"] = "auto",
        n_permutations: int = 16,
        lambda_init: LambdaInit | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        time_limit: float | None = None,
        warm_start: bool = False,
        device: str | None = None,
        random_state: RandomState = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self._keep(locals())

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Columns are matched by name where ``fit`` saw names.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        return self.codec_.decode(self._outputs(X))  # type: ignore[no-any-return]

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        method: IntervalMethod = "auto",
        width: WidthMethod = "auto",
    ) -> npt.NDArray[np.float64]:
        """Intervals that hold the target of a new row with the given probability.

        Several targets have an interval each, which holds for that target alone. Rows count as in
        ``fit``: one of weight 2 is two rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        coverage : float or sequence of float, default=0.9
            1 − α, between 0 and 1.
        method : {"auto", "cv+", "split", "loo"}, default="auto"
            ``"split"``: errors on rows that training never saw (``calibration_fraction`` or
            :meth:`calibrate`), with a guarantee of 1 − α. ``"cv+"``: errors of each row under the
            nets or the blend of a fold that never saw it (``validation="folds"``); 1 − 2α is
            guaranteed, except for what is not repeated in each fold: the best iteration is chosen
            on the fold, columns are encoded, members weighted and widths learnt on all rows.
            ``"loo"``, of nets alone and not of a blend: leave-one-out errors of the output layer,
            given its features, times a factor that was measured; no guarantee. Auto is the first of
            split, cv+ and loo that the model can give; ``interval_method_`` says which that is.
        width : {"auto", "constant"}, default="auto"
            Auto adapts the width of a row to the out-of-fold errors of similar rows, where the fit
            found that to help; the guarantee is the same.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper bound; infinite, with a warning, where there are too few rows. For
            several coverages (n_samples, n_coverages, 2) or (n_samples, n_targets, n_coverages, 2).

        Examples
        --------
        >>> from adacap import make
        >>> from sklearn.datasets import make_friedman1
        >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
        >>> model = make("fast", random_state=0).fit(X[:200], y[:200])
        >>> lower, upper = model.predict_interval(X[200:], coverage=0.9).T
        >>> bool(0.85 <= ((lower <= y[200:]) & (y[200:] <= upper)).mean() <= 1)
        True
        >>> model.predict_interval(X[200:], coverage=[0.5, 0.8, 0.9]).shape
        (100, 3, 2)
        """
        check_is_fitted(self)
        return interval(self, X, coverage, method, width)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: float | Sequence[float] = (0.1, 0.5, 0.9),
        method: IntervalMethod = "auto",
        width: WidthMethod = "auto",
    ) -> npt.NDArray[np.float64]:
        """Values that the target of a new row stays below with the given probabilities.

        They rest on errors with their sign, and so follow errors that are larger on one side. Of
        the same row, a higher quantile is never below a lower one.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        quantiles : float or sequence of float, default=(0.1, 0.5, 0.9)
            Between 0 and 1.
        method, width
            As in :meth:`predict_interval`. With ``"split"`` a target is below a quantile q ≥ 0.5
            with probability q at least, and below one of q < 0.5 with probability q at most.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Without the last axis for a single number.

        Examples
        --------
        >>> from adacap import make
        >>> from sklearn.datasets import make_friedman1
        >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
        >>> model = make("fast", random_state=0).fit(X[:200], y[:200])
        >>> model.predict_quantiles(X[200:], [0.1, 0.5, 0.9]).shape
        (100, 3)
        """
        check_is_fitted(self)
        return _quantiles(self, X, quantiles, method, width)

    @property
    def interval_method_(self) -> str | None:
        """What ``method="auto"`` resolves to: split, cv+ or loo; None without intervals."""
        found = self.intervals_
        has_none = found.split is None and found.folds is None and found.loo is None
        return None if has_none else found.resolve("auto")

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Compute errors on fresh rows, for intervals of method ``"split"``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows that neither ``fit`` nor the choice of this model saw; at least 9 for a coverage
            of 0.9, better a hundred.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the row twice.
        groups : array-like of shape (n_samples,), optional
            Groups that ``fit`` has not seen, each of which then counts once; at least 9 for a
            coverage of 0.9.

        Returns
        -------
        self
            Predictions stay as they are.
        """
        outputs, coded, weight, keep = self._fresh(X, y, sample_weight)
        data = self.intervals_
        scale = None if data.widths is None else scale_of_rows(self, X, data)[keep]
        errors = errors_of(outputs, coded, weight, scale)
        split = fresh_errors(errors, groups, len(y), keep, self.settings_)
        self.intervals_ = replace(data, split=split)
        return self

    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        return {"intervals_": IntervalData.of(evidence)}

    def __sklearn_tags__(self) -> Tags:
        """Several targets are allowed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
