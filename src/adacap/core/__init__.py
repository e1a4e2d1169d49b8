"""The mathematics of AdaCap: pure functions on tensors."""

from adacap.core.dither import dithered_mlr_loss
from adacap.core.lambda_init import initial_lambda, lambda_grid, mlr_path
from adacap.core.linalg import safe_cholesky
from adacap.core.losses import binary_cross_entropy, cross_entropy, rmse
from adacap.core.mlr import MLRLoss, mlr_loss
from adacap.core.permutation import draw_permutations, stack_labels
from adacap.core.tikhonov import (
    RidgeFit,
    effective_dof,
    ridge_coef,
    ridge_fit,
    smooth,
    smoother_matrix,
)

__all__ = [
    "MLRLoss",
    "RidgeFit",
    "binary_cross_entropy",
    "cross_entropy",
    "dithered_mlr_loss",
    "draw_permutations",
    "effective_dof",
    "initial_lambda",
    "lambda_grid",
    "mlr_loss",
    "mlr_path",
    "ridge_coef",
    "ridge_fit",
    "rmse",
    "safe_cholesky",
    "smooth",
    "smoother_matrix",
    "stack_labels",
]
