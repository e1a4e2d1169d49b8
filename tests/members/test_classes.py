"""Members of a blend for classes: outputs are logits, or logarithms of shares up to a constant."""

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.forest import fit_extra_trees, fit_hist_boosting
from adacap.members.linear import _STRENGTH, fit_linear
from adacap.nn.predictors import Frozen

MEMBERS = {
    "logistic": fit_linear,
    "boosting": lambda data: fit_boosting(data, BoostingSettings(n_trees=30)),
    "histograms": lambda data: fit_hist_boosting(data, n_trees=10),
    "trees": lambda data: fit_extra_trees(data, n_trees=10),
}


def shares_of(outputs):
    """Probabilities that outputs stand for."""
    return expit(outputs) if outputs.shape[-1] == 1 else softmax(outputs, axis=-1)


def labels_of(data):
    return (
        (data.targets[:, 0] > 0).numpy() if data.loss == "bce" else data.targets.argmax(1).numpy()
    )


def of_sklearn(model, data, k, new):
    """Probabilities by a model of scikit-learn, trained on the rows outside fold k."""
    rows = data.train_rows(k).numpy()
    w = None if data.weight is None else data.weight.numpy()[rows]
    found = model.fit(data.x.double().numpy()[rows], labels_of(data)[rows], w).predict_proba(
        new.numpy()
    )
    return found[:, 1:] if data.loss == "bce" else found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_is_that_of_scikit_learn(n_classes, weighted, classes, normal):
    data, new = classes(n_classes, weighted=weighted), normal(20, 3, dtype=torch.float32)
    outputs = Frozen(*fit_linear(data)).each(new).numpy()
    for k in range(data.k):
        reference = LogisticRegression(C=_STRENGTH, max_iter=200, tol=1e-3)
        expected = of_sklearn(reference, data, k, new)
        np.testing.assert_allclose(shares_of(outputs[k]), expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_histogram_boosting_is_that_of_scikit_learn(n_classes, classes, normal):
    data, new = classes(n_classes, n=150), normal(50, 3, dtype=torch.float32)
    outputs = Frozen(*fit_hist_boosting(data, n_trees=8, rate=0.2)).each(new).numpy()
    for k in range(data.k):
        reference = HistGradientBoostingClassifier(
            max_iter=8, learning_rate=0.2, early_stopping=False, random_state=data.seed + k
        )
        expected = of_sklearn(reference, data, k, new)
        np.testing.assert_allclose(shares_of(outputs[k]), expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_give_the_share_of_each_class(n_classes, classes, normal):
    data, new = classes(n_classes), normal(50, 3, dtype=torch.float32)
    outputs = Frozen(*fit_extra_trees(data, n_trees=9)).each(new).numpy()
    for k in range(data.k):
        rows = data.train_rows(k).numpy()
        shares = data.shares.numpy()[rows]
        model = ExtraTreesRegressor(9, max_features=0.5, random_state=data.seed + k)
        model.fit(data.x.numpy()[rows], shares if n_classes > 2 else shares[:, 0])
        expected = model.predict(new.numpy()).reshape(50, -1).clip(1e-3, 1 - 1e-3)
        found = expit(outputs[k]) if n_classes == 2 else np.exp(outputs[k])
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("member", MEMBERS)
def test_classes_are_learnt(member, n_classes, classes):
    data = classes(n_classes, n=180)
    outputs = Frozen(*MEMBERS[member](data)).each(data.x)
    found = shares_of(outputs[data.fold, torch.arange(180)].numpy())
    guess = found[:, 0] > 0.5 if n_classes == 2 else found.argmax(1)
    assert (guess == labels_of(data)).mean() > (
        0.75 if n_classes == 2 else 0.55
    )  # by chance 1/2, 1/3


@pytest.mark.parametrize("member", MEMBERS)
def test_a_fold_never_sees_its_classes(member, classes):
    data = classes(2, n=120)
    other = classes(2, n=120)
    other.targets[data.fold == 1] *= -1
    one, turned = (Frozen(*MEMBERS[member](d)).each(data.x) for d in (data, other))
    torch.testing.assert_close(one[1], turned[1], rtol=0, atol=0)
    assert (one[0] - turned[0]).abs().max() > 0.1


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("member", MEMBERS)
def test_a_class_may_be_missing_outside_a_fold(member, n_classes, classes):
    """Its only rows are held out: every other fold knows it, this one takes it for rare."""
    data = classes(n_classes, n=120)
    last = data.shares[:, -1] > 0
    fold = torch.where(last, 0, data.fold)
    only_two = n_classes == 4  # of four classes, fold 0 is left with two
    if only_two:
        fold = torch.where(data.targets[:, 2] > 0, 0, fold)
    gone = type(data)(data.x, data.targets, None, fold, data.k, data.seed, data.loss)
    outputs = Frozen(*MEMBERS[member](gone)).each(data.x)
    assert torch.isfinite(outputs).all()
    assert (shares_of(outputs[0].numpy())[:, -1] < 0.02).all()
    assert shares_of(outputs[1].numpy())[last.numpy(), -1].mean() > 0.4
