"""Networks as nodes: layers by the standard operators, a user's own through torch's tracer."""

from __future__ import annotations

import inspect
import math
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from adacap.estimators.bag import Group
from adacap.exceptions import AdaCapError
from adacap.export.graph import OPSET, Graph, need
from adacap.layers import run
from adacap.nn.modules import Backbone

__all__ = ["OnnxOperations", "average"]

_TRACED_ROWS, _TRIED_ROWS = 2, 3
_CLOSE = 1e-4  # of the largest feature; float32 rounds far below
_BATCH_NORM_EPS = 1e-5


def average(graph: Graph, x: str, groups: Sequence[Group], shape: Sequence[int]) -> str:
    """Mean output ``(n, c)`` over the nets of all groups, for a tensor of samples."""
    totals = [_total(graph, x, group, shape) for group in groups]
    total = totals[0] if len(totals) == 1 else graph.call("Sum", *totals)
    n_nets = sum(group.nets.k for group in groups)
    return graph.call("Div", total, graph.constant([n_nets], np.float32))


def _total(graph: Graph, x: str, group: Group, shape: Sequence[int]) -> str:
    """Sum of the outputs of the nets of a group."""
    op, backbone = OnnxOperations(graph), group.nets.backbone
    if isinstance(backbone, Backbone):
        hidden = run(backbone.layers, x, backbone, op)
    else:
        sample = torch.zeros(1, *shape, device=group.output.weight.device)
        parts = [
            graph.call("Unsqueeze", _own(graph, x, backbone.member(k), sample), _axis(graph, 0))
            for k in range(backbone.k)
        ]
        hidden = parts[0] if len(parts) == 1 else graph.call("Concat", *parts, axis=0)
    outputs = op.affine(hidden, group.output.weight, group.output.bias)
    return graph.call("ReduceSum", outputs, _axis(graph, 0), keepdims=0)


def _axis(graph: Graph, axis: int) -> str:
    return graph.constant([axis], np.int64)


class OnnxOperations:
    """The operations of a layer as nodes; a tensor is its name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.call = graph.call

    def _constant(self, values: Any) -> str:
        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
        return self.graph.constant(array, np.float32)

    def affine(self, x: str, weight: Tensor, bias: Tensor) -> str:
        """``x @ weight + bias``, net by net."""
        product = self.call("MatMul", x, self._constant(weight))
        return self.call("Add", product, self._constant(bias.unsqueeze(-2)))

    def batch_norm(self, x: str, tensors: Any) -> str:
        """Scaled by the statistics of the layer."""
        scale = tensors["weight"] / (tensors["running_var"] + _BATCH_NORM_EPS).sqrt()
        shift = tensors["bias"] - tensors["running_mean"] * scale
        scaled = self.call("Mul", x, self._constant(scale.unsqueeze(-2)))
        return self.call("Add", scaled, self._constant(shift.unsqueeze(-2)))

    def activation(self, name: str, x: str) -> str:
        """A function of single numbers."""
        if name in _OPERATORS:
            return self.call(_OPERATORS[name], x)
        if name == "silu":
            return self.call("Mul", x, self.call("Sigmoid", x))
        if name == "mish":
            return self.call("Mul", x, self.call("Tanh", self.call("Softplus", x)))
        erf = self.call("Erf", self.call("Div", x, self._constant(np.array(math.sqrt(2)))))
        half = self.call("Mul", x, self._constant(np.array(0.5)))  # gelu
        return self.call("Mul", half, self.call("Add", erf, self._constant(np.array(1.0))))

    def halves(self, x: str) -> tuple[str, str]:
        """First and second half of the columns."""
        return self.graph.halves(x)

    def glu(self, x: str) -> str:
        """First half times the sigmoid of the second."""
        a, b = self.graph.halves(x)
        return self.call("Mul", a, self.call("Sigmoid", b))

    def multiply(self, x: str, y: str) -> str:
        """Product, number by number."""
        return self.call("Mul", x, y)

    def add(self, x: str, y: str) -> str:
        """Sum, number by number."""
        return self.call("Add", x, y)

    def dropout(self, x: str, rate: float) -> str:
        """Nothing: this is prediction."""
        return x


_OPERATORS = {
    "identity": "Identity", "relu": "Relu", "selu": "Selu", "tanh": "Tanh", "sigmoid": "Sigmoid",
}  # fmt: skip


# ---------------------------------------------------------------------- a user's backbone


def _own(graph: Graph, x: str, body: nn.Module, sample: Tensor) -> str:
    """Trace a user's backbone and join its nodes to the graph."""
    onnx = need("onnx")
    traced = onnx.load_from_string(_trace(body, sample))
    _check_trace(traced, body, sample)
    prefix = f"adacap/own_{len(graph.nodes)}/"
    inside = onnx.compose.add_prefix(traced, prefix).graph
    graph.call("Identity", x, output=inside.input[0].name)
    graph.nodes.extend(inside.node)
    graph.initializers.extend(inside.initializer)
    name: str = inside.output[0].name
    return name


def _trace(body: nn.Module, sample: Tensor) -> bytes:
    """The backbone as an ONNX model of its own, by the exporter that torch carries itself."""
    options: dict[str, Any] = {"input_names": ["x"], "output_names": ["hidden"]}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # the newer exporter needs more packages
    rows = torch.cat([sample] * _TRACED_ROWS)
    options["dynamic_axes"] = {"x": {0: "n"}, "hidden": {0: "n"}}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # About the exporter's age and about traced shapes; what comes out is tried afterwards.
        warnings.simplefilter("ignore")
        file = Path(folder, "backbone.onnx")
        try:
            torch.onnx.export(body, (rows,), str(file), opset_version=OPSET, **options)
        except Exception as error:
            reason = f"torch.onnx fails on it ({type(error).__name__}: {error})"
            raise _refusal(body, reason) from error
        return file.read_bytes()


def _check_trace(traced: Any, body: nn.Module, sample: Tensor) -> None:
    """Run the trace on another number of rows and hold it against the backbone."""
    reference = need("onnx.reference")
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(_TRIED_ROWS, *sample.shape[1:], generator=generator)
    with torch.no_grad():
        expected = body(rows.to(sample.device)).cpu().numpy()
    try:
        (found,) = reference.ReferenceEvaluator(traced).run(None, {"x": rows.numpy()})
    except Exception as error:
        reason = f"its trace fails on {_TRIED_ROWS} rows ({type(error).__name__}: {error})"
        raise _refusal(body, reason) from error
    room = _CLOSE * float(np.abs(expected).max())
    if found.shape != expected.shape or not np.allclose(found, expected, _CLOSE, room):
        raise _refusal(body, f"its trace computes something else on {_TRIED_ROWS} rows")


def _refusal(body: nn.Module, reason: str) -> AdaCapError:
    return AdaCapError(
        f"The backbone {type(body).__name__} cannot be exported: {reason}. Its forward must be "
        "traceable for any number of rows; write x.shape[0] or -1 in place of len(x)."
    )
