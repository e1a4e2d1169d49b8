"""Networks as nodes: the shipped ones layer by layer, a user's own through torch's tracer."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from adacap.exceptions import AdaCapError
from adacap.export.graph import OPSET, Graph, need
from adacap.lite.files import Json
from adacap.lite.nets import (
    SELU_ALPHA,
    SELU_SCALE,
    Activation,
    Dense,
    Gate,
    Layer,
    Norm,
    Residual,
    backbone,
    linear,
)

__all__ = ["average", "network"]

_TRACED_ROWS, _TRIED_ROWS = 2, 3
_CLOSE = 1e-4  # of the largest feature; float32 rounds far below


def average(graph: Graph, tensors: Sequence[str]) -> str:
    """Mean over the members of an ensemble."""
    if len(tensors) == 1:
        return tensors[0]
    total = graph.call("Sum", *tensors)
    return graph.call("Div", total, graph.constant([len(tensors)], np.float32))


def network(graph: Graph, x: str, member: nn.Sequential, spec: Json, shape: Sequence[int]) -> str:
    """Add one member, backbone and output layer; tensors of shape (n, ...) to (n, n_outputs)."""
    body, output = member
    last = linear(_arrays(output), "")
    if spec["name"] is None:
        sample = torch.zeros(1, *shape, device=next(output.parameters()).device)
        return _layers(graph, _own(graph, x, body, sample), (last,))
    return _layers(graph, x, (*backbone(spec, _arrays(body)), last))


def _arrays(module: nn.Module) -> dict[str, Any]:
    tensors = (*module.named_parameters(), *module.named_buffers())
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors}


def _layers(graph: Graph, x: str, layers: Sequence[Layer]) -> str:
    call = graph.call
    for layer in layers:
        match layer:
            case Dense(weight, bias):
                x = call("Gemm", x, _float32(graph, weight), _float32(graph, bias))
            case Norm(scale, shift):
                x = call("Add", call("Mul", x, _float32(graph, scale)), _float32(graph, shift))
            case Activation(name):
                x = _activation(graph, x, name)
            case Gate():
                a, b = graph.halves(x)
                x = call("Mul", a, call("Sigmoid", b))
            case Residual(block, activation):
                x = _activation(graph, call("Add", x, _layers(graph, x, block)), activation)
    return x


def _float32(graph: Graph, array: Any) -> str:
    return graph.constant(array, np.float32)


def _activation(graph: Graph, x: str, name: str) -> str:
    if name == "selu":
        return graph.call("Selu", x, alpha=SELU_ALPHA, gamma=SELU_SCALE)
    return graph.call("Relu", x)


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
