"""scikit-learn's own checks, for MLR-NN: single nets, and mixed ensembles."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor

SMALL = {"width": 32, "max_iter": 60, "max_lr": 0.03}
MIXED = {"depth": (1, 2), "n_estimators": 3, "top": 2, **SMALL}


@parametrize_with_checks([MLRNetRegressor(**SMALL), MLRNetClassifier(**SMALL)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([MLRNetRegressor(**MIXED), MLRNetClassifier(**MIXED)])
def test_contract_of_ensembles(estimator, check):
    check(estimator)
