"""How much better an estimator fits the labels than permuted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_consistent_length

from adacap._typing import Floats
from adacap.model_selection.label_fits import Trials, fit_label_sets
from adacap.model_selection.labels import as_generator, draw_orders
from adacap.model_selection.losses import Loss, resolve_loss
from adacap.model_selection.signal import announce, is_doubtful, selection_p_value

__all__ = ["MLRScore", "check_labels", "mlr_score", "summarise"]

# An estimator that leaves less than this share of permuted labels unexplained memorises anything.
MEMORISED = 0.95


@dataclass(frozen=True)
class MLRScore:
    """The MLR score of an estimator and what it is made of.

    Attributes
    ----------
    value : float
        ``fit_true − fit_permuted``, the MLR criterion: the lower, the better.
    fit_true, fit_permuted : float
        In-sample loss on the true labels, and on permuted ones (mean).
    permuted : ndarray of shape (n_permutations,)
        In-sample loss on each permuted label set.
    constant : float
        Loss of the best constant prediction.
    p_value : float
        Share of label sets, the true one included, that are fitted at least as well.
    snr : float
        Signal-to-noise ratio that the two fits imply; NaN where the loss has no such reading.
    loss : str
    notes : tuple of str
        Reasons against selecting by the score.
    """

    value: float
    fit_true: float
    fit_permuted: float
    permuted: Floats
    constant: float
    p_value: float
    snr: float
    loss: str
    notes: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether there are no reasons against selecting by the score."""
        return not self.notes

    @property
    def memorised(self) -> float:
        """Share of the loss of a constant that fitting removes from meaningless labels."""
        return 1 - self.fit_permuted / self.constant if self.constant > 0 else 0.0

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        rows = [
            ("fit of the true labels", f"{self.fit_true:.4g}"),
            ("fit of permuted labels", f"{self.fit_permuted:.4g} ± {self.permuted.std():.2g}"),
            ("a constant", f"{self.constant:.4g}"),
            ("memorised", f"{self.memorised:.0%} of meaningless labels"),
            ("p-value", f"{self.p_value:.2g}"),
        ]
        if np.isfinite(self.snr):
            rows.append(("signal-to-noise ratio", f"{self.snr:.2g}"))
        head = f"MLR score {self.value:.4g} ({self.loss}, {len(self.permuted)} permutations)"
        lines = [f"  {name:<24}{value}" for name, value in rows]
        return "\n".join([head, *lines, *(f"  ! {note}" for note in self.notes)])


def mlr_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 16,
    loss: str | Callable[..., float] = "auto",
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> MLRScore:
    """MLR score of any regressor or classifier: in-sample fit of true minus permuted labels.

    Parameters
    ----------
    estimator : estimator with ``fit`` and ``predict``
        Cloned ``1 + n_permutations`` times, never fitted itself.
    X : array-like of shape (n_samples, n_features)
        As the estimator takes it.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    n_permutations : int, default=16
    loss : {"auto", "squared", "rmse", "absolute", "log_loss"} or callable, default="auto"
        "auto" is "squared" for regressors and "log_loss" for classifiers. A function is called as
        ``loss(y_true, y_pred)``, with ``sample_weight=`` if there is one; lower is better.
    random_state : int, RandomState, Generator or None, default=None
        Source of the permutations. An estimator with randomness of its own needs its own seed.
    n_jobs : int, optional
        Processes, as in joblib.
    params : mapping, optional
        Passed to ``fit``. They stay with their rows of X while labels move, and a
        ``sample_weight`` among them also weights the loss.

    Warns
    -----
    SignalWarning
        If permuted labels are fitted as well as the true ones, if the estimator memorises any
        labels, or if a regressor's fits imply a signal above the noise while it memorises.

    Notes
    -----
    The theorem behind the score is about ridge. For other regressors it is a sound idea, for
    classifiers a gauge of memorisation: see the guide before selecting by it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> score = mlr_score(Ridge(alpha=0.1), X, y / y.std(), random_state=0)
    >>> round(score.fit_true, 2), round(score.fit_permuted, 2)
    (0.49, 0.98)
    """
    found = resolve_loss(loss, estimator)
    labels = check_labels(X, y, is_classifier(estimator))
    permutations = draw_orders(len(labels), n_permutations, as_generator(random_state))
    params = dict(params or {})
    trials = Trials(estimator, [{}], X, labels, permutations, found, params)
    fits = fit_label_sets(trials, n_jobs=n_jobs)
    score = summarise(fits.losses[0], found, labels, params.get("sample_weight"))
    announce(score.notes, stacklevel=2)
    return score


def check_labels(X: Any, y: Any, classes: bool) -> Any:
    """Labels as an array that can be permuted, of as many rows as X."""
    if y is None:
        raise ValueError("The MLR score requires y to be passed, but the target y is None.")
    labels = check_array(y, ensure_2d=False, dtype=None if classes else "numeric", input_name="y")
    check_consistent_length(X, labels)
    if classes and labels.ndim > 1 and labels.shape[1] > 1:
        raise ValueError(f"Classifiers are scored on one target, got y of shape {labels.shape}.")
    return labels


def summarise(
    losses: Floats, loss: Loss, y: Any, weight: Any = None, p_value: float | None = None
) -> MLRScore:
    """Turn the losses of all label sets, true ones first, into a score with its doubts."""
    true, permuted = float(losses[0]), losses[1:]
    mean = float(permuted.mean())
    constant = loss.of_constant(y, weight)
    p_value = selection_p_value(losses[None]) if p_value is None else p_value
    snr = float("nan")
    if loss.power is not None and true > 0:
        snr = max((mean / true) ** loss.power - 1, 0.0)
    memorised = 1 - mean / constant if constant > 0 else 0.0
    notes = _notes(p_value, len(permuted), snr, memorised)
    return MLRScore(
        true - mean, true, mean, permuted, constant, p_value, snr, loss.name, tuple(notes)
    )


def _notes(p_value: float, n_permutations: int, snr: float, memorised: float) -> list[str]:
    if memorised > MEMORISED:
        return [
            f"The estimator fits permuted labels almost perfectly ({memorised:.0%} memorised): its "
            "in-sample fit says nothing about new rows. Regularise it, or use cross-validation."
        ]
    if is_doubtful(p_value, n_permutations):
        return [
            f"Permuted labels are fitted about as well as the true ones (p = {p_value:.2g}): there "
            "may be no signal to select by. Compare with a constant prediction on new rows."
        ]
    if snr >= 1 and memorised > 1 - MEMORISED:
        return [
            f"The signal-to-noise ratio is about {snr:.2g}, and the MLR criterion is valid well "
            f"below 1: it counts memorisation ({memorised:.0%}) too heavily and prefers models "
            "that are too simple. Use cross-validation to decide between close candidates."
        ]
    return []
