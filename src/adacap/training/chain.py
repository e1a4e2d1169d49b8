"""Dense nets with their chain rule written out, for one net or K nets of one shape at once.

Autograd and ``torch.func.vmap`` can do any module, at the price of their bookkeeping and of fresh
memory for every gradient in every step. Dense layers and activations need neither: a dense layer
is one product forward and two backward, of K nets one batched product each, and gradients are
written where the last ones stood. Rows that are only looked at, those of the validation set, go
forward along with the others and are left out on the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from adacap.nn.backbones import Gate, Residual

__all__ = ["Chain", "Weights", "chain_of"]

_aten = torch.ops.aten


class Weights(NamedTuple):
    """A tensor to train and the one that takes its gradient, of one shape.

    Matrices stand as ``(..., d_in, d_out)``, transposed from what ``nn.Linear`` holds.
    """

    value: Tensor
    grad: Tensor


class _Link(Protocol):
    """A layer: what it makes of its input, and of the gradient at its output."""

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, Any]:
        """Output, and what the way back needs; to train, outputs may stand in kept memory."""
        ...

    def backward(self, grad: Tensor, kept: Any, wanted: bool) -> Tensor | None:
        """Write the gradients of the weights; give that of the input if it is wanted.

        May work in place on the gradient it is given.
        """
        ...


class Chain:
    """A net of known layers.

    Examples
    --------
    >>> weight = Weights(torch.full((2, 1), 3.0), torch.empty(2, 1))
    >>> bias = Weights(torch.zeros(1), torch.empty(1))
    >>> chain = chain_of(nn.Linear(2, 1), {"weight": weight, "bias": bias})
    >>> chain.forward(torch.tensor([[1.0, 2.0], [5.0, 5.0]]), train=True)
    tensor([[ 9.],
            [30.]])
    >>> chain.backward(torch.tensor([[1.0]]))  # of the first row alone
    >>> weight.grad.flatten(), bias.grad
    (tensor([1., 2.]), tensor([1.]))
    """

    def __init__(self, link: _Link) -> None:
        self._link = link
        self._kept: Any = None

    def forward(self, x: Tensor, *, train: bool) -> Tensor:
        """Features ``(..., n, J)`` of ``(..., n, d)``; to train, :meth:`backward` follows."""
        hidden, kept = self._link.forward(x, train)
        if train:
            self._kept = kept
        return hidden

    def backward(self, grad: Tensor) -> None:
        """Write the gradients of all weights, given that of the features of the first rows.

        The gradient that is given may be overwritten.
        """
        kept, self._kept = self._kept, None
        self._link.backward(grad, kept, False)


def chain_of(layer: nn.Module, weights: Mapping[str, Weights]) -> Chain | None:
    """The chain rule of a net; None where a layer of it is not known.

    Parameters
    ----------
    layer : nn.Module
    weights : mapping of str to Weights
        By the names of the parameters. A layer that shares those of another one has none of its
        own, and is not known.

    Returns
    -------
    Chain or None

    Examples
    --------
    >>> chain_of(nn.Bilinear(3, 3, 2), {}) is None
    True
    """
    links = _links_of(layer, weights, "", None)
    if links is None:
        return None
    for link in reversed(links):
        if isinstance(link, _Dense):  # what it gives, or what is made of it in place, is given away
            link.keeps_memory = False
            break
    return Chain(_Sequence(links))


def _links_of(
    layer: nn.Module | None, weights: Mapping[str, Weights], prefix: str, before: _Link | None
) -> list[_Link] | None:
    """Links for a layer that comes after the link ``before``."""
    if layer is None or layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks:
        return None
    kind = type(layer)
    if kind is nn.Identity:
        return []
    if kind is nn.Linear:
        weight, bias = weights.get(f"{prefix}weight"), weights.get(f"{prefix}bias")
        return None if weight is None or bias is None else [_Dense(weight, bias)]
    if kind is Residual:
        block = _links_of(layer.block, weights, f"{prefix}block.", None)  # type: ignore[arg-type]
        if block is None:
            return None
        skip = _Skip(_Sequence(block))
        tail = _links_of(layer.tail, weights, f"{prefix}tail.", skip)  # type: ignore[arg-type]
        return None if tail is None else [skip, *tail]
    if kind.forward is nn.Sequential.forward:
        links: list[_Link] = []
        for name, part in layer._modules.items():  # a part may stand there twice
            more = _links_of(part, weights, f"{prefix}{name}.", links[-1] if links else before)
            if more is None:
                return None
            links += more
        return links
    link = _gate(layer.activation) if kind is Gate else _activation(layer, before)  # type: ignore[arg-type]
    return None if link is None else [link]


class _Dense:
    """``xW + b``."""

    def __init__(self, weight: Weights, bias: Weights) -> None:
        self.weight, self.bias = weight, bias
        single = weight.value.ndim == 2
        self._product = torch.mm if single else torch.bmm
        self._affine = torch.addmm if single else torch.baddbmm
        self._row = bias.value.unsqueeze(-2)
        self.keeps_memory = True
        self._output: Tensor | None = None  # of the last step, and the gradient at its input
        self._at_input: Tensor | None = None

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, Tensor]:
        if not (train and self.keeps_memory):
            return self._affine(self._row, x, self.weight.value), x
        self._output = _as_large(self._output, x, self.weight.value.shape[-1])
        return self._affine(self._row, x, self.weight.value, out=self._output), x

    def backward(self, grad: Tensor, kept: Tensor, wanted: bool) -> Tensor | None:
        x = kept[..., : grad.shape[-2], :]
        self._product(x.mT, grad, out=self.weight.grad)
        torch.sum(grad, -2, out=self.bias.grad)
        if not wanted:
            return None
        self._at_input = _as_large(self._at_input, x, x.shape[-1])
        return self._product(grad, self.weight.value.mT, out=self._at_input)


def _as_large(memory: Tensor | None, x: Tensor, width: int) -> Tensor:
    """The memory if it fits so many rows of this width; else new."""
    shape = (*x.shape[:-1], width)
    return x.new_empty(shape) if memory is None or memory.shape != shape else memory


class _Sequence:
    """One link after the other."""

    def __init__(self, links: list[_Link]) -> None:
        self.links = links

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, list[Any]]:
        kept = []
        for link in self.links:
            x, of_link = link.forward(x, train)
            kept.append(of_link)
        return x, kept

    def backward(self, grad: Tensor, kept: list[Any], wanted: bool) -> Tensor | None:
        found: Tensor | None = grad
        for k in reversed(range(len(self.links))):
            assert found is not None
            found = self.links[k].backward(found, kept[k], wanted or k > 0)
        return found


class _Skip:
    """``x + block(x)``."""

    def __init__(self, block: _Link) -> None:
        self.block = block

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, Any]:
        y, kept = self.block.forward(x, train)
        return x + y, kept

    def backward(self, grad: Tensor, kept: Any, wanted: bool) -> Tensor | None:
        through = self.block.backward(grad.clone(), kept, wanted)
        return None if through is None else grad + through


class _Function(NamedTuple):
    """A function of single numbers and its gradient, from the input or from the output."""

    value: Callable[[Tensor], Tensor]
    gradient: Callable[[Tensor, Tensor], Tensor]  # of the gradient behind it and what was kept
    in_place: Callable[[Tensor], Tensor] | None = None
    keeps_output: bool = False


class _Activation:
    """A function applied to each number, in place if nothing else reads the input."""

    def __init__(self, function: _Function, in_place: bool) -> None:
        self._function = function
        self._value = function.in_place if in_place else None

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, Tensor]:
        y = self._function.value(x) if self._value is None else self._value(x)
        return y, y if self._function.keeps_output else x

    def backward(self, grad: Tensor, kept: Tensor, wanted: bool) -> Tensor:
        return self._function.gradient(grad, kept[..., : grad.shape[-2], :])


class _GLU:
    """``a · sigmoid(b)`` of an input whose columns are ``[a | b]``."""

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, Tensor]:
        return nn.functional.glu(x), x

    def backward(self, grad: Tensor, kept: Tensor, wanted: bool) -> Tensor:
        found: Tensor = _aten.glu_backward(grad, kept[..., : grad.shape[-2], :], -1)
        return found


class _Gated:
    """``f(a) · sigmoid(b)``."""

    def __init__(self, function: _Activation) -> None:
        self._function = function

    def forward(self, x: Tensor, train: bool) -> tuple[Tensor, tuple[Any, Tensor, Tensor]]:
        a, b = x.chunk(2, dim=-1)
        f, kept = self._function.forward(a, train)
        gate = torch.sigmoid(b)
        return f * gate, (kept, f, gate)

    def backward(self, grad: Tensor, kept: tuple[Any, Tensor, Tensor], wanted: bool) -> Tensor:
        of_f, f, gate = kept
        rows = slice(0, grad.shape[-2])
        f, gate = f[..., rows, :], gate[..., rows, :]
        left = self._function.backward(grad * gate, of_f, True)
        return torch.cat([left, _aten.sigmoid_backward(grad * f, gate)], -1)


def _gate(activation: nn.Module) -> _Link | None:
    if type(activation) is nn.Identity:
        return _GLU()
    function = _activation(activation, None)
    return None if function is None else _Gated(function)


def _activation(layer: nn.Module, before: _Link | None) -> _Activation | None:
    """The layer as a function of single numbers, if it is one that is known."""
    make = _FUNCTIONS.get(type(layer))
    if make is None:
        return None
    return _Activation(make(layer.__dict__), isinstance(before, _Dense | _Skip))


def _relu_gradient(grad: Tensor, y: Tensor) -> Tensor:
    found: Tensor = _aten.threshold_backward.grad_input(grad, y, 0, grad_input=grad)
    return found


def _selu_gradient(grad: Tensor, y: Tensor) -> Tensor:
    found: Tensor = _aten.elu_backward.grad_input(grad, *_SELU, 1, True, y, grad_input=grad)
    return found


_SELU = 1.6732632423543772, 1.0507009873554805  # α and scale of Klambauer et al. (2017)

_FUNCTIONS: dict[type[nn.Module], Callable[[dict[str, Any]], _Function]] = {
    nn.ReLU: lambda at: _Function(torch.relu, _relu_gradient, torch.relu_, True),
    nn.SELU: lambda at: _Function(torch.selu, _selu_gradient, torch.selu_, True),
    nn.Tanh: lambda at: _Function(torch.tanh, _aten.tanh_backward, torch.tanh_, True),
    nn.Sigmoid: lambda at: _Function(torch.sigmoid, _aten.sigmoid_backward, torch.sigmoid_, True),
    nn.ELU: lambda at: _Function(
        lambda x: nn.functional.elu(x, at["alpha"]),
        lambda g, x: _aten.elu_backward(g, at["alpha"], 1, 1, False, x),
    ),
    nn.LeakyReLU: lambda at: _Function(
        lambda x: nn.functional.leaky_relu(x, at["negative_slope"]),
        lambda g, x: _aten.leaky_relu_backward(g, x, at["negative_slope"], False),
    ),
    nn.GELU: lambda at: _Function(
        lambda x: nn.functional.gelu(x, approximate=at["approximate"]),
        lambda g, x: _aten.gelu_backward(g, x, approximate=at["approximate"]),
    ),
    nn.SiLU: lambda at: _Function(nn.functional.silu, _aten.silu_backward),
    nn.Mish: lambda at: _Function(nn.functional.mish, _aten.mish_backward),
    nn.Softplus: lambda at: _Function(
        lambda x: nn.functional.softplus(x, at["beta"], at["threshold"]),
        lambda g, x: _aten.softplus_backward(g, x, at["beta"], at["threshold"]),
    ),
}
