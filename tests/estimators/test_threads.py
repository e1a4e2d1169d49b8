"""Fits side by side in threads give the bits that they give one after another."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture

SMALL = {"width": 16, "max_iter": 15}


def own_net(d_in):
    return nn.Sequential(nn.Linear(d_in, 8), nn.Dropout(0.2), nn.Tanh())


MODELS = {
    "default": lambda seed: AdaCapRegressor(random_state=seed),
    "trees": lambda seed: AdaCapRegressor(
        quality=["trees", "nets:rank", "ridge:bins"], random_state=seed, **SMALL
    ),
    "nets": lambda seed: AdaCapRegressor(random_state=seed, **SMALL),
    "plain": lambda seed: AdaCapRegressor(scheme="plain", random_state=seed, **SMALL),
    "dropout": lambda seed: AdaCapRegressor(
        architecture=Architecture("mlp", dropout=0.2, batch_norm=True), random_state=seed, **SMALL
    ),
    "own net": lambda seed: AdaCapRegressor(
        architecture=own_net, n_estimators=1, random_state=seed, **SMALL
    ),
    "classifier": lambda seed: AdaCapClassifier(quality="balanced", random_state=seed, **SMALL),
    "classifier, nets": lambda seed: AdaCapClassifier(random_state=seed, **SMALL),
}


# Forests of scikit-learn pass warning filters on to their workers; in threads, where filters are
# one list for all, they may find none and then warn of it.
@pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed` should be used:UserWarning")
@pytest.mark.finding("H1", before="10 of 48 fits in 6 threads differ")
@pytest.mark.parametrize("kind", MODELS)
def test_fits_in_six_threads_are_those_one_after_another(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60)
    is_class = kind.startswith("classifier")
    y = y > 0 if is_class else y

    def predict(state):
        model = MODELS[kind](state).fit(X, y)
        return model.predict_proba(X) if is_class else model.predict(X)

    expected = [predict(state) for state in range(6)]
    generator = torch.get_rng_state()
    for _ in range(2):
        with ThreadPoolExecutor(6) as pool:
            for found, alone in zip(pool.map(predict, range(6)), expected, strict=True):
                np.testing.assert_array_equal(found, alone)
    assert torch.equal(generator, torch.get_rng_state())
