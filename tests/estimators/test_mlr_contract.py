"""scikit-learn's own checks, for MLR-NN: a single net and a mixed ensemble."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from adacap import MLRNetClassifier, MLRNetRegressor

SMALL = {"width": 32, "max_iter": 60, "max_lr": 0.03}
SETTINGS = [{**SMALL}, {"depth": (1, 2), "n_estimators": 3, "top": 2, **SMALL}]


@parametrize_with_checks(
    [kind(**settings) for kind in (MLRNetRegressor, MLRNetClassifier) for settings in SETTINGS]
)
def test_contract(estimator, check):
    check(estimator)
