"""Networks: our presets, scikit-learn's, fastai's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adacap.comparison.factory import EVERY_KIND, REGRESSION, check_kind
from adacap.comparison.registry import Method

__all__ = ["METHODS", "PresetFactory"]

# The keys of adacap.nn.ARCHITECTURES, which cannot be listed without loading torch.
_ARCHITECTURES = {
    "fast-mlp": "2 × 256 ReLU, 200 iterations",
    "mlp": "2 × 512 ReLU",
    "batch-mlp": "2 × 512 ReLU, 20 epochs in batches of 256, an hour at most",
    "fast-snn": "2 × 256 SELU, 200 iterations",
    "snn": "2 × 512 SELU",
    "resblock": "2 residual blocks",
    "batch-resblock": "2 residual blocks, 50 epochs in batches of 256, an hour at most",
    "glu-mlp": "3 gated blocks",
}
# The keys of adacap.estimators.presets.MLR_NETS.
_MLR_NETS = {
    "mlr-1": "1 × 1024 ReLU, MLR loss with structured dithering",
    "mlr-2": "2 × 1024 ReLU, the same",
    "mlr-3": "3 × 1024 ReLU, the same",
    "mlr-4": "4 × 1024 ReLU, the same",
    "bag-mlr-1": "10 nets as `mlr-1`",
    "bag-mlr-2": "10 nets as `mlr-2`",
    "ens-mlr": "10 nets as `mlr-1` and 10 as `mlr-2`",
    "best-mlr": "of the 20 nets of `ens-mlr` the one of the best validation score",
    "top5-mlr": "of the 20 nets of `ens-mlr` the five best",
    "mlr-1-2021": "`mlr-1` as the code published in 2021 trains it",
    "mlr-2-2021": "`mlr-2`, the same",
    "mlr-3-2021": "`mlr-3`, the same",
    "mlr-4-2021": "`mlr-4`, the same",
}
# The keys of adacap.estimators.settings.TUNED; the preset "fast" is not the group "fast".
_TUNED = {
    "fast": "a blend of kernel, trees and ridge in five folds",
    "balanced": "the default of our estimators: a blend of nets, kernels, trees and ridge",
    "best": "the same with more members and larger ones",
    "nets": "a bag of nets alone: for regression 5 of 128 gated units, 130 iterations",
    "fast-nets": "5 nets of 64 gated units, one per fold, 80 iterations",
}
_CATEGORY_OF = {"adacap": "AdaCap", "tikhonov": "Tikhonov", "plain": "DNN"}


@dataclass(frozen=True)
class PresetFactory:
    """``build`` of a preset. Columns come encoded and standardised: the net takes them as is."""

    name: str
    kinds: frozenset[str] = EVERY_KIND

    def __call__(self, kind: str, seed: int) -> Any:
        """Fresh estimator."""
        check_kind(kind, self.kinds, self.name)
        from adacap.estimators import make

        return make(
            self.name,
            "regression" if kind == "regression" else "classification",
            preprocessing="none",
            random_state=seed,
        )


def _build_fastai(kind: str, seed: int) -> Any:
    check_kind(kind, EVERY_KIND, "fastai")
    from adacap_bench.methods.adapters import FastaiClassifier, FastaiRegressor, load_fastai

    load_fastai()  # now, so that a measured fit does not include it
    return FastaiRegressor(seed) if kind == "regression" else FastaiClassifier(seed)


def _preset(scheme: str, architecture: str, note: str) -> Method:
    name = architecture if scheme == "plain" else f"{scheme}-{architecture}"
    return Method(
        name, _CATEGORY_OF[scheme], EVERY_KIND, PresetFactory(name), ("torch",), note=note
    )


METHODS: tuple[Method, ...] = (
    Method(
        "fastai",
        "DNN",
        EVERY_KIND,
        _build_fastai,
        ("fastai",),
        "fastai",
        note="tabular learner, 50 epochs of its one-cycle policy",
    ),
    *(
        _preset(scheme, architecture, note)
        for scheme in ("adacap", "tikhonov", "plain")
        for architecture, note in _ARCHITECTURES.items()
    ),
    *(
        Method(name, "MLR-NN", EVERY_KIND, PresetFactory(name), ("torch",), note=note)
        for name, note in _MLR_NETS.items()
    ),
    *(
        Method(
            f"adacap-{name}",
            "AdaCap",
            REGRESSION if name == "fast-nets" else EVERY_KIND,
            PresetFactory(name, REGRESSION if name == "fast-nets" else EVERY_KIND),
            ("torch",),
            note=note,
        )
        for name, note in _TUNED.items()
    ),
)
