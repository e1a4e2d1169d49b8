"""What a model was trained on, when and with what; kept for reports and for the file."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import time
from dataclasses import dataclass
from typing import Any

__all__ = ["Provenance", "names_of_targets"]


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
        Names of the targets, where they are known: those of a file, or the columns of a frame.
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


def names_of_targets(y: Any) -> tuple[str, ...]:
    """Names of the columns of a frame; none for anything else, or if some are not text.

    Examples
    --------
    >>> import pandas as pd
    >>> names_of_targets(pd.DataFrame({"price": [1.0], "rent": [2.0]})), names_of_targets([1.0])
    (('price', 'rent'), ())
    """
    names = list(getattr(y, "columns", ())) if getattr(y, "ndim", 2) == 2 else []
    return tuple(names) if all(isinstance(name, str) for name in names) else ()


@functools.cache
def _version(package: str) -> str:
    """Version of an installed package; reading it takes as long as a step of training."""
    return importlib.metadata.version(package)
