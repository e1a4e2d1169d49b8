"""Methods of scikit-learn: trees, kernels, linear models, a network and a baseline."""

from __future__ import annotations

from typing import Any

from adacap.comparison.factory import CLASSES, EVERY_KIND, REGRESSION, Factory, check_kind
from adacap.comparison.registry import Method, threads

__all__ = ["METHODS"]

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


class WideGaussianProcess:
    """Builds a Gaussian process with a length scale per column, once their number is known."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Any:
        """Fit it."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        scales = [max(1.0, X.shape[1] ** 0.5)] * X.shape[1]
        kernel = ConstantKernel() * Matern(scales, (1e-2, 1e4), nu=2.5) + WhiteKernel(0.1)
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=self.seed)
        self.model_ = model.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the target."""
        return self.model_.predict(X)


def _build_wide_process(kind: str, seed: int) -> Any:
    check_kind(kind, REGRESSION, "gp-ard")
    return WideGaussianProcess(seed)


def _build_qda(kind: str, seed: int) -> Any:
    """One-hot columns and classes of few rows make a covariance singular: then it is shrunk."""
    check_kind(kind, CLASSES, "qda")
    import numpy as np
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    from adacap.comparison.adapters import FirstFeasible

    shrunk = [
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=weight)
        for weight in _QDA_SHRINKAGES
    ]
    return FirstFeasible([QuadraticDiscriminantAnalysis(), *shrunk], np.linalg.LinAlgError)


_SEED = "random_state"


def _sklearn(
    name: str, category: str, build: Factory, note: str = "", max_rows: int | None = None
) -> Method:
    return Method(name, category, build.kinds, build, ("sklearn",), max_rows=max_rows, note=note)


def _both(module: str, stem: str, **options: Any) -> Factory:
    """Factory of ``<stem>Regressor`` and ``<stem>Classifier``, which take a seed."""
    names = f"{stem}Regressor", f"{stem}Classifier"
    return Factory(f"sklearn.{module}", *names, seed=_SEED, **options)


def _linear(name: str, estimator: str, seed: str | None = _SEED) -> Method:
    return _sklearn(name, "Linear", Factory("sklearn.linear_model", estimator, seed=seed))


METHODS: tuple[Method, ...] = (
    _sklearn("sk-gbdt", "GBDT", _both("ensemble", "GradientBoosting"), "XGB in the paper's tables"),
    _sklearn("adaboost", "GBDT", _both("ensemble", "AdaBoost")),
    _sklearn("rf", "RF", _both("ensemble", "RandomForest", n_threads="n_jobs")),
    _sklearn(
        "xrf", "RF", _both("ensemble", "ExtraTrees", n_threads="n_jobs"),
        "extremely randomised trees",
    ),
    _sklearn("cart", "Tree", _both("tree", "DecisionTree")),
    _sklearn("xcart", "Tree", _both("tree", "ExtraTree"), "one extremely randomised tree"),
    _sklearn(
        "kernel-ridge", "Kernel", Factory("sklearn.kernel_ridge", "KernelRidge"),
        "its default kernel is linear", _KERNEL_ROWS,
    ),
    _sklearn(
        "nu-svm", "SVM", Factory("adacap.comparison.adapters", "NuSVR", "FeasibleNuSVC"),
        "classes: ν = 0.5, or the largest that unequal classes allow",
    ),
    _sklearn("svm", "SVM", Factory("sklearn.svm", "SVR", "SVC")),
    _linear("ridge", "Ridge"),
    _linear("lasso", "Lasso"),
    _linear("elastic-net", "ElasticNet"),
    _linear("ols", "LinearRegression", seed=None),
    _sklearn(
        "logreg", "Linear", Factory("sklearn.linear_model", None, "LogisticRegression", seed=_SEED)
    ),
    Method(
        "qda", "Linear", CLASSES, _build_qda, ("sklearn",),
        note="a singular covariance is shrunk by the least of 0.001, 0.01 and 0.1 that helps",
        lowest="scikit-learn>=1.8",  # older ones cannot shrink, and take a singular one as it is
    ),
    _sklearn("sk-mlp", "DNN", _both("neural_network", "MLP"), "one layer of 100"),
    _sklearn(
        "intercept", "Baseline", Factory("sklearn.dummy", "DummyRegressor", "DummyClassifier"),
        "mean of the target, or shares of the classes",
    ),
    Method(
        "gp", "Peer", EVERY_KIND, _build_gaussian_process, ("sklearn",), max_rows=1000,
        note="Gaussian process, Matérn 5/2 kernel and noise by marginal likelihood",
    ),
    Method(
        "gp-ard", "Peer", REGRESSION, _build_wide_process, ("sklearn",), max_rows=1000,
        note="the same with a length scale per column",
    ),
)  # fmt: skip
