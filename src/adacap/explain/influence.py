"""Which training rows a prediction leans on, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from adacap._typing import Floats, Index
from adacap.estimators.blending import BUDGETS, Part
from adacap.estimators.preparing import Given
from adacap.explain.evaluating import Evaluator, row_labels
from adacap.explain.leaving_out import boosting_moves, kernel_moves, linear_moves, net_moves
from adacap.explain.training_rows import TrainingRows, training_rows
from adacap.predictors import Kernel, Linear, SymmetricTrees
from adacap.text import table_lines

__all__ = ["Influence", "influence"]


@dataclass(frozen=True, eq=False)
class Influence:
    """What training rows do to predictions.

    Attributes
    ----------
    values : ndarray of shape (m, n) or (m, n, c)
        Prediction less the prediction without the training row, in units of the target; of two
        classes in log-odds, of more in scores whose softmax the probabilities are. Above 0: the row
        pulls the prediction up.
    labels : ndarray of shape (n,)
        Training rows by the user's own labels: the index of a frame, else numbers from 0. Equal
        rows are one, and go by the label of the first.
    positions : ndarray of shape (n,)
        Numbers of these rows in the table, from 0.
    new_labels : ndarray of shape (m,)
        The same of the rows predicted.
    share : float
        Of the model's members, by weight, that are solved again; the others are assumed to stay as
        they are. 1 where all are.
    members : dict of str to bool
        Which they are.
    """

    values: Floats
    labels: npt.NDArray[Any]
    positions: Index
    new_labels: npt.NDArray[Any]
    share: float
    members: dict[str, bool]

    def top(self, row: int = 0, k: int = 5) -> list[tuple[Any, Any]]:
        """Label and influence of the training rows that a prediction leans on most."""
        order = self._order(row)[:k]
        return [(_plain(self.labels[i]), _plain(self.values[row, i])) for i in order]

    def _order(self, row: int) -> Index:
        size = np.abs(self.values[row]).reshape(len(self.labels), -1).sum(1)
        return np.argsort(-size, kind="stable")

    def to_frame(self, k: int = 5) -> Any:
        """Pandas frame of the k training rows that each prediction leans on most."""
        import pandas as pd

        found = [
            (_plain(new), rank + 1, label, value)
            for i, new in enumerate(self.new_labels)
            for rank, (label, value) in enumerate(self.top(i, k))
        ]
        return pd.DataFrame(found, columns=["row", "rank", "training row", "influence"])

    def __str__(self) -> str:
        if self.values.ndim > 2 or not len(self.values):
            return repr(self)
        rows = [[str(label), f"{value:+.3g}"] for label, value in self.top(0)]
        title = f"row {self.new_labels[0]} leans on"
        return "\n".join(table_lines([title, "moved by"], rows))

    def __repr__(self) -> str:
        m, n = self.values.shape[:2]
        return f"Influence({m} predictions, {n} training rows, {self.share:.0%} of the model)"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def influence(
    estimator: Any,
    X: Any,
    X_train: Any,
    y_train: Any,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
) -> Influence:
    """Influence of every training row on every prediction.

    Nets are given, and so are the kernels' scales, the trees' questions and all λ: what is solved
    in closed form on top of them is solved again without the row, fold by fold, which the dual
    weights and the leverage give without solving.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X : array-like or frame of shape (m, n_features)
        Rows to predict.
    X_train, y_train, sample_weight, groups, time : array-like or frame
        What ``fit`` was given; a model does not keep it.

    Returns
    -------
    Influence

    Raises
    ------
    ValueError
        If these are not the rows of ``fit``, or no part of the model is solved in closed form.

    Examples
    --------
    >>> import pandas as pd
    >>> from adacap import AdaCapRegressor
    >>> x = np.arange(30.0)
    >>> table = pd.DataFrame({"x": x}, index=[f"day {i}" for i in range(30)])
    >>> model = AdaCapRegressor(quality="fast", random_state=0).fit(table, np.sin(x / 4))
    >>> found = influence(model, table[14:15] + 0.5, table, np.sin(x / 4))
    >>> found.values.shape, found.share
    ((1, 30), 1.0)
    """
    check_is_fitted(estimator)
    evaluator = Evaluator(estimator, "logit" if hasattr(estimator, "classes_") else "identity")
    given = Given(X_train, y_train, sample_weight, groups=groups, time=time)
    rows = training_rows(estimator, given)
    encoded = evaluator.encode(X)
    if encoded.shape[1] == 0:
        encoded = np.zeros((len(encoded), 1), dtype=np.float32)
    x = torch.from_numpy(encoded).to(rows.x.device)
    parts = _parts(estimator)
    found = [(part, _moves(estimator, part, x, rows)) for part in parts]
    members = {part.name: moves is not None for part, moves in found}
    known = [(part, moves) for part, moves in found if moves is not None]
    if not known:
        raise ValueError(
            f"No part of this model can be solved again in closed form: it is made of "
            f"{', '.join(members)}. {_way_out(estimator)}"
        )
    total = sum((part.factor * moves for part, moves in known), start=torch.zeros(()))
    values = _in_units(evaluator, encoded, total.cpu().numpy())
    share = sum(part.weight for part, _ in known) / sum(part.weight for part in parts)
    return Influence(
        values, rows.labels, rows.positions, row_labels(X, len(x)), min(1.0, share), members
    )


def _way_out(estimator: Any) -> str:
    if hasattr(estimator, "classes_"):
        return "Fit classes with quality='nets' and scheme='adacap'."
    return "Fit with a kernel, ridge or nets among the members, such as quality='fast'."


def _parts(estimator: Any) -> tuple[Part, ...]:
    if estimator.blend_:
        return tuple(estimator.blend_)
    return (Part("nets", 1.0, 0.0, 0.0, 1.0, tuple(estimator.members_)),)


def _moves(estimator: Any, part: Part, x: Tensor, rows: TrainingRows) -> Tensor | None:
    """Moves ``(m, n, c)`` of the outputs of one member; None where it is not solved."""
    if part.frozen is None:
        return _bag_moves(estimator, part, x, rows)
    if isinstance(part.frozen.predictor, Kernel):
        return kernel_moves(part.frozen, x, rows)
    if estimator.codec_.loss != "rmse":
        return None
    if isinstance(part.frozen.predictor, Linear):
        return linear_moves(part.frozen, x, rows)
    budget = BUDGETS.get(estimator.settings_.quality)
    if isinstance(part.frozen.predictor, SymmetricTrees) and budget is not None:
        return boosting_moves(part.frozen, x, rows, budget.boosting)
    return None


def _bag_moves(estimator: Any, part: Part, x: Tensor, rows: TrainingRows) -> Tensor | None:
    solved = all(net.lam is not None for net in part.nets) and estimator.settings_.refit != "none"
    if not solved:
        return None
    intercept = bool(estimator.settings_.fit_intercept)
    total = sum(
        (net_moves(net, x, rows, fit_intercept=intercept) for net in part.nets),
        start=torch.zeros((), dtype=torch.float64),
    )
    return total / len(part.nets)


def _in_units(evaluator: Evaluator, encoded: Any, moves: Floats) -> Floats:
    """Moves ``(m, n, c)`` of coded outputs as moves of predictions, ``(m, n)`` of one output."""
    outputs = evaluator.outputs(encoded)
    m, n, c = moves.shape
    without = (outputs[:, None] - moves).reshape(m * n, c)
    there = evaluator.decoded(without).reshape(m, n, -1)
    values: Floats = evaluator.decoded(outputs)[:, None] - there
    return values if evaluator.output_names is not None else values[..., 0]
