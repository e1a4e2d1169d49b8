"""Cells, targets, weights and settings that once ended in silence or in a foreign error."""

import warnings
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import torch

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.estimators.mlr_net import MLRNetRegressor
from adacap.exceptions import NonFiniteError, NumericalWarning

CHEAP = {"quality": "nets", "n_estimators": 1, "max_iter": 3, "width": 8, "random_state": 0}


@pytest.fixture
def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    return X, X[:, 0] + 0.1 * rng.normal(size=60)


def regressor(**settings):
    if settings.get("quality", "nets") != "nets":  # members of a blend, none of them of nets
        return AdaCapRegressor(**{"random_state": 0, **settings})
    return AdaCapRegressor(**{**CHEAP, **settings})


# ---------------------------------------------------------------------------------- huge cells


@pytest.mark.finding("M6", before="preprocessing='paper': NaN predictions without a word")
@pytest.mark.parametrize("quality", ["nets", ["ridge"], ["kernel"], ["trees"]])
@pytest.mark.parametrize("policy", ["default", "paper", "none"])
@pytest.mark.parametrize("cell", [-1e300, 1e39])
def test_a_huge_cell_gives_a_finite_prediction_or_names_its_column(data, policy, quality, cell):
    X, y = data
    model = regressor(quality=quality, preprocessing=policy).fit(X, y)
    new = X[:4].copy()
    new[2, 1] = cell
    if policy == "default":
        assert np.isfinite(model.predict(new)).all()
        return
    with pytest.raises(ValueError, match=r"column 1 reaches 1e\+(300|39).*infinity.*default"):
        model.predict(new)


@pytest.mark.finding("M6", before="preprocessing='paper': NaN predictions without a word")
@pytest.mark.parametrize("names", [None, ["size", "rooms", "price"]])
def test_the_column_of_a_huge_cell_is_found_beside_text(data, names):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=names or list("abc"))
    frame["kind"] = np.where(y > 0, "up", "down")
    model = regressor(preprocessing="paper").fit(frame, y)
    frame.iloc[3, 2] = 1e300
    with pytest.raises(ValueError, match=f"column {frame.columns[2]!r} reaches 1e"):
        model.predict(frame)


def test_predictions_that_overflow_inside_the_net_name_their_rows(data):
    X, y = data
    model = regressor(width=64, preprocessing="none").fit(X, y)
    new = X[:4].copy()
    new[2] = 3e38
    with pytest.raises(NonFiniteError, match=r"1 of 4 rows are not finite \(row 2 is the first"):
        model.predict(new)


@pytest.mark.parametrize("policy", ["default", "paper"])
def test_a_huge_cell_may_stand_among_the_training_rows(data, policy):
    X, y = data
    X[5, 0] = 1e300
    assert np.isfinite(regressor(preprocessing=policy).fit(X, y).predict(X)).all()


# ---------------------------------------------------------------------- torch's default dtype


@pytest.fixture
def double_by_default():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def own_net(d_in):
    return torch.nn.Sequential(torch.nn.Linear(d_in, 8), torch.nn.ReLU())


@pytest.mark.finding("M7", before="RuntimeError: mat1 and mat2 must have the same dtype")
@pytest.mark.usefixtures("double_by_default")
@pytest.mark.parametrize(
    "settings",
    [
        {"architecture": "snn"},
        {"architecture": "glu"},
        {"architecture": "resblock"},
        {"scheme": "plain"},
        {"architecture": own_net, "width": "auto"},
        {"quality": ["ridge", "kernel", "boosting"]},
        {"quality": ["trees"]},
    ],
    ids=["snn", "glu", "resblock", "plain", "own", "closed", "trees"],
)
def test_a_fit_under_another_default_dtype(data, settings):
    X, y = data
    model = regressor(**settings).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert torch.get_default_dtype() == torch.float64


@pytest.mark.finding("M7", before="load blamed the file: 'float32 in the file, float64 in the net'")
def test_a_file_loads_under_another_default_dtype(data, tmp_path, request):
    X, y = data
    model = regressor().fit(X, y)
    model.save(tmp_path / "model.adacap")
    request.getfixturevalue("double_by_default")
    np.testing.assert_array_equal(
        adacap.load(tmp_path / "model.adacap").predict(X), model.predict(X)
    )


# ------------------------------------------------------------------------ cells that are no float


@pytest.mark.finding("L3", before="decimal.InvalidOperation")
def test_a_signalling_nan_is_a_missing_cell(data):
    X, y = data
    cells = X.astype(object)
    cells[0, 0] = Decimal("sNaN")
    same = X.astype(object)
    same[0, 0] = None
    found = regressor().fit(cells, y).predict(cells)
    np.testing.assert_array_equal(found, regressor().fit(same, y).predict(same))


@pytest.mark.finding("L3", before="OverflowError: int too large to convert to float")
def test_an_integer_beyond_float64_is_refused_by_name(data):
    X, y = data
    cells = X.astype(object)
    cells[0, 1] = -(10**400)
    with pytest.raises(ValueError, match=r"infinity in column 1 \(1 of 60 values\)"):
        regressor().fit(cells, y)
    with pytest.raises(ValueError, match="y holds a number beyond"):
        regressor().fit(X, [10**400, *y[1:]])
    with pytest.raises(ValueError, match="sample_weight must be one number per row"):
        regressor().fit(X, y, sample_weight=[10**400] * 60)


@pytest.mark.finding("L3", before="'could not convert string to float', no name given")
def test_text_for_weights_is_refused_by_name(data):
    X, y = data
    with pytest.raises(ValueError, match=r"sample_weight must be one number per row.*'a'"):
        regressor().fit(X, y, sample_weight=["a"] * 60)


# --------------------------------------------------------------------------- targets and weights


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
@pytest.mark.parametrize(
    ("y", "match"),
    [
        ([[1.0]] * 59 + [[1.0, 2.0]], "row 0 has 1 and row 59 has 2"),
        (np.ones((60, 1, 1)), r"one value per row.*shape \(60, 1, 1\)"),
        (np.ones((60, 0)), r"one value per row.*shape \(60, 0\)"),
        (np.array([np.longdouble("1e4000")] + [1] * 59), r"y holds a number beyond .*1e\+4000"),
    ],
    ids=["ragged", "three dimensions", "no target", "beyond float64"],
)
def test_targets_of_no_shape_or_size_are_refused_in_our_words(data, kind, y, match, recwarn):
    with pytest.raises(ValueError, match=match):
        kind().fit(data[0], y)
    assert not recwarn.list


def test_targets_with_a_list_in_a_cell_are_refused_in_our_words(data):
    y = np.empty(60, dtype=object)
    y[:] = [[2.0]] + [1.0] * 59
    with pytest.raises(ValueError, match=r"must hold numbers, got list such as \[2.0\]"):
        regressor().fit(data[0], y)


def test_weights_of_no_shape_or_size_are_refused_by_name(data, recwarn):
    X, y = data
    with pytest.raises(ValueError, match=r"sample_weight must be one number.*\(60, 1, 1\)"):
        regressor().fit(X, y, sample_weight=np.ones((60, 1, 1)))
    with pytest.raises(ValueError, match="sample_weight contains infinity"):
        regressor().fit(X, y, sample_weight=np.array([np.longdouble("1e4000")] + [1] * 59))
    assert not recwarn.list


@pytest.mark.finding("L2", before="torch._C._LinAlgError from eigh")
@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_of_any_size_for_an_mlr_net(data, weight):
    X, y = data
    weights = weight * np.linspace(1, 2, 60)
    model = MLRNetRegressor(max_iter=3, random_state=0).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.finding("L4", before="DivergenceError: the loss is not finite")
@pytest.mark.parametrize("value", [1e100, -1e200, 1.7e308])
def test_a_huge_constant_target_is_predicted(data, value):
    X, _ = data
    np.testing.assert_allclose(regressor().fit(X, np.full(60, value)).predict(X), value)


@pytest.mark.finding("L5", before="AttributeError: no attribute 'on_start'")
def test_a_callback_that_is_none_is_refused(data):
    with pytest.raises(ValueError, match=r"callbacks must be None or a sequence of.*Callback"):
        regressor(callbacks=[print]).fit(*data)


@pytest.mark.finding("L6", before="RuntimeWarning: overflow in targets.py, _capacity_reading.py")
@pytest.mark.parametrize("quality", ["nets", ["ridge", "kernel"], ["trees"]])
def test_targets_near_the_largest_float_overflow_nowhere(data, quality):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor(quality=quality).fit(X, y / abs(y).max() * 1.79e308)
        assert np.isfinite(model.predict(100 * X)).all()
        if quality != "nets":
            assert np.isfinite(model.predict_interval(X)).all()


# ------------------------------------------------------------------------------------ divergence


@pytest.mark.finding("divergence", before="R² −188, or 49 % accuracy, and no warning")
@pytest.mark.parametrize(
    ("kind", "max_lr"),
    [(AdaCapRegressor, 10.0), (AdaCapRegressor, 1e3), (AdaCapClassifier, 1e3),
     (AdaCapClassifier, 1e10)],
)  # fmt: skip
@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_a_plain_net_that_diverges_says_so(data, kind, max_lr, validation):
    X, y = data
    settings = {**CHEAP, "max_iter": 60, "scheme": "plain", "validation": validation}
    model = kind(**settings, max_lr=max_lr)
    with pytest.warns(NumericalWarning, match=r"Training diverged.*smaller max_lr \(now 1"):
        model.fit(X, y if kind is AdaCapRegressor else y > 0)


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_a_plain_net_that_learns_says_nothing(data, kind):
    X, y = data
    settings = {**CHEAP, "max_iter": 60, "scheme": "plain"}
    kind(**settings).fit(X, y if kind is AdaCapRegressor else y > 0)


# ------------------------------------------------------------------------- ---------------- tensors


@pytest.mark.parametrize(
    "change",
    [lambda X: X.requires_grad_(), lambda X: X.bfloat16(), lambda X: X.half()],
    ids=["gradient", "bfloat16", "half"],
)
def test_a_tensor_that_numpy_does_not_take_is_read(data, change):
    X, y = data
    tensor = change(torch.tensor(X))
    found = regressor().fit(tensor, y).predict(tensor)
    same = tensor.detach().double().numpy()
    np.testing.assert_array_equal(found, regressor().fit(same, y).predict(same))


def test_a_sparse_tensor_is_refused_with_the_way_out(data):
    X, y = data
    with pytest.raises(TypeError, match=r"Sparse data .* torch\.sparse_coo.* X\.to_dense\(\)"):
        regressor().fit(torch.tensor(X).to_sparse(), y)


# ------------------------------------------------------------------- found by a second attack


@pytest.mark.parametrize("quality", ["nets", ["ridge"], ["kernel"], ["trees"], ["boosting"]])
def test_one_weight_beyond_all_others_leaves_a_finite_fit(data, quality):
    X, y = data
    weight = np.where(np.arange(len(y)) == 3, 1e300, 1.0)
    found = regressor(quality=quality).fit(X, y, sample_weight=weight).predict(X)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_are_finite_whatever_scikit_learn_is_told(data, bad):
    X, y = data
    with sklearn.config_context(assume_finite=True):
        with pytest.raises(ValueError, match="sample_weight contains NaN or infinity"):
            regressor().fit(X, y, sample_weight=np.full(len(y), bad))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ma.masked_array(np.ones(60), np.arange(60) < 5), "contains NaN"),
        (np.ones(60, dtype=complex), "one number per row: got complex128"),
        (np.ones(60, dtype="timedelta64[s]"), "one number per row: got timedelta64"),
        (2.0, "one number per row: got 2.0"),
    ],
    ids=["masked", "complex", "durations", "one number"],
)
def test_weights_that_are_no_numbers_are_refused_by_name(data, weight, message):
    with pytest.raises(ValueError, match=message):
        regressor().fit(*data, sample_weight=weight)


def test_tensors_that_torch_follows_are_read(data):
    X, y = data
    given = torch.tensor(y, requires_grad=True), torch.ones(60, requires_grad=True)
    found = regressor().fit(X, *given)
    np.testing.assert_array_equal(found.predict(X), regressor().fit(X, y).predict(X))


@pytest.mark.parametrize("quality", [["ridge"], ["kernel"], ["trees"]])
def test_a_target_of_the_largest_numbers_keeps_its_signs(data, quality):
    X, _ = data
    y = np.where(X[:, 0] > 0.6, 1.7e308, -1.7e308)  # which lie further apart than float64 reaches
    found = regressor(quality=quality).fit(X, y)
    assert (np.sign(found.predict(X)) == np.sign(y)).mean() > 0.9
    assert np.isfinite(found.capacity_.residuals).all()


def test_masked_cells_and_targets_are_missing(data):
    X, y = data
    masked = np.ma.masked_array(X[:, 0], np.arange(len(y)) < 5)
    gaps = np.where(np.arange(len(y)) < 5, np.nan, X[:, 0])
    expected = regressor().fit({"a": gaps, "b": X[:, 1]}, y)
    found = regressor().fit({"a": masked, "b": X[:, 1]}, y)
    rows = {"a": X[:, 0], "b": X[:, 1]}
    np.testing.assert_array_equal(found.predict(rows), expected.predict(rows))
    for kind, target in ((AdaCapRegressor, y), (AdaCapClassifier, y > 0)):
        with pytest.raises(ValueError, match=r"in 5 of 60 rows\. Remove these rows: rows 0, 1"):
            kind(**CHEAP).fit(X, np.ma.masked_array(target, np.arange(len(y)) < 5))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.arange(60).astype("M8[D]"), r"must hold numbers, got datetime64\[D\]. Convert y"),
        (np.arange(60).astype("m8[h]"), r"must hold numbers, got timedelta64\[h\]. Convert y"),
        ([{1}] * 60, "y must hold numbers: .*'set'"),
    ],
)
def test_targets_that_are_no_numbers_are_refused_by_name(data, target, message):
    with pytest.raises(TypeError, match=message):
        regressor().fit(data[0], target)


def test_text_in_one_of_several_targets_is_refused_by_name(data):
    X, y = data
    target = np.column_stack([y, np.repeat("k", 60)]).astype(object)
    target[:, 0] = y
    with pytest.raises(ValueError, match="must hold numbers, got text such as 'k'"):
        regressor().fit(X, target)


def test_no_rows_to_calibrate_on(data):
    X, y = data
    with pytest.raises(ValueError, match="0 sample"):
        regressor().fit(X, y).calibrate(X[:0], y[:0])


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda: pl.Series([2**100] * 60, dtype=pl.Int128),
            marks=pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no Int128"),
        ),
        lambda: pa.UnionArray.from_sparse(pa.array([0] * 60, pa.int8()), [pa.array(np.ones(60))]),
    ],
)
def test_a_column_that_numpy_has_not_is_refused_by_name(data, make):
    column = make()
    kind = pl.DataFrame if isinstance(column, pl.Series) else pa.table
    with pytest.raises(TypeError, match=r"Cannot read column 'a', of type .*128|.*union"):
        regressor().fit(kind({"a": column, "b": data[0][:, 0]}), data[1])


def test_numbers_that_are_no_labels_are_refused_without_a_foreign_warning(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            AdaCapClassifier(**CHEAP).fit(data[0], 1e300 * data[1])


SURROUNDINGS = {
    "inference mode": torch.inference_mode,
    "another default device": lambda: torch.device("meta"),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "NumPy that raises": lambda: np.errstate(all="raise"),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
@pytest.mark.parametrize("quality", ["nets", ["kernel:rank", "boosting", "trees", "ridge:bins"]])
def test_what_the_program_has_switched_on_changes_nothing(data, tmp_path, name, quality):
    X, y = data
    settings = {"quality": quality, "n_estimators": 2, "random_state": 0}
    settings |= CHEAP if quality == "nets" else {}
    expected = AdaCapRegressor(**settings).fit(X, y).predict(X)
    with SURROUNDINGS[name]():
        model = AdaCapRegressor(**settings).fit(X, y)
        model.save(tmp_path / "m.adacap")
        found = model.predict(X), adacap.load(tmp_path / "m.adacap").predict(X)
    for one in found:
        np.testing.assert_array_equal(one, expected)


BEYOND = np.full(40, np.longdouble("1e4000")) if np.finfo(np.longdouble).max > 1e309 else None
RAGGED = [[1.0], [2.0, 3.0]] * 20


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups", "time"])
def test_rows_of_different_lengths_are_told_by_name(name):
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40.0)
    message = f"Each row of {name} must have the same number of values, but row 0 has 1 and row 1"
    with pytest.raises(ValueError, match=message):
        AdaCapRegressor(quality=["ridge"]).fit(X, **{"y": y, name: RAGGED})
    if name == "y":
        with pytest.raises(ValueError, match=message):
            AdaCapClassifier(quality=["ridge"]).fit(X, RAGGED)


@pytest.mark.skipif(BEYOND is None, reason="longdouble is float64 on this platform")
def test_numbers_beyond_float64_are_told_as_such():
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40.0)
    model = AdaCapRegressor(quality=["ridge"])
    with pytest.raises(ValueError, match=r"y holds a number beyond ±1.8e308: 1e\+4000. Rescale it"):
        model.fit(X, BEYOND)
    with pytest.raises(ValueError, match="sample_weight contains infinity or a value too large"):
        model.fit(X, y, sample_weight=BEYOND)
