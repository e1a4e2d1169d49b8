"""Splines, kernels, linear models and baselines."""

from __future__ import annotations

from typing import Any

from adacap.bench.methods.factory import CLASSES, EVERY_KIND, Factory, check_kind
from adacap.bench.methods.registry import Method, threads

__all__ = ["METHODS"]

_ADAPTERS = "adacap.bench.methods.feasible"
_QDA_SHRINKAGES = (1e-3, 1e-2, 1e-1)
_KERNEL_ROWS = 20_000  # a matrix of that many rows and columns takes 3.2 GB


def _build_gaussian_process(kind: str, seed: int) -> Any:
    """Matérn kernel whose scales and noise maximise the marginal likelihood.

    The search starts from a length of 10: standardised columns put two rows √(2p) apart, and a
    start far below that ends in pure noise.
    """
    check_kind(kind, EVERY_KIND, "gp")
    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(10.0, (1e-2, 1e4), nu=2.5)
    if kind == "regression":
        return GaussianProcessRegressor(kernel + WhiteKernel(), normalize_y=True, random_state=seed)
    return GaussianProcessClassifier(kernel, random_state=seed, n_jobs=threads())


def _build_qda(kind: str, seed: int) -> Any:
    """One-hot columns and classes of few rows make a covariance singular: then it is shrunk."""
    check_kind(kind, CLASSES, "qda")
    import numpy as np
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    from adacap.bench.methods.feasible import FirstFeasible

    shrunk = [
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=weight)
        for weight in _QDA_SHRINKAGES
    ]
    return FirstFeasible([QuadraticDiscriminantAnalysis(), *shrunk], np.linalg.LinAlgError)


def _sklearn(
    name: str, category: str, build: Factory, note: str = "", max_rows: int | None = None
) -> Method:
    return Method(name, category, build.kinds, build, ("sklearn",), max_rows=max_rows, note=note)


def _linear(name: str, estimator: str, seed: str | None = "random_state") -> Method:
    return _sklearn(name, "Linear", Factory("sklearn.linear_model", estimator, seed=seed))


METHODS: tuple[Method, ...] = (
    Method(
        "mars",
        "MARS",
        frozenset({"regression"}),
        Factory("pyearth", "Earth"),
        ("pyearth",),
        "bench",
        note="py-earth2, the paper's py-earth built for today's Python",
    ),
    _sklearn(
        "kernel-ridge",
        "Kernel",
        Factory("sklearn.kernel_ridge", "KernelRidge"),
        "its default kernel is linear",
        _KERNEL_ROWS,
    ),
    Method(
        "nu-svm",
        "SVM",
        EVERY_KIND,
        Factory(_ADAPTERS, "NuSVR", "FeasibleNuSVC"),
        ("sklearn",),
        note="classes: ν = 0.5, or the largest that unequal classes allow",
    ),
    _sklearn("svm", "SVM", Factory("sklearn.svm", "SVR", "SVC")),
    _linear("ridge", "Ridge"),
    _linear("lasso", "Lasso"),
    _linear("elastic-net", "ElasticNet"),
    _linear("ols", "LinearRegression", seed=None),
    _sklearn(
        "logreg",
        "Linear",
        Factory("sklearn.linear_model", None, "LogisticRegression", seed="random_state"),
    ),
    Method(
        "qda",
        "Linear",
        CLASSES,
        _build_qda,
        ("sklearn",),
        note="a singular covariance is shrunk by the least of 0.001, 0.01 and 0.1 that helps",
    ),
    _sklearn(
        "intercept",
        "Baseline",
        Factory("sklearn.dummy", "DummyRegressor", "DummyClassifier"),
        "mean of the target, or shares of the classes",
    ),
    Method(
        "gp",
        "Peer",
        EVERY_KIND,
        _build_gaussian_process,
        ("sklearn",),
        max_rows=1000,
        note="Gaussian process, Matérn 5/2 kernel and noise by marginal likelihood",
    ),
)
