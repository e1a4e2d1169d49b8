"""Torch modules of K nets at once: a backbone made from its layers, and the Tikhonov head.

A single net is ``k=None``: rows ``(n, d)`` in, features ``(n, J)`` out, as with any torch module.
With ``k`` nets every tensor carries the net first: weights ``(k, d_in, d_out)``, rows ``(k, n, d)``
(or ``(n, d)``, seen by all nets), features ``(k, n, J)``, λ ``(k,)``.
"""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from adacap.core.mlr import MLRLoss, mlr_loss
from adacap.core.ridge import Ridge, RidgeFit
from adacap.layers import Layer, run
from adacap.nn.weights import Generators, StartBound, add_tensors, draw_start, fill, share_tensors

__all__ = ["Backbone", "Nets", "TikhonovHead", "TorchOperations"]


class TorchOperations:
    """The operations of a layer in torch."""

    def __init__(self, training: bool, generators: Generators = None) -> None:
        self.training = training
        self.generators = generators

    def affine(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """``x @ weight + bias``, net by net."""
        if weight.ndim == 2:
            return torch.addmm(bias, x, weight)
        if x.ndim == 2:
            x = x.expand(len(weight), *x.shape)
        if len(weight) == 1:  # squeezed: the gradient of an index would be a copy among zeros
            return torch.addmm(bias.squeeze(0), x.squeeze(0), weight.squeeze(0)).unsqueeze(0)
        return torch.baddbmm(bias.unsqueeze(1), x, weight)

    def scaled(self, x: Tensor, scale: Tensor) -> Tensor:
        """Each column times its own number."""
        return x * scale.unsqueeze(-2)

    def batch_norm(self, x: Tensor, tensors: Any) -> Tensor:
        """Scaled by the statistics of the layer."""
        names = ("running_mean", "running_var", "weight", "bias")
        flat: dict[str, Any] = {name: tensors[name].flatten() for name in names}
        rows = x if x.ndim == 2 else x.transpose(0, 1).flatten(1)  # nets side by side
        out = F.batch_norm(rows, training=self.training, **flat)
        return out if x.ndim == 2 else out.unflatten(1, (len(x), -1)).transpose(0, 1)

    def activation(self, name: str, x: Tensor) -> Tensor:
        """An elementwise function."""
        return x if name == "identity" else _ACTIVATIONS[name](x)

    def halves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """First and second half of the columns."""
        return x.chunk(2, dim=-1)  # type: ignore[return-value]

    def glu(self, x: Tensor) -> Tensor:
        """First half times the sigmoid of the second."""
        return F.glu(x)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """Elementwise product."""
        return x * y

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Elementwise sum."""
        return x + y

    def dropout(self, x: Tensor, rate: float) -> Tensor:
        """Dropout while training."""
        if not self.training or rate == 0:
            return x
        keep = torch.empty_like(x)
        fill(keep, self.generators, lambda t, g: t.bernoulli_(1 - rate, generator=g))
        return x * keep / (1 - rate)


_ACTIVATIONS: dict[str, Any] = {
    "relu": torch.relu, "selu": torch.selu, "gelu": F.gelu, "silu": F.silu, "tanh": torch.tanh,
    "mish": F.mish, "sigmoid": torch.sigmoid, "cos": torch.cos,
}  # fmt: skip


class TensorHolder(nn.Module):
    """Tensors of a layer by name."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Backbone(TensorHolder):
    """Layers as a torch module: rows in, features out, without a head.

    Weights start as those of ``nn.Linear``: uniform in ``±1/√d_in``, a variance of ``1/(3 d_in)``.
    Torch calls this Kaiming-uniform with ``a = √5``; He's own is :func:`adacap.nn.he_uniform`.

    Parameters
    ----------
    layers : tuple of Layer
        For example ``Architecture("glu").layers(10, width=64)``.
    k : int, optional
        Number of nets; None for a single one without a leading dimension.
    generators : sequence of k Generator, or one Generator, optional
        Where the weights come from; torch's default generator if not given.

    Examples
    --------
    >>> from adacap.architectures import mlp
    >>> Backbone(mlp(3, width=8))(torch.zeros(5, 3)).shape
    torch.Size([5, 8])
    >>> Backbone(mlp(3, width=8), k=4)(torch.zeros(5, 3)).shape
    torch.Size([4, 5, 8])
    """

    def __init__(
        self, layers: tuple[Layer, ...], *, k: int | None = None, generators: Generators = None
    ) -> None:
        super().__init__()
        self.layers = layers
        self.k = k
        self.generators: Generators = None  # of dropout, while training
        add_tensors(self, layers, () if k is None else (k,), TensorHolder)
        self.reset_parameters(generators)

    def reset_parameters(
        self, generators: Generators = None, start: StartBound = lambda d_in, d_out: d_in**-0.5
    ) -> None:
        """Draw the weights again, uniformly up to ``start(d_in, d_out)``, biases up to d_in^-½."""
        draw_start(self, self.layers, generators, start)

    def train(self, mode: bool = True) -> Self:
        """Switch between training and evaluation; what holds the tensors has no modes."""
        self.training = mode
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Features of rows; rows ``(n, d_in)`` are seen by all nets."""
        if self.k is not None and x.ndim == 2:
            x = x.expand(self.k, *x.shape)
        return run(self.layers, x, self, TorchOperations(self.training, self.generators))

    def state(self) -> dict[str, Tensor]:
        """Parameters and buffers without gradient."""
        return {name: t.detach() for name, t in (*self.named_parameters(), *self.named_buffers())}

    def member(self, i: int) -> Backbone:
        """Net ``i`` alone, with ``k=None``; it shares the memory of its tensors."""
        with torch.device("meta"):
            alone = Backbone(self.layers)
        share_tensors(self, alone, None if self.k is None else i)
        return alone.train(self.training)


class TikhonovHead(nn.Module):
    """Output layer that is solved, not trained by gradient: ridge regression with a trained λ.

    The only parameter is ``log_lambda``. While training, calling the head with the hidden layer
    and the targets gives the fitted values ``H·Y``; :meth:`mlr_loss` gives the loss; afterwards
    :meth:`freeze` gives an ordinary ``nn.Linear``.

    Parameters
    ----------
    lam : float, default=1.0
        Start of λ.
    fit_intercept : bool, default=False
        Unpenalised intercept; the paper has none.
    k : int, optional
        Number of nets, each with its own λ.

    Examples
    --------
    >>> head = TikhonovHead(lam=1.0)
    >>> hidden, y = torch.eye(2), torch.tensor([[2.0], [4.0]])
    >>> head(hidden, y).flatten().tolist()
    [1.0, 2.0]
    >>> head.freeze(hidden, y)(hidden).flatten().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self, lam: float = 1.0, *, fit_intercept: bool = False, k: int | None = None
    ) -> None:
        super().__init__()
        self.log_lambda = nn.Parameter(torch.zeros(() if k is None else (k,)))
        self.set_lambda(lam)
        self.fit_intercept = fit_intercept

    @property
    def lam(self) -> Tensor:
        """Current λ, differentiable."""
        return self.log_lambda.exp()

    @torch.no_grad()
    def set_lambda(self, lam: float | Tensor) -> Self:
        """Set λ in place, for example to :func:`adacap.core.initial_lambda`."""
        wide = torch.as_tensor(lam, dtype=torch.float64)
        if not (wide > 0).all():
            raise ValueError(f"lam must be positive, got {lam}.")
        self.log_lambda.copy_(wide.log())
        return self

    def solve(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> RidgeFit:
        """Weights, intercept and fitted values for these rows."""
        options: Any = {"sample_weight": sample_weight, "fit_intercept": self.fit_intercept}
        return Ridge(hidden, self.lam, **options).solve(targets)

    def forward(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Fitted values ``H·Y``."""
        return self.solve(hidden, targets, sample_weight).fitted

    def mlr_loss(self, hidden: Tensor, labels: Tensor, **options: Any) -> MLRLoss:
        """MLR loss on stacked labels.

        Options are ``loss``, ``form`` and ``sample_weight`` of :func:`adacap.core.mlr_loss`.
        """
        return mlr_loss(hidden, labels, self.lam, fit_intercept=self.fit_intercept, **options)

    @torch.no_grad()
    def freeze(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> nn.Linear:
        """Solve once and return the solution as an ordinary linear layer, for a single net."""
        from adacap.nn.linear import linear_from

        fit = self.solve(hidden, targets, sample_weight)
        return linear_from(fit.coef, fit.intercept)

    def extra_repr(self) -> str:
        """Show λ in ``repr``."""
        return f"lam={self.lam.detach().tolist()!r}, fit_intercept={self.fit_intercept}"


class Nets(nn.Module):
    """K backbones and their heads, as they are while training."""

    def __init__(self, backbone: Any, head: Any) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head  # of k nets
        self.k: int = backbone.k

    def state(self) -> dict[str, Tensor]:
        """Parameters and buffers without gradient, nets first."""
        own = {f"backbone.{name}": tensor for name, tensor in self.backbone.state().items()}
        return own | {
            f"head.{name}": tensor.detach() for name, tensor in self.head.named_parameters()
        }
