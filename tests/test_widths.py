"""The width of a row: the formula, number by number."""

import numpy as np
import pytest

from adacap.widths import FARTHEST, MOST_EXPONENT, Widths


def formula(p0=1.0, p1=0.0, floor=0.1, shift=0.0, slope=(0.0, 0.0), knots=(0.0,), stretch=(0.0,)):
    return Widths(
        np.array([[p0], [p1]]), np.array([floor]), np.array([shift]),
        np.array(slope).reshape(1, 2, 1), np.array([knots]).T, np.array([stretch]).T,
    )  # fmt: skip


def at(one, output, size):
    return float(one.scale(np.full((1, 1, 1), output), np.full((1, 1, 1), size))[0, 0, 0])


def test_the_size_that_trees_give_counts_by_its_power():
    assert at(formula(), 0.0, 2.0) == pytest.approx(2.0)
    assert at(formula(p0=2.0), 0.0, 3.0) == pytest.approx(9.0)
    assert at(formula(p0=0.0), 0.0, 3.0) == 1.0
    assert at(formula(), 0.0, 0.0) == pytest.approx(0.1)  # the floor


def test_the_prediction_counts_up_to_where_it_is_cut():
    one = formula(p0=0.0, p1=1.0, slope=(0.5, 0.25), shift=0.1)
    assert at(one, 1.0, 1.0) == pytest.approx(np.exp(0.75 - 0.1))
    assert at(one, -1.0, 1.0) == pytest.approx(np.exp(-0.25 - 0.1))
    assert at(one, 50.0, 1.0) == at(one, FARTHEST, 1.0)


def test_the_scale_is_stretched_between_its_knots_and_evenly_beyond():
    one = formula(knots=(0.0, 1.0, 3.0), stretch=(0.5, 0.0, 1.0))
    for log, h in ((-1.0, 0.5), (0.0, 0.5), (0.5, 0.25), (1.0, 0.0), (2.0, 0.5), (9.0, 1.0)):
        assert at(one, 0.0, np.exp(log)) == pytest.approx(np.exp(max(log, np.log(0.1)) + h))


@pytest.mark.parametrize("slope", [1e4, -1e4])
def test_a_slope_of_few_rows_gives_no_infinite_width(slope):
    found = at(formula(p0=0.0, p1=1.0, slope=(slope, 0.0)), 2.0, 1.0)
    assert np.log(found) == pytest.approx(np.copysign(MOST_EXPONENT, slope))
