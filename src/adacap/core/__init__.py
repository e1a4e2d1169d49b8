"""The mathematics of AdaCap: pure functions on tensors."""

from adacap.core.dither import dithered_mlr_loss
from adacap.core.lambda_init import initial_lambda, lambda_grid, mlr_path
from adacap.core.linalg import safe_cholesky
from adacap.core.losses import binary_cross_entropy, cross_entropy
from adacap.core.mlr import MLRLoss, mlr_loss, rmse
from adacap.core.permutation import draw_permutations, stack_labels
from adacap.core.ridge import Ridge, RidgeFit
from adacap.core.ridge_path import RidgePath

__all__ = [
    "MLRLoss", "Ridge", "RidgeFit", "RidgePath", "binary_cross_entropy", "cross_entropy",
    "dithered_mlr_loss", "draw_permutations", "initial_lambda", "lambda_grid", "mlr_loss",
    "mlr_path", "rmse", "safe_cholesky", "stack_labels",
]  # fmt: skip
