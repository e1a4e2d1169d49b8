"""Turn a table into the float32 matrix a network reads, by a plan that can be inspected.

``fit`` writes one :class:`~adacap.tables.plan.ColumnPlan` per input column, as the
policy says, and the centre and scale of every output. ``transform`` only follows the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from adacap.estimators.policies import POLICIES, Rules, Weights, cross_fit, moments
from adacap.estimators.tables import Table, read_table, read_texts, row_chunks
from adacap.tables.columns import Floats
from adacap.tables.matching import cells_by_plan, column_order
from adacap.tables.numbers import NumberBlock
from adacap.tables.plan import Cells, ColumnPlan, TargetMean
from adacap.tables.telling import tell_column

__all__ = ["POLICIES", "TableEncoder"]


class TableEncoder:
    """Fitted map from a table to a float32 matrix.

    Parameters
    ----------
    policy : {"default", "paper", "none"}, default="default"
        ``"default"``: robust scaling with soft clipping, missing flags, one-hot, target
        means and frequencies for text of many levels, calendar cycles for dates.
        ``"paper"``: the preprocessing of the AdaCap experiments.
        ``"none"``: numbers pass unchanged.
        In the first two every output is finally brought to mean 0 and deviation 1.
    max_levels : int, default=12
        A column of at most this many levels is one-hot encoded.
    one_hot_numeric : bool, default=True
        Under ``"default"``, whether a numeric column of 3 to ``max_levels`` values, each
        held by two rows on average, is one-hot encoded beside being kept as a number.
    owner : str, default="TableEncoder"
        Class name that messages about the user's data speak of.
    read_text : bool or str, default=True
        Under ``"default"``, whether text that spells numbers (``"1,234.50"``, ``"86 m²"``,
        ``"12 %"``) or dates is read as such, and free text (long, mostly distinct) becomes features
        of its words. A text such as ``"%d/%m/%Y"`` also says how dates are written, where day and
        month cannot be told apart.

    Attributes
    ----------
    columns_ : tuple of ColumnPlan
        What happens to each input column.
    names_ : tuple of str or None
        Column names seen in ``fit``.
    n_features_out_ : int
        Number of output columns; 0 if every column was dropped.

    Notes
    -----
    Statistics are those of the rows of positive weight, and weighted; level counts and
    target means are not weighted. Quartiles look at 100,000 rows at most.

    Examples
    --------
    >>> table = read_table([[1.0, "red"], [2.0, "blue"], [6.0, "red"]])
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out()
    array(['x0', 'x1=red'], dtype=object)
    >>> encoder.columns_[1]
    ColumnPlan(name='x1', kind='categorical', parts=(Binary(levels=('blue', 'red'),
    unseen=0.666...),), dropped='')
    >>> encoder.transform(table)[:, 1]
    array([ 0.70..., -1.41...,  0.70...], dtype=float32)
    """

    def __init__(
        self,
        policy: str = "default",
        max_levels: int = 12,
        one_hot_numeric: bool = True,
        *,
        owner: str = "TableEncoder",
        read_text: bool | str = True,
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"policy must be one of {list(POLICIES)}, got {policy!r}.")
        if not max_levels >= 2:
            raise ValueError(f"max_levels must be an integer of at least 2, got {max_levels!r}.")
        self.policy = policy
        self.max_levels = max_levels
        self.one_hot_numeric = one_hot_numeric
        self.owner = owner
        self.read_text = read_text

    def __repr__(self) -> str:
        options = f"policy={self.policy!r}, max_levels={self.max_levels}"
        return f"TableEncoder({options}, one_hot_numeric={self.one_hot_numeric})"

    def fit(
        self,
        table: Table,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> TableEncoder:
        """Learn the plan.

        Parameters
        ----------
        table : Table
            Or any table that the estimators take.
        y : array of shape (n_rows,) or (n_rows, n_targets), optional
            Coded targets, used for target means only; without them there are none.
        sample_weight : array of shape (n_rows,), optional
            Rows of weight 0 are left out. Only the ratios of the weights matter.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._fit(table, y, sample_weight, keep=False)
        return self

    def fit_transform(
        self,
        table: Table,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float32]:
        """Learn the plan and return the encoded training rows.

        The same as ``fit`` then ``transform``, except that the target means of a row are
        learnt on other rows (five folds), so that no row sees its own target.
        """
        return self._fit(table, y, sample_weight, keep=True)

    def transform(self, table: Table) -> npt.NDArray[np.float32]:
        """Encode rows by the fitted plan.

        Parameters
        ----------
        table : Table
            Columns are found by name in any order, or by position without names.

        Returns
        -------
        ndarray of float32, shape (n_rows, ``n_features_out_``)
        """
        if not hasattr(self, "columns_"):
            raise NotFittedError("This TableEncoder is not fitted yet. Call fit first.")
        table = self._align(read_table(table))
        out = np.empty((table.n_rows, self.n_features_out_), dtype=np.float32)
        alone, matrix = set(range(table.n_columns)), table.matrix
        if matrix is not None and (numbers := NumberBlock.of(self.columns_)) is not None:
            numbers.encode(matrix, out)
            alone -= set(numbers.inputs.tolist())
        for rows in row_chunks(table.n_rows) if alone else ():
            self._encode(table.take(rows), out[rows], alone)
        return out

    def _encode(self, table: Table, out: npt.NDArray[np.float32], chosen: set[int]) -> None:
        """Encode the chosen columns, one at a time."""
        k = 0
        for j, plan in enumerate(self.columns_):
            if plan.parts and j in chosen:
                encoded = plan.encoded(self._cells(table, j, plan))
                for place, x in enumerate(encoded, start=k):
                    out[:, place] = x
            k += len(plan.center)

    @property
    def n_features_out_(self) -> int:
        """Number of output columns."""
        return sum(len(plan.center) for plan in self.columns_)

    def get_feature_names_out(self) -> npt.NDArray[np.object_]:
        """Names of the output columns: ``size``, ``colour=red``, ``city:frequency``, ..."""
        return np.array([name for plan in self.columns_ for name in plan.outputs], dtype=object)

    def summary(self) -> list[dict[str, Any]]:
        """One dict per input column: column, kind, treatment, outputs, and how it was read.

        ``read_as`` is number, date, category, text, dropped or "as it stands"; ``bad_cells`` of the
        cells could not be read and are missing, ``examples`` are three of them; ``note`` says the
        rest.
        """
        return [
            dict(column=plan.name, kind=plan.kind, treatment=plan.treatment, outputs=plan.outputs)
            | tell_column(plan).facts()
            for plan in self.columns_
        ]

    def to_dict(self) -> dict[str, Any]:
        """Fitted encoder as JSON-able data; :meth:`from_dict` encodes to the same bits."""
        return {
            "policy": self.policy,
            "max_levels": int(self.max_levels),
            "one_hot_numeric": bool(self.one_hot_numeric),
            "owner": self.owner,
            "read_text": self.read_text,
            "names": None if self.names_ is None else list(self.names_),
            "columns": [plan.to_dict() for plan in self.columns_],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TableEncoder:
        """Fitted encoder from what :meth:`to_dict` gave."""
        options = ("policy", "max_levels", "one_hot_numeric", "owner", "read_text")
        encoder = cls(**{name: data[name] for name in options})
        encoder.names_ = None if data["names"] is None else tuple(data["names"])
        encoder.columns_ = tuple(ColumnPlan.from_dict(column) for column in data["columns"])
        return encoder

    # -- fitting

    def _fit(self, table: Table, y: Any, sample_weight: Any, keep: bool) -> npt.NDArray[np.float32]:
        table = read_table(table)
        targets = None if y is None else _per_row(y, "y", table.n_rows).reshape(table.n_rows, -1)
        weights = None if sample_weight is None else _weights(sample_weight, table.n_rows)
        if weights is None or weights.all():
            return self._fit_rows(table, targets, weights, keep)
        used = np.flatnonzero(weights)
        some_targets = None if targets is None else targets[used]
        encoded = self._fit_rows(table.take(used), some_targets, weights[used], keep)
        if not keep:
            return encoded
        out = self.transform(table)
        out[used] = encoded
        return out

    def _fit_rows(
        self, table: Table, targets: Floats | None, weights: Weights, keep: bool
    ) -> npt.NDArray[np.float32]:
        has_words = self.read_text is not False
        rules = Rules(self.max_levels, self.one_hot_numeric, targets, weights, has_words)
        names = table.names or [f"x{j}" for j in range(table.n_columns)]
        read_text = self.read_text if self.policy == "default" else False
        table = read_texts(table, read_text)
        drafts = [
            self._draft(table, j, rules, ColumnPlan(names[j], table.kind(j), reading=reading))
            for j, reading in enumerate(table.readings or ())
        ]
        width = sum(len(plan.outputs) for plan in drafts) if keep else 0
        out = np.empty((table.n_rows, width), dtype=np.float32)
        plans, k = [], 0
        for j, plan in enumerate(drafts):
            centers, scales = [], []
            for x in self._outputs(table, j, plan, targets):
                center, scale = (0.0, 1.0) if self.policy == "none" else moments(x, weights)
                centers.append(center)
                scales.append(scale)
                if keep:
                    out[:, k] = (x - center) / scale
                    k += 1
            plans.append(replace(plan, center=tuple(centers), scale=tuple(scales)))
        self.names_ = table.names
        self.columns_ = tuple(plans)
        return out

    def _draft(self, table: Table, j: int, rules: Rules, plan: ColumnPlan) -> ColumnPlan:
        parts, dropped = POLICIES[self.policy](self._cells(table, j, plan), rules)
        return replace(plan, parts=tuple(parts), dropped=dropped)

    def _outputs(
        self, table: Table, j: int, plan: ColumnPlan, targets: Floats | None = None
    ) -> Iterator[Floats]:
        """Outputs of column ``j`` before centring; with targets, those of training rows."""
        if not plan.parts:
            return
        cells = self._cells(table, j, plan)
        for part in plan.parts:
            if isinstance(part, TargetMean) and targets is not None:
                yield from cross_fit(cells.match(part.levels), targets)
            else:
                yield from part.outputs(cells)

    # -- meeting new data

    def _cells(self, table: Table, j: int, plan: ColumnPlan) -> Cells:
        return cells_by_plan(table.columns[j], table.place(j), plan, self.policy)

    def _align(self, table: Table) -> Table:
        """The table with its columns as ``fit`` had them."""
        n_fitted = len(self.columns_)
        order = column_order(
            table.names, table.n_columns, self.names_, n_fitted, owner=self.owner, stacklevel=3,
            unused=[plan.name for plan in self.columns_ if not plan.parts],
        )  # fmt: skip
        return table.arrange(order).read([plan.reading for plan in self.columns_], is_new=True)


def _per_row(values: Any, name: str, n_rows: int) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or len(array) != n_rows:
        raise ValueError(f"{name} has shape {array.shape}, but the table has {n_rows} rows.")
    return array


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    """Weights as multiples of the largest, so that no sum of them overflows or vanishes."""
    weights = _per_row(sample_weight, "sample_weight", n_rows)
    largest = float(weights.max())
    if weights.shape != (n_rows,) or not (weights >= 0).all() or not 0 < largest < np.inf:
        raise ValueError(
            "sample_weight must be one finite number >= 0 per row and not zero everywhere, got "
            f"shape {weights.shape}, smallest {weights.min():g} and largest {largest:g}."
        )
    return weights / largest
