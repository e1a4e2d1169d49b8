"""The Ridge figure of the paper, from the benchmark script."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from adacap_bench.reproduce.ridge_data import covariance

SCRIPT = Path(__file__).parents[4] / "benchmarks" / "ridge_mlr.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("ridge_mlr", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_over_100_seeds_mlr_is_no_worse_than_ten_folds(script):
    mlr, cv, oracle = script.compare(100).mean(0)
    assert oracle < mlr <= cv
    assert mlr < 0.857


def test_roots_destroy_the_claim(script):
    """The theorem and the figure need the squared error."""
    squared, rooted = (script.compare(20, criterion=c)[:, 0].mean() for c in ("squared", "rmse"))
    assert rooted > squared + 0.02


def test_ridge_mlr_is_five_times_faster_than_grid_search(script):
    mlr, search = script.time_both(repeats=3)
    assert search >= 5 * mlr


def test_the_quick_cross_validation_is_grid_searchs(script):
    split, grid = script.appendix(3), script.GRID[::6]
    search = GridSearchCV(
        Ridge(), {"alpha": grid}, cv=10, scoring="neg_root_mean_squared_error"
    ).fit(split.X, split.y)
    found = script.cv_path(split.X, split.y, grid)
    np.testing.assert_allclose(found, -search.cv_results_["mean_test_score"], rtol=1e-7)
    errors = script.error_path(*split, grid)
    residual = split.y_test - search.predict(split.X_test)
    best = np.flatnonzero(grid == search.best_params_["alpha"]).item()
    assert errors[best] == pytest.approx(np.sqrt((residual**2).mean()))


@pytest.mark.parametrize("reading", ["entrywise", "shared"])
def test_the_covariance_is_positive_and_as_the_appendix_says(script, reading):
    sigma = covariance(np.random.default_rng(0), reading)
    np.testing.assert_allclose(sigma, sigma.T)
    assert np.linalg.eigvalsh(sigma).min() > 1 - 1e-9
    off_diagonal = sigma[~np.eye(80, dtype=bool)]
    assert 0.6 < off_diagonal.min() <= off_diagonal.max() < 0.85


def test_the_warning_comes_outside_the_band_and_not_inside(script):
    """Correlated features: too weak, inside, too strong."""
    weak, inside, strong = (script.excess(100, 80, 0.95, snr, 10) for snr in (0.03, 0.5, 10.0))
    assert weak[0] > 0.1
    assert strong[0] > 0.1
    assert inside[0] < 0.05
    assert weak[3] > 0.6
    assert strong[3] == 1
    assert inside[3] <= 0.3
    for mlr, risk, cv, _ in (weak, inside, strong):
        assert risk < 0.05
        assert risk < mlr + 0.01
        assert risk < cv + 0.02
