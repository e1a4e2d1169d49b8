"""AdaCapClassifier: labels of every kind in and out, probabilities, and that it learns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from adacap import AdaCapClassifier
from adacap.exceptions import NumericalWarning

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
SCHEMES = pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
TARGETS = pytest.mark.parametrize("target", ["binary", "multiclass"])


# ----------------------------------------------------------------------------- labels


@SCHEMES
@TARGETS
def test_text_labels_come_back(scheme, target, data):
    y = getattr(data, target)
    model = AdaCapClassifier(scheme=scheme, **SMALL).fit(data.X, y)
    assert model.classes_.tolist() == sorted(set(y))
    predicted = model.predict(data.X)
    assert predicted.dtype == model.classes_.dtype
    assert set(predicted) <= set(y)


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [-1, 1], [False, True], [2.0, 5.0], ["x", "y"], [10, 20, 30], ["c", "a", "b"]],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_labels_of_any_kind_are_the_same_model(labels, data):
    """What the classes are called has no influence, as long as their order is the same."""
    ranks = np.unique(data.binary if len(labels) == 2 else data.multiclass, return_inverse=True)[1]
    y = np.array(sorted(labels))[ranks]
    model = AdaCapClassifier(**SMALL).fit(data.X, y)
    plain = AdaCapClassifier(**SMALL).fit(data.X, ranks)
    np.testing.assert_array_equal(model.predict_proba(data.X), plain.predict_proba(data.X))
    assert model.classes_.tolist() == sorted(labels)
    assert set(model.predict(data.X).tolist()) <= set(labels)


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        lambda y: pd.Series(y, index=range(100, 160)),
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="string"),
        lambda y: pl.Series(y.tolist()),
        lambda y: pl.Series(y.tolist(), dtype=pl.Categorical),
        lambda y: pa.chunked_array([y.tolist()]),
    ],
    ids=["list", "pandas", "category", "string", "polars", "polars category", "pyarrow"],
)
def test_the_container_of_the_labels_does_not_matter(wrap, data):
    a = AdaCapClassifier(**SMALL).fit(data.X, wrap(data.multiclass))
    b = AdaCapClassifier(**SMALL).fit(data.X, data.multiclass)
    np.testing.assert_array_equal(a.predict_proba(data.X), b.predict_proba(data.X))
    assert a.classes_.tolist() == ["high", "low", "mid"]


def test_a_frame_with_text_and_missing_cells(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    frame["text"] = np.where(data.binary == "low", "x", "y")
    frame.loc[::7, ["a", "text"]] = None
    model = AdaCapClassifier(**SMALL | {"max_iter": 60}).fit(frame, data.binary)
    assert model.score(frame, data.binary) > 0.85
    turned = pl.DataFrame(frame[frame.columns[::-1]])
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(frame))


# ---------------------------------------------------------------------- probabilities


@SCHEMES
@TARGETS
def test_probabilities_are_shares(scheme, target, data):
    y = getattr(data, target)
    model = AdaCapClassifier(scheme=scheme, **SMALL).fit(data.X, y)
    shares = model.predict_proba(data.X)
    assert shares.shape == (60, len(set(y)))
    assert shares.dtype == np.float64
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[shares.argmax(1)], model.predict(data.X))


def test_a_net_that_overflows_gives_certainty_not_nan(data):
    model = AdaCapClassifier(
        scheme="plain", max_lr=1e4, optimizer=("sgd", "constant"), validation=0,
        **SMALL | {"max_iter": 3},
    )  # fmt: skip
    with pytest.warns(NumericalWarning, match="Training diverged"):
        model.fit(data.X, data.binary)
    assert np.isfinite(model.predict_proba(data.X)).all()


# ---------------------------------------------------------------------- few or odd rows


def test_one_class_is_refused(data):
    with pytest.raises(ValueError, match=r"at least 2 classes, got one class: \['a'\]. Check the"):
        AdaCapClassifier(**SMALL).fit(data.X, ["a"] * 60)
    with pytest.raises(ValueError, match=r"at least 2 classes, got one class: \['low'\]"):
        AdaCapClassifier(**SMALL).fit(data.X, data.binary, data.binary == "low")


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_label_is_refused(missing, data):
    y = data.binary.astype(object)
    y[3] = missing
    with pytest.raises(ValueError, match=r"y contains NaN, None or infinity in 1 of 60 rows. Rem"):
        AdaCapClassifier(**SMALL).fit(data.X, y)


def test_numbers_to_regress_on_are_refused(data):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        AdaCapClassifier(**SMALL).fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"1d array, got an array of shape \(60, 2\)"):
        AdaCapClassifier(**SMALL).fit(data.X, np.c_[data.binary, data.binary])


@SCHEMES
def test_a_class_of_one_row_is_kept(scheme, data):
    y = np.array(["often"] * 59 + ["once"])
    model = AdaCapClassifier(scheme=scheme, **SMALL).fit(data.X, y)
    assert model.classes_.tolist() == ["often", "once"]
    assert np.isfinite(model.predict_proba(data.X)).all()


@SCHEMES
def test_five_rows_of_three_classes(scheme, data):
    model = AdaCapClassifier(scheme=scheme, **SMALL).fit(data.X[:5], list("aabbc"))
    assert model.predict_proba(data.X).shape == (60, 3)


@SCHEMES
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_constant_features_give_the_prior(scheme, share, data):
    y = np.where(np.arange(60) < share * 60, "yes", "no")
    model = AdaCapClassifier(scheme=scheme, **SMALL | {"max_iter": 200})
    shares = model.fit(np.ones((60, 2)), y).predict_proba(np.ones((2, 2)))
    np.testing.assert_array_equal(shares[0], shares[1])
    # A solved layer fits ±1 by least squares: its sigmoid leans to the larger class, less so.
    assert abs(shares[0, 1] - share) < (0.1 if scheme == "plain" else 0.2)
    assert model.predict(np.ones((1, 2))) == ["yes" if share > 0.5 else "no"]


def test_weights_move_the_prior():
    X, y = np.ones((40, 1)), np.repeat(["a", "b"], 20)
    heavy = AdaCapClassifier(**SMALL | {"max_iter": 200}).fit(X, y, np.repeat([9.0, 1.0], 20))
    assert heavy.predict_proba(X)[0, 0] > 0.75


def test_predicting_before_fitting(data):
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(AdaCapClassifier(), method)(data.X)


def test_a_hold_out_keeps_the_shares_of_the_classes(data):
    y = np.repeat(["a", "b", "c"], [30, 20, 10])
    model = AdaCapClassifier(**SMALL).fit(data.X, y)
    held = model.members_[0].rows.valid
    assert len(held) == 12
    bag = AdaCapClassifier(n_estimators=5, validation="folds", architecture="mlp", **SMALL).fit(
        data.X, y
    )
    assert [len(m.rows.valid) for m in bag.members_] == [12] * 5


# --------------------------------------------------------------------------- learning


@SCHEMES
def test_a_curved_border_is_learnt(scheme):
    X, y = make_moons(200, noise=0.1, random_state=0)
    model = AdaCapClassifier(scheme=scheme, width=32, max_iter=100, random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.95


def test_three_classes_are_learnt_by_default():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(AdaCapClassifier(random_state=0), X, y, cv=3).mean() > 0.9
