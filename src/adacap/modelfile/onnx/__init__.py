"""One ONNX graph of preprocessing, networks and output layer; its door is :mod:`adacap.export`."""
