"""Validation scores equal scikit-learn's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score, roc_auc_score

from adacap.core.mlr import LOSSES
from adacap.training.data import SCORES, Validation, r2
from adacap.training.scores import auc


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_r2_equals_scikit_learn(n_targets, weighted, normal):
    targets = normal(2, 30, n_targets)
    prediction = targets + 0.5 * normal(2, 30, n_targets)
    w = normal(2, 30).abs() if weighted else None
    values = r2(prediction, targets, w)
    assert values.shape == (2,)
    for k in range(2):
        expected = r2_score(
            targets[k].numpy(), prediction[k].numpy(),
            sample_weight=None if w is None else w[k].numpy(),
            multioutput="variance_weighted",
        )  # fmt: skip
        assert values[k].item() == pytest.approx(expected)


def test_r2_of_the_mean_is_zero(normal):
    targets = normal(1, 30, 2)
    assert r2(targets.mean(1, keepdim=True).expand_as(targets), targets).item() == pytest.approx(0)


def test_r2_of_constant_targets_is_finite():
    assert torch.isfinite(r2(torch.zeros(1, 4, 1), torch.ones(1, 4, 1))).all()
    assert r2(torch.ones(1, 4, 1), torch.ones(1, 4, 1)).item() == 1


@given(
    scores=st.lists(st.integers(-3, 3), min_size=4, max_size=30),
    seed=st.integers(0, 2**32),
)
def test_auc_equals_scikit_learn_with_ties(scores, seed):
    rng = np.random.default_rng(seed)
    positive = rng.random(len(scores)) < 0.5
    positive[:2] = True, False
    targets = torch.tensor(np.where(positive, 1.0, -1.0)).reshape(1, -1, 1)
    prediction = torch.tensor(scores, dtype=torch.float32).reshape(1, -1, 1)
    expected = roc_auc_score(positive, scores)
    assert auc(prediction, targets.float()).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_auc_of_one_hot_targets_is_the_mean_one_against_the_rest(n_classes, normal):
    prediction = normal(2, 60, n_classes).round(decimals=1)
    classes = normal(2, 60, n_classes).argmax(-1)
    targets = torch.nn.functional.one_hot(classes, n_classes).double()
    values = auc(prediction, targets)
    for k in range(2):
        columns = [roc_auc_score(targets[k, :, c], prediction[k, :, c]) for c in range(n_classes)]
        assert values[k].item() == pytest.approx(np.mean(columns))


def test_auc_leaves_rows_of_weight_zero_out(normal):
    prediction, targets = normal(3, 40, 1).round(decimals=1), normal(3, 40, 1).sign()
    w = (normal(3, 40) > 0).double()
    values = auc(prediction, targets, w)
    for k in range(3):
        keep = w[k] > 0
        expected = roc_auc_score(targets[k, keep, 0] > 0, prediction[k, keep, 0])
        assert values[k].item() == pytest.approx(expected)
    torch.testing.assert_close(auc(prediction, targets, 5 * w), values)  # sizes are not used


def test_auc_skips_classes_that_say_nothing(normal):
    targets = torch.nn.functional.one_hot(normal(1, 20, 2).argmax(-1), 3).double()  # no class 2
    prediction = normal(1, 20, 3)
    expected = auc(prediction[..., :2], targets[..., :2])
    torch.testing.assert_close(auc(prediction, targets), expected)
    assert auc(prediction[..., :1], torch.ones(1, 20, 1)).item() == 0


@pytest.mark.parametrize("name", SCORES)
def test_nan_predictions_give_nan(name, normal):
    prediction, targets = normal(2, 10, 1), normal(2, 10, 1).sign()
    targets[:, :2, 0] = torch.tensor([1.0, -1.0])
    prediction[1, 3] = float("nan")
    if name.endswith("_ce"):
        targets = torch.cat([targets.clamp_min(0), (-targets).clamp_min(0)], -1)
        prediction = prediction.expand(-1, -1, 2)
    values = SCORES[name](prediction, targets, None)
    assert values.shape == (2,)
    assert torch.isfinite(values[0])
    assert torch.isnan(values[1])


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("weighted", [False, True])
def test_validation_rows_score_by_name(name, weighted, normal):
    targets, w = normal(2, 10, 1).sign(), normal(2, 10).abs() if weighted else None
    valid, prediction = Validation(normal(2, 10, 3), targets, w), normal(2, 10, 1)
    torch.testing.assert_close(valid.score(prediction, name), SCORES[name](prediction, targets, w))


@pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
def test_negative_losses(loss, normal):
    targets = torch.nn.functional.one_hot(normal(2, 10, 3).argmax(-1), 3).double()
    if loss == "bce":
        targets = 2 * targets[..., :1] - 1
    prediction, w = normal(*targets.shape), normal(2, 10).abs()
    values = SCORES[f"neg_{loss}"](prediction, targets, w)
    expected = [LOSSES[loss](prediction[k, :, None], targets[k, :, None], w[k]) for k in range(2)]
    torch.testing.assert_close(values, -torch.cat(expected))


@pytest.mark.parametrize("loss", ["bce", "ce"])
def test_the_loss_decides_between_equal_areas(loss, normal):
    positive = torch.tensor([1.0, 1.0, 0.0, 0.0])
    targets = 2 * positive.reshape(1, 4, 1) - 1
    prediction = targets.clone()
    if loss == "ce":
        targets = torch.stack([positive, 1 - positive], -1).unsqueeze(0)
        prediction = targets.clone()
    score = SCORES[f"auc_{loss}"]
    confident, hesitant = (score(c * prediction, targets, None) for c in (2.0, 1.0))
    assert confident > hesitant
    assert confident.item() == pytest.approx(1, abs=1e-8)
