"""The parameters of the MLR-NN estimators, described once."""

from typing import TypeVar

__all__ = ["documented"]

T = TypeVar("T", bound=type)

PARAMETERS = """Parameters
    ----------
    depth : int or list of int, default=2
        Hidden layers; the members of a bag take a list in turn.
    width : int, default=1024
        Size J of each hidden layer.
    scheme : {"adacap", "tikhonov", "plain"}, default="adacap"
        ``"adacap"``: closed-form output layer and permuted labels; ``"tikhonov"``: the output
        layer alone, as with ``n_permutations=0``; ``"plain"``: an ordinary net.
    n_permutations : int, default=16
        T, permuted label sets, drawn once.
    structured_dither : float, default=1.0
        σ of the noise ξ that enters as ``(I − H)ξ``; 0 for none.
    target_dither : float or "auto", default="auto"
        Standard deviation of the noise ε on the standardised target; auto is 0.03 for
        regression. Classes bear none.
    mlr_form : {"absolute_gap", "difference"}, default="absolute_gap"
    dither_form : {"halved", "fitted", "printed"}, default="halved"
        What stands against the labels under structured dithering: see
        :func:`adacap.core.dithered_mlr_loss`.
    lambda_init : float or "max_sensitivity", default="max_sensitivity"
        Start of λ, a number or the paper's rule on the first minibatch, without noise.
    lambda_grid : sequence of float, optional
        Candidates of that rule; by default the paper's 12 points from 0.1 to 10⁴.
    fit_intercept : bool, default=False
    initialization : {"glorot", "glorot-relu", "kaiming"}, default="glorot"
        Glorot-uniform weights and zero biases, the same with weights √2 times as large, or
        torch's own start.
    max_iter : int or "auto", default="auto"
        Optimiser steps; auto is 200 for one or two hidden layers, 400 for more.
    max_lr : float or "auto", default="auto"
        Learning rate; auto is 1e-2, 1e-3, 10^-3.5 and 1e-4 for one to four hidden layers.
    optimizer : str or callable, default="adam"
    scheduler : str, callable or None, default="constant"
    weight_decay : float, default=0.0
    batch_size : int or "auto", default="auto"
        Auto is the smaller of the number of rows and the width.
    validation_fraction : float, default=0.2
        Share of the rows, at most 2048, held out to choose the best iteration.
    select_by : {"r2", "loss", "auc"}, default="r2"
        What makes an iteration the best on the held-out rows; for classes R² is that of the codes.
    refit_head : bool, default=True
        Solve the output layer once more on all rows, held-out ones included.
    refit_net : bool, default=False
        Train anew on all rows up to the best iteration.
    n_estimators : int, default=1
        Nets whose outputs are averaged.
    top : int, optional
        Keep only this many nets, those of the best validation scores.
    preprocessing : {"default", "paper", "none"}, default="default"
        How columns become numbers; see :class:`TableEncoder`.
    read_text : bool or str, default=True
        Whether text that spells numbers (``"1,234.50"``, ``"86 m²"``) or dates is read as such; a
        text such as ``"%d/%m/%Y"`` also says how dates are written.
    n_jobs : int, optional
    time_limit : float, optional
        Seconds after which training stops; a model is returned all the same.
    device : str, optional
    random_state : int, RandomState, Generator or None, default=None
    callbacks : sequence of Callback, optional
    verbose : int, default=0

    Attributes
    ----------
    network_ : nn.Module
        Trained net with its output layer frozen; maps encoded rows to coded targets.
    members_ : tuple of FittedMember
        The single nets that were kept, with their own λ, history and best iteration.
    lambda_ : float or None
        λ at the best iteration, geometric mean over members; None for the plain scheme.
    effective_dof_ : float or None
        Effective degrees of freedom of the output layer, mean over members.
    history_ : History
        One record per step of the first member.
    n_iter_, best_iter_ : int
        Steps run, and the step that was kept of the first member.
    backbone_ : BackboneSpec or tuple of BackboneSpec
        One for all members, or one for each where they differ.
    encoder_ : TableEncoder
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names."""


def documented(cls: T) -> T:
    """Put the shared description in place of ``{parameters}`` in a class docstring."""
    if cls.__doc__ is not None:  # python -OO strips docstrings
        cls.__doc__ = cls.__doc__.replace("{parameters}", PARAMETERS)
    return cls
