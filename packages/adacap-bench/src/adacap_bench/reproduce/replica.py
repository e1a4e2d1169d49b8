"""The start of λ in the tables of 2021, by the settings of the code published with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from adacap_bench.datasets import load_table
from adacap_bench.reproduce.studies.mlr_numbers import BIKE, NAMES, QSAR, SLUMP
from adacap_bench.split import make_split

__all__ = ["POINTS", "PRINTED", "Start", "lambda_start", "starts"]

PRINTED: dict[str, str] = {SLUMP: "215.104 to 222.455", QSAR: "774.264", BIKE: "10000.001"}
"""λ_init of MLR-2 by data set as the tables have it, for J = 1024 and T of at least 2.

They show means over 100 splits. On Concrete Slump a few splits take a neighbour of the usual point
of the grid, so that the mean moves with the splits, which are not published.
"""

POINTS: dict[str, float] = {SLUMP: 215.4435, QSAR: 774.2637, BIKE: 10000.0}
"""The point of the published grid, ``10^(−1 + 5k/9)``, that is behind each of them."""


class Start(NamedTuple):
    """λ_init on the splits of one data set."""

    task: str
    found: tuple[float, ...]

    @property
    def usual(self) -> float:
        """The value that most splits have."""
        return Counter(self.found).most_common(1)[0][0]

    @property
    def mean(self) -> float:
        """What a table of means shows."""
        return sum(self.found) / len(self.found)

    def __str__(self) -> str:
        share = f"{self.found.count(self.usual)} of {len(self.found)} splits"
        return (
            f"{NAMES[self.task]:22} printed {PRINTED[self.task]:>18}  found {self.usual:9.3f} "
            f"on {share}, mean {self.mean:.3f}"
        )


def lambda_start(task: str, split: int, preset: str = "mlr-2-2021", **settings: Any) -> float:
    """λ_init of a preset on the training part of a split, whose index is its seed as well."""
    from adacap.estimators import make

    part = make_split(load_table(task), split)
    options = {"preprocessing": "none", "random_state": split, "max_iter": 1, **settings}
    model = make(preset, **options).fit(part.X_train, part.y_train)
    return float(model.history_["lambda"][0])


def starts(n_splits: int = 10, preset: str = "mlr-2-2021") -> Iterator[Start]:
    """λ_init on the three data sets of the studies, one after the other."""
    for task in POINTS:
        yield Start(task, tuple(lambda_start(task, s, preset) for s in range(n_splits)))
