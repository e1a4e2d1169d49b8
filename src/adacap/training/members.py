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

__all__ = ["Members", "Net", "can_stack"]


class Net(nn.Module):
    """A backbone and its head, as they are while training."""

    def __init__(self, backbone: nn.Module, head: TikhonovHead | LinearHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head


_RANDOM_LAYERS = (nn.modules.dropout._DropoutNd, nn.RReLU)


def can_stack(net: Net, x: Tensor) -> str | None:
    """Tell whether nets like this one can be trained together; the reason if not.

    Layers that draw random numbers are excluded, since each member would no longer see the draws
    it sees alone; anything ``torch.func.vmap`` cannot trace is excluded by trying.
    """
    for name, layer in net.named_modules():
        if isinstance(layer, _RANDOM_LAYERS) and getattr(layer, "p", 1.0) > 0:
            return f"layer {name!r} ({type(layer).__name__}) draws random numbers"
    try:
        twin = Members([copy.deepcopy(net), copy.deepcopy(net)])
        twin.hidden(x[:2].expand(2, *x[:2].shape)).sum().backward()
    except (RuntimeError, ValueError, NotImplementedError) as error:
        return f"torch.func cannot batch it: {str(error).splitlines()[0]}"
    return None


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
        if self._template is None:
            self._params = dict(self.nets[0].named_parameters())
            self._buffers = dict(self.nets[0].named_buffers())
        else:
            self._params, self._buffers = stack_module_state(self.nets)
            self._split_backbone()

    def _split_backbone(self) -> None:
        prefix = "backbone."
        self._inner = tuple(
            {name[len(prefix) :]: t for name, t in block.items() if name.startswith(prefix)}
            for block in (self._params, self._buffers)
        )

    def parameters(self, *, of_head: bool | None = None) -> Iterator[Tensor]:
        """Leaves to optimise; only the head's or only the backbone's if asked."""
        for name, tensor in self._params.items():
            if tensor.requires_grad and of_head in (None, name.startswith("head.")):
                yield tensor

    def train(self, mode: bool = True) -> None:
        """Switch between training and evaluation mode."""
        (self.nets[0] if self._template is None else self._template).train(mode)

    def hidden(self, x: Tensor) -> Tensor:
        """Features ``(K, b, J)`` of inputs ``(K, b, ...)``."""
        if self._template is None:
            single: Tensor = self.nets[0].backbone(x[0])
            return single.unsqueeze(0)
        backbone = self._template.backbone

        def one(params: dict[str, Tensor], buffers: dict[str, Tensor], rows: Tensor) -> Tensor:
            out: Tensor = functional_call(backbone, (params, buffers), (rows,))
            return out

        stacked: Tensor = vmap(one)(*self._inner, x)
        return stacked

    def head(self, name: str) -> Tensor:
        """Head parameter ``name`` of all members, member index first."""
        tensor = self._params[f"head.{name}"]
        return tensor.unsqueeze(0) if self._template is None else tensor

    @torch.no_grad()
    def set_lambda(self, lam: Tensor) -> None:
        """Set λ of every member."""
        target = self._params["head.log_lambda"]
        target.copy_(lam.log().reshape(target.shape))

    def snapshot(self) -> dict[str, Tensor]:
        """Copy of the state, member index first."""
        return {name: t.detach().clone() for name, t in self._state()}

    @torch.no_grad()
    def update(self, snapshot: dict[str, Tensor], chosen: Tensor) -> None:
        """Overwrite the ``chosen`` members of a snapshot with the current state, in place."""
        if bool(chosen.all()):
            for name, tensor in self._state():
                snapshot[name].copy_(tensor)
        elif bool(chosen.any()):
            for name, tensor in self._state():
                snapshot[name][chosen] = tensor[chosen]

    @torch.no_grad()
    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Load a snapshot into the state."""
        for name, tensor in self._state():
            tensor.copy_(snapshot[name])

    def unstack(self) -> list[Net]:
        """The nets, with the current state written back into them."""
        if self._template is not None:
            for k, net in enumerate(self.nets):
                net.load_state_dict({name: t[k] for name, t in self._state()})
        return self.nets

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        single = self._template is None
        for block in (self._params, self._buffers):
            for name, tensor in block.items():
                yield name, tensor.detach().unsqueeze(0) if single else tensor.detach()
