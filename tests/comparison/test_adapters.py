"""Estimators that refuse some tables, brought to accept them."""

import numpy as np
import pytest

from adacap.comparison import METHODS, unavailable
from adacap.comparison.adapters import FeasibleNuSVC, FirstFeasible


@pytest.mark.parametrize(("n_rare", "nu"), [(30, 0.5), (5, 10 / 60)])
def test_nu_is_lowered_for_a_rare_class_alone(n_rare, nu, rows_for):
    X, _ = rows_for("binary")
    y = (np.arange(60) < n_rare).astype(int)
    model = FeasibleNuSVC().fit(X, y)
    assert model.nu_ == pytest.approx(nu)
    assert model.decision_function(X).shape == (60,)


@pytest.mark.skipif(
    unavailable(METHODS["qda"]) is not None, reason=str(unavailable(METHODS["qda"]))
)
def test_qda_is_shrunk_only_where_a_covariance_is_singular(rows_for):
    X, y = rows_for("multiclass")
    assert METHODS["qda"].build("multiclass", 0).fit(X, y).shrinkage is None
    doubled = np.hstack([X, X[:, :1]])
    singular = METHODS["qda"].build("multiclass", 0).fit(doubled, y)
    assert singular.shrinkage == 1e-3
    assert np.mean(singular.predict(doubled) == y) > 0.6
    few_rows = METHODS["qda"].build("multiclass", 0).fit(np.tile(X, 10), y)
    assert np.isfinite(few_rows.predict_proba(np.tile(X, 10))).all()


class Picky:
    def __init__(self, error=None):
        self.error = error

    def get_params(self):
        return {"error": self.error}

    def fit(self, X, y):
        if self.error:
            raise self.error


def test_the_first_feasible_candidate_is_kept():
    model = FirstFeasible([Picky(KeyError("a")), Picky(), Picky(KeyError("b"))], KeyError)
    assert str(model.get_params()["error"]) == "'a'"
    assert model.fit(None, None).error is None


def test_a_refusal_by_all_or_another_error_is_passed_on():
    with pytest.raises(KeyError, match="b"):
        FirstFeasible([Picky(KeyError("a")), Picky(KeyError("b"))], KeyError).fit(None, None)
    with pytest.raises(ZeroDivisionError):
        FirstFeasible([Picky(ZeroDivisionError()), Picky()], KeyError).fit(None, None)


# The best kernel of a signal without noise has no end.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gaussian_process_finds_a_signal_among_many_columns(seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(150, 60))
    model = METHODS["gp"].build("regression", 0).fit(X, X[:, 0])
    fresh = generator.normal(size=(100, 60))
    assert np.mean((model.predict(fresh) - fresh[:, 0]) ** 2) < 0.7
