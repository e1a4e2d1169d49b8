"""What one training step minimises, for each of the three schemes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from adacap.core.losses import LOSSES
from adacap.core.mlr import MLRForm, mlr_loss, mlr_loss_pullback
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
    pull: Callable[[], tuple[Tensor, Tensor]] | None = None  # gradients at features and λ

    def backward(self, members: Members, hidden: Tensor) -> Tensor:
        """Gradient of the summed losses at the features; that of the head is left in it."""
        if self.pull is None:
            self.value.sum().backward()
            assert hidden.grad is not None
            return hidden.grad
        at_hidden, at_lam = self.pull()
        members.set_lambda_gradient(at_lam)
        return at_hidden


class Objective(Protocol):
    """Callable that turns hidden features and labels into a :class:`StepLoss`.

    One whose losses give their gradient without autograd says so by ``has_pullback = True``.
    """

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

    @property
    def has_pullback(self) -> bool:
        """True for the squared error in the usual form of the loss."""
        return self.loss == "rmse" and self.form == "difference"

    def __call__(
        self, members: Members, hidden: Tensor, labels: Tensor, weight: Tensor | None
    ) -> StepLoss:
        """Solve the output layer in closed form and compare true with permuted fit."""
        log_lambda, pull = members.head("log_lambda"), None
        options: Any = {"sample_weight": weight, "fit_intercept": self.fit_intercept}
        if self.has_pullback:
            result, pull = mlr_loss_pullback(hidden, labels, log_lambda.detach().exp(), **options)
        else:
            lam = log_lambda.exp()
            result = mlr_loss(hidden, labels, lam, loss=self.loss, form=self.form, **options)
        permuted = result.fit_permuted if labels.shape[-2] > 1 else None
        return StepLoss(result.value, result.fit_true, permuted, *result.ridge, pull)


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
