"""A thin builder of ONNX graphs: call operators, names are generated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap import exceptions

__all__ = ["ML_OPSET", "OPSET", "Graph", "need"]

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # of 2022: every runtime in use reads them
_ML = "ai.onnx.ml"


def need(name: str, what: str = "Exporting to ONNX") -> Any:
    """Package that writes or runs ONNX; see ``exceptions.need``."""
    return exceptions.need(name, what, "adacap[onnx]")


class Graph:
    """Nodes and constants of a graph in the making.

    A tensor is its name; inner names begin with ``adacap/``, which no column should.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.call("Add", "x", graph.constant(1.0))
    'adacap/Add_1'
    """

    def __init__(self) -> None:
        self._onnx = need("onnx")
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._count = 0
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._made: dict[tuple[Any, ...], str] = {}

    def once(self, key: tuple[Any, ...], make: Callable[[], str]) -> str:
        """What ``make`` adds to the graph, added on first use."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def median(self, x: str, n: int) -> str:
        """Median along the first axis, of size n."""
        names = self._name("TopK"), self._name("TopK")
        k = n // 2 + 1
        count = self.constant([k], np.int64)
        self._add("TopK", (x, count), names, axis=0, largest=1, sorted=1)
        place = self.constant([k - 1] if n % 2 else [k - 2, k - 1], np.int64)
        return self.call("ReduceMean", self.call("Gather", names[0], place, axis=0),
                         axes=[0], keepdims=0)  # fmt: skip

    def call(
        self,
        operator: str,
        *inputs: str,
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node of one output and return the name of that."""
        name = self._name(operator) if output is None else output
        self._add(operator, inputs, (name,), domain, **attributes)
        return name

    def halves(self, x: str) -> tuple[str, str]:
        """Left and right half of the columns of a tensor."""
        names = self._name("Split"), self._name("Split")
        self._add("Split", (x,), names, axis=-1)
        return names

    def look_up(self, text: str, keys: dict[str, int], default: int) -> str:
        """Integers by which ``keys`` maps a tensor of strings."""
        own: dict[str, Any] = {"default_int64": default}
        if keys:
            own |= {"keys_strings": list(keys), "values_int64s": list(keys.values())}
        return self.call("LabelEncoder", text, domain=_ML, **own)

    def trees(self, x: str, n_outputs: int, attributes: dict[str, Any]) -> str:
        """Sums ``(n, n_outputs)`` of the leaves of trees, for float32 rows."""
        own = {"n_targets": n_outputs, "aggregate_function": "SUM", "post_transform": "NONE"}
        return self.call("TreeEnsembleRegressor", x, domain=_ML, **attributes | own)

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> str:
        """Constant tensor; equal ones are kept once."""
        array = np.asarray(value, dtype=dtype)
        if array.dtype == object:
            key = (str(array.dtype), array.shape, repr(array.tolist()).encode())
        else:
            key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            name = self._name("constant")
            tensor = self._onnx.numpy_helper.from_array(array, name)
            self.initializers.append(tensor)
            self._constants[key] = name
        return self._constants[key]

    def cast(self, x: str, dtype: str) -> str:
        """Tensor as ``"float32"``, ``"float64"`` or ``"int64"``."""
        return self.call("Cast", x, to=self.element(dtype))

    def input(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """Declare an input of n rows of this shape."""
        self.inputs.append(self._declare(name, dtype, shape))

    def output(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        """Declare an output of n rows of this shape."""
        self.outputs.append(self._declare(name, dtype, shape))

    def model(self, name: str, metadata: dict[str, str], version: str) -> Any:
        """Finished model, checked by ``onnx.checker``."""
        helper = self._onnx.helper
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_ML, ML_OPSET)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="adacap",
            producer_version=version,
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _name(self, kind: str) -> str:
        name = f"adacap/{kind}_{self._count}"
        self._count += 1
        return name

    def _add(
        self,
        operator: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        domain: str = "",
        **attributes: Any,
    ) -> None:
        make = self._onnx.helper.make_node
        node = make(operator, inputs, outputs, name=outputs[0], domain=domain, **attributes)
        self.nodes.append(node)

    def element(self, dtype: str) -> int:
        """Number under which ONNX knows a type."""
        proto = self._onnx.TensorProto
        kinds = {
            "float32": proto.FLOAT,
            "float64": proto.DOUBLE,
            "int64": proto.INT64,
            "bool": proto.BOOL,
            "str": proto.STRING,
        }
        return int(kinds[dtype])

    def _declare(self, name: str, dtype: str, shape: tuple[int, ...]) -> Any:
        sizes = ["n", *shape]
        return self._onnx.helper.make_tensor_value_info(name, self.element(dtype), sizes)
