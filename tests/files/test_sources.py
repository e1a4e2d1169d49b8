"""Every format gives the same table, whole or in batches."""

import bz2
import datetime as dt
import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from adacap.files import FileError, MissingFileError, TextOptions, open_table, sample_table

DAYS = [dt.datetime(2024, 1, 1) + dt.timedelta(days=k) for k in range(7)]
TABLE = pa.table(
    {
        "size": [1.5, 2.5, None, 4.0, 5.0, 6.0, 7.0],
        "rooms": [1, 2, 3, 4, 5, 6, 7],
        "city": ["Lyon", "Nice, old", None, 'a "b"', "Paris", "Paris", "Lyon"],
        "day": pa.array(DAYS, pa.timestamp("s")),
    }
)
CSV = """size,rooms,city,day
1.5,1,Lyon,2024-01-01
2.5,2,"Nice, old",2024-01-02
,3,NA,2024-01-03
4,4,"a ""b""\",2024-01-04
5,5,Paris,2024-01-05
6,6,Paris,2024-01-06
7,7,Lyon,2024-01-07
"""


def write(folder, name):
    path = folder / name
    text = CSV.encode()
    match name.split(".", 1)[1]:
        case "csv" | "data":
            path.write_bytes(text)
        case "csv.gz":
            path.write_bytes(gzip.compress(text))
        case "csv.bz2":
            path.write_bytes(bz2.compress(text))
        case "tsv":
            lines = CSV.replace('"Nice, old"', "@").replace(",", "\t").replace("@", "Nice, old")
            path.write_text(lines)
        case "parquet":
            pyarrow.parquet.write_table(TABLE, path, row_group_size=3)
        case "feather":
            pyarrow.feather.write_feather(TABLE, path, chunksize=2)
        case "xlsx":
            openpyxl = pytest.importorskip("openpyxl", reason="needs the extra files")
            book = openpyxl.Workbook()
            book.active.append(TABLE.column_names)
            for row in zip(*TABLE.to_pydict().values(), strict=True):
                book.active.append(row)
            book.save(path)
        case _:  # a folder
            path.mkdir()
            pyarrow.parquet.write_table(TABLE.slice(0, 4), path / "a.parquet")
            pyarrow.parquet.write_table(TABLE.slice(4), path / "b.parquet")
    return path


NAMES = ["t.csv", "t.csv.gz", "t.csv.bz2", "t.tsv", "t.parquet", "t.feather", "t.xlsx", "t.parts"]


def plain(table):
    """Cells as Python values, whole numbers as floats."""
    return {
        name: [float(cell) if isinstance(cell, int) else cell for cell in cells]
        for name, cells in table.to_pydict().items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_table(tmp_path, name):
    source = open_table(write(tmp_path, name))
    assert source.names == tuple(TABLE.column_names)
    table = source.read()
    days = table.column("day").cast(pa.timestamp("s"))  # a bare date, where the file has no times
    assert plain(table.set_column(3, "day", days)) == plain(TABLE)
    assert source.n_rows in (None, 7)


KINDS = {"size": "numeric", "rooms": "numeric", "city": "categorical", "day": "datetime"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", [0, 1, 4, 6])
def test_batches_are_even_and_start_anywhere(tmp_path, name, start):
    source = open_table(write(tmp_path, name))
    batches = list(source.batches(["rooms", "city"], kinds=KINDS, rows=2, start=start))
    left = 7 - start
    assert [batch.num_rows for batch in batches] == [2] * (left // 2) + [1] * (left % 2)
    table = pa.concat_tables(batches, promote_options="permissive")
    assert table.column_names == ["rooms", "city"]
    assert plain(table) == plain(TABLE.select(["rooms", "city"]).slice(start))


def test_kinds_decide_the_types_of_text(tmp_path):
    source = open_table(write(tmp_path, "t.csv"))
    (batch,) = source.batches(kinds=KINDS)
    kinds = {field.name: str(field.type) for field in batch.schema}
    assert kinds["size"] == kinds["rooms"] == "double"
    assert kinds["city"] == "string"
    assert kinds["day"].startswith("timestamp")
    assert source.position() == 1.0


def test_a_cell_of_another_type_names_column_and_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CSV.replace("5,5,", "5,many,"))
    with pytest.raises(FileError, match=r"column 'rooms'.*'many'"):
        list(open_table(path).batches(kinds=KINDS))


def test_folders_that_name_a_value_give_a_column(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        table = pa.table({"x": [float(year)]})
        pyarrow.parquet.write_table(table, tmp_path / f"year={year}" / "part.parquet")
    table = open_table(tmp_path).read(["year", "x"])
    assert table.to_pydict() == {"year": [2023, 2024], "x": [2023.0, 2024.0]}


def test_semicolons_decimal_commas_and_latin_1(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;ort\n1,5;Köln\n2,25;Öhningen\n".encode("latin-1"))
    source = open_table(path)
    assert source.read().to_pydict() == {"größe": [1.5, 2.25], "ort": ["Köln", "Öhningen"]}
    said = open_table(path, options=TextOptions(decimal=".", encoding="latin-1"))
    assert said.read().column(0).to_pylist() == ["1,5", "2,25"]


def test_utf_16(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,ü\n", encoding="utf-16")
    assert open_table(path).read().to_pydict() == {"a": [1], "b": ["ü"]}


def test_a_file_without_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    source = open_table(path)
    assert source.read().to_pydict() == {"c0": [1, 3], "c1": [2, 4]}
    assert "no line of names" in source.notes[0]


def test_a_known_name_makes_the_first_line_a_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("2023,2024,price\n1,2,3\n")
    assert open_table(path, ["price"]).names == ("2023", "2024", "price")


@pytest.mark.parametrize(
    ("text", "day"),
    [("2024-03-04", 4), ("2024/03/04", 4), ("04.03.2024", 4), ("2024-03-04T10:00:00Z", 4)],
)
def test_clear_dates_that_are_asked_for(tmp_path, text, day):
    path = tmp_path / "t.csv"
    path.write_text(f"when,x\n{text},1\n")
    (batch,) = open_table(path).batches(["when"], kinds={"when": "datetime"})
    (when,) = batch.column("when").to_pylist()
    assert (when.year, when.month, when.day) == (2024, 3, day)


def test_unclear_dates_are_text_until_it_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when,x\n03/04/2024,1\n05/06/2024,2\n")
    source = open_table(path)
    assert source.read().column("when").to_pylist() == ["03/04/2024", "05/06/2024"]
    assert source.notes == []  # the model that is fitted on it tells
    said = open_table(path, options=TextOptions(date_format="%d/%m/%Y"))
    assert said.read().column("when").to_pylist()[0] == dt.datetime(2024, 4, 3)
    assert said.notes == []


def test_times_of_day_are_seconds(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("at,x\n01:00:30,1\n02:00:00,2\n")
    source = open_table(path)
    assert source.read().column("at").to_pylist() == [3630.0, 7200.0]
    (batch,) = source.batches(["at"], kinds={"at": "numeric"})
    assert batch.column("at").to_pylist() == [3630.0, 7200.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "has no rows"),
        ("t.csv", b"a,a\n1,2\n", "several columns of the name 'a'"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but the first has 2: '1,2,3'"),
        ("t.csv.gz", b"no gzip", "Cannot read"),
        ("t.parquet", b"no parquet", "is not a readable Parquet file"),
        ("t.feather", b"no feather at all", "is not a readable Feather file"),
        ("t.xlsx", b"no workbook", "is not a readable Excel workbook"),
        ("t.doc", b"what", "The format of"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        open_table(path).read()


def test_missing_file_and_empty_folder(tmp_path):
    (tmp_path / "houses.csv").write_text("a\n1\n")
    with pytest.raises(MissingFileError, match=r"Did you mean .*houses\.csv"):
        open_table(tmp_path / "house.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MissingFileError, match=r"holds no file that ends in \.parquet"):
        open_table(tmp_path / "folder")


def test_unknown_column_gets_the_nearest(tmp_path):
    with pytest.raises(LookupError, match="Did you mean 'rooms'"):
        open_table(write(tmp_path, "t.parquet")).check(["room"])


# ------------------------------------------------------------------------------ sampling


def numbers(n_rows, batch=1000):
    return (pa.table({"x": np.arange(i, min(i + batch, n_rows))}) for i in range(0, n_rows, batch))


@pytest.mark.parametrize("name", ["big.parquet", "big.csv"])
def test_a_sample_is_uniform_seeded_and_in_order(tmp_path, name, monkeypatch):
    table = pa.concat_tables(numbers(20_000))
    path = tmp_path / name
    if name.endswith("csv"):
        pyarrow.csv.write_csv(table, path)
        monkeypatch.setattr("adacap.files.source._WHOLE_TEXT", 1000)  # so that it is streamed
    else:
        pyarrow.parquet.write_table(table, path, row_group_size=3000)
    sample = sample_table(open_table(path), ["x"], 2000, seed=1)
    x = sample.table.column("x").to_numpy()
    assert (sample.n_rows, sample.drawn, len(x)) == (20_000, True, 2000)
    assert x.dtype.kind == "i"
    assert (np.diff(x) > 0).all()
    quarters = np.bincount(x // 5000)
    assert abs(quarters - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)
    again = sample_table(open_table(path), ["x"], 2000, seed=1)
    assert again.table.equals(sample.table)
    other = sample_table(open_table(path), ["x"], 2000, seed=2)
    assert not other.table.equals(sample.table)


def test_a_small_table_is_taken_whole(tmp_path):
    sample = sample_table(open_table(write(tmp_path, "t.parquet")), ["rooms"], 100)
    assert (sample.table.num_rows, sample.drawn) == (7, False)


def test_memory_bounds_a_sample(tmp_path):
    path = tmp_path / "big.parquet"
    pyarrow.parquet.write_table(pa.concat_tables(numbers(200_000)), path)
    sample = sample_table(open_table(path), ["x"], 200_000, most_bytes=400_000)
    assert sample.drawn
    assert sample.table.nbytes <= 1.6 * 400_000
