"""Reading: what the settings of a reader do to the bytes of a file."""

import io

import numpy as np
import pytest

from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.reading import read_frame, resolve
from adacap_bench.datasets.tasks import Reader


def test_header_and_names():
    assert [*read_frame(b" a ,b\n1,2\n", Reader()).columns] == ["a", "b"]
    assert [*read_frame(b"1,2\n3,4\n", Reader(header=False)).columns] == ["c0", "c1"]


def test_a_marker_is_text_unless_it_is_called_missing():
    as_text = read_frame(b"a\n1\n?\n\n2\n", Reader())["a"]
    assert as_text.tolist() == ["1", "?", "2"]
    as_missing = read_frame(b"a\n1\n?\n2\n", Reader(missing=("?",)))["a"]
    assert as_missing.dtype == np.float64
    assert as_missing.isna().tolist() == [False, True, False]


def test_words_that_pandas_takes_for_missing_stay():
    assert read_frame(b"a,b\nNone,1\nNA,2\n", Reader())["a"].tolist() == ["None", "NA"]


def test_separators_decimals_encodings():
    assert read_frame(b"1  2\n3 4\n", Reader(header=False, separator="space")).shape == (2, 2)
    frame = read_frame(b"a;b\n1,5;2\n", Reader(separator=";", decimal=","))
    assert frame["a"].tolist() == [1.5]
    assert [*read_frame("t (°C)\n1\n".encode("latin-1"), Reader(encoding="latin-1"))] == ["t (°C)"]


def test_a_part_of_the_lines():
    reader = Reader(header=False, lines=(1, 3))
    assert read_frame(b"title\n1,2\n3,4\n\nother\n5,6\n", reader).to_numpy().tolist() == [
        [1, 2],
        [3, 4],
    ]


def test_broken_lines_are_joined():
    reader = Reader(header=False, join_broken=True)
    whole = read_frame(b"1,a,2\n3,b,4\n\n", reader, 3)
    broken = read_frame(b"1,a,2\n3,\nb,4\n\n", reader, 3)
    assert broken.equals(whole)
    assert len(whole) == 2


def test_rows_longer_than_the_header_are_refused():
    with pytest.raises(DataError, match="more fields than the first line names"):
        read_frame(b"a,b\n1,2,3\n", Reader())


def test_matrix():
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    frame = read_frame(buffer.getvalue(), Reader(format="npy"))
    assert [*frame.columns] == ["x0", "x1", "target"]
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    with pytest.raises(DataError, match=r"a matrix is expected, got an array of shape \(3,\)"):
        read_frame(buffer.getvalue(), Reader(format="npy"))


def test_columns_by_position_and_name():
    names = ["a", "b", "price"]
    assert resolve(-1, names, "t") == [2]
    assert resolve((0, "price", -2), names, "t") == [0, 2, 1]
    with pytest.raises(DataError, match=r"'t' has no column 'prise'\. Did you mean 'price'\?"):
        resolve("prise", names, "t")
    with pytest.raises(DataError, match=r"no column 3\. Known: a, b, price"):
        resolve(3, names, "t")
