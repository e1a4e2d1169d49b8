"""Fitted models in other forms: one ONNX graph of preprocessing, networks and output layer.

To predict in Python without torch, :mod:`adacap.lite` reads a saved model directly.
"""

from adacap.export.check import compare_onnx
from adacap.export.inputs import onnx_inputs
from adacap.export.model import to_onnx

__all__ = ["compare_onnx", "onnx_inputs", "to_onnx"]
