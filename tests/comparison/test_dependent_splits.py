"""Methods are compared on whole groups, or on later rows; ± and p-value rest on one error."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge

from adacap.comparison import compare, corrected_error, split_dependent
from adacap.estimators.dependence import Dependence


class Spy(Ridge):
    """Ridge regression that writes down the groups and times it is given."""

    seen: ClassVar[list] = []

    def fit(self, X, y, groups=None, time=None):
        self.seen.append((groups, time))
        return super().fit(X, y)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    return X, X[:, 0] + rng.normal(size=90), np.arange(90) % 9


@pytest.mark.parametrize("turn", range(4))
def test_test_rows_are_later_and_of_other_groups(table, turn):
    _, y, group = table
    both = Dependence(group, np.random.default_rng(1).permutation(90))
    options = {"by_class": False, "turn": turn, "n_turns": 4}
    train, test = split_dependent(both, y, 0.3, turn, **options)
    assert both.time[train].max() < both.time[test].min()
    assert not set(group[train]) & set(group[test])
    train, test = split_dependent(Dependence(group), y, 0.3, turn, **options)
    assert len(train) + len(test) == 90
    assert not set(group[train]) & set(group[test])


def test_the_window_of_tests_moves_to_the_end_of_the_table(table):
    time = Dependence(time=np.arange(90))
    ends = [
        split_dependent(time, table[1], 0.2, 0, by_class=False, turn=i, n_turns=5)[1].max()
        for i in range(5)
    ]
    assert ends == sorted(set(ends))
    assert ends[-1] == 89


def test_methods_that_take_groups_get_those_of_the_training_rows(table):
    X, y, group = table
    Spy.seen = []
    compare({"spy": Spy()}, X, y, n_splits=2, groups=group, time=np.arange(90))
    for groups, time in Spy.seen:
        assert len(groups) == len(time) > 0
        assert set(groups) < set(group)


def test_plus_minus_and_p_value_rest_on_one_standard_error(table):
    X, y, group = table
    found = compare({"ridge": Ridge(), "mean": DummyRegressor()}, X, y, n_splits=6, groups=group)
    pair = found.difference("ridge", "mean")
    gaps = np.subtract(*(found.scores[name]["rmse"] for name in ("ridge", "mean")))
    error = corrected_error(gaps, found.test_ratio)
    assert pair.standard_error == error
    assert pair.p_value == pytest.approx(2 * stats.t.sf(abs(gaps.mean() / error), 5))


def test_two_groups_are_too_few_for_methods_that_divide_them_again(table):
    X, y, group = table[:3]
    two = group % 2
    with pytest.raises(ValueError, match=r"spy needs at least two training groups.*least 3 groups"):
        compare({"ridge": Ridge(), "spy": Spy()}, X, y, n_splits=1, groups=two)
    assert compare({"ridge": Ridge()}, X, y, n_splits=1, groups=two).ranking == ["ridge"]
