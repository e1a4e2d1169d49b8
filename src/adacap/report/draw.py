"""The figures of the report drawn with matplotlib, for papers and notebooks."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from adacap.estimators.calibration import Reliability
from adacap.exceptions import need
from adacap.explain import Effect, Explanation, Importance
from adacap.report import prediction_figures as of_rows
from adacap.report import training_figures as of_nets

__all__ = ["draw"]

_GREY = "0.6"


def draw(numbers: Any, ax: Any = None, **options: Any) -> Any:
    """Draw the numbers of a figure.

    Parameters
    ----------
    numbers : LearningDynamics, CapacityPaths, LabelFits, WeightClusters, Predictions, Residuals, \
IntervalCoverage, Importance, Effect, Explanation, Confusion, Roc or Reliability
        What a figure function of :mod:`adacap.report`, or ``classifier.reliability``, returns.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    **options
        ``target=k`` picks one of several targets, ``row=i`` the prediction that is explained.

    Returns
    -------
    Axes

    Raises
    ------
    MissingPackageError
        If matplotlib is not installed.
    TypeError
        If this is not a figure's numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from adacap.report import Confusion
    >>> ax = draw(Confusion(np.array(["a", "b"]), np.array([[5, 1], [0, 4]]), 0.9))
    >>> ax.get_xlabel()
    'predicted'
    """
    if ax is None:
        figure = need("matplotlib.figure", "Drawing", "adacap[report]")
        ax = figure.Figure(figsize=(6, 4), layout="constrained").add_subplot()
    _draw(numbers, ax, **options)
    return ax


@singledispatch
def _draw(numbers: Any, ax: Any, **options: Any) -> None:
    raise TypeError(
        f"draw takes what a figure function of adacap.report returns, got {type(numbers).__name__}."
    )


@_draw.register
def _(numbers: of_nets.LearningDynamics, ax: Any, **options: Any) -> None:
    for other in numbers.others:
        ax.plot(other, color=_GREY, lw=0.8)
    train = ax if numbers.train_name == numbers.valid_name else ax.twinx()
    train.plot(numbers.iteration, numbers.train, color="C0", label="training rows")
    train.set_ylabel(numbers.train_name)
    if numbers.valid is not None:
        ax.plot(numbers.valid, color="C1", label="held-out rows")
        ax.set_ylabel(numbers.valid_name)
    ax.axvline(numbers.best_iter, color=_GREY, ls=":")
    ax.set_xlabel("iteration")
    ax.legend()


@_draw.register
def _(numbers: of_nets.CapacityPaths, ax: Any, **options: Any) -> None:
    right = ax.twinx()
    for lam, at, dof in zip(numbers.lam, numbers.dof_iteration, numbers.dof, strict=True):
        ax.plot(lam, color="C0", lw=1)
        right.plot(at, dof, color="C1", lw=1, ls="--")
    ax.set_yscale("log")
    ax.set_xlabel("iteration")
    ax.set_ylabel("λ", color="C0")
    right.set_ylabel("effective degrees of freedom", color="C1")
    ax.axvline(numbers.best_iter[0], color=_GREY, ls=":")


@_draw.register
def _(numbers: of_nets.LabelFits, ax: Any, **options: Any) -> None:
    ax.hist(numbers.permuted, bins=30, label="permuted labels")
    ax.axvline(numbers.true, color="C1", label=f"true labels (p = {numbers.p_value:.2g})")
    ax.axvline(numbers.baseline, color=_GREY, ls=":", label="best constant")
    ax.set(xlabel=numbers.name, ylabel="permutations")
    ax.legend()


@_draw.register
def _(numbers: of_nets.WeightClusters, ax: Any, **options: Any) -> None:
    image = ax.imshow(numbers.correlation, vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="|correlation|")
    ax.set_xlabel(f"unit, in clustered order: {numbers.n_clusters} groups")
    ax.set(xticks=[], yticks=[])


@_draw.register
def _(numbers: of_rows.Predictions, ax: Any, *, target: int = 0, **options: Any) -> None:
    actual, predicted = numbers.actual[:, target], numbers.predicted[:, target]
    if numbers.lower is not None and numbers.upper is not None:
        lower, upper = numbers.lower[:, target], numbers.upper[:, target]
        known = np.isfinite(lower) & np.isfinite(upper)
        label = f"{100 * numbers.coverage:g} % interval"
        bounds = lower[known], upper[known]
        ax.vlines(predicted[known], *bounds, color=_GREY, lw=0.7, label=label)
    ax.plot(predicted, actual, ".", label="test rows")
    ends = [min(actual.min(), predicted.min()), max(actual.max(), predicted.max())]
    ax.plot(ends, ends, color=_GREY, ls=":")
    ax.set(xlabel="predicted", ylabel="actual")
    ax.legend()


@_draw.register
def _(numbers: of_rows.Residuals, ax: Any, *, target: int = 0, **options: Any) -> None:
    ax.plot(numbers.predicted[:, target], numbers.residual[:, target], ".")
    ax.axhline(0, color=_GREY, ls=":")
    ax.set(xlabel="predicted", ylabel="residual (actual − predicted)")


@_draw.register
def _(numbers: of_rows.IntervalCoverage, ax: Any, **options: Any) -> None:
    x = 100 * numbers.level
    ax.fill_between(x, x - 200 * numbers.error, x + 200 * numbers.error, color=_GREY, alpha=0.3)
    ax.plot(x, x, color=_GREY, ls=":")
    ax.plot(x, 100 * numbers.observed, "o-", label=numbers.method)
    ax.set(xlabel="coverage asked for, %", ylabel="test rows inside, %")
    ax.legend()


@_draw.register
def _(numbers: Importance, ax: Any, **options: Any) -> None:
    top = slice(None, 25)
    ax.barh(numbers.names[top], numbers.mean[top], xerr=numbers.error[top], ecolor=_GREY)
    ax.invert_yaxis()
    ax.set_xlabel(f"increase of the {numbers.loss} when shuffled")


@_draw.register
def _(numbers: Effect, ax: Any, **options: Any) -> None:
    known = ~numbers.is_missing
    mean, spread = (np.atleast_2d(part.T).T for part in (numbers.mean, numbers.deviation))
    if numbers.kind == "categorical":
        names = ["missing" if v is None else str(v) for v in numbers.values]
        for k in range(mean.shape[1]):
            ax.errorbar(names, mean[:, k], spread[:, k], fmt="o", capsize=3)
    else:
        x = numbers.values[known]
        x = x.astype("M8[s]") if numbers.kind == "datetime" else x.astype(np.float64)
        for k in range(mean.shape[1]):
            low, high = (mean[known, k] + sign * spread[known, k] for sign in (-1, 1))
            ax.fill_between(x, low, high, alpha=0.25)
            ax.plot(x, mean[known, k])
            for missing in mean[~known, k]:
                ax.axhline(missing, color=_GREY, ls=":", label="missing")
    ax.set(xlabel=numbers.name, ylabel="mean prediction")


@_draw.register
def _(numbers: Explanation, ax: Any, *, row: int = 0, **options: Any) -> None:
    top = numbers.top(row, 10)
    names = [f"{name} = {cell:.3g}" if isinstance(cell, float) else f"{name} = {cell}"
             for name, cell, _ in top]  # fmt: skip
    moves = [float(value) for *_, value in top]
    ax.barh(names, moves, color=["C0" if move >= 0 else "C1" for move in moves])
    ax.axvline(0, color=_GREY, lw=1)
    ax.invert_yaxis()
    ax.set_xlabel(f"adds to {float(numbers.base_values[row]):.4g}, the mean prediction")


@_draw.register
def _(numbers: of_rows.Confusion, ax: Any, **options: Any) -> None:
    shares = numbers.counts / np.maximum(numbers.counts.sum(1, keepdims=True), 1)
    ax.imshow(shares, vmin=0, vmax=1, cmap="Blues")
    names = [str(label) for label in numbers.classes]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    for (i, j), count in np.ndenumerate(numbers.counts):
        colour = "white" if shares[i, j] > 0.5 else "black"
        ax.text(j, i, str(count), ha="center", va="center", color=colour)
    ax.set(xlabel="predicted", ylabel="actual")


@_draw.register
def _(numbers: of_rows.Roc, ax: Any, **options: Any) -> None:
    curves = zip(
        numbers.classes, numbers.false_positive, numbers.true_positive, numbers.auc, strict=True
    )
    for label, false, true, area in curves:
        ax.plot(false, true, label=f"{label} (AUC {area:.3f})")
    ax.plot([0, 1], [0, 1], color=_GREY, ls=":")
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    ax.legend()


@_draw.register
def _(numbers: Reliability, ax: Any, **options: Any) -> None:
    ax.plot([0, 1], [0, 1], color=_GREY, ls=":")
    ax.plot(numbers.predicted, numbers.observed, "o-")
    ax.set(xlabel="predicted probability", ylabel="share that came true")
