"""Turn a table into the float32 matrix a network reads, by a plan that can be inspected.

``fit`` writes one :class:`~adacap.tables.plan.ColumnPlan` per input column, as the
policy says, and the centre and scale of every output. ``transform`` only follows the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from adacap._typing import Floats, Matrix
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.exceptions import suggest
from adacap.tables.encoder import OPTIONS, POLICY_NAMES, Encoder
from adacap.tables.matching import cells_by_plan
from adacap.tables.plan import Cells, ColumnPlan, TargetMean
from adacap.tables.policies import POLICIES, Rules, Weights, cross_fit, moments
from adacap.tables.readings import check_read_text
from adacap.tables.table import Table, read_table, read_texts
from adacap.tables.telling import tell_column

__all__ = ["TableEncoder"]

_LARGEST = float(np.finfo(np.float32).max)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Fitted map from a table to a float32 matrix, as a scikit-learn transformer.

    Parameters
    ----------
    policy : {"default", "paper", "none"}, default="default"
        ``"default"``: robust scaling with soft clipping, missing flags, one-hot, target
        means and frequencies for text of many levels, calendar cycles for dates.
        ``"paper"``: the preprocessing of the AdaCap experiments.
        ``"none"``: numbers pass unchanged.
        In the first two every output is finally scaled to mean 0 and deviation 1.
    max_levels : int, default=12
        A column of at most this many levels is one-hot encoded.
    one_hot_numeric : bool, default=True
        Under ``"default"``, whether a numeric column of 3 to ``max_levels`` values, each
        held by two rows on average, is one-hot encoded beside being kept as a number.
    read_text : bool or str, default=True
        Under ``"default"``, whether text that spells numbers (``"1,234.50"``, ``"86 m²"``,
        ``"12 %"``) or dates is read as such, and free text (long, mostly distinct) becomes features
        of its words. A text such as ``"%d/%m/%Y"`` also says how dates are written, where day and
        month cannot be distinguished.

    Attributes
    ----------
    columns_ : tuple of ColumnPlan
        What happens to each input column.
    names_ : tuple of str or None
        Column names seen in ``fit``; ``feature_names_in_`` has them as an array.
    layout_ : tuple of int
        Input columns in the order of their outputs in the matrix. That of the table,
        except inside an estimator, whose nets must not depend on the order of the columns.
    n_features_in_ : int
        Number of input columns.
    n_features_out_ : int
        Number of output columns; 0 if every column was dropped.

    Notes
    -----
    Statistics are those of the rows of positive weight, and weighted; level counts and
    target means are not weighted. Quartiles look at 100,000 rows at most.

    Examples
    --------
    >>> encoder = TableEncoder().fit([[1.0, "red"], [2.0, "blue"], [6.0, "red"]])
    >>> encoder.get_feature_names_out()
    array(['x0', 'x1=red'], dtype=object)
    >>> encoder.columns_[1]
    ColumnPlan(name='x1', kind='categorical', parts=(Binary(levels=('blue', 'red'),
    unseen=0.666...),), dropped='')
    >>> encoder.transform([[1.0, "red"], [2.0, "blue"]])[:, 1]
    array([ 0.70..., -1.41...], dtype=float32)
    """

    _owner = "TableEncoder"  # the class named in messages about the user's data

    def __init__(
        self,
        policy: str = "default",
        max_levels: int = 12,
        one_hot_numeric: bool = True,
        read_text: bool | str = True,
    ) -> None:
        self.policy = policy
        self.max_levels = max_levels
        self.one_hot_numeric = one_hot_numeric
        self.read_text = read_text

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TableEncoder:
        """Learn the plan.

        Parameters
        ----------
        X : array, frame or Table of shape (n_rows, n_columns)
            Any table that the estimators take.
        y : array of shape (n_rows,) or (n_rows, n_targets), optional
            Numbers or class labels, used for target means only; without them there are none.
        sample_weight : array of shape (n_rows,), optional
            Rows of weight 0 are left out. Only the ratios of the weights matter.

        Returns
        -------
        TableEncoder
            The encoder itself.
        """
        self._fit(read_table(X), y, sample_weight, keep=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the plan and return the encoded training rows.

        The same as ``fit`` then ``transform``, except that the target means of a row are
        learnt on other rows (five folds), so that no row sees its own target.
        """
        return self._fit(read_table(X), y, sample_weight, keep=True)

    def transform(self, X: Any) -> Any:
        """Encode rows by the fitted plan.

        Parameters
        ----------
        X : array, frame or Table
            Columns are found by name in any order, or by position without names.

        Returns
        -------
        ndarray of float32, shape (n_rows, ``n_features_out_``)
            Or the frame that ``set_output`` asks for.
        """
        check_is_fitted(self)
        return self.encode(read_table(X))

    def fit_encode(
        self,
        table: Table,
        y: Floats,
        sample_weight: Floats | None,
        *,
        layout: Sequence[int] | None,
        owner: str,
    ) -> Matrix:
        """:meth:`fit_transform` for an estimator: an array, regardless of ``set_output``.

        ``layout`` is the order of the columns in the matrix, ``owner`` the class named in messages
        about the user's data.
        """
        self._owner = owner
        return self._fit(table, y, sample_weight, keep=True, layout=layout)

    def encode(self, table: Table) -> Matrix:
        """:meth:`transform` for an estimator: an array, regardless of ``set_output``."""
        return self._encoder.encode(table)

    @property
    def n_features_in_(self) -> int:
        """Number of input columns."""
        return len(self.columns_)

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Column names seen in ``fit``, if there were any."""
        if self.names_ is None:
            raise AttributeError("The table had no column names, so there is no feature_names_in_.")
        return np.array(self.names_, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the output columns: ``size``, ``colour=red``, ``city:frequency``, ...

        Parameters
        ----------
        input_features : sequence of str, optional
            Names for columns that had none in ``fit``; else those of ``fit`` again.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        plans = [replace(self.columns_[j], name=names[j]) for j in self.layout_]
        return np.array([name for plan in plans for name in plan.outputs], dtype=object)

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
            "policy": self.policy if self.policy in POLICY_NAMES else "default",
            "max_levels": int(self.max_levels),
            "one_hot_numeric": bool(self.one_hot_numeric),
            "read_text": self.read_text,
            "names": None if self.names_ is None else list(self.names_),
            "columns": [plan.to_dict() for plan in self.columns_],
            "layout": list(self.layout_),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], owner: str = "TableEncoder") -> TableEncoder:
        """Fitted encoder from the output of :meth:`to_dict`.

        ``owner`` is the class named in messages about the user's data.
        """
        encoder = cls(**{name: data[name] for name in OPTIONS})
        encoder._owner = owner
        encoder._keep(Encoder.from_dict(data, owner))
        return encoder

    def __sklearn_tags__(self) -> Tags:
        """Missing values, text and categories are accepted; the result is float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.policy != "none"
        tags.input_tags.categorical = tags.input_tags.string = self.policy != "none"
        tags.transformer_tags.preserves_dtype = []
        return tags

    # -- fitting

    def _check_options(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(suggest(self.policy, POLICIES, "policy"))
        most = self.max_levels
        if not isinstance(most, Integral) or isinstance(most, bool) or int(most) < 2:
            raise ValueError(f"max_levels must be an integer of at least 2, got {most!r}.")
        if not isinstance(self.one_hot_numeric, bool | np.bool_):
            raise ValueError(f"one_hot_numeric must be a bool, got {self.one_hot_numeric!r}.")
        check_read_text(self.read_text)

    def _fit(
        self,
        table: Table,
        y: Any,
        sample_weight: Any,
        keep: bool,
        layout: Sequence[int] | None = None,
    ) -> Matrix:
        self._check_options()
        targets = None if y is None else _targets(y, table.n_rows)
        weights = None if sample_weight is None else _weights(sample_weight, table.n_rows)
        order = tuple(range(table.n_columns) if layout is None else layout)
        if weights is None or weights.all():
            return self._fit_rows(table, targets, weights, keep, order)
        used = np.flatnonzero(weights)
        some_targets = None if targets is None else targets[used]
        encoded = self._fit_rows(table.take(used), some_targets, weights[used], keep, order)
        if not keep:
            return encoded
        out = self.encode(table)
        out[used] = encoded
        return out

    def _fit_rows(
        self,
        table: Table,
        targets: Floats | None,
        weights: Weights,
        keep: bool,
        layout: tuple[int, ...],
    ) -> Matrix:
        has_words = self.read_text is not False
        rules = Rules(self.max_levels, self.one_hot_numeric, targets, weights, has_words)
        names = table.names or [f"x{j}" for j in range(table.n_columns)]
        table = read_texts(table, self.read_text if self.policy == "default" else False)
        drafts = [
            self._draft(table, j, rules, ColumnPlan(names[j], table.kind(j), reading=reading))
            for j, reading in enumerate(table.readings or ())
        ]
        plans = list(drafts)
        width = sum(len(plan.outputs) for plan in drafts) if keep else 0
        out, k = np.empty((table.n_rows, width), dtype=np.float32), 0
        for j in layout:
            centers, scales = [], []
            for x in self._outputs(table, j, drafts[j], targets):
                center, scale = (0.0, 1.0) if self.policy == "none" else moments(x, weights)
                centers.append(center)
                scales.append(scale)
                if keep:
                    with np.errstate(over="ignore"):
                        out[:, k] = np.clip((x - center) / scale, -_LARGEST, _LARGEST)
                    k += 1
            plans[j] = replace(drafts[j], center=tuple(centers), scale=tuple(scales))
        self._keep(Encoder(self.policy, table.names, plans, layout, owner=self._owner))
        return out

    def _keep(self, encoder: Encoder) -> None:
        """Keep what was learnt, and what follows the plan from now on."""
        self.names_, self.columns_ = encoder.names, encoder.columns
        self.layout_, self.n_features_out_ = encoder.layout, encoder.n_features_out
        self._encoder = encoder

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

    def _cells(self, table: Table, j: int, plan: ColumnPlan) -> Cells:
        return cells_by_plan(table.columns[j], table.place(j), plan, self.policy)

    def align(self, X: Any) -> Table:
        """X as a table with its columns as ``fit`` had them, their text read as in ``fit``."""
        return self._encoder.align(read_table(X))

    def cells(self, X: Any) -> list[Cells]:
        """Columns of X in the order and the kinds of ``fit``, before they are encoded."""
        return self._encoder.cells(read_table(X))


def _targets(y: Any, n_rows: int) -> Floats:
    """Targets as columns of numbers; labels that are text or booleans are coded."""
    values = np.asarray(y)
    is_text = values.dtype == object and any(isinstance(cell, str) for cell in values.flat)
    if is_text or values.dtype.kind in "USb":
        values = ClassCodec.fit(y).encode(y)
    return RegressionCodec.check(_per_row(values, "y", n_rows)).reshape(n_rows, -1)


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
