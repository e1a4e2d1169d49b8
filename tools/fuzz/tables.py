"""Damaged and odd tables: every one is read, or refused by a FileError that names the file.

CSV, packed CSV, Excel, Parquet, Feather, JSON and zips are damaged byte by byte, cut, mixed up, and
(workbooks) changed inside with checksums made right again; CSV is also made of odd tokens. Some are
small files of large tables: repeated rows, a name in each row, far cells, a text that rows share.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import MEMORY, main

from adacap.files import FileError, MissingFileError, open_table, sample_table

ROWS = [
    ("size", "rooms", "town", "sold", "day"),
    *(
        (20.5 + 3 * i, i % 4, ["Ulm", "Köln", "x"][i % 3], i % 2 == 0, dt.date(2024, 1 + i, 3))
        for i in range(12)
    ),
]
NUMBERS = (b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x00")
TOKENS = (
    "1", "2.5", "-3", "1e400", "nan", "inf", "a", "Ü", "", " ", '"', '""', '"a"', '"a\nb"', "'",
    ",", ",", ",", ";", "\t", "|", "\n", "\n", "\r\n", "\r", "\0", "\ufeff", "\u2028", "\x0b",
    "\x1c", "\x85", "#", "2024-01-05", "01.02.2024", "007", "1,5", "1.234,5", "true", "=1+1",
    "x" * 300, "9" * 400, "\u202e", "\ud7ff", "a b", "%",
)  # fmt: skip


def _csv(separator: str = ",") -> bytes:
    return "\n".join(separator.join(map(str, row)) for row in ROWS).encode() + b"\n"


def _excel() -> bytes:
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in ROWS:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def _arrow(write: Callable[..., None], **options: object) -> bytes:
    import pyarrow as pa

    columns = dict(zip(ROWS[0], map(list, zip(*ROWS[1:], strict=True)), strict=True))
    file = io.BytesIO()
    write(pa.table(columns), file, **options)
    return file.getvalue()


def _objects() -> list[dict[str, object]]:
    return [dict(zip(ROWS[0], [*row[:-1], str(row[-1])], strict=True)) for row in ROWS[1:]]


def _zip(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", content)
    return file.getvalue()


@cache
def whole() -> dict[str, list[bytes]]:
    """Good files by their ending."""
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    lines = "\n".join(json.dumps(row) for row in _objects())
    return {
        ".csv": [_csv(), _csv(";"), _csv().decode().encode("utf-16"), _csv(" ")],
        ".tsv": [_csv("\t")],
        ".csv.gz": [gzip.compress(_csv(), mtime=0)],
        ".parquet": [
            _arrow(parquet.write_table, compression=c) for c in ("snappy", "none", "gzip")
        ],
        ".feather": [_arrow(feather.write_feather, compression=c) for c in ("lz4", "uncompressed")],
        ".xlsx": [_excel()],
        ".jsonl": [lines.encode()],
        ".json": [json.dumps(_objects()).encode()],
        ".zip": [_zip(_csv())],
    }


# --------------------------------------------------------------------------------- damage


def flip(draw: random.Random, content: bytearray) -> None:
    for _ in range(draw.choice((1, 1, 2, 8, 40))):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)


def cut(draw: random.Random, content: bytearray) -> None:
    del content[draw.randrange(len(content)) :]


def drop(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    del content[start : start + draw.choice((1, 4, 50))]


def repeat(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    content[start:start] = content[start : start + draw.choice((1, 8, 200))] * draw.choice((1, 3))


def noise(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    content[start : start + 16] = draw.randbytes(draw.choice((1, 16, 64)))


def number(draw: random.Random, content: bytearray) -> None:
    start = draw.randrange(len(content))
    content[start : start + 4] = draw.choice(NUMBERS)


def token(draw: random.Random, content: bytearray) -> None:
    for _ in range(draw.choice((1, 2, 5))):
        start = draw.randrange(len(content) + 1)
        content[start:start] = draw.choice(TOKENS).encode()


DAMAGE = (flip, cut, drop, repeat, noise, number, token)


def damaged(draw: random.Random, content: bytes) -> bytes:
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if found:
            draw.choice(DAMAGE)(draw, found)
    return bytes(found)


def inside(draw: random.Random, content: bytes) -> bytes:
    """A zip with one part damaged, its checksums right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(parts))
    parts[name] = damaged(draw, parts[name])
    if draw.random() < 0.1:
        del parts[name]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


def odd_text(draw: random.Random) -> bytes:
    encoding = draw.choice(("utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "cp1252"))
    text = "".join(draw.choice(TOKENS) for _ in range(draw.choice((1, 5, 30, 200))))
    return text.encode(encoding, "replace")


# ------------------------------------------------------------------ small files of large tables


def repeated_rows(draw: random.Random) -> tuple[str, bytes]:
    """Packed text of far more bytes than the file has."""
    row = draw.choice((b"1,2\n", b",\n", b"a,b\n", b"1.5,2020-01-01\n"))
    part = gzip.compress(row * (draw.choice((1_000, 300_000, 2_000_000)) // len(row)), 1)
    return "t.csv.gz", gzip.compress(b"x,y\n") + part * draw.choice((1, 3, 40, 400))


def name_in_each_row(draw: random.Random) -> tuple[str, bytes]:
    """JSON whose table has a column for each of its rows."""
    n_rows, n_names = draw.choice((10, 200, 6_000)), draw.choice((1, 3, 40))
    rows = [{f"k{(i * n_names) + j}": 1 for j in range(n_names)} for i in range(n_rows)]
    if draw.random() < 0.5:
        return "t.json", json.dumps(rows).encode()
    return "t.jsonl", "\n".join(map(json.dumps, rows)).encode()


def far_cells(draw: random.Random) -> tuple[str, bytes]:
    """A workbook with cells far from the others, and a size that may be false."""
    import openpyxl

    far, last = draw.choice(("C", "ZZ", "XFD")), draw.choice((5, 1_048_576, 10**12))
    n_rows = draw.choice((3, 200, 1_500))
    rows = "".join(
        f'<row r="{i}"><c r="A{i}"><v>1</v></c><c r="{far}{i}"><v>2</v></c></row>'
        for i in (*range(1, n_rows + 1), n_rows + last)
    )
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["x"])
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    head = parts[name].partition(b"<sheetData>")[0]
    parts[name] = head + b"<sheetData>" + rows.encode() + b"</sheetData></worksheet>"
    size = draw.choice((b"A1:A1", b"A1:B2", b"A1:XFD1048576"))
    parts[name] = parts[name].replace(b'ref="A1:A1"', b'ref="%s"' % size)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return "t.xlsx", file.getvalue()


def shared_text(draw: random.Random) -> tuple[str, bytes]:
    """Parquet whose rows share a long text."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    n_rows, size = draw.choice(((300, 1_000_000), (30_000, 10_000), (3_000, 0)))
    codes = pa.array([i % 2 for i in range(n_rows)], pa.int32())
    text = pa.DictionaryArray.from_arrays(codes, ["x" * size, "y"])
    file = io.BytesIO()
    parquet.write_table(pa.table({"text": text, "n": range(n_rows)}), file, store_schema=False)
    return "t.parquet", file.getvalue()


AMPLIFIED = (repeated_rows, name_in_each_row, far_cells, shared_text)


def make(draw: random.Random) -> tuple[str, bytes]:
    """Name and content of a hostile table."""
    found = _usual(draw)
    if draw.random() < 0.01:  # they take as long as a hundred others
        return draw.choice(AMPLIFIED)(draw)
    return found


def _usual(draw: random.Random) -> tuple[str, bytes]:
    ending = draw.choice(sorted(whole()))
    content = draw.choice(whole()[ending])
    if ending in (".csv", ".tsv", ".json", ".jsonl") and draw.random() < 0.4:
        return f"t{ending}", odd_text(draw)
    if ending == ".csv.gz" and draw.random() < 0.5:
        return f"t{ending}", gzip.compress(damaged(draw, _csv()), 1)
    if ending in (".xlsx", ".zip") and draw.random() < 0.7:
        return f"t{ending}", inside(draw, content)
    return f"t{ending}", damaged(draw, content)


# ----------------------------------------------------------------------------------- case


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """One folder for all cases: to make and remove one takes longer than to read a table."""
    made = tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY)
    Path(made.name, "scratch").mkdir()
    return made


def case(draw: random.Random) -> str:
    """Read one hostile table in both ways; nothing is left behind."""
    name, content = make(draw)
    path = Path(folder().name, name)
    scratch = path.with_name("scratch")
    path.write_bytes(content)
    before, tempfile.tempdir = tempfile.tempdir, str(scratch)
    try:
        word = _read(path)
        left = [entry.name for entry in (*path.parent.iterdir(), *scratch.iterdir())]
        assert sorted(left) == sorted(["scratch", name]), f"left behind: {left}"
    finally:
        tempfile.tempdir = before
        path.unlink()
    return word


def _read(path: Path) -> str:
    try:
        source = open_table(path)
        size = 5 if path.stat().st_size < 5_000 else 5_000
        rows = sum(batch.num_rows for batch in source.batches(rows=size))
        sample = sample_table(source, list(source.names), 1000)
    except (FileError, MissingFileError) as error:
        if path.name not in str(error):
            raise AssertionError("the file is not named") from error
        return "refused"
    assert sample.n_rows == rows, f"{sample.n_rows} rows at once, {rows} in batches"
    return "read"


if __name__ == "__main__":
    sys.exit(main("tables", case))
