"""Figures of a report are in the user's units, also where the target is transformed."""

import numpy as np

from adacap import AdaCapRegressor
from adacap.estimators.targets import RegressionCodec
from adacap.estimators.transforms import fit_transform
from adacap.report.prediction_figures import interval_coverage


def test_widths_are_in_deviations_of_the_target_and_not_of_its_logarithm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = 1000 * np.exp(X[:, 0] + 0.1 * rng.normal(size=160))
    model = AdaCapRegressor(quality="fast", target_transform="log", random_state=0)
    model.fit(X[:120], y[:120])
    found = interval_coverage(model, X[120:], y[120:], levels=[0.5, 0.9])
    assert 0 < found.width[0] < found.width[1] < 1


def test_the_deviation_is_that_of_training_unless_the_target_is_transformed():
    y = np.array([1.0, 10.0, 100.0, 1000.0])
    values = np.array([[2.0], [4.0]])
    assert RegressionCodec.fit(y).spread(values).tolist() == [y.std()]
    moved = RegressionCodec.fit(y, transforms=[fit_transform(y, "log")])
    assert moved.spread(values).tolist() == [1.0]
    assert RegressionCodec.fit(np.ones(3)).spread(values).tolist() == [1.0]
