"""The tests behind a check hold what they promise under equality, and see differences."""

import numpy as np
import pytest
from scipy import stats

from adacap.drift import holm, level_test, quantile_test, share_test, unseen_test
from adacap.tables.plan import Cells, ColumnPlan, Number
from adacap.tables.summaries import N_QUANTILES, summarise


def summary_of(values):
    cells = Cells("numeric", np.asarray(values), np.empty(0, dtype=np.int32))
    found = summarise([cells], [ColumnPlan("x", "numeric", (Number(0.0),))])
    return found.grid[0], found.below[0], found.n_rows


@pytest.mark.parametrize("draw", ["normal", "integers"])
def test_equal_distributions_are_rarely_told_apart(draw):
    rng = np.random.default_rng(0)

    def sample(n):
        return rng.normal(size=n) if draw == "normal" else rng.integers(0, 5, n).astype(float)

    low = [quantile_test(*summary_of(sample(150)), sample(80)).p_value < 0.05 for _ in range(300)]
    assert np.mean(low) <= 0.05


def test_the_gap_is_never_more_than_that_of_all_values():
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.normal(size=200), rng.normal(0.3, 1, size=90)
        whole = stats.ks_2samp(a, b).statistic
        found = quantile_test(*summary_of(a), b).size
        assert whole - 2 / N_QUANTILES <= found <= whole + 1e-12


def test_equal_frequencies_are_rarely_told_apart():
    rng, p = np.random.default_rng(2), np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    low = [
        level_test(rng.multinomial(200, p).astype(float), rng.multinomial(90, p).astype(float))[1]
        < 0.05
        for _ in range(400)
    ]
    assert np.mean(low) <= 0.08


def test_shares_of_missing_cells_are_tested_exactly():
    assert share_test(0.1, 100, 0.5, 40).p_value < 1e-4
    assert share_test(0.0, 100, 0.0, 40).p_value == 1
    assert share_test(1.0, 100, 1.0, 40).p_value == 1


def test_new_levels_are_news_only_where_training_had_no_rare_ones():
    assert unseen_test(np.full(4, 50.0), 10, 100).p_value < 1e-3
    assert unseen_test(np.ones(100), 60, 100).p_value == 1
    assert unseen_test(np.full(4, 50.0), 0, 100).p_value == 1


def test_holm_keeps_the_order_and_stays_below_bonferroni():
    p = np.random.default_rng(3).random(20) ** 3
    found = holm(p)
    assert (np.diff(found[np.argsort(p)]) >= 0).all()
    assert (found <= np.minimum(20 * p, 1)).all()
    assert (found >= p).all()
