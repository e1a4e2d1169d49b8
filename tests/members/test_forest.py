"""Trees of scikit-learn as arrays: the same predictions, fold by fold."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor

from adacap.members import forest
from adacap.members.forest import fit_extra_trees, fit_hist_boosting
from adacap.modelfile.numpy_operations import NumpyOperations
from adacap.nn.predictors import Frozen


def in_numpy(data, k):
    """Rows that fold k trains on, and their weights."""
    rows = data.train_rows(k).numpy()
    w = None if data.weight is None else data.weight.numpy()[rows].astype(np.float64)
    return data.x.numpy()[rows], data.targets.numpy()[rows].astype(np.float64), w


def agrees(found, data, reference, new):
    outputs = Frozen(*found).each(new).numpy()
    for k in range(data.k):
        x, y, w = in_numpy(data, k)
        if isinstance(reference(0), ExtraTreesRegressor) and y.shape[1] == 1:
            y = y[:, 0]
        model = reference(data.seed + k).fit(x, y, sample_weight=w)
        expected = model.predict(new.numpy()).reshape(len(new), -1)
        np.testing.assert_allclose(outputs[k], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("is_large", [False, True])
def test_extra_trees_predict_as_scikit_learns(
    c, weighted, least, is_large, folds, normal, monkeypatch
):
    monkeypatch.setattr(forest, "_LEAST_SHARED", 0 if is_large else 10_000)
    data = folds(c=c, weighted=weighted)
    found = fit_extra_trees(data, n_trees=7, max_features=0.5, min_samples_leaf=least)

    def reference(seed):
        return ExtraTreesRegressor(
            7, max_features=0.5, min_samples_leaf=least, random_state=seed
        )  # fmt: skip

    new = torch.cat([normal(50, 3, dtype=torch.float32), data.x])
    agrees(found, data, reference, new)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("c", [1, 2])
def test_histogram_boosting_predicts_as_scikit_learns(c, weighted, folds, normal):
    data = folds(n=150, c=c, weighted=weighted)
    found = fit_hist_boosting(data, n_trees=12, rate=0.2, max_leaf_nodes=9)

    def reference(seed):
        return MultiOutputRegressor(
            HistGradientBoostingRegressor(
                max_iter=12, learning_rate=0.2, max_leaf_nodes=9, early_stopping=False,
                random_state=seed,
            )
        )  # fmt: skip

    new = torch.cat([normal(50, 3, dtype=torch.float32), data.x])
    agrees(found, data, reference, new)


@pytest.mark.parametrize("fit", [fit_extra_trees, fit_hist_boosting])
@pytest.mark.parametrize("n_rows", [0, 1, 33])
def test_torch_and_numpy_walk_to_the_leaf_of_a_plain_walk(fit, n_rows, folds, normal):
    predictor, arrays = fit(folds(n=1500, c=2), n_trees=4)
    assert predictor.depth > 5  # rows arrive at different steps
    x = normal(n_rows, 3, dtype=torch.float32).double()
    nodes = {name: t.numpy() for name, t in arrays.items()}

    def leaf(row, node):
        while nodes["left"][node] != node:
            is_left = row[nodes["column"][node]] <= nodes["threshold"][node]
            node = nodes["left" if is_left else "right"][node]
        return nodes["leaf"][node].astype(np.float64)

    expected = np.zeros((predictor.k, n_rows, 2)) + nodes["bias"][:, None]
    for k, roots in enumerate(nodes["root"]):
        for i, row in enumerate(x.numpy()):
            expected[k, i] += np.sum([leaf(row, root) for root in roots], axis=0)
    narrow = nodes | {name: nodes[name].astype(np.int16) for name in ("column", "left", "right")}
    for found in (
        Frozen(predictor, arrays).each(x.float()).numpy(),
        predictor.apply(x.numpy(), nodes, NumpyOperations()),
        predictor.apply(x.numpy(), narrow, NumpyOperations()),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fit", [fit_extra_trees, fit_hist_boosting])
def test_a_fold_never_sees_its_targets(fit, folds, other_targets):
    data = folds(n=120)
    changed = other_targets(data, 1)
    one, other = (Frozen(*fit(d, n_trees=5)).each(data.x) for d in (data, changed))
    torch.testing.assert_close(one[1], other[1], rtol=0, atol=0)
    assert (one[0] - other[0]).abs().max() > 0.1


@pytest.mark.parametrize("fit", [fit_extra_trees, fit_hist_boosting])
def test_the_arrays_are_those_described(fit, folds):
    predictor, arrays = fit(folds(n=120, c=2), n_trees=4)
    assert {name: tuple(t.shape) for name, t in arrays.items()} == predictor.tensors


def test_a_value_on_the_threshold_goes_left():
    """Thresholds in float64 that float32 cannot hold are rounded down, never up."""
    from adacap.members.forest import _down

    exact = np.array([0.1, -0.1, 1 / 3, 2.0, -2.0, 1e300, -1e300, 0.0])
    rounded = _down(exact)
    assert (rounded <= exact)[:-2].all()
    just_above = np.nextafter(rounded[:5], np.float32(np.inf))
    assert (just_above > exact[:5]).all()


@pytest.mark.parametrize("fit", [fit_extra_trees, fit_hist_boosting])
def test_a_deadline_makes_forests_smaller(folds, fit):
    late = replace(folds(), deadline=0.0)
    assert fit(late, n_trees=9)[0].n_trees == 3
    in_time = replace(folds(), deadline=time.perf_counter() + 1e6)
    assert fit(in_time, n_trees=9)[0].n_trees == 9
