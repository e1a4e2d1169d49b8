"""Every container is read as lists of Python objects are, without the library it came from."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from adacap.tables.columns import is_missing
from adacap.tables.table import read_table

DATES = [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(1969, 7, 20)]
FRAMES = {
    "pandas": pd.DataFrame(
        {
            "float": [1.5, np.nan, -0.0],
            "float32": np.array([0.1, 0.2, 0.3], dtype=np.float32),
            "int": [1, 2, 3],
            "uint8": np.array([1, 2, 3], dtype=np.uint8),
            "bool": [True, False, True],
            "nullable int": pd.array([1, None, 3], dtype="Int64"),
            "nullable bool": pd.array([True, None, False], dtype="boolean"),
            "nullable float": pd.array([1.5, None, 2.0], dtype="Float64"),
            "object": pd.Series(["a", None, 3.0], dtype=object),
            "string": pd.Series(["a", None, "b"], dtype="string"),
            "category": pd.Categorical(["u", None, "v"]),
            "numbers as category": pd.Categorical([1, 2, 1]),
            "floats as category": pd.Categorical([1.0, 2.5, None]),
            "date": pd.to_datetime(pd.Series(DATES)),
            "zoned": pd.to_datetime(pd.Series(DATES)).dt.tz_localize("Europe/Paris"),
            "day": pd.Series([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)], dtype=object),
            "duration": pd.to_timedelta([1, 2, None], unit="h"),
            "decimal": pd.Series([Decimal("1.5"), None, Decimal("2")], dtype=object),
            "arrow int": pd.array([1, None, 3], dtype="int64[pyarrow]"),
            "arrow text": pd.array(["a", None, "b"], dtype="string[pyarrow]"),
            "arrow date": pd.array(DATES, dtype="timestamp[us][pyarrow]"),
            "empty": pd.Series([None, None, None], dtype=object),
        }
    ),
    "polars": pl.DataFrame(
        {
            "float": [1.5, None, float("nan")],
            "int": [1, None, 3],
            "whole": [1, 2, 3],
            "bool": [True, None, False],
            "flag": [True, False, False],
            "text": ["a", None, "b"],
            "date": DATES,
            "day": [dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)],
            "zoned": pl.Series(DATES).dt.replace_time_zone("UTC"),
            "duration": [dt.timedelta(hours=1), None, dt.timedelta(days=1)],
            "category": pl.Series(["u", None, "v"], dtype=pl.Categorical),
            "enum": pl.Series(["u", None, "v"], dtype=pl.Enum(["u", "v"])),
            "empty": pl.Series([None, None, None]),
        }
    ),
    "arrow": pa.table(
        {
            "float": pa.array([1.5, None, 2.5]),
            "int": pa.array([1, None, 3]),
            "whole": pa.array([1, 2, 3]),
            "bool": pa.array([True, None, False]),
            "flag": pa.array([True, False, True]),
            "text": pa.array(["a", None, "b"]),
            "date": pa.array(DATES),
            "day": pa.array([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)]),
            "category": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    ),
}
ARRAYS = {
    "float64": np.array([[1.5, np.nan], [2.0, -1.0]]),
    "float32": np.array([[1.5, np.nan], [2.0, -1.0]], dtype=np.float32),
    "float16": np.array([[1.5, np.nan], [2.0, -1.0]], dtype=np.float16),
    "int": np.array([[1, 2], [3, 4]]),
    "bool": np.array([[True, False], [False, False]]),
    "text": np.array([["a", "3"], ["b", "4"]]),
    "bytes": np.array([[b"a", b"\xff"], [b"b", b"c"]]),
    "dates": np.array([["2020-01-01", "NaT"], ["2021-06-01", "2022-01-01"]], dtype="M8[D]"),
    "durations": np.array([[1, 2], [3, 4]], dtype="m8[h]"),
    "objects": np.array([["a", 1.0], [None, True]], dtype=object),
    "masked": np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[True, False], [False, False]]),
    "rows": [["a", 1], ["b", None], ["a", 2.5]],
    "rows of text and numbers": [["a", 1.0, True], ["b", 2.0, False]],
    "tuples": ((1, 2), (3, 4)),
    "fortran": np.asfortranarray([[1.5, 2.5], [3.5, 4.5]]),
}


def cells_of(frame):
    """Columns of a frame as lists of Python objects."""
    if hasattr(frame, "to_pydict"):
        return frame.to_pydict()
    return {name: frame[name].to_list() for name in frame.columns}


def assert_read_alike(X, plain):
    """X is read as these lists of Python objects are."""
    mine, theirs = read_table(X), read_table(plain)
    assert (mine.names, mine.n_rows) == (theirs.names, theirs.n_rows)
    for j in range(mine.n_columns):
        place = mine.place(j)
        assert mine.kind(j) == theirs.kind(j), place
        np.testing.assert_array_equal(mine.column(j), theirs.column(j), place)


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name):
    frame = FRAMES[name]
    cells = cells_of(frame)
    chosen = [c for c in cells if "category" not in c and c not in ("enum", "duration")]
    some = frame.select(chosen) if hasattr(frame, "select") else frame[chosen]
    assert_read_alike(some, {column: cells[column] for column in chosen})


@pytest.mark.parametrize("name", FRAMES)
def test_declared_categories(name):
    table, cells = read_table(FRAMES[name]), cells_of(FRAMES[name])
    chosen = [j for j, column in enumerate(cells) if "category" in column or column == "enum"]
    assert chosen
    for j in chosen:
        assert table.columns[j].is_declared
        expected = [None if is_missing(cell) else cell for cell in list(cells.values())[j]]
        texts = [cell if cell is None else f"{cell:g}" if not isinstance(cell, str) else cell
                 for cell in expected]  # fmt: skip
        assert table.column(j).tolist() == texts


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    array = np.ma.asarray(ARRAYS[name]) if name == "masked" else ARRAYS[name]
    rows = array.tolist() if hasattr(array, "tolist") else array
    if name != "durations":  # which a list holds as objects that no table takes
        columns = {str(j): list(cells) for j, cells in enumerate(zip(*rows, strict=True))}
        mine, theirs = read_table(array), read_table(columns)
        for j in range(mine.n_columns):
            np.testing.assert_array_equal(mine.column(j), theirs.column(j))


def test_a_verb_as_the_name_of_a_column_makes_no_lazy_frame():
    frame = pd.DataFrame({"collect": [1.0], "compute": [2.0]})
    assert read_table(frame).names == ("collect", "compute")


def test_a_record_batch_of_arrow_has_names():
    batch = pa.record_batch({"a": [1, 2], "t": ["x", None]})
    assert_read_alike(batch, {"a": [1, 2], "t": ["x", None]})


def test_seconds_of_a_zoned_date_keep_their_nanoseconds():
    when = pd.Series(pd.to_datetime([1_600_000_000_123_456_789]))
    zoned = pd.DataFrame({"when": when.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")})
    assert read_table(zoned).column(0) == read_table(pd.DataFrame({"when": when})).column(0)


def test_a_missing_level_of_arrow_is_missing():
    """Arrow's own conversion to NumPy would put the last level in its place."""
    table = pa.table({"category": pa.array(["u", None, "v"]).dictionary_encode()})
    (column,) = read_table(table).columns
    assert column.missing.tolist() == [False, True, False]
    assert column.levels == ("u", "v")


def test_frame_without_text_names():
    assert read_table(pd.DataFrame(np.eye(3))).names is None


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1, 2, None], "b": ["x", None, "y"]},
        {"a": np.array([1.5, 2.5]), "b": ["x", 3.0]},
        {"a": (True, False), "b": [dt.date(2020, 1, 1), None]},
        {"a": pd.Series([1, 2]), "b": pl.Series(["u", "v"])},
    ],
)
def test_a_mapping_of_columns_is_read_as_a_frame(columns):
    objects = {name: pd.Series(list(cells), dtype=object) for name, cells in columns.items()}
    assert_read_alike(columns, pd.DataFrame(objects))


def test_columns_of_unequal_length():
    with pytest.raises(ValueError, match=r"column 'b' has shape \(1,\) and column 'a' has shape"):
        read_table({"a": [1, 2], "b": [3]})


def test_a_column_of_two_dimensions():
    with pytest.raises(ValueError, match=r"one value per row, but column 'a' has shape \(2, 1\)"):
        read_table({"a": np.ones((2, 1))})


def test_no_columns():
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        read_table({})


def test_names_twice():
    with pytest.raises(ValueError, match=r"Column names must be unique, got twice: \['a'\]"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_sparse():
    with pytest.raises(TypeError, match=r"Sparse data was passed as .*Use X.toarray\(\)"):
        read_table(sparse.csr_array(np.eye(2)))
