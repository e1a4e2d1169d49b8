"""What both estimators refuse, with the value received and the way out; divergence."""

import math

import numpy as np
import pytest
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.exceptions import DivergenceError, NumericalWarning

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}
SCHEMES = ["adacap", "tikhonov", "plain"]


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


class Broken(nn.Linear):
    """A backbone whose features are NaN."""

    def __init__(self, d_in):
        super().__init__(d_in, 8)

    def forward(self, x):
        return super().forward(x) * math.nan


# --------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"architecture": lambda d: 3}, TypeError, "must return a torch.nn.Module, got int from"),
        ({"architecture": nn.Bilinear}, TypeError, "missing 2 required positional"),
        (
            {"architecture": lambda d: nn.Unflatten(1, (1, d))},
            ValueError,
            r"must map 2 rows to a tensor of shape \(2, J\), got \(2, 1, 4\). Flatten its output",
        ),
        ({"architecture": lambda d: nn.LSTM(d, 2)}, ValueError, r"shape \(2, J\), got tuple"),
        (
            {"batch_size": 1, "architecture": Architecture("mlp", batch_norm=True)},
            ValueError,
            "batch_size must be at least 2 for Architecture.*, got batch_size=1",
        ),
        (
            {"n_estimators": 61, "validation": "folds"},
            ValueError,
            "validation='folds' with n_estimators=61 needs at least 61 different rows, got 60",
        ),
        (
            {"n_estimators": 1, "validation": "folds"},
            ValueError,
            "needs n_estimators of at least 2, got n_estimators=1. .* validation=0.2",
        ),
        (
            {"architecture": ["glu", "mlp"]},
            ValueError,
            "make 2 kinds of nets, which needs n_estimators of at least 2, got 1",
        ),
    ],
    ids=lambda value: str(value).split(" at 0x")[0] if isinstance(value, dict) else "",
)
@pytest.mark.usefixtures("global_state_untouched")
def test_parameters_that_cannot_work_together_are_refused(kind, options, error, match, data):
    model = kind(**ONE | {"scheme": "adacap"} | options)
    with pytest.raises(error, match=match):
        model.fit(data.X, data.target(kind))
    assert vars(model).keys() == vars(kind()).keys()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda X, y: (X[:0], y[:0]), ValueError, r"0 sample\(s\) .*minimum of 1 is required"),
        (lambda X, y: (X[:, :0], y), ValueError, r"0 feature\(s\) .*minimum of 1 is required"),
        (lambda X, y: (X, y[:-1]), ValueError, r"inconsistent numbers of samples: \[60, 59\]"),
        (lambda X, y: (X[:, 0], y), ValueError, "Expected 2D array, got 1D array instead"),
        (lambda X, y: (X[:, :, None], y), ValueError, r"got shape=\(60, 4, 1\). Flatten each"),
        (lambda X, y: (X, None), ValueError, "requires y to be passed, but the target y is None"),
        (lambda X, y: (np.where(X > 2, np.inf, X), y), ValueError, "infinity in column .*Replace"),
        (lambda X, y: (X, y, -np.ones(60)), ValueError, "must be 0 or more for every row, got -1"),
        (lambda X, y: (X, y, np.zeros(60)), ValueError, "at least one non-zero|is zero for every"),
        (lambda X, y: (X, y, np.full(60, np.nan)), ValueError, "sample_weight contains NaN"),
        (lambda X, y: (X, y, np.ones(59)), ValueError, r"sample_weight.shape == \(59,\), expected"),
        (lambda X, y: (X, y, np.ones((60, 2))), ValueError, "must be 1D array or scalar"),
    ],
)
@pytest.mark.usefixtures("global_state_untouched")
def test_data_that_cannot_work_is_refused(kind, change, error, match, data):
    model = kind(**ONE)
    with pytest.raises(error, match=match):
        model.fit(*change(data.X, data.target(kind)))
    assert vars(model).keys() == vars(kind()).keys()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X, y: {"X_val": X}, "X_val and y_val go together: give both or neither"),
        (lambda X, y: {"y_val": y}, "X_val and y_val go together: give both or neither"),
        (lambda X, y: {"X_val": X, "y_val": y[:9]}, r"inconsistent numbers of samples: \[60, 9\]"),
        (lambda X, y: {"X_val": X[:, :3], "y_val": y}, "has 3 features, but .* expecting 4"),
        (lambda X, y: {"X_val": X[:0], "y_val": y[:0]}, r"0 sample\(s\)"),
    ],
)
def test_validation_rows_that_cannot_work_are_refused(kind, change, match, data):
    y = data.target(kind)
    with pytest.raises(ValueError, match=match):
        kind(**ONE).fit(data.X, y, **change(data.X, y))


def test_validation_targets_must_be_of_the_same_kind(data):
    with pytest.raises(ValueError, match="y has 2 targets, but there were 1 in training"):
        AdaCapRegressor(**ONE).fit(data.X, data.y, X_val=data.X, y_val=np.c_[data.y, data.y])
    with pytest.raises(ValueError, match=r"classes unseen in training: \['mid'\]"):
        AdaCapClassifier(**SMALL).fit(data.X, data.binary, X_val=data.X[:2], y_val=["low", "mid"])


def test_one_row_is_refused(data):
    with pytest.raises(ValueError, match=r"needs at least 2 different rows .*, got n_samples=1"):
        AdaCapRegressor(**ONE).fit(data.X[:1], data.y[:1])
    with pytest.raises(ValueError, match=r"needs at least 2 different rows .*, got n_samples=1"):
        AdaCapRegressor(**ONE).fit(data.X[[0, 0, 0]], data.y[[0, 0, 0]])
    with pytest.raises(ValueError, match=r"needs at least 2 different rows .*, got n_samples=1"):
        AdaCapRegressor(**ONE).fit(data.X, data.y, np.eye(60)[0])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_rows_are_enough(kind, scheme, data):
    y = data.target(kind)
    rows = [int(np.argmin(data.y)), int(np.argmax(data.y))]
    model = kind(scheme=scheme, **ONE).fit(data.X[rows], y[rows])
    assert np.isfinite(outputs(model, data.X)).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X: X[:, :3], "X has 3 features, but AdaCap.* is expecting 4 features"),
        (lambda X: X[0], "Expected 2D array, got 1D array"),
        (lambda X: X[:, :, None], "Expected 2D array, got shape"),
        (lambda X: X[:0], r"0 sample\(s\)"),
        (lambda X: X * np.inf, "Input X contains infinity in column 0"),
    ],
)
def test_rows_of_another_form_cannot_be_predicted(kind, change, match, data):
    model = kind(**ONE).fit(data.X, data.target(kind))
    with pytest.raises(ValueError, match=match):
        model.predict(change(data.X))


# ------------------------------------------------------------------- divergence


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"scheme": "adacap", "lambda_init": "max_sensitivity"},
            "gives 384 NaN or infinite features out of 384 before the first",
        ),
        (
            {"scheme": "tikhonov", "lambda_init": "max_sensitivity"},
            "gives 384 NaN or infinite features out of 384 before the first",
        ),
        ({"scheme": "adacap", "lambda_init": 1.0}, "diverged at step 0 before a usable iteration"),
        (
            {"scheme": "plain", "max_lr": 0.01},
            "diverged at step 0 .* loss is not finite. max_lr is now 0.01",
        ),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
@pytest.mark.usefixtures("global_state_untouched")
def test_a_backbone_that_gives_nan_is_a_named_error(kind, options, match, data):
    model = kind(architecture=Broken, **ONE | options)
    with pytest.raises(DivergenceError, match=match):
        model.fit(data.X, data.target(kind))
    assert vars(model).keys() == vars(kind()).keys()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.filterwarnings("ignore::adacap.exceptions.NumericalWarning")
def test_a_huge_learning_rate_keeps_what_was_best(kind, scheme, optimizer, data):
    """Whether or not the loss overflows, a usable model comes back."""
    model = kind(scheme=scheme, max_lr=1e6, optimizer=(optimizer, "constant"), **ONE)
    model.fit(data.X, data.target(kind))
    assert np.isfinite(outputs(model, data.X)).all()
    if scheme != "plain":
        assert math.isfinite(model.lambda_)


def test_divergence_after_a_usable_iteration_is_a_warning(data):
    model = AdaCapRegressor(scheme="plain", max_lr=1e6, optimizer=("sgd", "constant"), **ONE)
    with pytest.warns(NumericalWarning, match=r"diverged at step \d+; the best .*smaller max_lr"):
        model.fit(data.X, data.y)
    assert model.n_iter_ < 20
    assert np.abs(model.predict(data.X)).max() < 10
