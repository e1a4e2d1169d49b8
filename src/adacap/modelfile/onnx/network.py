"""Members as nodes: by the standard operators; a user's own networks through torch's tracer."""

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

from adacap.estimators.bag import FittedMember, Group, groups_of
from adacap.estimators.blending import Part
from adacap.exceptions import AdaCapError
from adacap.layers import run
from adacap.modelfile.onnx.graph import OPSET, Graph, need
from adacap.modelfile.onnx.operations import MemberOnnxOperations, OnnxOperations
from adacap.nn.modules import Backbone
from adacap.nn.predictors import EncodingModule, Frozen

__all__ = ["average", "blend", "each_of", "fold_outputs"]

_TRACED_ROWS, _TRIED_ROWS = 2, 3
_CLOSE = 1e-4  # of the largest feature; float32 rounds far below


def average(graph: Graph, x: str, groups: Sequence[Group], shape: Sequence[int]) -> str:
    """Mean output ``(n, c)`` over the nets of all groups, for a tensor of samples."""
    totals = [_total(graph, x, group, shape) for group in groups]
    total = totals[0] if len(totals) == 1 else graph.call("Sum", *totals)
    n_nets = sum(group.nets.k for group in groups)
    return graph.call("Div", total, graph.constant([n_nets], np.float32))


def blend(graph: Graph, x: str, parts: Sequence[Part], shape: Sequence[int]) -> str:
    """Weighted sum ``(n, c)`` of the members of a blend, in float64."""
    totals = []
    for part in parts:
        if part.frozen is None:
            found = graph.cast(average(graph, x, groups_of(part.nets), shape), "float64")
        else:
            found = _frozen(graph, x, part.frozen)
        totals.append(graph.call("Mul", found, graph.constant([part.factor])))
    return totals[0] if len(totals) == 1 else graph.call("Sum", *totals)


def _frozen(graph: Graph, x: str, frozen: Frozen) -> str:
    """Mean output ``(n, c)`` over the folds of a member that is not a net, in float64."""
    total = graph.call("ReduceSum", each_of(graph, x, frozen), _axis(graph, 0), keepdims=0)
    return graph.call("Div", total, graph.constant([frozen.predictor.k]))


def each_of(graph: Graph, x: str, frozen: Frozen) -> str:
    """Outputs ``(k, n, c)`` of the folds of a member that is not a net, in float64."""

    def make() -> str:
        rows = x if frozen.encoding is None else _encoded(graph, x, frozen.encoding)
        op = MemberOnnxOperations(graph, np.float64)
        return frozen.predictor.apply(graph.cast(rows, "float64"), frozen.arrays, op)

    return graph.once(("each", id(frozen)), make)


def fold_outputs(graph: Graph, x: str, model: Any, shape: Sequence[int]) -> str:
    """Outputs ``(K, n, c)`` of the folds, each by models that never saw it, in float64."""
    return graph.once(("folds",), lambda: _fold_outputs(graph, x, model, shape))


def _fold_outputs(graph: Graph, x: str, model: Any, shape: Sequence[int]) -> str:
    layers = model.intervals_.folds.layers
    if not model.blend_:
        return _nets_of_folds(graph, x, model.members_, layers, shape)
    totals, taken = [], 0
    for part in model.blend_:
        if part.frozen is None:
            own = layers[taken : taken + len(part.nets)]
            taken += len(part.nets)
            found = _nets_of_folds(graph, x, part.nets, own, shape)
        else:
            found = each_of(graph, x, part.frozen)
        totals.append(graph.call("Mul", found, graph.constant([part.factor])))
    return totals[0] if len(totals) == 1 else graph.call("Sum", *totals)


def _nets_of_folds(
    graph: Graph, x: str, nets: Sequence[FittedMember], layers: Any, shape: Sequence[int]
) -> str:
    """Outputs ``(K, n, c)`` of nets in their order, by layers in place of their own."""
    op, found, order = OnnxOperations(graph), [], []
    for group in groups_of(nets):
        own = sorted((m.index, k) for k, m in enumerate(nets) if m.group is group)
        places = [k for _, k in own]
        weight, bias = (torch.stack([layers[k][i] for k in places]) for i in (0, 1))
        found.append(op.affine(_hidden(graph, x, group, shape), weight, bias))
        order += places
    joined = found[0] if len(found) == 1 else graph.call("Concat", *found, axis=0)
    if order != sorted(order):
        back = graph.constant(np.argsort(order), np.int64)
        joined = graph.call("Gather", joined, back, axis=0)
    return graph.cast(joined, "float64")


def _encoded(graph: Graph, x: str, encoding: EncodingModule) -> str:
    """Rows through an encoding, in float32."""
    return encoding.encoding.apply(x, encoding.arrays, MemberOnnxOperations(graph))


def _total(graph: Graph, x: str, group: Group, shape: Sequence[int]) -> str:
    """Sum of the outputs of the nets of a group."""
    hidden = _hidden(graph, x, group, shape)
    outputs = OnnxOperations(graph).affine(hidden, group.output.weight, group.output.bias)
    return graph.call("ReduceSum", outputs, _axis(graph, 0), keepdims=0)


def _hidden(graph: Graph, x: str, group: Group, shape: Sequence[int]) -> str:
    """Features ``(K, n, J)`` of the nets of a group."""
    return graph.once(("hidden", id(group)), lambda: _make_hidden(graph, x, group, shape))


def _make_hidden(graph: Graph, x: str, group: Group, shape: Sequence[int]) -> str:
    op, backbone = OnnxOperations(graph), group.nets.backbone
    if group.encoding is not None:
        x, shape = _encoded(graph, x, group.encoding), (group.encoding.encoding.d_out,)
    if isinstance(backbone, Backbone):
        return run(backbone.layers, x, backbone, op)
    sample = torch.zeros(1, *shape, device=group.output.weight.device)
    parts = [
        graph.call("Unsqueeze", _own(graph, x, backbone.member(k), sample), _axis(graph, 0))
        for k in range(backbone.k)
    ]
    return parts[0] if len(parts) == 1 else graph.call("Concat", *parts, axis=0)


def _axis(graph: Graph, axis: int) -> str:
    return graph.constant([axis], np.int64)


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
    """The backbone as a separate ONNX model, by torch's own exporter."""
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
    """Run the trace on another number of rows and compare it with the backbone."""
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
