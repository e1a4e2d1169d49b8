"""K nets of one shape, trained as one computation.

A single net is the case K = 1. Every tensor carries the member index first: inputs
``(K, b, ...)``, hidden features ``(K, b, J)``, λ ``(K,)``. Members never mix, so training them
together gives what training them one after another gives, up to rounding.
"""

import copy
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from adacap.nn.heads import LinearHead, TikhonovHead
from adacap.training.chain import Chain, Weights, chain_of

__all__ = ["Members", "Net", "can_stack", "is_mode_free"]


class Net(nn.Module):
    """A backbone and its head, as they are while training."""

    def __init__(self, backbone: nn.Module, head: TikhonovHead | LinearHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head


_RANDOM_LAYERS = (nn.modules.dropout._DropoutNd, nn.RReLU)

# Layers that compute the same in training and evaluation mode.
_MODE_FREE = {
    nn.Linear, nn.Conv1d, nn.Conv2d, nn.Embedding, nn.LayerNorm, nn.MaxPool1d, nn.MaxPool2d,
    nn.AvgPool2d, nn.Flatten, nn.Sequential, nn.ModuleList, nn.Identity, nn.ReLU, nn.SELU, nn.GELU,
    nn.SiLU, nn.Tanh, nn.Mish, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.Softplus,
}  # fmt: skip


def can_stack(net: Net, x: Tensor, *others: Net) -> str | None:
    """Tell whether nets like this one can be trained together; the reason if not.

    Layers that draw random numbers are excluded, since each member would no longer see the draws
    it sees alone, and so are tensors that are neither parameter nor buffer, since all members
    would use those of the first. What does not consist of well-known layers alone is tried on two
    rows: what ``torch.func.vmap`` cannot trace, or does not do as the net does alone, is excluded.

    Parameters
    ----------
    net : Net
    x : Tensor of shape (n, ...)
    *others : Net
        The nets it would be stacked with; a copy of itself if not given.

    Returns
    -------
    str or None
    """
    for name, layer in net.named_modules():
        if isinstance(layer, _RANDOM_LAYERS) and getattr(layer, "p", 1.0) > 0:
            return f"layer {name!r} ({type(layer).__name__}) draws random numbers"
        for key, value in vars(layer).items():
            if isinstance(value, Tensor):
                return f"the tensor {key!r} of layer {name!r} is neither parameter nor buffer"
    if all(is_mode_free(layer) for layer in net.modules()):
        return None  # known to behave
    try:
        return _rehearse([net, *others] if others else [net, net], x[:2])
    except (RuntimeError, ValueError, TypeError) as error:
        return f"torch.func cannot batch it: {str(error).splitlines()[0]}"


def _rehearse(nets: Sequence[Net], rows: Tensor) -> str | None:
    """Run copies of the nets stacked and alone, in both modes, and compare all that comes out."""
    stacked = Members([copy.deepcopy(net) for net in nets])
    single = [Members([copy.deepcopy(net)]) for net in nets]
    for training in (True, False):
        for members in (stacked, *single):
            members.train(training)
        with torch.set_grad_enabled(training):
            together = stacked.hidden(rows.expand(len(nets), *rows.shape))
            if training:
                together.sum().backward()
            alone = [members.hidden(rows.unsqueeze(0)) for members in single]
        if not _agree(together, torch.cat(alone)):
            return "a net gives other features stacked than alone"
    states = [members.snapshot() for members in single]
    for name, tensor in stacked.snapshot().items():
        if not _agree(tensor, torch.cat([state[name] for state in states])):
            return f"a forward pass changes {name!r} alone, but not stacked"
    return None


def _agree(a: Tensor, b: Tensor) -> bool:
    """Equal up to the rounding of a float32 net."""
    a, b = a.detach().double(), b.detach().double()
    scale = float(b.abs().max()) if b.numel() else 0.0
    return a.shape == b.shape and torch.allclose(a, b, 1e-3, 1e-3 * scale, equal_nan=True)


class Members:
    """Equally shaped nets behind one interface, whether there is one or many.

    Parameters
    ----------
    nets : sequence of Net
        With more than one, their parameters are copied into stacked leaves; :meth:`unstack`
        gives them back.
    """

    def __init__(self, nets: Sequence[Net]) -> None:
        self.nets = list(nets)
        self.n_members = len(self.nets)
        self._template = copy.deepcopy(self.nets[0]).to("meta") if self.n_members > 1 else None
        self._params: dict[str, Tensor] = dict(self.nets[0].named_parameters())
        self._buffers: dict[str, Tensor] = {}
        self._turned: set[str] = set()
        if self._template is not None:
            self._params, self._buffers = stack_module_state(self.nets)
            for name, tensor in self._params.items():
                if tensor.ndim == 3 and name.startswith("backbone."):
                    self._params[name] = _transposed(tensor)
                    self._turned.add(name)
        self._gradients: list[tuple[Tensor, Tensor]] = []
        self._chain = self._make_chain()
        self._graph: Tensor | None = None
        acting = self.nets[0] if self._template is None else self._template
        self.has_modes = not all(is_mode_free(layer) for layer in acting.modules())
        # A forward pass may put other buffers in place, never other parameters.
        has_buffers = any(True for _ in self.nets[0].buffers())
        self._fixed = None if has_buffers else dict(self._read_state())

    @property
    def n_weights(self) -> int:
        """Parameters of one member."""
        return sum(p.numel() for p in self.nets[0].parameters())

    @property
    def is_chain(self) -> bool:
        """Whether only the rows that are trained on cost anything on the way back."""
        return self._chain is not None

    def _of_backbone(self, block: dict[str, Tensor]) -> dict[str, Tensor]:
        prefix = "backbone."
        return {name[len(prefix) :]: t for name, t in block.items() if name.startswith(prefix)}

    def _natural(self) -> dict[str, Tensor]:
        """Parameters in the shape that the layers expect, member index first."""
        return {n: t.mT if n in self._turned else t for n, t in self._params.items()}

    def parameters(self, *, of_head: bool | None = None) -> Iterator[Tensor]:
        """Leaves to optimise; only the head's or only the backbone's if asked."""
        for name, tensor in self._params.items():
            if tensor.requires_grad and of_head in (None, name.startswith("head.")):
                yield tensor

    def train(self, mode: bool = True) -> None:
        """Switch between training and evaluation mode, if there is a difference."""
        if self.has_modes:
            (self.nets[0] if self._template is None else self._template).train(mode)

    def _make_chain(self) -> Chain | None:
        """The chain rule of the backbone, written out, where every layer of it is known."""
        weights, gradients = {}, []
        for name, leaf in self._of_backbone(self._params).items():
            if not leaf.requires_grad or leaf._backward_hooks:
                return None
            value, grad = leaf.detach(), torch.empty_like(leaf, requires_grad=False)
            gradients.append((leaf, grad))
            turn = self._template is None and leaf.ndim == 2
            weights[name] = Weights(value.mT, grad.mT) if turn else Weights(value, grad)
        net = self.nets[0] if self._template is None else self._template
        chain = chain_of(net.backbone, weights)
        self._gradients = [] if chain is None else gradients
        return chain

    def features(self, x: Tensor) -> Tensor:
        """Features ``(K, b, J)`` to train on; :meth:`pull_back` takes the gradient at them."""
        if self._chain is None or x.ndim != 3:
            self._graph = self.hidden(x)
            return self._graph.detach()
        self._graph = None
        return self._through(self._chain, x, train=True).detach()

    def pull_back(self, grad: Tensor) -> None:
        """Gradients of the backbone, from those at the features of the first rows."""
        if self._graph is not None:
            if self._graph.requires_grad:  # else all weights are frozen
                self._graph[:, : grad.shape[1]].backward(grad)
            self._graph = None
        elif self._chain is not None:
            self._chain.backward(grad[0] if self._template is None else grad)
            for leaf, found in self._gradients:
                leaf.grad = found

    def _through(self, chain: Chain, x: Tensor, *, train: bool) -> Tensor:
        if self._template is None:
            return chain.forward(x[0], train=train).unsqueeze(0)
        return chain.forward(x, train=train)

    def hidden(self, x: Tensor) -> Tensor:
        """Features ``(K, b, J)`` of inputs ``(K, b, ...)``, as autograd follows them."""
        if self._chain is not None and x.ndim == 3 and not torch.is_grad_enabled():
            return self._through(self._chain, x, train=False)
        if self._template is None:
            single: Tensor = self.nets[0].backbone(x[0])
            return single.unsqueeze(0)
        backbone = self._template.backbone

        def one(params: dict[str, Tensor], buffers: dict[str, Tensor], rows: Tensor) -> Tensor:
            out: Tensor = functional_call(backbone, (params, buffers), (rows,))
            return out

        return vmap(one)(self._of_backbone(self._natural()), self._of_backbone(self._buffers), x)

    def __contains__(self, name: str) -> bool:
        """Whether there is a parameter of this name, such as ``"head.log_lambda"``."""
        return name in self._params

    def head(self, name: str) -> Tensor:
        """Head parameter ``name`` of all members, member index first."""
        tensor = self._params[f"head.{name}"]
        return tensor.unsqueeze(0) if self._template is None else tensor

    @torch.no_grad()
    def set_lambda(self, lam: Tensor) -> None:
        """Set λ of every member."""
        target = self._params["head.log_lambda"]
        target.copy_(lam.log().reshape(target.shape))

    def set_lambda_gradient(self, grad: Tensor) -> None:
        """Set the gradient of ``log λ`` from that of λ ``(K,)``, as λ now is."""
        leaf = self._params["head.log_lambda"]
        leaf.grad = (grad * leaf.detach().exp()).reshape(leaf.shape)

    def snapshot(self) -> dict[str, Tensor]:
        """Copy of the state, member index first."""
        return {name: t.clone() for name, t in self._state().items()}

    @torch.no_grad()
    def update(self, snapshot: dict[str, Tensor], chosen: Sequence[bool]) -> None:
        """Overwrite the ``chosen`` members of a snapshot with the current state, in place."""
        state = self._state()
        if all(chosen):
            torch._foreach_copy_([snapshot[name] for name in state], list(state.values()))
        elif any(chosen):
            places = [k for k, better in enumerate(chosen) if better]
            torch._foreach_copy_(
                [snapshot[name][k] for name in state for k in places],
                [tensor[k] for tensor in state.values() for k in places],
            )

    @torch.no_grad()
    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Load a snapshot into the state."""
        for name, tensor in self._state().items():
            tensor.copy_(snapshot[name])

    @torch.no_grad()
    def unstack(self) -> list[Net]:
        """The nets, with the current state written back into them, and without gradients."""
        for net in self.nets:
            net.zero_grad()
        if self._template is not None:
            for k, net in enumerate(self.nets):
                own = dict(_tensors(net))
                for name, tensor in self._state().items():
                    own[name].copy_(tensor[k])
        return self.nets

    def _state(self) -> dict[str, Tensor]:
        return dict(self._read_state()) if self._fixed is None else self._fixed

    def _read_state(self) -> Iterator[tuple[str, Tensor]]:
        if self._template is None:
            for name, tensor in _tensors(self.nets[0]):
                yield name, tensor.detach().unsqueeze(0)
        else:
            for name, tensor in (self._natural() | self._buffers).items():
                yield name, tensor.detach()


def _transposed(leaf: Tensor) -> Tensor:
    """A stacked weight matrix in the order in which its gradient is made.

    The gradient is then taken over as it is; in the usual order it would be copied.
    """
    return leaf.detach().mT.contiguous().requires_grad_(leaf.requires_grad)


def is_mode_free(layer: nn.Module) -> bool:
    """Whether a layer is known to compute the same in both modes and to keep nothing of it."""
    return type(layer).__module__.startswith("adacap.") or type(layer) in _MODE_FREE


def _tensors(net: Net) -> Iterator[tuple[str, Tensor]]:
    """Parameters and all buffers, those that a state_dict leaves out included."""
    yield from net.named_parameters()
    yield from net.named_buffers()
