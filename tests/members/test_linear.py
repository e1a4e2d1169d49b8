"""Ridge regression per fold, its strength by leave-one-out error."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge, RidgeCV

from adacap.members.linear import _GRID, fit_linear
from adacap.nn.predictors import Frozen


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("c", [1, 3])
def test_strength_and_weights_are_those_of_scikit_learn(c, weighted, folds):
    data = folds(c=c, weighted=weighted)
    _, arrays = fit_linear(data)
    for k in range(data.k):
        rows = data.train_rows(k)
        x, y, w = (t[rows].double().numpy() for t in (data.x, data.targets, data.weights()))
        searched = RidgeCV(_GRID.numpy()).fit(x, y, sample_weight=w)
        reference = Ridge(searched.alpha_).fit(x, y, sample_weight=w)
        coef = np.reshape(reference.coef_, (c, -1)).T
        np.testing.assert_allclose(arrays["weight"][k], coef, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(arrays["bias"][k], reference.intercept_, rtol=1e-8, atol=1e-10)


def test_noise_is_met_by_a_strong_penalty(folds, normal):
    data = folds(n=30, d=8)
    noise = replace(data, targets=normal(30, 1, dtype=torch.float32))
    exact = replace(data, targets=data.x[:, :1] * 2)
    sizes = [fit_linear(d)[1]["weight"].abs().amax((1, 2)) for d in (noise, exact)]
    assert (sizes[0] < 0.3).all()
    torch.testing.assert_close(sizes[1], torch.full((3,), 2.0).double(), rtol=1e-2, atol=0)


def test_more_columns_than_rows_are_welcome(folds):
    data = folds(n=20, d=50)
    outputs = Frozen(*fit_linear(data)).each(data.x)
    assert torch.isfinite(outputs).all()


def test_a_fold_never_sees_its_targets(folds, other_targets):
    data = folds()
    one, other = (Frozen(*fit_linear(d)).each(data.x) for d in (data, other_targets(data, 1)))
    torch.testing.assert_close(one[1], other[1], rtol=0, atol=0)
    assert (one[0] - other[0]).abs().max() > 0.1
