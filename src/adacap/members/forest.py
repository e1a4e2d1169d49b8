"""Trees from scikit-learn, grown in the folds and kept as arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from adacap.members.fold_data import ABSENT, FoldData
from adacap.predictors import Forest

__all__ = ["fit_extra_trees", "fit_hist_boosting"]

Fitted = tuple[Forest, dict[str, Tensor]]


class _Tree(NamedTuple):
    """Nodes of one tree; a leaf is its own child."""

    column: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float32]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    leaf: npt.NDArray[np.float32]  # (nodes, c)
    depth: int


_Grown = tuple[list[_Tree], npt.NDArray[np.float64]]  # trees, and what is added to their sum


def fit_extra_trees(
    data: FoldData, *, n_trees: int = 60, max_features: float = 0.5, min_samples_leaf: int = 1
) -> Fitted:
    """So many extremely randomised trees for every fold on the rows outside it.

    A node may ask about the share ``max_features`` of the columns.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 40)[:, None]
    >>> data = FoldData(x, x.sign(), None, torch.arange(40) % 2, k=2, seed=0)
    >>> fit_extra_trees(data, n_trees=5)[0].n_trees
    5
    """
    from sklearn import config_context
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.tree import ExtraTreeRegressor

    options: Any = {"max_features": max_features, "min_samples_leaf": min_samples_leaf}

    def grow(x: Any, y: Any, w: Any, seed: int, n_trees: int) -> _Grown:
        if len(x) > _LEAST_SHARED:
            n_jobs = torch.get_num_threads()
            model = ExtraTreesRegressor(n_trees, random_state=seed, n_jobs=n_jobs, **options)
            found = model.fit(x, y if y.shape[1] > 1 else y[:, 0], w).estimators_
        else:  # the same trees: on few rows a forest takes longer to copy them than to grow them
            draw = np.random.RandomState(seed)
            seeds = [draw.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]
            x = np.ascontiguousarray(x, dtype=np.float32)  # as the check that is left out would
            with config_context(skip_parameter_validation=True):
                found = [
                    ExtraTreeRegressor(random_state=one, **options).fit(x, y, w, check_input=False)
                    for one in seeds
                ]
        return [_from_tree(each.tree_, 1 / n_trees) for each in found], np.zeros(y.shape[1])

    link = {"bce": "logit", "ce": "log"}.get(data.loss, "identity")
    return _in_folds(data, grow, n_trees, link)


_LEAST_SHARED = 2000  # rows from which threads are worth their start
_ROWS_A_THREAD = 4000  # of histograms: on fewer, threads wait for each other
_TRIAL = 3  # trees to time before many are grown


def fit_hist_boosting(
    data: FoldData, *, n_trees: int = 200, rate: float = 0.07, max_leaf_nodes: int = 31
) -> Fitted:
    """Histogram-based gradient boosting for every fold on the rows outside it.

    Several targets are boosted one by one.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 80)[:, None]
    >>> data = FoldData(x, x.sign(), None, torch.arange(80) % 2, k=2, seed=0)
    >>> fit_hist_boosting(data, n_trees=5)[0].n_trees
    5
    """
    boost = _boost_numbers if data.loss == "rmse" else _boost_classes

    def grow(x: Any, y: Any, w: Any, seed: int, n_trees: int) -> _Grown:
        options: Any = {
            "max_iter": n_trees, "learning_rate": rate, "max_leaf_nodes": max_leaf_nodes,
            "early_stopping": False, "random_state": seed,
        }  # fmt: skip
        return boost(x, y, w, options)

    threads = max(1, min(torch.get_num_threads(), data.n_rows // _ROWS_A_THREAD))
    with threadpool_limits(threads, user_api="openmp"):
        return _in_folds(data, grow, n_trees)


def _boost_numbers(x: Any, y: Any, w: Any, options: Any) -> _Grown:
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees, base, c = [], np.zeros(y.shape[1]), y.shape[1]
    for j in range(c):
        model = HistGradientBoostingRegressor(**options).fit(x, y[:, j], w)
        trees += [_from_nodes(step[0].nodes, j, c) for step in model._predictors]
        base[j] = np.ravel(model._baseline_prediction)[0]
    return trees, base


def _boost_classes(x: Any, y: Any, w: Any, options: Any) -> _Grown:
    from sklearn.ensemble import HistGradientBoostingClassifier

    c = y.shape[1]
    labels, base = y[:, 0] if c == 1 else y.argmax(1), np.full(c, ABSENT)
    if len(np.unique(labels)) < 2:  # the only rows of another class are held out
        base[y[0] > 0] = -ABSENT if c == 1 else 0.0
        return [], base
    model = HistGradientBoostingClassifier(**options).fit(x, labels, w)
    seen = np.zeros(1, int) if c == 1 else model.classes_
    if c > 1 and len(seen) == 2:  # one output, of the second against the first
        base[seen[0]], seen = 0.0, seen[1:]
    base[seen] = np.ravel(model._baseline_prediction)
    steps = [zip(seen, step, strict=True) for step in model._predictors]
    return [_from_nodes(tree.nodes, j, c) for step in steps for j, tree in step], base


def _in_folds(
    data: FoldData, grow: Callable[..., Any], n_trees: int, link: str = "identity"
) -> Fitted:
    """Grow the trees of every fold, and put all nodes in one list."""
    targets = data.targets if data.loss == "rmse" else data.shares
    x, y = data.x.cpu().numpy(), targets.cpu().numpy().astype(np.float64)

    def fold(k: int, n_trees: int) -> _Grown:
        rows = data.train_rows(k).cpu().numpy()
        w = None if data.weight is None else data.weight.cpu().numpy()[rows].astype(np.float64)
        found: _Grown = grow(x[rows], y[rows], w, (data.seed + k) % 2**32, n_trees)
        return found

    n_trees = _affordable(data, fold, n_trees)
    grown, bases = zip(*(fold(k, n_trees) for k in range(data.k)), strict=True)
    n_trees = max(map(len, grown))
    forests = [[*trees, *[_nothing(y.shape[1])] * (n_trees - len(trees))] for trees in grown]
    flat = [tree for trees in forests for tree in trees]
    starts = np.cumsum([0, *(len(tree.column) for tree in flat)])
    arrays = _joined(flat, starts[:-1])
    arrays["root"] = starts[:-1].reshape(data.k, n_trees)
    arrays["bias"] = np.stack(bases)
    predictor = Forest(
        data.k, x.shape[1], n_trees, int(starts[-1]), max(t.depth for t in flat), y.shape[1], link
    )
    return predictor, {name: torch.from_numpy(values) for name, values in arrays.items()}


def _affordable(data: FoldData, fold: Callable[[int, int], _Grown], n_trees: int) -> int:
    """Number of trees that each fold has time for, from timing a few."""
    if data.deadline is None:
        return n_trees
    start = time.perf_counter()
    fold(0, _TRIAL)
    each = (time.perf_counter() - start) / _TRIAL
    return max(_TRIAL, min(n_trees, int(data.seconds_left / (data.k * each))))


def _joined(trees: Sequence[_Tree], starts: Any) -> dict[str, npt.NDArray[Any]]:
    pairs = list(zip(trees, starts, strict=True))
    return {
        "column": np.concatenate([t.column for t in trees]),
        "threshold": np.concatenate([t.threshold for t in trees]),
        "left": np.concatenate([t.left + start for t, start in pairs]),
        "right": np.concatenate([t.right + start for t, start in pairs]),
        "leaf": np.concatenate([t.leaf for t in trees]),
    }


def _nothing(n_out: int) -> _Tree:
    """A tree that adds nothing."""
    node = np.zeros(1, dtype=np.int64)
    return _Tree(node, _down(np.zeros(1)), node, node, np.zeros((1, n_out), np.float32), 0)


def _from_tree(tree: Any, share: float) -> _Tree:
    """Nodes of a tree of scikit-learn's forests."""
    own, is_leaf = np.arange(tree.node_count), tree.children_left < 0
    return _Tree(
        column=np.where(is_leaf, 0, tree.feature).astype(np.int64),
        threshold=_down(np.where(is_leaf, 0.0, tree.threshold)),
        left=np.where(is_leaf, own, tree.children_left).astype(np.int64),
        right=np.where(is_leaf, own, tree.children_right).astype(np.int64),
        leaf=(share * tree.value[:, :, 0] * is_leaf[:, None]).astype(np.float32),
        depth=int(tree.max_depth),
    )


def _from_nodes(nodes: Any, target: int, n_out: int) -> _Tree:
    """Nodes of a tree of scikit-learn's histogram boosting, of one of several targets."""
    own, is_leaf = np.arange(len(nodes)), nodes["is_leaf"].astype(bool)
    leaf = np.zeros((len(nodes), n_out), dtype=np.float32)
    leaf[:, target] = nodes["value"] * is_leaf
    return _Tree(
        column=np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.int64),
        threshold=_down(np.where(is_leaf, 0.0, nodes["num_threshold"])),
        left=np.where(is_leaf, own, nodes["left"]).astype(np.int64),
        right=np.where(is_leaf, own, nodes["right"]).astype(np.int64),
        leaf=leaf,
        depth=int(nodes["depth"].max()),
    )


def _down(threshold: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The largest float32 not above each: for rows of float32 the question is the same."""
    with np.errstate(under="ignore"):  # near 0
        near = np.clip(threshold, -3.4e38, 3.4e38).astype(np.float32)
        return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)
