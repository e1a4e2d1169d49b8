"""Methods from after the paper that are also trained from scratch, by pytabkit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adacap.comparison.factory import EVERY_KIND, Factory
from adacap.comparison.registry import Method

__all__ = ["METHODS", "QuietFactory"]


@dataclass(frozen=True)
class QuietFactory:
    """Estimators of a factory, silenced: these print what they do and how far they are."""

    inner: Factory

    def __call__(self, kind: str, seed: int) -> Any:
        """Fresh estimator."""
        from adacap_bench.methods.adapters import Quiet, quietly

        with quietly():  # the first one is imported here
            return Quiet(self.inner(kind, seed))


def _pytabkit(name: str, estimator: str, note: str, *packages: str) -> Method:
    factory = Factory(
        "pytabkit",
        f"{estimator}_Regressor",
        f"{estimator}_Classifier",
        {"device": "cpu", "verbosity": 0},
        "random_state",
        "n_threads",
    )
    needed = ("pytabkit", *packages)
    return Method(name, "Peer", EVERY_KIND, QuietFactory(factory), needed, "peers", note=note)


METHODS: tuple[Method, ...] = (
    _pytabkit("realmlp-td", "RealMLP_TD", "RealMLP with its tuned defaults"),
    _pytabkit("tabm-d", "TabM_D", "TabM with its defaults, 32 members"),
    _pytabkit("xrfm", "XRFM_D", "recursive feature machine with its defaults", "xrfm"),
)
