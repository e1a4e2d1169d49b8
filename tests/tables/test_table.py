"""Reading tables: every container gives the same columns, every refusal says why."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from adacap.tables import table as tables
from adacap.tables.table import Table, read_table

DAY = dt.datetime(2020, 1, 2)
CELLS = {
    "size": [1.5, None, -2.0],
    "count": [1, 2, 3],
    "colour": ["red", None, "blue"],
    "sold": [True, None, False],
    "when": [DAY, None, dt.datetime(1969, 12, 31, 12)],
}
KINDS = ["numeric", "numeric", "categorical", "boolean", "datetime"]
CONTAINERS = {
    "pandas": lambda: pd.DataFrame(CELLS),
    "pandas nullable": lambda: pd.DataFrame(CELLS).convert_dtypes(),
    "pandas arrow": lambda: pd.DataFrame(CELLS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas object": lambda: pd.DataFrame(CELLS, dtype=object),
    "polars": lambda: pl.DataFrame(CELLS),
    "pyarrow": lambda: pa.table(CELLS),
    "numpy object": lambda: np.array(list(zip(*CELLS.values(), strict=True)), dtype=object),
    "lists": lambda: [list(row) for row in zip(*CELLS.values(), strict=True)],
}


def kinds(table: Table) -> list[str]:
    return [table.kind(j) for j in range(table.n_columns)]


# ------------------------------------------------------------------------- containers


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_gives_the_same_table(make):
    table = read_table(make())
    assert (table.n_rows, table.n_columns, kinds(table)) == (3, 5, KINDS)
    np.testing.assert_array_equal(table.column(0), [1.5, np.nan, -2.0])
    np.testing.assert_array_equal(table.column(1), [1.0, 2.0, 3.0])
    assert table.column(2).tolist() == ["red", None, "blue"]
    np.testing.assert_array_equal(table.column(3), [1.0, np.nan, 0.0])
    np.testing.assert_array_equal(table.column(4), [1577923200.0, np.nan, -43200.0])
    np.testing.assert_array_equal(table.row_keys(), read_table(pd.DataFrame(CELLS)).row_keys())


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_frames_have_names(name):
    table = read_table(CONTAINERS[name]())
    assert table.names == tuple(CELLS)
    assert table.place(2) == "column 'colour'"


def test_arrays_and_frames_with_integer_names_have_none():
    for X in (np.zeros((2, 3)), pd.DataFrame(np.zeros((2, 3)))):
        table = read_table(X)
        assert table.names is None
        assert table.place(2) == "column 2"


def test_mixed_names_are_refused():
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        read_table(pd.DataFrame(np.zeros((2, 2)), columns=["a", 1]))


def test_repeated_names_are_refused():
    with pytest.raises(ValueError, match=r"Column names must be unique[\s\S]*'a'"):
        read_table(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))


def test_a_table_is_returned_as_it_is():
    table = read_table(np.zeros((2, 2)))
    assert read_table(table) is table


def test_objects_with_array_method():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.arange(6.0).reshape(3, 2)

    assert read_table(Wrapped()).column(1).tolist() == [1.0, 3.0, 5.0]


def test_masked_cells_are_missing():
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_table(X).column(1), [np.nan, 4.0])


def test_reading_needs_no_pandas():
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from adacap.tables.table import read_table\n"
        "print(read_table([[1, 'a'], [None, 'b']]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Table(2 rows, 2 columns: 1 numeric, 1 categorical)\n"


# ------------------------------------------------------------------------ column kinds


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ([1, 2.5, np.int8(3)], "numeric", [1.0, 2.5, 3.0]),
        ([True, 2, 3], "numeric", [1.0, 2.0, 3.0]),
        ([Decimal("0.5"), None, Decimal("NaN")], "numeric", [0.5, np.nan, np.nan]),
        ([None, np.nan, pd.NA], "numeric", [np.nan] * 3),
        ([True, pd.NA, np.False_], "boolean", [1.0, np.nan, 0.0]),
        (["1", "2", pd.NaT], "categorical", ["1", "2", None]),
        (["a", 1.0, 1], "categorical", ["a", "1", "1"]),
        (["a", True, 1], "categorical", ["a", "True", "1"]),
        (["", b"a", np.nan], "categorical", ["", "a", None]),
        ([dt.date(1970, 1, 2), pd.NaT, None], "datetime", [86400.0, np.nan, np.nan]),
        ([np.datetime64(60, "s"), pd.Timestamp(0), DAY], "datetime", [60.0, 0.0, 1577923200.0]),
    ],
)
def test_objects_are_read_by_the_types_of_the_cells(cells, kind, values):
    X = np.empty((3, 1), dtype=object)
    X[:, 0] = cells
    for data in (X, pd.DataFrame({"a": pd.Series(cells, dtype=object)})):
        table = read_table(data)
        assert table.kind(0) == kind
        assert list(map(str, table.column(0))) == list(map(str, values))


def test_numbers_beside_text_in_a_list_stay_numbers():
    assert kinds(read_table([[1, "a"], [2, "b"]])) == ["numeric", "categorical"]


def test_a_string_array_is_categorical():
    assert kinds(read_table(np.array([["1", "x"], ["2", "y"]]))) == ["categorical"] * 2


def test_declared_categories_are_categorical():
    frame = pd.DataFrame({"code": pd.Categorical([3, 1, 3])})
    assert read_table(frame).column(0).tolist() == ["3", "1", "3"]


def test_time_zones_are_resolved_and_durations_are_seconds():
    when = pd.to_datetime(["1970-01-01 02:00"]).tz_localize("Etc/GMT-2")
    table = read_table(pd.DataFrame({"when": when, "wait": pd.to_timedelta([90], unit="s")}))
    assert kinds(table) == ["datetime", "numeric"]
    assert (table.column(0)[0], table.column(1)[0]) == (0.0, 90.0)
    aware = dt.datetime(1970, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert read_table([[aware]]).column(0)[0] == 0.0


def test_any_column_has_a_text_form():
    table = read_table(pd.DataFrame({"a": [2.0, np.nan, 0.5], "b": [True, False, None]}))
    assert table.columns[0].text()[0].tolist() == [1, -1, 0]
    assert table.columns[0].text()[1] == ("0.5", "2")
    assert table.columns[1].text()[1] == ("False", "True")


# ------------------------------------------------------------------------------ memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrap", [np.asarray, lambda X: pd.DataFrame(X, copy=False)])
def test_floats_are_neither_copied_nor_converted(dtype, wrap):
    X = np.arange(6, dtype=dtype).reshape(3, 2)
    table = read_table(wrap(X))
    for j in range(2):
        column = table.column(j)
        assert column.dtype == dtype
        assert np.shares_memory(column, X)
        assert not column.flags.writeable
    assert X.flags.writeable


def test_integers_become_floats_on_demand():
    X = np.array([[1, 2], [3, 4]], dtype=np.int16)
    column = read_table(X).column(1)
    assert column.dtype == np.float64
    assert column.tolist() == [2.0, 4.0]


# ------------------------------------------------------------------------ take, arrange


@pytest.mark.parametrize("make", [CONTAINERS["polars"], lambda: np.arange(6.0).reshape(3, 2)])
@pytest.mark.parametrize("rows", [[2, 0], np.array([True, False, True]), slice(1, None)])
def test_take_rows(make, rows):
    table = read_table(make())
    part = table.take(rows)
    assert part.names == table.names
    for j in range(table.n_columns):
        np.testing.assert_array_equal(part.column(j), table.column(j)[rows])


def test_arrange_puts_columns_in_another_order():
    whole = read_table(pd.DataFrame(CELLS))
    order = [whole.names.index("sold"), whole.names.index("size")]
    table = whole.arrange(order)
    assert table.names == ("sold", "size")
    assert kinds(table) == ["boolean", "numeric"]
    assert whole.arrange(range(whole.n_columns)) is whole


# ---------------------------------------------------------------------------- row keys

ROWS = st.lists(
    st.tuples(
        st.sampled_from([0.0, -0.0, 1.0, 0.5, float("nan")]),
        st.sampled_from(["a", "b", "", None]),
        st.sampled_from([True, False, None]),
    ),
    min_size=1,
    max_size=30,
)
SCHEMA = {"x": pl.Float64, "s": pl.String, "b": pl.Boolean}


def frame(rows):
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@given(ROWS, st.randoms())
def test_row_keys_follow_the_rows(rows, random):
    order = list(range(len(rows)))
    random.shuffle(order)
    table = read_table(frame(rows))
    keys = table.row_keys()
    assert keys.dtype == np.uint64
    np.testing.assert_array_equal(table.take(order).row_keys(), keys[order])
    np.testing.assert_array_equal(
        read_table(frame([rows[i] for i in order])).row_keys(), keys[order]
    )


@given(ROWS)
def test_row_keys_are_equal_where_rows_are(rows):
    table = read_table(frame(rows))
    a, b = (index.ravel() for index in np.indices((len(rows), len(rows))))
    text = np.array([str((0.0 if x == 0 else x, s, t)) for x, s, t in rows])
    keys = table.row_keys()
    np.testing.assert_array_equal(table.rows_equal(a, b), text[a] == text[b])
    np.testing.assert_array_equal(keys[a] == keys[b], text[a] == text[b])


def test_row_keys_do_not_depend_on_the_dtype():
    X = np.array([[0, 1], [2, 3]])
    keys = [read_table(X.astype(dtype)).row_keys() for dtype in (int, "f4", "f8", object)]
    assert all((key == keys[0]).all() for key in keys)


def test_row_keys_are_the_same_in_every_process():
    table = read_table([[1.0, "a"], [float("nan"), None]])
    assert table.row_keys().tolist() == [16775863967823446184, 5925202273962375841]


def test_row_keys_rarely_collide():
    grid = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
    assert len(np.unique(read_table(grid).row_keys())) == len(grid)


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            sparse.csr_matrix(np.eye(2)),
            TypeError,
            r"Sparse data .*csr_matrix.* dense .*toarray\(\)",
        ),
        (sparse.coo_array(np.eye(2)), TypeError, r"dense data is required.*toarray\(\)"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"lazy LazyFrame cannot be read. Call .collect\(\)"),
        (
            np.zeros(3),
            ValueError,
            r"Expected 2D array, got 1D array instead:\narray=\[0[\s\S]*Reshape your data",
        ),
        (3.0, ValueError, "Expected 2D array, got scalar array instead"),
        (np.zeros((2, 2, 2)), ValueError, r"Expected 2D array, got shape=\(2, 2, 2\)"),
        (np.eye(2) * 1j, ValueError, "Complex data not supported, got complex numbers in column 0"),
        (pd.DataFrame({"z": [1j]}), ValueError, "Complex data not supported.* column 'z'"),
        (np.array([[1j, "a"]], dtype=object), ValueError, "Complex data not supported"),
        (
            np.empty((0, 3)),
            ValueError,
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required.",
        ),
        (
            np.empty((3, 0)),
            ValueError,
            r"Found array with 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required.",
        ),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (
            np.array([[1, {"foo": "bar"}]], dtype=object),
            TypeError,
            "argument must be a string, a number.*; got dict in column 1",
        ),
        (pl.DataFrame({"t": [dt.time(1)]}), TypeError, "got time in column 't'"),
        (
            np.array([[1, np.inf], [2, -np.inf], [3, 0]]),
            ValueError,
            r"contains infinity in column 1 \(2 of 3 values\)",
        ),
        (
            pd.DataFrame({"s": ["a", "b"], "price": [np.inf, 1.0]}),
            ValueError,
            r"contains infinity in column 'price' \(1 of 2 values\)",
        ),
        (np.array([[np.inf, "a"]], dtype=object), ValueError, "contains infinity in column 0"),
        (
            np.array([[1], [np.longdouble("1e4000")]], dtype=np.longdouble),
            ValueError,
            r"infinity in column 0 \(1 of 2 values\).*numbers beyond 1.8e308 count as infinite",
        ),
        (
            {"size": np.array([1, np.longdouble("1e4000")], dtype=np.longdouble), "s": ["a", "b"]},
            ValueError,
            "infinity in column 'size'",
        ),
        ([[np.longdouble("1e4000")], [1]], ValueError, "infinity in column 0"),
        (
            [[1, 2], [3]],
            ValueError,
            "same number of cells, but row 0 has 2 and row 1 has 1. Fill in None",
        ),
        ([1, [2]], ValueError, "row 0 has a single value and row 1 has 1"),
        ([np.zeros(3), np.zeros((1, 2))], ValueError, r"row 0 has 3 and row 1 has shape \(1, 2\)"),
        ([[1, 2], [3, [4]]], ValueError, "Each cell of X must be one value, but some are lists"),
        ({"a": [[1, 2], [3]]}, TypeError, "Cannot read column 'a', of type list: its cells are li"),
        (
            pl.DataFrame({"a": [{"x": 1, "y": 2}] * 3}),
            ValueError,
            r"column 'a' has shape \(3, 2\). Make each of its values a column of its own",
        ),
        (
            pl.DataFrame({"b": [1], "a": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2))}),
            ValueError,
            r"column 'a' has shape \(1, 2\). Make each of its values a column of its own",
        ),
        ("new.csv", TypeError, r"got the text 'new.csv'.*open_table\('new.csv'\).read\(\)"),
        (pd.Series([1, 2]), ValueError, r"a Series of 2 values. Reshape your data: X.to_frame"),
        (pl.Series([1, 2]), ValueError, r"a Series of 2 values. Reshape your data: X.to_frame"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(X, error, message):
    with pytest.raises(error, match=message):
        read_table(X)


def test_a_null_in_an_arrow_dictionary_is_missing():
    column = pa.array(["a", None, "b", "a"]).dictionary_encode()
    codes, levels = read_table(pa.table({"x": column})).columns[0].text()
    found = [levels[code] if 0 <= code < len(levels) else None for code in codes]
    assert found == ["a", None, "b", "a"]


def test_the_levels_of_an_arrow_dictionary_are_not_copied_for_each_row():
    """A file of 54 kB may give one text of 1 MB to 30,000 rows."""
    column = pa.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), ["x" * 1_000_000])
    table = read_table(pa.table({"x": column}))
    assert table.columns[0].levels == ("x" * 1_000_000,)


def test_numbers_wider_than_float64_are_read_as_such(recwarn):
    cells = np.array([[1.5], [np.nan], [1e-4000], [1 / np.longdouble(3)]], dtype=np.longdouble)
    values = read_table(cells).column(0)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [1.5, np.nan, 0.0, 1 / 3])
    assert not recwarn.list


def test_dates_of_pandas_that_python_has_not_are_read_as_in_a_column_of_dates():
    """Beside text a frame becomes an array of objects, and its dates become Timestamps."""
    dates = pd.DataFrame({"day": np.array(["-0601-03-01", "2024-01-05"], dtype="datetime64[s]")})
    expected = read_table(dates).column(0)
    np.testing.assert_array_equal(read_table(dates.assign(t="a").to_numpy()).column(0), expected)


def test_a_row_of_numbers_is_read_without_asking_what_frames_there_are(monkeypatch):
    """A row that is waited for: looking for frame libraries costs more than predicting it."""
    monkeypatch.setattr(tables, "read_frame", None)
    table = tables.read_table(np.ones((1, 10)))
    assert (table.n_rows, table.n_columns, table.kind(0)) == (1, 10, "numeric")


def test_text_beside_bytes_that_are_not_ascii():
    table = read_table([["a"], [b"\xd1"], ["a"]])
    assert table.columns[0].kind == "categorical"
    assert table.columns[0].levels == ("a", "\\xd1")
