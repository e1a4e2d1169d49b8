"""Named sets of methods: by category, by the paper, by speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from adacap.comparison import METHODS

__all__ = ["CATEGORIES", "GROUPS", "members_of"]

CATEGORIES: dict[str, str] = {
    "AdaCap": "networks with the Tikhonov layer and the MLR loss",
    "Tikhonov": "networks with the Tikhonov layer alone",
    "MLR-NN": "the nets and ensembles of the 2021 supplement",
    "DNN": "ordinary networks",
    "GBDT": "boosted trees",
    "RF": "forests",
    "SVM": "support vector machines",
    "Kernel": "other kernel methods",
    "Linear": "linear models, and Gaussian classes",
    "MARS": "adaptive splines",
    "Tree": "single trees",
    "Baseline": "what to beat",
    "Peer": "methods from after the paper",
}

_BY_CATEGORY: dict[str, frozenset[str]] = {
    "adacap": frozenset({"AdaCap"}),
    "tikhonov": frozenset({"Tikhonov"}),
    "mlr-nn": frozenset({"MLR-NN"}),
    "dnn": frozenset({"DNN"}),
    "gbdt": frozenset({"GBDT"}),
    "forests": frozenset({"RF"}),
    "trees": frozenset({"Tree"}),
    "svms": frozenset({"SVM", "Kernel"}),
    "linear": frozenset({"Linear"}),
    "baselines": frozenset({"Baseline"}),
    "peers": frozenset({"Peer"}),
}

# Section "Other compared methods" of the paper: all that compete with the networks.
_COMPARED = (
    "catboost", "fast-catboost", "xgboost", "lightgbm", "sk-gbdt", "adaboost",
    "rf", "xrf", "cart", "xcart", "mars", "kernel-ridge", "nu-svm", "svm",
    "ridge", "lasso", "elastic-net", "ols", "logreg", "qda",
)  # fmt: skip
_ARCHITECTURES = (
    "fast-mlp", "mlp", "batch-mlp", "fast-snn", "snn", "resblock", "batch-resblock", "glu-mlp",
)  # fmt: skip

_FIXED: dict[str, tuple[str, ...]] = {
    "paper": (
        *_COMPARED, "sk-mlp", "fastai", "intercept",
        *_ARCHITECTURES, *(f"adacap-{name}" for name in _ARCHITECTURES),
    ),
    # Table "percentage of experiments where the best performing method belongs to the category":
    # four networks each, so that no category wins by its number of contenders.
    "contest-without-adacap": ("mlp", "resblock", "snn", "glu-mlp", *_COMPARED),
    "contest-with-adacap": (
        "mlp", "adacap-resblock", "adacap-snn", "adacap-glu-mlp", *_COMPARED,
    ),
    # A first look: of each main category one that a bare installation has.
    "quick": (
        "intercept", "ridge", "logreg", "svm", "rf", "sk-gbdt", "fast-snn", "adacap-fast-snn",
    ),
    # Measured: less than a second on 350 rows and 10 columns, on one core.
    "fast": (
        "fast-catboost", "xgboost", "lightgbm", "sk-gbdt", "adaboost", "rf", "xrf",
        "cart", "xcart", "mars", "kernel-ridge", "nu-svm", "svm", "sk-mlp",
        "ridge", "lasso", "elastic-net", "ols", "logreg", "qda", "intercept", "xrfm",
    ),
}  # fmt: skip


class _Groups(Mapping[str, tuple[str, ...]]):
    """Groups as a read-only dict; those by category follow what is registered."""

    def __getitem__(self, name: str) -> tuple[str, ...]:
        if name == "all":
            return tuple(METHODS)
        if name in _BY_CATEGORY:
            wanted = _BY_CATEGORY[name]
            return tuple(method.name for method in METHODS.values() if method.category in wanted)
        return _FIXED[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("all", *_BY_CATEGORY, *_FIXED))

    def __len__(self) -> int:
        return 1 + len(_BY_CATEGORY) + len(_FIXED)


GROUPS: Mapping[str, tuple[str, ...]] = _Groups()


def members_of(name: str) -> Callable[[], tuple[str, ...]]:
    """Function that looks up the names of a group's methods.

    Examples
    --------
    >>> members_of("forests")()
    ('rf', 'xrf')
    """
    return partial(GROUPS.__getitem__, name)
