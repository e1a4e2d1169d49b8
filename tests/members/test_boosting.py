"""Boosted symmetric trees: what they learn, what they may see, what is kept of them."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from adacap.members.boosting import BoostingSettings, Questions, _Growth, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.nn.predictors import Frozen

FEW = BoostingSettings(n_trees=25)


def frozen(data, settings=FEW):
    return Frozen(*fit_boosting(data, settings))


def test_a_step_is_learnt():
    x = torch.linspace(-1, 1, 80)[:, None]
    data = FoldData(x, (x > 0.3).float(), None, torch.arange(80) % 4, k=4, seed=0)
    outputs = frozen(data, BoostingSettings(n_trees=100)).each(x)
    is_far = (x - 0.3).abs()[:, 0] > 0.1  # thresholds stand 0.06 apart
    assert (outputs - data.targets)[:, is_far].abs().max() < 0.1


def test_an_interaction_is_learnt(folds):
    data = folds(n=200)
    product = replace(data, targets=(data.x[:, :1] * data.x[:, 1:2]).sign())
    outputs = frozen(product, BoostingSettings(n_trees=100)).each(data.x)
    held = outputs[data.fold, torch.arange(200)]
    assert (held.sign() == product.targets).float().mean() > 0.85


def test_predictions_are_the_outputs_of_training(folds):
    """What grew step by step and what is frozen are one function."""
    data = folds(c=2, weighted=True)
    growth = _Growth(data, FEW)
    for t in range(FEW.n_trees):
        growth.tree(t)
    torch.testing.assert_close(frozen(data).each(data.x).float(), growth.outputs, rtol=0, atol=1e-5)


def test_a_leaf_holds_the_shrunken_mean_of_its_residuals():
    x = torch.tensor([[0.0], [0.0], [1.0], [1.0], [0.0], [1.0]])
    y = torch.tensor([[1.0], [2.0], [6.0], [7.0], [0.0], [0.0]])
    data = FoldData(x, y, None, torch.tensor([0, 0, 0, 0, 1, 1]), k=2, seed=0)
    settings = BoostingSettings(n_trees=1, depth=1, rate=0.5, l2=3.0)
    _, arrays = fit_boosting(data, settings)
    assert arrays["bias"].flatten().tolist() == [0.0, 4.0]  # mean of the rows outside the fold
    low, high = arrays["leaf"][1, 0, :, 0].tolist()
    assert low == pytest.approx(0.5 * (-3 - 2) / (2 + 3))
    assert high == pytest.approx(0.5 * (2 + 3) / (2 + 3))


# ----------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("weighted", [False, True])
def test_a_fold_never_sees_its_targets(weighted, folds, other_targets):
    data = folds(weighted=weighted)
    one, other = frozen(data).each(data.x), frozen(other_targets(data, 1)).each(data.x)
    torch.testing.assert_close(one[1], other[1], rtol=0, atol=0)
    assert (one[0] - other[0]).abs().max() > 0.1


def test_rows_count_by_their_weight(folds):
    data = folds()
    heavy = torch.where(data.x[:, 0] > 0, 1.99, 0.01)
    error = (frozen(replace(data, weight=heavy)).each(data.x) - data.targets).square().mean((0, 2))
    equal = (frozen(data).each(data.x) - data.targets).square().mean((0, 2))
    is_light = data.x[:, 0] <= 0
    assert error[is_light].mean() > 1.5 * equal[is_light].mean()


# ----------------------------------------------------------------------- several targets, seeds


def test_several_targets_share_their_trees(folds):
    data = folds(n=150, c=3)
    predictor, arrays = fit_boosting(data, BoostingSettings(n_trees=80))
    assert predictor.n_out == 3
    outputs = Frozen(predictor, arrays).each(data.x)[data.fold, torch.arange(150)]
    error = (outputs - data.targets).square().mean(0) / data.targets.var(0)
    assert (error < 0.4).all()


def test_the_seed_decides(folds):
    data = folds()
    one, again, other = (fit_boosting(replace(data, seed=s), FEW)[1] for s in (3, 3, 4))
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["column"], other["column"])


# ------------------------------------------------------------------------------- questions


def test_every_different_value_is_asked_about():
    x = torch.tensor([[1.0, 5.0], [3.0, 5.0], [3.0, 5.0], [2.0, 5.0]])
    questions = Questions.of(x, most=32)
    assert questions.column.tolist() == [0, 0]  # nothing to ask of the constant one
    assert questions.threshold.tolist() == [1.5, 2.5]
    assert questions.answers.tolist() == [[0, 0], [1, 1], [1, 1], [1, 0]]


def test_questions_divide_the_rows_evenly(normal):
    x = normal(1000, 1).exp()
    questions = Questions.of(x, most=9)
    shares = questions.answers.mean(0).sort(descending=True).values
    np.testing.assert_allclose(shares, np.arange(9, 0, -1) / 10, atol=0.01)


def test_a_table_without_questions_predicts_the_mean(folds):
    data = folds()
    flat = replace(data, x=torch.zeros_like(data.x))
    outputs = frozen(flat).each(flat.x)
    for k in range(data.k):
        mean = data.targets[data.train_rows(k)].mean(0).double()
        torch.testing.assert_close(outputs[k], mean.expand(len(data.x), -1), rtol=0, atol=1e-6)


def test_no_tree_is_grown_after_the_deadline(folds):
    late = replace(folds(), deadline=0.0)
    assert fit_boosting(late)[0].n_trees == 1
    in_time = replace(folds(), deadline=time.perf_counter() + 1e6)
    assert fit_boosting(in_time, BoostingSettings(n_trees=7))[0].n_trees == 7
