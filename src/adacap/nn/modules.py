"""Torch modules of K nets at once: a backbone made from its layers, and the two output layers.

A single net is ``k=None``: rows ``(n, d)`` in, features ``(n, J)`` out, as with any torch module.
With ``k`` nets every tensor carries the net first: weights ``(k, d_in, d_out)``, rows ``(k, n, d)``
(or ``(n, d)``, seen by all nets), features ``(k, n, J)``, λ ``(k,)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from adacap.core.mlr import LOSSES, MLRForm, MLRLoss, mlr_loss
from adacap.core.ridge import Ridge, RidgeFit
from adacap.layers import Dense, Layer, Residual, run

__all__ = ["Backbone", "LinearHead", "Nets", "TikhonovHead", "linear_from"]

Generators = Sequence[torch.Generator] | torch.Generator | None
Start = Callable[[int, int], float]  # from d_in and d_out to the bound of the weights


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
        if len(weight) == 1:
            return torch.addmm(bias[0], x[0], weight[0]).unsqueeze(0)
        return torch.baddbmm(bias.unsqueeze(1), x, weight)

    def batch_norm(self, x: Tensor, tensors: Any) -> Tensor:
        """Scaled by the statistics of the layer."""
        names = ("running_mean", "running_var", "weight", "bias")
        flat = [tensors[name].flatten() for name in names]
        rows = x if x.ndim == 2 else x.transpose(0, 1).flatten(1)  # nets side by side
        out = F.batch_norm(rows, *flat, training=self.training)
        return out if x.ndim == 2 else out.unflatten(1, (len(x), -1)).transpose(0, 1)

    def activation(self, name: str, x: Tensor) -> Tensor:
        """A function of single numbers."""
        return x if name == "identity" else _ACTIVATIONS[name](x)

    def halves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """First and second half of the columns."""
        a, b = x.chunk(2, dim=-1)
        return a, b

    def glu(self, x: Tensor) -> Tensor:
        """First half times the sigmoid of the second."""
        return F.glu(x)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """Product, number by number."""
        return x * y

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Sum, number by number."""
        return x + y

    def dropout(self, x: Tensor, rate: float) -> Tensor:
        """Some numbers set to 0 while training."""
        if not self.training or rate == 0:
            return x
        keep = torch.empty_like(x)
        _fill(keep, self.generators, lambda t, g: t.bernoulli_(1 - rate, generator=g))
        return x * keep / (1 - rate)


_ACTIVATIONS: dict[str, Any] = {
    "relu": torch.relu, "selu": torch.selu, "gelu": F.gelu, "silu": F.silu, "tanh": torch.tanh,
    "mish": F.mish, "sigmoid": torch.sigmoid,
}  # fmt: skip


def _fill(tensor: Tensor, generators: Generators, draw: Any) -> None:
    """Draw numbers in place; those of each net from its own generator, if there are several."""
    if isinstance(generators, Sequence):
        for part, generator in zip(tensor, generators, strict=True):
            draw(part, generator)
    else:
        draw(tensor, generators)


class _Tensors(nn.Module):
    """Tensors of a layer by name."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Backbone(_Tensors):
    """Layers as a torch module: rows in, features out, without a head.

    Weights start as those of ``nn.Linear``: uniform in ``±1/√d_in``, the paper's Kaiming-uniform.

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
        _add_tensors(self, layers, () if k is None else (k,))
        self.reset_parameters(generators)

    def reset_parameters(
        self, generators: Generators = None, start: Start = lambda d_in, d_out: d_in**-0.5
    ) -> None:
        """Draw the weights again, uniformly up to ``start(d_in, d_out)``, biases up to d_in^-½."""
        for layer, held in _pairs(self, self.layers):
            if isinstance(layer, Dense):
                _fill(held["weight"].data, generators, _uniform(start(layer.d_in, layer.d_out)))
                _fill(held["bias"].data, generators, _uniform(layer.d_in**-0.5))

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
        own = dict(self.named_parameters()) | dict(self.named_buffers())
        for name, tensor in own.items():
            place, _, last = name.rpartition(".")
            part = tensor.detach()[i] if self.k is not None else tensor.detach()
            is_parameter = isinstance(tensor, nn.Parameter)
            setattr(alone.get_submodule(place), last, nn.Parameter(part) if is_parameter else part)
        return alone.train(self.training)

    def extra_repr(self) -> str:
        """Show the number of nets and their layers."""
        return ", ".join([f"k={self.k}", *map(repr, self.layers)])


def _add_tensors(module: _Tensors, layers: tuple[Layer, ...], k: tuple[int, ...]) -> None:
    for i, layer in enumerate(layers):
        held = _Tensors()
        if isinstance(layer, Residual):
            _add_tensors(held, layer.block, k)
        else:
            for name, shape in layer.tensors.items():
                if name.startswith("running_"):
                    held.register_buffer(name, torch.full(k + shape, float(name == "running_var")))
                else:  # the scale of a batch norm starts at 1
                    full = torch.full(k + shape, float(len(shape) == 1 and name == "weight"))
                    held.register_parameter(name, nn.Parameter(full))
        module.add_module(str(i), held)


def _pairs(module: Any, layers: tuple[Layer, ...]) -> list[tuple[Layer, Any]]:
    """Layers that hold tensors, in order, with what holds them."""
    found: list[tuple[Layer, Any]] = []
    for i, layer in enumerate(layers):
        held = module[str(i)]
        found += _pairs(held, layer.block) if isinstance(layer, Residual) else [(layer, held)]
    return found


def _uniform(bound: float) -> Any:
    return lambda tensor, generator: tensor.uniform_(-bound, bound, generator=generator)


class TikhonovHead(nn.Module):
    """Output layer that is solved, not stepped: ridge regression with a trained λ.

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
        if not lam > 0:
            raise ValueError(f"lam must be positive, got {lam}.")
        super().__init__()
        self.log_lambda = nn.Parameter(torch.full(() if k is None else (k,), math.log(lam)))
        self.fit_intercept = fit_intercept

    @property
    def lam(self) -> Tensor:
        """Current λ, differentiable."""
        return self.log_lambda.exp()

    @torch.no_grad()
    def set_lambda(self, lam: float | Tensor) -> Self:
        """Set λ in place, for example to :func:`adacap.core.initial_lambda`."""
        self.log_lambda.copy_(torch.as_tensor(lam, dtype=torch.float64).log())
        return self

    def solve(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> RidgeFit:
        """Weights, intercept and fitted values for these rows."""
        ridge = Ridge(hidden, sample_weight=sample_weight, fit_intercept=self.fit_intercept)
        return ridge.solve(targets, self.lam)

    def forward(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Fitted values ``H·Y``."""
        return self.solve(hidden, targets, sample_weight).fitted

    def mlr_loss(
        self,
        hidden: Tensor,
        labels: Tensor,
        *,
        loss: str = "rmse",
        form: MLRForm = "difference",
        sample_weight: Tensor | None = None,
    ) -> MLRLoss:
        """MLR loss on stacked labels; see :func:`adacap.core.mlr_loss`."""
        return mlr_loss(
            hidden, labels, self.lam,
            loss=loss, form=form, sample_weight=sample_weight, fit_intercept=self.fit_intercept,
        )  # fmt: skip

    @torch.no_grad()
    def freeze(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> nn.Linear:
        """Solve once and return the solution as an ordinary linear layer, for a single net."""
        fit = self.solve(hidden, targets, sample_weight)
        return linear_from(fit.coef, fit.intercept)

    def extra_repr(self) -> str:
        """Show λ in ``repr``."""
        return f"lam={self.lam.detach().tolist()!r}, fit_intercept={self.fit_intercept}"


class LinearHead(nn.Module):
    """Ordinary output layer, trained by gradient: the head of the plain scheme.

    Parameters
    ----------
    d_hidden, n_targets : int
    k : int, optional
        Number of nets.
    generators : sequence of k Generator, or one Generator, optional
        Where the weights come from; torch's default generator if not given.

    Examples
    --------
    >>> LinearHead(4, 2)(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        d_hidden: int,
        n_targets: int,
        *,
        k: int | None = None,
        generators: Generators = None,
    ) -> None:
        super().__init__()
        lead = () if k is None else (k,)
        self.weight = nn.Parameter(torch.empty(*lead, d_hidden, n_targets))
        self.bias = nn.Parameter(torch.empty(*lead, n_targets))
        for tensor in (self.weight, self.bias):
            _fill(tensor.data, generators, _uniform(1 / math.sqrt(d_hidden)))

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> Self:
        """Output layer with weights ``(..., J, c)`` and offsets ``(..., c)``; nothing is drawn."""
        with torch.device("meta"):
            head = cls(*weight.shape[-2:])
        # A copy in rows, whatever solved it: products of one layout round alike.
        in_rows = {"memory_format": torch.contiguous_format}
        head.weight = nn.Parameter(weight.detach().clone(**in_rows))
        head.bias = nn.Parameter(bias.detach().clone(**in_rows))
        return head

    def forward(self, hidden: Tensor) -> Tensor:
        """Outputs for hidden features."""
        return TorchOperations(self.training).affine(hidden, self.weight, self.bias)

    def mlr_loss(
        self,
        hidden: Tensor,
        labels: Tensor,
        *,
        loss: str = "rmse",
        form: MLRForm = "difference",
        sample_weight: Tensor | None = None,
    ) -> MLRLoss:
        """Loss of the true labels: there is nothing to solve, so nothing to permute."""
        out = self(hidden)
        true = labels[..., :1, :]
        fit = LOSSES[loss](out.unsqueeze(-2), true, sample_weight)[..., 0]
        layer = RidgeFit(self.weight.detach(), self.bias.detach(), out.detach())
        return MLRLoss(fit, fit, None, layer)


def linear_from(coef: Tensor, intercept: Tensor) -> nn.Linear:
    """Linear layer with weights ``coef (J, c)`` and bias ``intercept (c,)``.

    Examples
    --------
    >>> linear_from(torch.ones(2, 1), torch.tensor([0.5]))(torch.tensor([[1.0, 2.0]])).tolist()
    [[3.5]]
    """
    layer = nn.utils.skip_init(nn.Linear, *coef.shape, device=coef.device, dtype=coef.dtype)
    with torch.no_grad():
        layer.weight.copy_(coef.T)
        layer.bias.copy_(intercept)
    return layer


class Nets(nn.Module):
    """K backbones and their heads, as they are while training."""

    def __init__(self, backbone: Any, head: TikhonovHead | LinearHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    @property
    def k(self) -> int:
        """Number of nets."""
        k: int = self.backbone.k
        return k

    def state(self) -> dict[str, Tensor]:
        """Parameters and buffers without gradient, nets first."""
        own = {f"backbone.{name}": tensor for name, tensor in self.backbone.state().items()}
        return own | {
            f"head.{name}": tensor.detach() for name, tensor in self.head.named_parameters()
        }
