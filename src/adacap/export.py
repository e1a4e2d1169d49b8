"""Fitted models in other forms: one ONNX graph of preprocessing, networks and output layer.

To predict in Python without torch, :mod:`adacap.lite` reads a saved model directly.
"""

from adacap.modelfile.onnx.inputs import onnx_inputs
from adacap.modelfile.onnx.model import compare_onnx, to_onnx

__all__ = ["compare_onnx", "onnx_inputs", "to_onnx"]
