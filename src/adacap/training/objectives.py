"""What one training step minimises, for each of the three schemes."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from torch import Tensor

from adacap.core.losses import LOSSES
from adacap.core.mlr import MLRForm, mlr_loss
from adacap.training.members import Members

__all__ = ["MLRObjective", "Objective", "PlainObjective", "StepLoss"]


class StepLoss(NamedTuple):
    """Loss of one step and the output layer it implies; member index first."""

    value: Tensor  # (K,)
    fit_true: Tensor  # (K,)
    fit_permuted: Tensor | None  # (K,)
    coef: Tensor  # (K, J, c)
    intercept: Tensor  # (K, c)
    factor: Tensor | None = None  # (K, k, k), Cholesky factor that gave the layer, if kept


class Objective(Protocol):
    """Callable that turns hidden features and labels into a :class:`StepLoss`."""

    def __call__(
        self, members: Members, hidden: Tensor, labels: Tensor, weight: Tensor | None
    ) -> StepLoss:
        """Evaluate on ``hidden (K, b, J)``, ``labels (K, b, 1 + T, c)``, ``weight (K, b)``."""
        ...


@dataclass(frozen=True)
class MLRObjective:
    """AdaCap when the labels hold permuted sets, the Tikhonov scheme alone when they do not."""

    loss: str
    form: MLRForm = "difference"
    fit_intercept: bool = False

    def __call__(
        self, members: Members, hidden: Tensor, labels: Tensor, weight: Tensor | None
    ) -> StepLoss:
        """Solve the output layer in closed form and compare true with permuted fit."""
        result = mlr_loss(
            hidden,
            labels,
            members.head("log_lambda").exp(),
            loss=self.loss,
            form=self.form,
            sample_weight=weight,
            fit_intercept=self.fit_intercept,
        )
        permuted = result.fit_permuted if labels.shape[-2] > 1 else None
        return StepLoss(result.value, result.fit_true, permuted, *result.ridge)


@dataclass(frozen=True)
class PlainObjective:
    """The ordinary loss of an ordinary linear output layer."""

    loss: str

    def __call__(
        self, members: Members, hidden: Tensor, labels: Tensor, weight: Tensor | None
    ) -> StepLoss:
        """Apply the trained output layer."""
        coef, intercept = members.head("weight").mT, members.head("bias")
        prediction = hidden @ coef + intercept.unsqueeze(-2)
        fit = LOSSES[self.loss](prediction.unsqueeze(-2), labels[..., :1, :], weight)[..., 0]
        return StepLoss(fit, fit, None, coef.detach(), intercept.detach())
