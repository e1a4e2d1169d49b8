"""A user's own modules as one backbone of K nets, and random numbers from explicit generators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Stacked", "built_from", "drawing_from", "keeps_nothing", "why_not_stacked"]

_RANDOM_LAYERS = (nn.modules.dropout._DropoutNd, nn.RReLU)

# Layers that compute the same in training and evaluation mode and keep no state.
_MODE_FREE = {
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Embedding, nn.LayerNorm, nn.MaxPool1d, nn.MaxPool2d,
    nn.AvgPool2d, nn.Flatten, nn.Sequential, nn.ModuleList, nn.Identity, nn.ReLU, nn.SELU, nn.GELU,
    nn.SiLU, nn.Tanh, nn.Mish, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.Softplus,
}  # fmt: skip


class _FromGenerator(TorchDispatchMode):
    """Passes a generator to every operation that takes one; for the calling thread only."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.generator = generator

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if any(argument.name == "generator" for argument in func._schema.arguments):
            kwargs["generator"] = self.generator
        else:  # the overload that takes one, such as randint.low_generator of randint.low
            twin = f"{func._overloadname}_generator".removeprefix("default_")
            if twin in func.overloadpacket.overloads():
                func, kwargs["generator"] = getattr(func.overloadpacket, twin), self.generator
        return func(*args, **kwargs)


@contextmanager
def drawing_from(generator: torch.Generator | None) -> Iterator[None]:
    """Draw random numbers inside from ``generator``; torch's own generator is left unchanged.

    Applies to the calling thread, on the CPU.

    Examples
    --------
    >>> before = torch.get_rng_state()
    >>> with drawing_from(torch.Generator().manual_seed(0)):
    ...     layer = nn.Linear(1, 1)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    if generator is None:
        yield
        return
    with _FromGenerator(generator):
        yield


class Stacked(nn.Module):
    """K modules of the same shape as one: rows ``(k, n, ...)`` in, features ``(k, n, J)`` out.

    The state of the modules is copied; :meth:`member` gives it back.

    Examples
    --------
    >>> Stacked([nn.Linear(3, 2) for _ in range(4)])(torch.zeros(4, 5, 3)).shape
    torch.Size([4, 5, 2])
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.k = len(modules)
        self.generators: Any = None  # of what draws random numbers
        self.alone = modules[0] if self.k == 1 else None
        self._may_draw = not all(map(_draws_nothing, modules[0].modules()))
        if self.alone is None:
            self._example = [copy.deepcopy(modules[0])]  # in a list, so that it is not a submodule
            self._template = [copy.deepcopy(modules[0]).to("meta")]
            params, buffers = stack_module_state(list(modules))
            self._names = [*params], [*buffers]
            self.params = nn.ParameterList(
                nn.Parameter(p.detach(), p.requires_grad) for p in params.values()
            )
            for i, buffer in enumerate(buffers.values()):
                self.register_buffer(f"buffer_{i}", buffer)

    def _parts(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        names, buffer_names = self._names
        buffers = (getattr(self, f"buffer_{i}") for i in range(len(buffer_names)))
        return (
            dict(zip(names, self.params, strict=True)),
            dict(zip(buffer_names, buffers, strict=True)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features of rows ``(k, n, ...)``."""
        if self.alone is not None:
            generator = self.generators[0] if self._may_draw and self.generators else None
            with drawing_from(generator):
                rows: Tensor = self.alone(x[0])
            return rows.unsqueeze(0) if isinstance(rows, Tensor) else rows
        self._template[0].train(self.training)

        def one(params: dict[str, Tensor], buffers: dict[str, Tensor], rows: Tensor) -> Tensor:
            out: Tensor = functional_call(self._template[0], (params, buffers), (rows,))
            return out

        return vmap(one)(*self._parts(), x)

    def state(self) -> dict[str, Tensor]:
        """Parameters and buffers without gradient, nets first."""
        if self.alone is not None:
            tensors = (*self.alone.named_parameters(), *self.alone.named_buffers())
            return {name: tensor.detach().unsqueeze(0) for name, tensor in tensors}
        params, buffers = self._parts()
        return {name: tensor.detach() for name, tensor in (params | buffers).items()}

    @torch.no_grad()
    def member(self, i: int) -> nn.Module:
        """Module ``i`` with its state, without gradients."""
        if self.alone is not None:
            self.alone.zero_grad()
            return self.alone
        module, state = copy.deepcopy(self._example[0]), self.state()
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            tensor.copy_(state[name][i])
        return module.train(self.training)


def keeps_nothing(network: nn.Module) -> bool:
    """Whether a network is safe to call from several threads: no layer keeps state."""
    still = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)  # when evaluated
    return all(
        (type(layer) in _MODE_FREE or isinstance(layer, still) or _is_ours(layer))
        and not (layer._forward_hooks or layer._forward_pre_hooks)
        for layer in network.modules()
    )


def _is_ours(layer: nn.Module) -> bool:
    return type(layer).__module__.startswith("adacap.") or type(layer) is nn.ParameterList


def _draws_nothing(layer: nn.Module) -> bool:
    """Whether a layer is known to draw no random numbers; a user's own may."""
    is_norm = isinstance(layer, nn.modules.batchnorm._BatchNorm)
    return is_norm or type(layer) in _MODE_FREE or _is_ours(layer)


def _is_random(layer: nn.Module) -> bool:
    return isinstance(layer, _RANDOM_LAYERS) and getattr(layer, "p", 1.0) > 0


def why_not_stacked(modules: Sequence[nn.Module], x: Tensor) -> str | None:
    """Why modules of a user cannot be trained as one; None if they can.

    Layers that draw random numbers are excluded, since each net would no longer see the draws it
    sees alone, and so are tensors that are neither parameter nor buffer, since all nets would use
    those of the first. Modules with other than well-known layers are tried on two rows; they are
    excluded if ``torch.func.vmap`` cannot trace them or gives a different result.
    """
    for name, layer in modules[0].named_modules():
        if _is_random(layer):
            return f"its layer {name!r} ({type(layer).__name__}) draws random numbers"
        for key, value in vars(layer).items():
            if isinstance(value, Tensor):
                return f"the tensor {key!r} of its layer {name!r} is neither parameter nor buffer"
    if all(type(layer) in _MODE_FREE for layer in modules[0].modules()):
        return None  # known to behave
    try:
        return _rehearse(modules, x[:2])
    except (RuntimeError, ValueError, TypeError) as error:
        return f"torch.func cannot batch it: {str(error).splitlines()[0]}"


def _rehearse(modules: Sequence[nn.Module], rows: Tensor) -> str | None:
    """Run copies of the modules stacked and alone, in both modes, and compare what comes out."""
    stacked = Stacked([copy.deepcopy(module) for module in modules])
    single = [Stacked([copy.deepcopy(module)]) for module in modules]
    for training in (True, False):
        for each in (stacked, *single):
            each.train(training)
        with torch.set_grad_enabled(training):
            together = stacked(rows.expand(len(modules), *rows.shape))
            if training:
                together.sum().backward()
            alone = [each(rows.unsqueeze(0)) for each in single]
        if not _agree(together, torch.cat(alone)):
            return "it gives different features when stacked"
    states = [each.state() for each in single]
    for name, tensor in stacked.state().items():
        if not _agree(tensor, torch.cat([state[name] for state in states])):
            return f"a forward pass changes {name!r}, but not when stacked"
    return None


def _agree(a: Tensor, b: Tensor) -> bool:
    """Equal up to the rounding of a float32 net."""
    a, b = a.detach().double(), b.detach().double()
    scale = float(b.abs().max()) if b.numel() else 0.0
    return a.shape == b.shape and torch.allclose(a, b, 1e-3, 1e-3 * scale, equal_nan=True)


def built_from(factory: Callable[[], nn.Module], seed: int, rows: Tensor) -> nn.Module:
    """The module a factory builds, with random numbers drawn from ``seed``.

    Lazy layers learn their size from ``rows``.
    """
    with drawing_from(torch.Generator().manual_seed(seed)), torch.no_grad():
        module = factory()
        if any(map(is_lazy, (*module.parameters(), *module.buffers()))):
            module(rows)
        return module
