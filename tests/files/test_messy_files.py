"""Untidy files: each is read as a person would read it, or refused with the way out.

What is expected of each file stands beside it: numbers as numbers, dates as ISO text, categories as
text, missing cells as None.
"""

import bz2
import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from adacap.files import FileError, open_table
from adacap.tables.readings import find_readings
from adacap.tables.table import read_table


def cells_of(table, j):
    values = table.column(j)
    if table.kind(j) == "categorical":
        return values.tolist()
    if table.kind(j) == "datetime":
        return [None if np.isnan(v) else _iso(v) for v in values]
    return [None if np.isnan(v) else float(v) for v in values]


def _iso(seconds):
    text = str(np.datetime64(round(seconds), "s"))
    return text.removesuffix("T00:00:00")


def read(path, date_format=True):
    """Cells of every column, as a model would see them."""
    table = read_table(open_table(path).read())
    table = table.read(find_readings(table.columns, date_format, table.names))
    return {name: cells_of(table, j) for j, name in enumerate(table.names)}


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_csv", ".csv"), content)
    return buffer.getvalue()


def column(*cells, name="x"):
    """File of one column of interest beside a plain one; cells are quoted."""
    rows = [f'{k},"{cell}"' for k, cell in enumerate(cells)]
    return "\n".join([f"k,{name}", *rows, ""]).encode()


AB = {"a": [1.0, 2.0, 3.0], "b": [4.5, 5.5, 6.5]}
EU = {"größe": [1.5, 2.25], "ort": ["Köln", "Öhningen"]}

SEPARATORS = {
    "commas.csv": (b"a,b\n1,4.5\n2,5.5\n3,6.5\n", AB),
    "blank after comma.csv": (b"a, b\n1, 4.5\n2, 5.5\n3, 6.5\n", AB),
    "semicolons.csv": (b"a;b\n1;4.5\n2;5.5\n3;6.5\n", AB),
    "semicolons and decimal commas.csv": (b"a;b\n1;4,5\n2;5,5\n3;6,5\n", AB),
    "pipes.txt": (b"a|b\n1|4.5\n2|5.5\n3|6.5\n", AB),
    "tabs.tsv": (b"a\tb\n1\t4.5\n2\t5.5\n3\t6.5\n", AB),
    "tabs called csv.csv": (b"a\tb\n1\t4.5\n2\t5.5\n3\t6.5\n", AB),
    "tabs and decimal commas.tab": (b"a\tb\n1\t4,5\n2\t5,5\n3\t6,5\n", AB),
    "tabs with blanks in cells.tsv": (
        b"town\tn\nNew York\t1 234\nLos Angeles\t5 678\n",
        {"town": ["New York", "Los Angeles"], "n": [1234.0, 5678.0]},
    ),
    "one blank.data": (b"a b\n1 4.5\n2 5.5\n3 6.5\n", AB),
    "many blanks.data": (b"  a     b\n  1   4.5\n 2     5.5\n  3   6.5  \n", AB),
    "blanks and tabs.dat.txt": (b"a  b\n1\t 4.5\n2 \t5.5\n3   6.5\n", AB),
    "blanks without names.data": (b"1 4.5\n2 5.5\n\n3 6.5\n", {"c0": AB["a"], "c1": AB["b"]}),
    "blanks and decimal commas.data": (b"a b\n1 4,5\n2 5,5\n3 6,5\n", AB),
    "commas within quotes.csv": (
        b'a,b\n1,"red, green"\n2,"blue"\n',
        {"a": [1.0, 2.0], "b": ["red, green", "blue"]},
    ),
    "quotes within quotes.csv": (
        b'a,b\n1,"say ""hi"""\n2,no\n',
        {"a": [1.0, 2.0], "b": ['say "hi"', "no"]},
    ),
}
ENCODINGS = {
    "utf-8.csv": ("größe,ort\n1.5,Köln\n2.25,Öhningen\n".encode(), EU),
    "utf-8 with mark.csv": ("\ufeffgröße,ort\n1.5,Köln\n2.25,Öhningen\n".encode(), EU),
    "latin-1.csv": ("größe;ort\n1,5;Köln\n2,25;Öhningen\n".encode("latin-1"), EU),
    "windows.csv": (
        "price;ort\n1,5 €;Köln\n2,25 €;“Öhningen”\n".encode("cp1252"),
        {"price": [1.5, 2.25], "ort": ["Köln", "“Öhningen”"]},
    ),
    "utf-16.csv": ("größe,ort\n1.5,Köln\n2.25,Öhningen\n".encode("utf-16"), EU),
    "lines of windows.csv": (b"a,b\r\n1,4.5\r\n2,5.5\r\n3,6.5\r\n", AB),
    "lines of old macs.csv": (b"a,b\r1,4.5\r2,5.5\r3,6.5\r", AB),
    "no last line end.csv": (b"a,b\n1,4.5\n2,5.5\n3,6.5", AB),
}
NUMBERS = {
    "thousands comma.csv": (column("312,905.06", "1,200", "7"), [312905.06, 1200.0, 7.0]),
    "thousands point.csv": (column("312.905,06", "1.200", "7"), [312905.06, 1200.0, 7.0]),
    "thousands blank.csv": (column("312 905.06", "1 200", "7"), [312905.06, 1200.0, 7.0]),
    "thousands thin.csv": (
        column("312\u202f905,5", "1\u00a0200,25", "7").decode().encode(),
        [312905.5, 1200.25, 7.0],
    ),
    "thousands apostrophe.csv": (column("312'905.06", "1'200"), [312905.06, 1200.0]),
    "lakh.csv": (column("12,34,567", "1,200.5"), [1234567.0, 1200.5]),
    "dollars.csv": (column("$86.91", "$1,200.00", "-$5"), [86.91, 1200.0, -5.0]),
    "euros.csv": (column("86,91 €", "1.200,00 €"), [86.91, 1200.0]),
    "codes of currency.csv": (column("USD 86.91", "USD 1,200"), [86.91, 1200.0]),
    "percent.csv": (column("86.9%", "12 %", "-3%"), [86.9, 12.0, -3.0]),
    "units.csv": (column("86 m²", "90m²", "1,200 m²"), [86.0, 90.0, 1200.0]),
    "weights.csv": (column("12kg", "13 kg", "1.5 KG"), [12.0, 13.0, 1.5]),
    "brackets.csv": (column("(300)", "200", "(1,200.50)"), [-300.0, 200.0, -1200.5]),
    "true minus.csv": (column("−5", "6", "–7"), [-5.0, 6.0, -7.0]),
    "powers.csv": (column("1.5e-3", "2E5", "n/a"), [0.0015, 200000.0, None]),
    "blanks.csv": (column(" 5 ", "6", "  "), [5.0, 6.0, None]),
    "words for missing.csv": (
        column("5", "unknown", "-", "n/a", "None", "?", "6"),
        [5.0, None, None, None, None, None, 6.0],
    ),
    "ranges.csv": (
        column(*["1200"] * 38, "2100 - 2850", "34.46Sq. Meter"),
        [1200.0] * 38 + [None, None],
    ),
    "too few numbers.csv": (column("5", "many", "7"), ["5", "many", "7"]),
    "whole euros with points.csv": (
        b"x;y\n312.905;1,5\n7.100;2,5\n900;3\n",
        {"x": [312905.0, 7100.0, 900.0], "y": [1.5, 2.5, 3.0]},
    ),
    "english thousands between semicolons.csv": (
        b"x;y\n312,905;1.5\n7,100;2.5\n",
        {"x": [312905.0, 7100.0], "y": [1.5, 2.5]},
    ),
}
DATES = {
    "iso.csv": (column("2021-01-13", "2021-02-01"), ["2021-01-13", "2021-02-01"]),
    "iso with times.csv": (
        column("2021-01-13T10:30:00Z", "2021-02-01T00:00:00Z"),
        ["2021-01-13T10:30:00", "2021-02-01"],
    ),
    "day first.csv": (column("13/01/2021", "01/02/2021"), ["2021-01-13", "2021-02-01"]),
    "month first.csv": (column("01/13/2021", "02/01/2021"), ["2021-01-13", "2021-02-01"]),
    "dots.csv": (column("13.01.2021", "01.02.2021"), ["2021-01-13", "2021-02-01"]),
    "short years.csv": (column("13-01-21", "01-02-99"), ["2021-01-13", "1999-02-01"]),
    "names of months.csv": (column("03 Feb 2021", "4 March 2021"), ["2021-02-03", "2021-03-04"]),
    "american names.csv": (column("Feb 3, 2021", "Mar 4, 2021"), ["2021-02-03", "2021-03-04"]),
    "dashes and names.csv": (column("3-Feb-21", "4-Mar-21"), ["2021-02-03", "2021-03-04"]),
    "slashes, year first.csv": (column("2021/02/03", "2021/03/04"), ["2021-02-03", "2021-03-04"]),
    "afternoons.csv": (
        column("13/01/2021 3:30 PM", "01/02/2021 9:00 AM"),
        ["2021-01-13T15:30:00", "2021-02-01T09:00:00"],
    ),
    "a few bad dates.csv": (column(*["13/01/2021"] * 29, "soon"), ["2021-01-13"] * 29 + [None]),
    "unclear.csv": (column("01/02/2021", "03/04/2021"), ["01/02/2021", "03/04/2021"]),
    "hours.csv": (column("01:00:30", "02:00:00"), [3630.0, 7200.0]),
}
HEADERS = {
    "none.csv": (b"1,4.5\n2,5.5\n3,6.5\n", {"c0": AB["a"], "c1": AB["b"]}),
    "none, and all text.csv": (
        b"x,o,x,won\no,o,x,lost\nx,x,o,won\nx,o,x,lost\n",
        {"c0": list("xoxx"), "c1": list("ooxo"), "c2": list("xxox"), "c3": ["won", "lost"] * 2},
    ),
    "line breaks.csv": (b'a,"b\n(m)"\n1,4.5\n2,5.5\n3,6.5\n', {"a": AB["a"], "b (m)": AB["b"]}),
    "blanks around.csv": (b" a , b \n1,4.5\n2,5.5\n3,6.5\n", AB),
    "unnamed.csv": (b",b\n1,4.5\n2,5.5\n3,6.5\n", {"unnamed_0": AB["a"], "b": AB["b"]}),
    "blank lines above.csv": (b"\n\na,b\n1,4.5\n2,5.5\n3,6.5\n", AB),
    "a title above.csv": (
        b"Sales of 2024\na,b,c\n1,4.5,x\n2,5.5,y\n3,6.5,x\n",
        {**AB, "c": ["x", "y", "x"]},
    ),
    "a title and commas above.csv": (
        b"Sales of 2024,,\na,b,c\n1,4.5,x\n2,5.5,y\n3,6.5,x\n",
        {**AB, "c": ["x", "y", "x"]},
    ),
    "comments above.csv": (
        b"# made by a machine\n# on a Monday\na,b,c\n1,4.5,x\n2,5.5,y\n3,6.5,x\n",
        {**AB, "c": ["x", "y", "x"]},
    ),
    "quoted.csv": (b'"a","b"\n1,4.5\n2,5.5\n3,6.5\n', AB),
}
CODES_AND_TEXT = {
    "places.csv": (column("01234", "99999", "04711"), ["01234", "99999", "04711"]),
    "telephones.csv": (
        column("+33612345678", "+4930123456"),
        ["+33612345678", "+4930123456"],
    ),
    "versions.csv": (column("1.2.3", "1.10.0"), ["1.2.3", "1.10.0"]),
    "sizes of flats.csv": (
        column("3 BHK", "4 Bedroom", "2 BHK"),
        ["3 BHK", "4 Bedroom", "2 BHK"],
    ),
    "blanks around categories.csv": (column("red", " red", "blue "), ["red", "red", "blue"]),
    "line breaks in cells.csv": (
        b'a,b\n1,"one\ntwo"\n2,x\n',
        {"a": [1.0, 2.0], "b": ["one\ntwo", "x"]},
    ),
    "truths.csv": (column("true", "false", "true"), [1.0, 0.0, 1.0]),
}  # fmt: skip
CONTAINERS = {
    "packed.csv.gz": (gzip.compress(b"a,b\n1,4.5\n2,5.5\n3,6.5\n"), AB),
    "packed.csv.bz2": (bz2.compress(b"a,b\n1,4.5\n2,5.5\n3,6.5\n"), AB),
    "packed.zip": (zipped(t_csv="a,b\n1,4.5\n2,5.5\n3,6.5\n"), AB),
    "packed with shadows.zip": (
        zipped(**{"t.csv": "a,b\n1,4.5\n2,5.5\n3,6.5\n", "__MACOSX/._t.csv": "x"}),
        AB,
    ),
    "lines.jsonl": (
        b'{"a": 1, "b": 4.5}\n{"a": 2, "b": 5.5}\n\n{"a": 3, "b": 6.5}\n',
        AB,
    ),
    "list.json": (
        json.dumps([{"a": 1, "b": "$4.50"}, {"b": "$5"}]).encode(),
        {"a": [1, None], "b": [4.5, 5.0]},
    ),
}  # fmt: skip

FILES = {
    **SEPARATORS, **ENCODINGS, **NUMBERS, **DATES, **HEADERS, **CODES_AND_TEXT, **CONTAINERS
}  # fmt: skip

REFUSED = {
    "ragged.csv": (b"a,b,c\n1,2,3\n4,5\n", r"line 3 has 2 cells, but the first has 3.*--separator"),
    "one cell more.csv": (b"a,b\n1,2\n\n3,4,5\n", "line 4 has 3 cells, but the first has 2"),
    "packed and ragged.csv.gz": (gzip.compress(b"a,b\n1,2\n3\n"), "line 3 has 1 cells"),
    "quote that never closes.csv": (b'a,b\n1,2\n"3,4\n5,6\n', "line 3 has 1 cells.*Correct that"),
    "no text at all.csv": (b"a,b\n1,2\n\x00\x01\x02\n", "line 3 holds a zero byte.*--encoding"),
    "empty.csv": (b"", "is empty"),
    "names only.csv": (b"a,b\n", "has no rows"),
    "the same name twice.csv": (b"a,a\n1,2\n", "several columns of the name 'a'. Rename them"),
    "cut.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 5000)[:-20], "Cannot read"),
    "several tables.zip": (
        zipped(a_csv="x", b_csv="y"),
        r"holds 2 files \(a.csv, b.csv\).*Unpack it",
    ),
    "no zip.zip": (b"PK\x03\x04 nothing", "is not a readable zip"),
    "broken.jsonl": (b'{"a": 1}\n{"a": \n', r"broken.jsonl, line 2: not JSON"),
    "no objects.jsonl": (b"[1, 2]\n", "row 1: each row must be an object"),
    "broken.json": (b'[{"a": 1},\n{"a": ]', "line 2: not JSON"),
    "nested.jsonl": (b'{"a": [1, 2]}\n', "Leave it out: --drop a"),
    "letter.doc": (b"what", "The format of .* is not known by its name. Known: .csv"),
}  # fmt: skip


def test_there_are_enough_of_them():
    assert len(FILES) + len(REFUSED) >= 90


@pytest.mark.parametrize("name", FILES)
def test_a_messy_file_is_read_as_a_person_would(tmp_path, name):
    content, expected = FILES[name]
    (tmp_path / name).write_bytes(content)
    found = read(tmp_path / name)
    assert (found if isinstance(expected, dict) else found["x"]) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_file_is_refused_with_the_way_out(tmp_path, name):
    content, message = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=message):
        read(tmp_path / name)


def test_unclear_dates_are_read_as_told(tmp_path):
    (tmp_path / "t.csv").write_bytes(DATES["unclear.csv"][0])
    assert read(tmp_path / "t.csv", "%d/%m/%Y")["x"] == ["2021-02-01", "2021-04-03"]
    assert read(tmp_path / "t.csv", "%m/%d/%Y")["x"] == ["2021-01-02", "2021-03-04"]
    with pytest.raises(ValueError, match=r"'%Y' fits no column .* 'x' holds '01/02/2021'"):
        read(tmp_path / "t.csv", "%Y")


def test_a_cell_of_another_type_is_named_with_its_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n3,many\n")
    with pytest.raises(FileError, match=r"column 'b'.*'many'.* \(line 3\)"):
        list(open_table(tmp_path / "t.csv").batches(kinds={"a": "numeric", "b": "numeric"}))


def test_batches_of_decimal_commas_read_points_as_thousands(tmp_path):
    (tmp_path / "t.csv").write_bytes(NUMBERS["whole euros with points.csv"][0])
    (batch,) = open_table(tmp_path / "t.csv").batches(kinds={"x": "numeric", "y": "numeric"})
    assert batch.to_pydict() == {"x": [312905.0, 7100.0, 900.0], "y": [1.5, 2.5, 3.0]}
