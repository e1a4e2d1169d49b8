"""The rule of verdicts, against numbers by hand."""

import pytest

from adacap_bench.reproduce.item import Claim, Row, judged
from adacap_bench.reproduce.verdicts import Effect, agrees, contrast, decide, effect_of


def test_an_effect_has_the_standard_error_of_its_mean():
    effect = effect_of([1.0, 2.0, 3.0, 4.0])
    assert (effect.value, effect.n) == (2.5, 4)
    assert effect.error == pytest.approx((5 / 3) ** 0.5 / 2)  # deviation √(5/3), √4 = 2


@pytest.mark.parametrize(
    ("value", "n", "verdict"),
    [(0.21, 10, True), (0.19, 10, None), (-0.21, 10, False), (9.0, 9, None)],
)
def test_one_claim_needs_two_errors_and_ten_experiments(value, n, verdict):
    assert decide([[Effect(value, 0.1, n)]]) == [verdict]


def test_no_error_or_no_effect_decides_nothing():
    assert decide([[Effect(5.0, None, 100)], []]) == [None, None]
    assert decide([]) == []


def test_holm_asks_more_of_the_clearest_and_less_of_the_last():
    """Of three claims the bounds are 2.43, 2.28 and 2 standard errors."""

    def three(*scores):
        return decide([[Effect(score, 1.0, 50)] for score in scores])

    assert three(2.45, 2.30, 2.05) == [True, True, True]
    assert three(2.40, 2.30, 2.05) == [None, None, None]
    assert three(-2.45, 2.05, 2.30) == [False, True, True]
    assert three(2.45, 2.20, 2.05) == [True, None, None]


def test_a_claim_of_several_parts_holds_by_the_weakest_and_fails_by_one():
    strong, weak, against = Effect(5, 1, 20), Effect(1, 1, 20), Effect(-5, 1, 20)
    assert decide([[strong, strong]]) == [True]
    assert decide([[strong, weak]]) == [None]
    assert decide([[strong, against]]) == [False]
    assert decide([[strong, Effect(5, None, 20)]]) == [None]
    # The worst of two was picked: 2.28 errors are needed to refute.
    assert decide([[strong, Effect(-2.2, 1, 20)]]) == [None]
    assert decide([[strong, Effect(-2.3, 1, 20)]]) == [False]


def test_a_comparison_picked_from_many_needs_more():
    assert decide([[Effect(2.2, 1, 20)]]) == [True]
    assert decide([[Effect(2.2, 1, 20, trials=2)]]) == [None]


def test_pairs_leave_out_what_both_share():
    """Splits differ by 10, the settings by 1 or 2 on each."""
    a = Row("a", 11.5, spread=7.0, n=4, values={"0": 1, "1": 11, "2": 21, "3": 31})
    b = Row("b", 10.0, spread=7.0, n=4, values={"0": 0, "1": 10, "2": 19, "3": 29, "4": 99})
    effect = contrast([(1, a), (-1, b)])
    assert (effect.value, effect.n) == (1.5, 4)
    assert effect.error == pytest.approx((1 / 3) ** 0.5 / 2)


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
    claims = judged([Claim("a", [Effect(2.1, 1, 20)], ""), Claim("b", [Effect(0, 1, 20)], "")])
    assert [claim.verdict for claim in claims] == ["undecided", "undecided"]
    assert judged(claims[:1])[0].verdict == "reproduced"
