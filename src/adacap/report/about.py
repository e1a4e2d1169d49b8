"""What a page says about the table behind a model, which the model itself does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["About"]


@dataclass(frozen=True, eq=False)
class About:
    """The table behind a model and the file the model went to.

    Attributes
    ----------
    data : str, default=""
        Name of the file that was learned from.
    targets : sequence of str, default=()
        Names of what is predicted; those that the model knows by default.
    train_rows, test_rows : sequence of int, optional
        Number in the file of each row the model was fitted on, and of each test row; the first
        row is 1. Positions in the tables given, from 0, where these are not known.
    model : str, default=""
        Name of the file that the model was saved to.

    Examples
    --------
    >>> About("flats.csv", ["price"], train_rows=[1, 2, 4]).row(2)
    4
    """

    data: str = ""
    targets: Sequence[str] = ()
    train_rows: Sequence[int] | None = None
    test_rows: Sequence[int] | None = None
    model: str = ""

    @classmethod
    def of(cls, estimator: Any, about: About | None) -> About:
        """What is known: what was given, with the names that the model knows."""
        about = about or cls()
        if about.targets:
            return about
        known = estimator.provenance_.targets
        return cls(about.data, tuple(known), about.train_rows, about.test_rows, about.model)

    @property
    def counts(self) -> str:
        """How rows are counted, in words."""
        if self.train_rows is None:
            return "position in the training table, from 0"
        return f"number of the row in {self.data or 'the file'}; the first one is 1"

    def row(self, position: int) -> int:
        """Number of a training row."""
        return position if self.train_rows is None else int(self.train_rows[position])

    def check(self, n_train: int, n_test: int) -> None:
        """Refuse numbers that do not belong to these rows."""
        for name, rows, n in (
            ("train_rows", self.train_rows, n_train),
            ("test_rows", self.test_rows, n_test),
        ):
            if rows is not None and len(np.asarray(rows)) != n:
                raise ValueError(f"About.{name} has {len(rows)} numbers for {n} rows.")

    def target(self, k: int, n_targets: int) -> str:
        """Name of a target, or ``target k`` of several; empty if there is nothing to say."""
        if len(self.targets) == n_targets:
            return str(self.targets[k])
        return f"target {k}" if n_targets > 1 else ""
