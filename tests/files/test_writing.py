"""Outputs appear whole or not at all, and an interrupted one can go on."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from adacap.files import (
    FileError,
    OutputError,
    OutputExistsError,
    Parts,
    fingerprint,
    open_table,
    write_tables,
)

FIRST = pa.table({"name": ["a", "b,c", 'd"e'], "value": [1.0, None, 3.5]})
SECOND = pa.table({"name": ["x"], "value": [4.0]})


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.csv.gz", "o.parquet", "o.feather"])
def test_what_is_written_is_read(tmp_path, name):
    n_rows = write_tables(tmp_path / name, iter([FIRST, SECOND]))
    assert n_rows == 4
    table = open_table(tmp_path / name).read()
    assert table.to_pydict() == pa.concat_tables([FIRST, SECOND]).to_pydict()
    assert os.listdir(tmp_path) == [name]


def test_text_is_quoted_only_where_needed(tmp_path):
    write_tables(tmp_path / "o.csv", iter([SECOND]))
    assert (tmp_path / "o.csv").read_text() == "name,value\nx,4\n"


def test_an_existing_file_is_kept(tmp_path):
    path = tmp_path / "o.csv"
    path.write_text("mine")
    with pytest.raises(OutputExistsError, match=r"exists\. Choose another name, or replace it"):
        write_tables(path, iter([FIRST]))
    assert path.read_text() == "mine"
    write_tables(path, iter([SECOND]), force=True)
    assert path.read_text().startswith("name")


def test_a_failure_leaves_nothing(tmp_path):
    def broken():
        yield FIRST
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_tables(tmp_path / "o.parquet", broken())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("name", "message"), [("o.doc", "known endings"), ("o.xlsm", "known")])
def test_unknown_output(tmp_path, name, message):
    with pytest.raises(FileError, match=message):
        write_tables(tmp_path / name, iter([FIRST]))


def test_parts_go_on_where_they_were(tmp_path):
    output = tmp_path / "o.parquet"
    first = Parts(output, {"interval": 0.9})
    first.start(resume=False)
    first.add(FIRST)
    first.leave()
    again = Parts(output, {"interval": 0.9})
    again.start(resume=True)
    assert again.n_rows == 3
    again.add(SECOND)
    assert again.finish(force=False) == 4
    assert pyarrow.parquet.read_table(output).num_rows == 4
    assert os.listdir(tmp_path) == ["o.parquet"]


def test_a_part_that_was_not_finished_does_not_count(tmp_path):
    parts = Parts(tmp_path / "o.csv", {})
    parts.start(resume=False)
    parts.add(FIRST)
    (parts.folder / ".00000001.0a1b2c.arrow").write_bytes(b"half of it")
    parts.leave()
    again = Parts(tmp_path / "o.csv", {})
    again.start(resume=True)
    assert again.n_rows == 3


def test_parts_of_another_run_are_refused_or_dropped(tmp_path):
    parts = Parts(tmp_path / "o.csv", {"interval": 0.9})
    parts.start(resume=False)
    parts.add(FIRST)
    parts.leave()
    other = Parts(tmp_path / "o.csv", {"interval": 0.8})
    with pytest.raises(FileError, match="had another interval, so it cannot resume"):
        other.start(resume=True)
    other.start(resume=False)
    assert other.n_rows == 0


@pytest.mark.skipif(os.name != "posix", reason="locks a folder")
@pytest.mark.parametrize("resume", [True, False])
def test_parts_that_a_run_is_writing_are_left_to_it(tmp_path, resume):
    """Else the output of the one would be put together from parts of the other."""
    first = Parts(tmp_path / "o.csv", {})
    first.start(resume=False)
    first.add(FIRST)
    second = Parts(tmp_path / "o.csv", {})
    with pytest.raises(FileError, match=r"Another run is writing .*o\.csv"):
        second.start(resume=resume)
    assert first.finish(force=False) == 3
    assert os.listdir(tmp_path) == ["o.csv"]


def test_a_link_in_place_of_the_parts_is_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    (tmp_path / ".o.csv.part").symlink_to(tmp_path / "mine")
    with pytest.raises(FileError, match="where parts are kept, is a link"):
        Parts(tmp_path / "o.csv", {}).start(resume=False)
    assert os.listdir(tmp_path / "mine") == ["letter.txt"]


def test_a_changed_file_has_another_fingerprint(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    before = fingerprint([path])
    path.write_text("a\n1\n2\n")
    assert fingerprint([path]) != before


@pytest.mark.parametrize("name", ["é" * 100 + ".csv", "x" * 246 + ".csv"])
def test_parts_of_an_output_with_a_long_name(tmp_path, name):
    output = tmp_path / name
    for resume in (False, True):
        parts = Parts(output, {})
        parts.start(resume=resume)
        assert parts.n_rows == int(resume)
        parts.add(pa.table({"x": [1]}))
        parts.leave()
    parts = Parts(output, {})
    parts.start(resume=True)
    assert parts.finish(force=False) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder of Linux")
def test_a_place_without_room_for_parts_is_named():
    with pytest.raises(OutputError, match=r"/proc/x\.csv cannot be written: no folder can be made"):
        Parts(Path("/proc/x.csv"), {}).start(resume=False)
