"""Predict elsewhere: with NumPy alone, and as an ONNX graph if onnx is installed."""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

import adacap
from adacap import lite
from adacap.export import compare_onnx, to_onnx


def main() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = adacap.AdaCapRegressor(quality="fast", random_state=0).fit(X[:300], y[:300])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.adacap"
        model.save(path)
        print(f"model file: {path.stat().st_size / 1000:.0f} kB")
        difference = np.abs(lite.load(path).predict(X[300:]) - model.predict(X[300:])).max()
        print(f"NumPy alone differs by at most {difference / y.std():.0e} standard deviations")
        if find_spec("onnx") and find_spec("onnxruntime"):
            graph = Path(folder) / "model.onnx"
            to_onnx(model, graph)
            print(f"ONNX differs by at most {compare_onnx(model, graph, X[300:]):.0e}")


if __name__ == "__main__":
    main()
