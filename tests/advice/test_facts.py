"""How the facts of the benchmark and a quick comparison are weighed."""

import math

import numpy as np
import pytest

from adacap.advice.facts import Fact, blend_with_facts, cost_of, nearest_facts


def fact(task, n_rows=200, quick=0.1, bench=0.1, **more):
    return Fact(task, n_rows, 10, 0.2, quick, quick, bench, bench, 1.0, **more)


def test_a_steady_error_of_the_quick_comparison_is_mended():
    facts = [fact(str(k), quick=0.1 * k, bench=0.05 * k) for k in range(8)]
    found = blend_with_facts(fact("mine", quick=0.4), "trees", 0.01, facts)
    assert found.log_ratio == pytest.approx(0.2, abs=0.02)


def test_an_unsure_comparison_leaves_the_word_to_the_benchmark():
    facts = [fact(str(k), quick=0.3, bench=0.3 + 0.01 * k) for k in range(8)]
    sure = blend_with_facts(fact("mine", quick=-0.5), "linear", 0.01, facts)
    unsure = blend_with_facts(fact("mine", quick=-0.5), "linear", 1.0, facts)
    assert abs(unsure.log_ratio - 0.335) < 0.01
    assert sure.log_ratio < unsure.log_ratio
    assert sure.standard_error <= unsure.standard_error


def test_tables_alike_count_more():
    facts = [fact("small", 100, bench=0.0), fact("middle", 1000), fact("large", 30_000, bench=0.5)]
    many, few = fact("mine", 25_000), fact("mine", 120)
    assert nearest_facts(many, facts, 1)[0].task == "large"
    priors = [blend_with_facts(own, "trees", 1.0, facts).prior[0] for own in (few, many)]
    assert priors[0] < np.mean([0.0, 0.1, 0.5]) < priors[1]


def test_fewer_than_three_facts_are_none():
    found = blend_with_facts(fact("mine", quick=0.3), "trees", 0.05, [fact("one"), fact("two")])
    assert (found.log_ratio, found.standard_error, found.prior) == (0.3, 0.05, None)


def test_costs_follow_the_rows_and_the_machine():
    facts = [fact(str(n), n, adacap_seconds=n / 100) for n in (100, 200, 400, 800)]
    assert cost_of("adacap", 1600, 1.0, facts) == pytest.approx(16, rel=1e-6)
    assert cost_of("adacap", 1600, 2.5, facts) == pytest.approx(40, rel=1e-6)
    assert math.isnan(cost_of("adacap", 1600, 1.0, []))


def test_a_comparison_without_an_error_is_taken_for_unsure():
    facts = [fact(str(k), bench=0.2) for k in range(5)]
    found = blend_with_facts(fact("mine", quick=1.0), "trees", math.nan, facts)
    assert np.isclose(found.log_ratio, 0.2, atol=0.02)
