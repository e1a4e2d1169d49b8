"""What makes scores too good, or a target hard, is named; ordinary tables are left in peace."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from adacap import AdaCapRegressor
from adacap.tables.columns import Column
from adacap.tables.suspicions import doubts_of_columns, doubts_of_target

N = 300


def numeric(values):
    return Column("numeric", np.asarray(values, dtype=np.float64))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_column_that_is_the_target_is_named(rng):
    y = rng.normal(size=N)
    leaks = [2 * y + 1, np.exp(y), y + rng.normal(0, 0.01, size=N), np.where(y > -3, y, np.nan)]
    for leak in leaks:
        (doubt,) = doubts_of_columns([numeric(rng.normal(size=N)), numeric(leak)], "ab", y, False)
        assert doubt.startswith("Column 'b' alone predicts the target almost perfectly (R² ")


def test_categories_that_tell_the_target_are_named(rng):
    codes = rng.integers(0, 5, size=N).astype(np.int32)
    y = codes * 10.0 + rng.normal(0, 0.1, size=N)
    column = Column("categorical", codes, tuple("abcde"))
    (doubt,) = doubts_of_columns([numeric(rng.normal(size=N)), column], "xy", y, False)
    assert "'y'" in doubt


def test_columns_that_tell_the_class_are_named(rng):
    y = np.array(["no", "yes"])[(rng.random(N) < 0.3).astype(int)]
    text = Column("categorical", (y == "yes").astype(np.int32), ("n", "y"))
    score = numeric((y == "yes") + rng.normal(0, 0.01, size=N))
    found = doubts_of_columns([text, score, numeric(rng.normal(size=N))], "abc", y, True)
    assert [doubt[:10] for doubt in found] == ["Column 'a'", "Column 'b'"]


def test_an_id_that_orders_the_target_is_named(rng):
    y = np.sort(rng.normal(size=N)) + rng.normal(0, 0.1, size=N)
    columns = [numeric(np.arange(N)), numeric(rng.normal(size=N))]
    (doubt,) = doubts_of_columns(columns, ["id", "x"], y, False)
    assert doubt.startswith("Column 'id' numbers the rows, and orders the target")


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer, load_iris, load_wine])
def test_ordinary_tables_raise_no_doubt(load):
    data = load()
    columns = [numeric(column) for column in data.data.T]
    names = [str(name) for name in data.feature_names]
    assert doubts_of_columns(columns, names, data.target, load is not load_diabetes) == []


def test_one_column_or_few_rows_say_nothing(rng):
    y = rng.normal(size=N)
    assert doubts_of_columns([numeric(y)], "a", y, False) == []
    assert doubts_of_columns([numeric(y[:20]), numeric(y[:20])], "ab", y[:20], False) == []


def test_outliers_of_the_target_are_named_by_row(rng):
    y = rng.normal(size=N)
    y[[7, 30]] = 1e4, -2e4
    (doubt,) = doubts_of_target(y, "price", np.arange(N) + 1)
    assert "2 values far from the others (10000 in row 8, -20000 in row 31)" in doubt


def test_a_log_normal_target_gets_the_way_out(rng):
    y = np.exp(rng.normal(size=N))
    (doubt,) = doubts_of_target(y, "price")
    assert "log-normal" in doubt
    assert "target_transform='auto'" in doubt
    assert doubts_of_target(y, "price", transform="log") == []


@pytest.mark.parametrize("draw", ["normal", "uniform", "standard_t"])
def test_ordinary_targets_raise_no_doubt(rng, draw):
    y = rng.standard_t(5, size=N) if draw == "standard_t" else getattr(rng, draw)(size=N)
    assert doubts_of_target(y, "y") == []


def test_fit_warns_of_a_leak_if_it_may_speak(rng):
    X = rng.normal(size=(80, 3))
    model = AdaCapRegressor(max_iter=2, width=4, n_estimators=1, random_state=0)
    model.fit(X, X[:, 1])
    with pytest.warns(UserWarning, match="Column 'x1' alone predicts the target"):
        model.set_params(verbose=1).fit(X, X[:, 1])


@pytest.mark.parametrize("code", [-999.0, 9999.0, 999.0])
def test_codes_for_missing_cells_are_named(rng, code):
    ages = rng.integers(18, 80, N).astype(float)
    ages[::10] = code
    ages[1] = np.nan
    y = rng.normal(size=N)
    (doubt,) = doubts_of_columns(
        [numeric(ages), numeric(rng.normal(size=N))], ["age", "b"], y, False
    )
    n = int((ages == code).sum())
    assert doubt.startswith(f"Column 'age' is {code:g} in {n} cells, far from the others (18 to 7")
    assert "leave these cells empty" in doubt


def test_usual_values_are_no_codes(rng):
    y = rng.normal(size=N)
    few = np.where(np.arange(N) < 2, -999.0, y)  # an outlier, not a code
    degrees = rng.integers(-1, 30, N).astype(float)
    prices = np.append(np.full(N // 2, 99.0), rng.uniform(1, 120, N - N // 2))
    flags = rng.choice([-1.0, 1.0], N)
    columns = [numeric(x) for x in (few, degrees, prices, flags)]
    assert doubts_of_columns(columns, "abcd", rng.normal(size=N), False) == []
