"""scikit-learn's own checks. Nothing is expected to fail."""

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from adacap.model_selection import MLRSearch, RidgeMLR

ESTIMATORS = [
    RidgeMLR(),
    RidgeMLR(criterion="risk", alphas=[0.1, 1.0, 10.0], fit_intercept=False),
    MLRSearch(Ridge(), {"alpha": [0.1, 1.0]}, n_permutations=3),
    MLRSearch(Ridge(solver="lsqr"), {"alpha": [0.1, 1.0]}, n_permutations=3),
    MLRSearch(LogisticRegression(), {"C": [0.1, 1.0]}, n_permutations=2),
]


# The checks fit noise, three rows or constants, of which the estimators rightly complain.
@pytest.mark.filterwarnings("ignore::adacap.model_selection.SignalWarning")
@parametrize_with_checks(ESTIMATORS)
def test_contract(estimator, check):
    check(estimator)
