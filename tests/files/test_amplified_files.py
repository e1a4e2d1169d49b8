"""Small files whose tables are large, and what happens where memory or the disk is full."""

import errno
import gzip
import io
import json
import resource
import shutil
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import adacap.files.opening
import adacap.files.text
import adacap.files.unpacking
from adacap.files import FileError, MissingFileError, TextOptions, open_table, sample_table
from adacap.files.source import BATCH_BYTES


@contextmanager
def more_memory(n_bytes):
    """So much address space beyond what there is, where Linux tells it."""
    if not Path("/proc/self/statm").exists():
        yield
        return
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def sampled(path, most=1000, options=None):
    source = open_table(path, options=options)
    return sample_table(source, list(source.names), most)


# -------------------------------------------------------------------------------- packed text


@pytest.fixture
def small_bounds(monkeypatch):
    """A hundredth of all bounds on packed files, so that tests are quick."""
    monkeypatch.setattr(adacap.files.unpacking, "_MUCH", 1 << 21)
    monkeypatch.setattr(adacap.files.text, "_COUNTED", 1 << 22)
    monkeypatch.setattr(adacap.files.source, "_WHOLE_TEXT", 1 << 20)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_packed_text_that_unpacks_to_far_more_than_tables_do_is_refused(
    tmp_path, small_bounds, encoding
):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(("a,b\n" + "1,2\n" * 3_000_000).encode(encoding)))
    told = r"bomb\.csv\.gz would unpack to 0\.0 GB or more, over 200 times its size.*Unpack it"
    with pytest.raises(FileError, match=told):
        sampled(path)
    source = open_table(path)
    with pytest.raises(FileError, match=told):
        source.read()
    with pytest.raises(FileError, match=told):
        list(source.batches())


def test_packed_text_is_read_whole_only_where_its_size_is_known(
    tmp_path, small_bounds, monkeypatch
):
    path = tmp_path / "large.csv.gz"
    numbers = np.random.default_rng(0).integers(0, 10, 1_000_000)
    path.write_bytes(gzip.compress(b"a\n" + b"".join(b"%d\n" % n for n in numbers), 1))
    monkeypatch.setattr(adacap.files.text.TextSource, "read", None)
    found = sampled(path)
    assert (found.n_rows, found.table.num_rows) == (1_000_000, 1000)
    assert open_table(path).text_size == 2_000_002


# ----------------------------------------------------------------- few cells of a large table


def test_rows_of_json_with_a_name_each_are_refused(tmp_path):
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(f'{{"key{i}": 1}}\n' for i in range(6000)))
    told = r"wide\.jsonl would be a table of 4,4\d\d rows or more and 4,4\d\d columns.*same names"
    with more_memory(300 << 20), pytest.raises(FileError, match=told):
        open_table(path)
    path.with_suffix(".json").write_text(json.dumps([{f"key{i}": 1} for i in range(6000)]))
    with pytest.raises(FileError, match=r"wide\.json would be a table"):
        open_table(path.with_suffix(".json"))


def workbook(path, cells, strings=()):
    """A workbook of the cells ``(place, XML of the cell)`` of each row."""
    book = openpyxl.Workbook()
    book.active["A1"] = "a"
    book.save(path)
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    name = "xl/worksheets/sheet1.xml"
    head, tail = parts[name].split(b"<sheetData>")[0], parts[name].split(b"</sheetData>")[1]
    parts[name] = head + b"<sheetData>" + "".join(cells).encode() + b"</sheetData>" + tail
    if strings:
        items = "".join(f"<si><t>{text}</t></si>" for text in strings)
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{space}">{items}</sst>'.encode()
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
        entry = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}" /></Types>'
        types = "[Content_Types].xml"
        parts[types] = parts[types].replace(b"</Types>", entry.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for part, content in parts.items():
            new.writestr(part, content)


def numbered(places):
    return [
        f'<row r="{row}">' + "".join(f'<c r="{col}{row}"><v>1</v></c>' for col in cols) + "</row>"
        for row, cols in places
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [(i + 1, "A" if i % 100 else ["A", "XFD"]) for i in range(1500)],
        [(i + 1, ["A", "XFD"]) for i in range(1500)],
    ],
    ids=["some", "each"],
)
def test_cells_at_the_far_end_of_a_sheet_are_refused(tmp_path, rows):
    path = tmp_path / "far.xlsx"
    workbook(path, numbered(rows))
    told = r"far\.xlsx would be a table of 1,22\d rows or more and 16,384 columns.*Delete the cells"
    with more_memory(400 << 20), pytest.raises(FileError, match=told):
        open_table(path)


def test_rows_beyond_the_last_of_a_sheet_are_refused(tmp_path):
    path = tmp_path / "far.xlsx"
    workbook(path, numbered([(1, "A"), (2, "A"), (99_999_999_999, "A")]))
    with pytest.raises(
        FileError, match=r"first sheet of .*far\.xlsx has rows beyond the 1,048,576"
    ):
        open_table(path)


def test_one_text_in_all_cells_of_a_sheet_is_refused(tmp_path, small_bounds):
    path = tmp_path / "same.xlsx"
    rows = (f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, 1000))
    workbook(path, rows, ["x" * 10_000])
    with pytest.raises(FileError, match=r"same\.xlsx would be a table of 0\.0 GB of text or more"):
        open_table(path)


def test_the_size_that_a_sheet_gives_is_not_believed(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook(path, numbered([(1, "AB"), (2, "AB"), (3, "A"), (5, "C")]))
    first = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    sheet = parts[first].replace(b'r="B1"><v>1<', b'r="B1"><v>2<')  # the names 1 and 2
    for size in (b"A1:XFD1048576", b"A1"):
        parts[first] = sheet.replace(b'<dimension ref="A1:A1"', b'<dimension ref="%s"' % size)
        assert b'<dimension ref="%s"' % size in parts[first]
        with zipfile.ZipFile(path, "w") as new:
            for part, content in parts.items():
                new.writestr(part, content)
        table = open_table(path).read()
        assert table.to_pydict() == {
            "1": [1.0, 1.0, None],
            "2": [1.0, None, None],
            "unnamed_2": [None, None, 1.0],
        }


# ------------------------------------------------------------------------- one text, many rows


def shared(n_rows=2000, size=200_000):
    return pa.DictionaryArray.from_arrays(np.arange(n_rows, dtype=np.int32) % 2, ["x" * size, "y"])


def test_a_text_that_rows_of_parquet_share_is_spelled_out_in_pieces(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"text": shared(), "n": np.arange(2000), "plain": ["z"] * 2000}
    pa.parquet.write_table(pa.table(columns), path, store_schema=False)
    assert path.stat().st_size < 50_000
    with more_memory(600 << 20):
        source, n_rows = open_table(path), 0
        for batch in source.batches(start=3):
            assert batch.nbytes < 1.5 * BATCH_BYTES
            assert batch.schema.field("text").type == pa.string()
            assert batch.column("n").to_pylist() == list(
                range(n_rows + 3, n_rows + 3 + batch.num_rows)
            )
            n_rows += batch.num_rows
        assert n_rows == 1997
        found = sample_table(source, ["n", "text"], 500, most_bytes=8 << 20)
    assert found.n_rows == 2000
    texts = found.table.column("text").to_pylist()
    assert all(
        len(text) == (1 if n % 2 else 200_000)
        for n, text in zip(found.table.column("n").to_pylist(), texts, strict=True)
    )


@pytest.mark.parametrize("rows", [7, 1000])
def test_parquet_is_read_as_arrow_reads_it(tmp_path, rows):
    draw = np.random.default_rng(0)
    words = pa.array(["a", "Ü", None, "", "long " * 9])
    table = pa.table(
        {
            "few": words.take(pa.array(draw.integers(0, 5, 3000))),
            "many": [f"id {i}" for i in draw.permutation(3000)],
            "large": words.take(pa.array(draw.integers(0, 5, 3000))).cast(pa.large_string()),
            "levels": words.take(pa.array(draw.integers(0, 5, 3000))).dictionary_encode(),
            "none": pa.nulls(3000, pa.string()),
            "n": draw.random(3000),
        }
    )
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(table, path, row_group_size=999, dictionary_pagesize_limit=2000)
    parts = list(open_table(path).batches(rows=rows))
    assert {part.num_rows for part in parts[:-1]} == {min(rows, 1000)}
    found = pa.concat_tables(parts)
    assert found.to_pydict() == table.to_pydict()
    assert found.schema.field("levels").type == table.schema.field("levels").type


def test_nested_columns_of_parquet_are_refused_before_they_are_read(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"tags": [["a"]], "n": [1]}), path)
    monkeypatch.setattr(pa.parquet.ParquetFile, "iter_batches", None)
    with pytest.raises(FileError, match=r"Column 'tags' of .*t\.parquet holds list values"):
        open_table(path).read()


# ------------------------------------------------------------------------------ full, or not UTF-8


def no_memory(*args, **options):
    raise pa.ArrowMemoryError("malloc of size 64 failed")


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "feather", "xlsx", "jsonl", "zip"])
def test_too_little_memory_is_told_of_the_file(tmp_path, kind, monkeypatch):
    path = tmp_path / f"prices.{kind}"
    table = pa.table({"size": [1.5, 2.5], "n": [1, 2]})
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.csv", "a,b\n1,2\n")
    elif kind == "jsonl":
        path.write_text('{"a": 1}\n')
    else:
        adacap.files.write_tables(path, iter([table])) if kind != "feather" else (
            pa.feather.write_feather(table, path)
        )
    before = open_table(path)
    for owner, name in (
        (pa.csv, "read_csv"), (pa.csv, "open_csv"), (adacap.files.opening, "cells_column"),
        (adacap.files.columnar, "_file_pieces"), (pa, "memory_map"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, no_memory)
    told = rf"not enough memory to read .*prices\.{kind}\. Read fewer"
    for use in (open_table, sampled, lambda _: list(before.batches()), lambda _: before.read()):
        if kind in ("xlsx", "jsonl") and use not in (open_table, sampled):
            continue  # they are in memory once they are open
        if kind == "parquet" and use is open_table:
            continue  # its names alone are read
        with pytest.raises(FileError, match=told):
            use(path)


def full(*args, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has a full disk to hand")
@pytest.mark.parametrize("name", ["t.zip", "-", "spaced.data", "latin.csv"])
def test_a_full_folder_for_temporary_files_is_told(tmp_path, name, monkeypatch):
    path = tmp_path / name
    if name == "t.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.csv", "a,b\n1,2\n")
    elif name == "spaced.data":
        path.write_text("1.5 2\n" * 9)
    elif name == "latin.csv":
        path.write_bytes("prix,été\n1,2\n".encode("latin-1"))
    else:
        path = "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))

    class Full(adacap.files.unpacking.Unpacked):
        def __init__(self, name, made_from):
            super().__init__(name, made_from)
            self.path = Path("/dev/full")

    for module in (adacap.files.unpacking, adacap.files.opening):
        monkeypatch.setattr(module, "Unpacked", Full)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", lambda **_: open("/dev/full", "wb"))
    shown = "standard input" if name == "-" else name
    with pytest.raises(
        FileError, match=rf"no room to unpack .*{shown} in .*temporary files.*another.* TMPDIR"
    ):
        open_table(path).read()


def test_no_folder_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", "a,b\n1,2\n")
    with pytest.raises(FileError, match=r"no room to unpack .*t\.zip in"):
        open_table(tmp_path / "t.zip")
    monkeypatch.setattr(shutil, "rmtree", None)  # nothing was made that could be removed


def test_text_that_is_not_utf_8_far_below_is_told_as_such(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_bytes(b"town,n\n" + b"abc,1\n" * 60_000 + b"caf\xe9,2\n")
    told = (
        r"Cannot read .*towns\.csv: column 'town' holds text that is not UTF-8\. Give its encoding"
    )
    source = open_table(path)
    for use in (source.read, lambda: list(source.batches()), lambda: sampled(path)):
        with pytest.raises(FileError, match=told):
            use()
    options = TextOptions(encoding="latin-1")
    assert sampled(path, 10**6, options).table.column("town")[-1].as_py() == "café"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("t.jsonl", '{"a": 1, "b": 2}\n{"a": 1, "a": 2}\n', "line 2: "),
        ("t.json", '[{"a": 1}, {"a": {"b": 1, "b": 2}}]', ""),
    ],
)
def test_a_name_given_twice_in_json_is_refused(tmp_path, name, text, place):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileError, match=rf"t\.jsonl?,? ?:?{place}.*gives the name '[ab]' twice"):
        open_table(path)


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 300 + ".csv"])
def test_names_that_no_file_can_have(name):
    with pytest.raises(MissingFileError, match=r"There is no file '.*\.csv': (embedded|File name)"):
        open_table(name)
