"""Named sets of methods: by category, by the paper, by speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adacap.bench.methods.registry import METHODS, Method, MethodError
from adacap.exceptions import suggest

__all__ = ["GROUPS", "expand_methods"]

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


def expand_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods meant by names of methods and groups, each once, in the order of mention.

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    tuple of Method
        Those that cannot be used here too: see :func:`unavailable`.

    Examples
    --------
    >>> [method.name for method in expand_methods(["lasso", "forests", "rf"])]
    ['lasso', 'rf', 'xrf']
    """
    if isinstance(names, str):
        raise MethodError(f"names must be a list of names, got {names!r}. Split it first.")
    found: dict[str, Method] = {}
    for name in names:
        if name not in METHODS and name not in GROUPS:
            raise MethodError(suggest(name, [*METHODS, *GROUPS], "method or group"))
        for member in GROUPS.get(name, (name,)):
            found[member] = METHODS[member]
    return tuple(found.values())
