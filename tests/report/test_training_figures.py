"""Figures of the fitted model alone: they are what the history and the weights say."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.report import capacity_paths, label_fits, learning_dynamics, weight_clusters

from .conftest import TINY, table


def test_learning_dynamics_of_regression(regression):
    model = regression.model
    found = learning_dynamics(model)
    assert (found.train_name, found.valid_name) == ("R²", "R²")
    np.testing.assert_allclose(found.train, 1 - np.square(model.history_["fit_true"]))
    np.testing.assert_array_equal(found.valid, model.history_["valid_score"])
    assert found.best_iter == model.best_iter_ == found.valid.argmax()
    assert len(found.others) == 2


def test_learning_dynamics_of_classes(binary):
    found = learning_dynamics(binary.model)
    assert found.train_name == found.valid_name == "cross-entropy, in nats"
    assert found.valid.argmin() == found.best_iter
    assert (found.valid > 0).all()


def test_learning_dynamics_by_auc_and_without_rows_held_out():
    X, y = table()
    model = AdaCapClassifier(validation=(0.2, "auc"), **TINY).fit(X, y > 0)
    found = learning_dynamics(model)
    assert (found.train_name, found.valid_name) == ("cross-entropy, in nats", "AUC")
    assert found.valid.max() <= 1.0
    model = AdaCapRegressor(validation=0.0, **TINY).fit(X, y)
    assert learning_dynamics(model).valid is None


def test_capacity_paths(regression, binary):
    found = capacity_paths(regression.model)
    assert len(found.lam) == len(found.dof) == 3
    for member, lam, at, dof in zip(
        regression.model.members_, found.lam, found.dof_iteration, found.dof, strict=True
    ):
        np.testing.assert_array_equal(lam, member.history["lambda"])
        np.testing.assert_array_equal(at, np.arange(0, len(lam), 10))
        assert ((dof > 0) & (dof <= 16)).all()
    assert capacity_paths(binary.model) is None


def test_label_fits(regression, binary):
    found, capacity = label_fits(regression.model), regression.model.capacity()
    assert found.true == capacity.fit_true
    assert found.gap == pytest.approx(found.permuted.mean() - found.true)
    assert found.p_value == 1 / (1 + len(found.permuted))
    assert (found.true_path[-1], found.permuted_path[-1]) == (
        regression.model.history_["fit_true"][-1],
        regression.model.history_["fit_permuted"][-1],
    )
    assert label_fits(binary.model) is None


def test_weight_clusters_put_like_units_side_by_side(regression):
    model = regression.model
    weights = model.members_[0].last_weights  # shares the memory of the net
    kept = weights.clone()
    k = model.capacity().n_features
    assert len(kept) == 2 * k  # the units of a gated layer, and their gates
    half = kept[: k // 2]
    mixed = np.random.default_rng(0).permutation(k)
    try:
        weights[:k] = (half.repeat(2, 1) * 2)[mixed]  # every unit has a twin somewhere
        found = weight_clusters(model)
    finally:
        weights.copy_(kept)
    assert found.n_units == len(found.correlation) == k
    np.testing.assert_allclose(np.diag(found.correlation), 1)
    np.testing.assert_allclose(found.correlation, found.correlation.T)
    twins = found.correlation[np.arange(0, k, 2), np.arange(1, k, 2)]
    np.testing.assert_allclose(twins, 1, atol=1e-6)
    assert found.n_clusters <= k // 2
    assert found.cluster.shape == (k,)


def test_weight_clusters_of_many_units_and_of_none(regression):
    assert weight_clusters(regression.model, most=10).correlation.shape == (10, 10)
    X, y = table()
    model = AdaCapRegressor(architecture=lambda d: nn.Tanh(), max_iter=2, random_state=0)
    assert weight_clusters(model.fit(X, y)) is None


@pytest.mark.parametrize("figure", [learning_dynamics, capacity_paths, label_fits, weight_clusters])
def test_a_fit_is_needed(figure):
    with pytest.raises(NotFittedError):
        figure(AdaCapRegressor())
