"""The rule of verdicts, against numbers by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from adacap.comparison import corrected_error
from adacap_bench.reproduce.item import Claim, Row, judged
from adacap_bench.reproduce.verdicts import (
    LEVEL,
    ClaimEffect,
    agrees,
    as_elsewhere,
    contrast,
    decide,
    effect_of,
)


def many(score, **fields) -> ClaimEffect:
    """An effect so well known that its error is exact."""
    return ClaimEffect(score, 1.0, 50, df=math.inf, **fields)


def seeds(*values, task="") -> dict[str, float]:
    return {f"{task}{', ' if task else ''}seed {k}": value for k, value in enumerate(values)}


def test_an_effect_has_the_standard_error_of_its_mean():
    effect = effect_of(seeds(1.0, 2.0, 3.0, 4.0))
    assert (effect.value, effect.n, effect.df) == (2.5, 4, 3)
    assert effect.error == pytest.approx((5 / 3) ** 0.5 / 2)  # deviation √(5/3), √4 = 2


# ── Tasks ────────────────────────────────────────────────────────────────────────────────────────


def test_the_spread_between_tasks_is_no_error_of_a_mean_over_them():
    """Two tasks 100 apart, each known to 0.5: √(0.5² + 0.5²)/2, with 2 degrees of freedom."""
    near, far = seeds(0.5, 1.5, task="a"), seeds(100.5, 101.5, task="b")
    effect = effect_of(near | far)
    assert (effect.value, effect.n) == (51.0, 4)
    assert effect.error == pytest.approx(0.5**0.5 / 2)
    assert effect.df == pytest.approx(2)


def test_a_task_with_more_experiments_weighs_no_more():
    effect = effect_of(seeds(1.0, 1.0, 1.0, 1.0, task="a") | seeds(2.0, 4.0, task="b"))
    assert effect.value == 2.0
    assert effect.error == pytest.approx(1.0 / 2)  # a is known exactly, b to 1
    assert effect.df == pytest.approx(1.0)  # all error is that of two runs


def test_where_a_task_has_one_experiment_the_spread_over_tasks_stands_for_the_error():
    values = {"a, split 0": 1.0, "b, split 0": 2.0, "c, split 0": 3.0, "c, split 1": 3.0}
    effect = effect_of(values)
    assert (effect.value, effect.n, effect.df) == (2.0, 4, 2)
    assert effect.error == pytest.approx(1 / 3**0.5)
    assert Row("a", 2.0, values=values).error is None  # no number agrees by what tasks differ by


# ── Splits that share rows ───────────────────────────────────────────────────────────────────────


def test_splits_of_one_table_have_the_corrected_error_of_the_library_elsewhere():
    found = np.random.default_rng(0).normal(size=12)
    effect = effect_of({f"split {k}": value for k, value in enumerate(found)})
    assert effect.error == pytest.approx(corrected_error(found, 0.0))
    assert as_elsewhere(effect).error == pytest.approx(corrected_error(found, 0.25))


def test_draws_and_seeds_share_no_rows():
    found = np.random.default_rng(0).normal(size=12)
    for unit in ("draw", "seed"):
        effect = effect_of({f"{unit} {k}": value for k, value in enumerate(found)})
        assert effect.error == pytest.approx(corrected_error(found, 0.0))
        assert as_elsewhere(effect) == effect


def test_a_number_of_the_paper_is_of_the_same_table_so_its_row_has_no_correction():
    values = {f"split {k}": float(k % 2) for k in range(20)}
    row = Row("a", 0.5, values=values)
    assert row.error == pytest.approx(effect_of(values).error)
    assert row.error < effect_of(values).elsewhere


def test_seeds_on_the_same_splits_are_no_further_experiments():
    values = {"split 0": 0.8, "split 1": 1.2}
    assert Row("a", 1.0, spread=0.2, n=200, values=values).error == pytest.approx(0.2)
    assert Row("a", 1.3, 1.0, spread=9.0, n=200, values=values).verdict == "higher"  # two splits


# ── The bound ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [10, 12, 30, 2000])
def test_the_bound_is_that_of_students_t(n):
    bound = stats.t.isf(LEVEL / 2, n - 1)
    assert decide([[ClaimEffect(1.001 * bound, 1.0, n)]]) == [True]
    assert decide([[ClaimEffect(-1.001 * bound, 1.0, n)]]) == [False]
    assert decide([[ClaimEffect(0.999 * bound, 1.0, n)]]) == [None]
    assert bound == pytest.approx(2.32 if n == 10 else bound, abs=0.001)


def test_nine_experiments_decide_nothing():
    assert decide([[ClaimEffect(9.0, 0.1, 9)]]) == [None]


def test_degrees_of_freedom_count_not_experiments():
    """Ten experiments, but one task of two makes all the error."""
    assert decide([[ClaimEffect(3.0, 1.0, 10)]]) == [True]
    assert decide([[ClaimEffect(3.0, 1.0, 10, df=1.0)]]) == [None]


def test_no_error_or_no_effect_decides_nothing():
    assert decide([[ClaimEffect(5.0, None, 100)], []]) == [None, None]
    assert decide([]) == []


def test_holm_asks_more_of_the_clearest_and_less_of_the_last():
    """Of three claims the bounds are 2.43, 2.28 and 2 standard errors."""

    def three(*scores):
        return decide([[many(score)] for score in scores])

    assert three(2.45, 2.30, 2.05) == [True, True, True]
    assert three(2.40, 2.30, 2.05) == [None, None, None]
    assert three(-2.45, 2.05, 2.30) == [False, True, True]
    assert three(2.45, 2.20, 2.05) == [True, None, None]


def test_a_claim_of_several_parts_holds_by_the_weakest_and_fails_by_one():
    strong, weak, against = many(5), many(1), many(-5)
    assert decide([[strong, strong]]) == [True]
    assert decide([[strong, weak]]) == [None]
    assert decide([[strong, against]]) == [False]
    assert decide([[strong, ClaimEffect(5, None, 20)]]) == [None]
    # The worst of two was picked: 2.28 errors are needed to refute.
    assert decide([[strong, many(-2.2)]]) == [None]
    assert decide([[strong, many(-2.3)]]) == [False]


def test_the_part_that_refutes_is_the_least_likely_one_whatever_its_degrees_of_freedom():
    assert decide([[ClaimEffect(-4.0, 1.0, 10, df=1.0), many(-3.5)]]) == [False]


def test_a_comparison_picked_from_many_needs_more():
    assert decide([[many(2.2)]]) == [True]
    assert decide([[many(2.2, trials=2)]]) == [None]


# ── Pairs ────────────────────────────────────────────────────────────────────────────────────────


def test_pairs_leave_out_what_both_share_and_say_what_one_alone_has():
    """Splits differ by 10, the settings by 1 or 2 on each."""
    a = Row("a", 11.5, spread=7.0, n=4, values=seeds(1, 11, 21, 31))
    b = Row("b", 10.0, spread=7.0, n=4, values=seeds(0, 10, 19, 29, 99))
    effect = contrast([(1, a), (-1, b)])
    assert (effect.value, effect.n, effect.uneven) == (1.5, 4, True)
    assert effect.error == pytest.approx((1 / 3) ** 0.5 / 2)
    assert not contrast([(1, a), (-1, a)]).uneven


def test_no_common_experiment_is_no_effect_rather_than_an_unpaired_one():
    a = Row("a", 5.0, spread=0.1, n=10, values={f"split {k}": 5.0 for k in range(10)})
    b = Row("b", 1.0, spread=0.1, n=10, values={f"seed {k}": 1.0 for k in range(10)})
    assert contrast([(1, a), (-1, b)]).error is None


def test_without_values_errors_are_added_as_of_independent_means():
    a, b = Row("a", 3.0, spread=3.0, n=9), Row("b", 1.0, spread=8.0, n=4)
    effect = contrast([(1, a), (-0.5, b)], 0.25)
    assert (effect.value, effect.n) == (2.75, 4)
    assert effect.error == pytest.approx((1 + 4) ** 0.5)
    assert contrast([(1, a), (-1, Row("c", 1.0))]).error is None


def test_a_number_agrees_by_a_tenth_or_by_errors_of_ten_runs():
    assert agrees(1.09, 1.0, None, 1)
    assert not agrees(1.11, 1.0, None, 1)
    assert agrees(1.2, 1.0, 0.11, 10)
    assert not agrees(1.2, 1.0, 0.11, 9)
    assert agrees(-1.05, -1.0, None, 1)


def test_claims_of_an_item_are_judged_together():
    claims = judged([Claim("a", [many(2.1)], ""), Claim("b", [many(0)], "")])
    assert [claim.verdict for claim in claims] == ["undecided", "undecided"]
    assert judged(claims[:1])[0].verdict == "reproduced"
