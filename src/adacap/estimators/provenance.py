"""What a model was trained on, when and with what; kept for reports and for the file."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import time
from dataclasses import dataclass

__all__ = ["Provenance"]


@dataclass(frozen=True)
class Provenance:
    """Facts of one ``fit``.

    Attributes
    ----------
    n_rows, n_distinct : int
        Rows of the table, and different ones of positive weight among them.
    fit_seconds : float
        From the call of ``fit`` to a trained model.
    created : str
        Date and time of the end of training, UTC.
    python, numpy, torch, scikit_learn : str
        Versions.
    targets : tuple of str
        Names of the targets, where they are known: ``adacap fit`` knows them.
    """

    n_rows: int
    n_distinct: int
    fit_seconds: float
    created: str
    python: str
    numpy: str
    torch: str
    scikit_learn: str
    targets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", tuple(self.targets))  # a list in the model file

    @classmethod
    def now(cls, n_rows: int, n_distinct: int, start: float) -> Provenance:
        """Facts of a ``fit`` that began at ``start`` of ``time.perf_counter``.

        Examples
        --------
        >>> Provenance.now(100, 99, time.perf_counter()).n_distinct
        99
        """
        return cls(
            n_rows=n_rows,
            n_distinct=n_distinct,
            fit_seconds=time.perf_counter() - start,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            python=platform.python_version(),
            numpy=_version("numpy"),
            torch=_version("torch"),
            scikit_learn=_version("scikit-learn"),
        )


@functools.cache
def _version(package: str) -> str:
    """Version of an installed package; reading it takes as long as a step of training."""
    return importlib.metadata.version(package)
