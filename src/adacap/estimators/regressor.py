"""AdaCap for regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.estimators.held_out import Evidence
from adacap.estimators.intervals import IntervalData, IntervalMethod, errors_of, interval
from adacap.estimators.settings import REGRESSION
from adacap.estimators.targets import RegressionCodec

__all__ = ["AdaCapRegressor"]


class AdaCapRegressor(RegressorMixin, AdaCapBase):
    """Neural network for regression on small tables.

    A feed-forward net whose output layer is the closed-form ridge solution on its last hidden
    layer, trained to fit the labels but not their permutations. Takes frames with text and missing
    values as they are; several targets share one net.

    Parameters stand in four groups. For most users: ``architecture`` to
    ``calibration_fraction``. For tuning: ``max_iter`` to ``refit``. For research:
    ``n_permutations`` to ``fit_intercept``. For running: ``time_limit`` to ``verbose``. What
    ``"auto"`` stands for depends on the number of rows alone, so that estimators which differ in
    ``scheme`` or ``architecture`` are trained alike; ``settings_`` has what it became.

    Parameters
    ----------
    architecture : str, Architecture, list of these or callable, default="auto"
        ``"glu"``, ``"snn"``, ``"mlp"``, ``"resblock"``, or such a name with options:
        ``Architecture("mlp", dropout=0.2, batch_norm=True)``. Auto is glu for regression, and mlp
        with dropout 0.2 and batch norm for classification. The members of a bag take the items of
        a list in turn. A callable gets the number of encoded columns (or the shape of one sample)
        and returns an ``nn.Module`` that maps a batch to ``(n, J)``.
    scheme : {"auto", "adacap", "adacap-gap", "tikhonov", "plain"}, default="auto"
        ``"adacap"``: closed-form output layer and MLR loss; ``"adacap-gap"``: the same with the
        absolute gap of the paper's appendix in the loss; ``"tikhonov"``: the output layer alone;
        ``"plain"``: an ordinary net. Auto is adacap for regression, plain for classification.
    width : int, default=128
        Size of the hidden layers, of named architectures.
    depth : int, list of int or None, default=None
        Number of hidden layers or blocks; None is the usual one of the architecture. The members
        of a bag take the items of a list in turn.
    n_estimators : int or "auto", default="auto"
        Nets whose outputs are averaged. Auto is 5 for regression (fewer below 10 rows) and
        1 for classification.
    preprocessing : {"default", "paper", "none"} or dict, default="default"
        How columns become numbers: a policy of :class:`TableEncoder`, or its options, such as
        ``{"read_text": False}`` for text that stays text even where it spells numbers.
    validation : {"auto", "folds"} or float, default="auto"
        What each net holds out to choose its best iteration, at most 2048 rows: its own fold, or
        a share of the rows in [0, 1), drawn by its own seed. With 0 nothing is held out and the
        last iteration is kept. Auto is folds for several nets, 0.2 for one.
    calibration_fraction : float, default=0.0
        Share of the rows that training never sees, for intervals of method ``"split"``.
    max_iter : int, str or "auto", default="auto"
        Optimiser steps, or epochs in words: ``"20 epochs"``. Auto is 130 for regression, 200 for
        classification.
    max_lr : float or "auto", default="auto"
        Highest learning rate. Auto is 0.03 for regression, 0.01 for classification.
    batch_size : int or "auto", default="auto"
        Rows of a step. Auto is 512 for regression, 2048 for classification.
    optimizer : str, callable or pair, default="adamw"
        Any torch optimiser by name, or ``(param_groups, lr=...) -> Optimizer``, with the One-Cycle
        schedule. A pair ``(optimizer, scheduler)`` has another one: ``"onecycle"``, ``"cosine"``,
        ``"linear"``, ``"constant"``, ``(optimizer, n_steps) -> LRScheduler`` or None.
    weight_decay : float or "auto", default="auto"
        On the backbone, never on λ. Auto is ``min(3, 1500 / n)`` for regression, with n rows
        that a net is trained on, and 0 for classification.
    patience : int or None, default=None
        Stop after this many steps without a better validation score.
    refit : {"auto", "net", "head", "none"}, default="auto"
        What is done on all rows, held-out ones included, at the end. ``"net"``: train again up to
        the best iteration, then solve the output layer; ``"head"``: solve the output layer;
        ``"none"``: nothing. Auto is net where at least a tenth of the rows is held out, unless
        there is a net per fold or ``warm_start=True``; else head.
    n_permutations : int, default=16
        Permuted label sets of the MLR loss, drawn once.
    lambda_init : float, "max_sensitivity", sequence of float or "auto", default="auto"
        Start of λ: a number, or the paper's rule on the first minibatch, which chooses among 12
        values from 0.1 to 10⁴ or among those of a sequence. Auto is 3 for regression,
        the rule for classification.
    fit_intercept : bool, default=True
        Unpenalised intercept of the output layer.
    time_limit : float or None, default=None
        Seconds after which training stops; a model is returned all the same.
    warm_start : bool, default=False
        Another ``fit`` goes on training the nets of the last one, with the same encoding.
    device : str or None, default=None
        Torch device; None is a GPU if there is one.
    random_state : int, RandomState, Generator or None, default=None
        Fixes every random choice; with the same integer a fit gives the same model.
    callbacks : sequence of Callback or None, default=None
        See :mod:`adacap.training`.
    verbose : int or bool, default=0
        1 shows progress.

    Attributes
    ----------
    settings_ : Settings
        Every setting of the fit, with ``"auto"`` replaced by what it stood for. It prints.
    network_ : nn.Module
        Trained net with its output layer frozen; maps encoded rows to coded targets.
    members_ : tuple of FittedMember
        The single nets, with their own λ, history and best iteration.
    lambda_ : float or None
        λ at the best iteration, geometric mean over members; None for the plain scheme.
    effective_dof_ : float or None
        Effective degrees of freedom of the output layer, mean over members.
    history_ : History
        One record per step of the first member: losses, validation score, λ, learning rate, …
    n_iter_ : int
        Steps run.
    best_iter_ : int
        Step that was kept, of the first member.
    scheme_ : str
        The scheme, as in ``settings_``.
    backbone_ : BackboneSpec or tuple of BackboneSpec
        One for all members, or one for each where they differ.
    encoder_ : TableEncoder
        What happens to each column; ``encoder_.summary()`` lists it.
    capacity_ : Capacity
        What ``capacity()`` returns.
    provenance_ : Provenance
        Rows trained on, seconds, date and versions.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names.
    intervals_ : IntervalData
        Errors on rows that nets have not seen, behind :meth:`predict_interval`.

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
    _autos: ClassVar[Mapping[str, Any]] = REGRESSION
    intervals_: IntervalData

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
        self, X: Any, coverage: float = 0.9, method: IntervalMethod = "auto"
    ) -> npt.NDArray[np.float64]:
        """Intervals that hold the target of a new row with the given probability.

        Several targets have an interval each, which holds for that target alone. Rows count as in
        ``fit``: one of weight 2 is two rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            1 − α, between 0 and 1.
        method : {"auto", "cv+", "split", "loo"}, default="auto"
            ``"split"``: errors on rows that training never saw (``calibration_fraction`` or
            :meth:`calibrate`), with a guarantee of 1 − α. ``"cv+"``: errors of each row under the
            net of a fold bag that never saw it (``validation="folds"``); 1 − 2α is guaranteed, up
            to the choice of the best iteration, which is made on the fold, and to the encoding of
            the columns, which is learnt on all rows. ``"loo"``: leave-one-out errors of the output
            layer, given its features, times a factor that was measured; no guarantee. Auto is
            the first of split, cv+ and loo that the model can give.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper bound; infinite, with a warning, where there are too few rows.

        Examples
        --------
        >>> from adacap import make
        >>> from sklearn.datasets import make_friedman1
        >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
        >>> model = make("fast", random_state=0).fit(X[:200], y[:200])
        >>> lower, upper = model.predict_interval(X[200:], coverage=0.9).T
        >>> bool(0.85 <= ((lower <= y[200:]) & (y[200:] <= upper)).mean() <= 1)
        True
        """
        check_is_fitted(self)
        return interval(self, X, coverage, method)

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take errors on fresh rows, for intervals of method ``"split"``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows that neither ``fit`` nor the choice of this model saw; at least 9 for a coverage
            of 0.9, better a hundred.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the row twice.

        Returns
        -------
        self
            Predictions stay as they are.
        """
        check_is_fitted(self)
        errors = errors_of(*self._compare(X, y, sample_weight))
        self.intervals_ = replace(self.intervals_, split=errors)
        return self

    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        return {"intervals_": IntervalData.of(evidence)}

    def __sklearn_tags__(self) -> Tags:
        """Several targets are allowed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
