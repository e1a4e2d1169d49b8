"""Packed records: what comes back, equal bytes, and files that are refused by name."""

import gzip
import json
import math

import numpy as np
import pytest

from adacap.exceptions import OutputExistsError
from adacap.files import MissingFileError
from adacap_bench.jobs import Job, Record
from adacap_bench.packing import PackedFileError, pack, unpack
from adacap_bench.store import Store
from adacap_bench.store_rows import to_payload, to_row

RECORDS = [
    Record(
        Job("builtin-diabetes", 1, "ridge"), "ok", "01", "regression", "GLM", "Diabetes",
        {"test_rmse": 0.7}, 0.5, math.nan, 80, 10, np.arange(3, dtype=np.float32),
        {"λ": [1.0, 2.5]}, {"numpy": "2"}, created="2026-01-01T00:00:00+00:00",
    ),
    Record(
        Job("builtin-diabetes", 0, "ridge"), "failed", "01", "regression",
        traceback="ValueError: no", created="2026-01-01T00:00:01+00:00",
    ),
]  # fmt: skip


@pytest.fixture
def packed(tmp_path):
    with Store(tmp_path / "here.sqlite") as store:
        store.add_all(RECORDS)
        pack(store, tmp_path / "records.jsonl.gz", predictions=True)
    return tmp_path / "records.jsonl.gz"


def rewritten(path, change):
    """The file with its lines changed."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(gzip.compress("\n".join(change(lines)).encode() + b"\n"))
    return path


def test_all_of_a_record_comes_back(packed, tmp_path):
    with Store(tmp_path / "there.sqlite") as store:
        assert unpack(packed, store) == (2, 0)
        assert unpack(packed, store) == (0, 2) or store.counts() == {"ok": 1, "failed": 1}
        found = {record.job: record for record in store.records()}
    for record in RECORDS:
        assert to_row(found[record.job]) == to_row(record)
        assert to_payload(found[record.job]) == to_payload(record)


def test_predictions_are_left_out_unless_asked_for(tmp_path):
    with Store(tmp_path / "here.sqlite") as store:
        store.add_all(RECORDS)
        pack(store, tmp_path / "small.jsonl.gz")
    with Store(tmp_path / "there.sqlite") as store:
        unpack(tmp_path / "small.jsonl.gz", store)
        assert all(record.predictions is None for record in store.records())


def test_equal_records_are_equal_bytes(packed, tmp_path):
    with Store(tmp_path / "other_order.sqlite") as store:
        store.add_all(RECORDS[::-1])
        pack(store, tmp_path / "other.jsonl.gz", predictions=True)
    assert (tmp_path / "other.jsonl.gz").read_bytes() == packed.read_bytes()


def test_a_file_is_replaced_on_request_only(packed, tmp_path):
    with Store(tmp_path / "here.sqlite") as store:
        with pytest.raises(OutputExistsError):
            pack(store, packed)
        assert pack(store, packed, force=True) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[1:], "line 1: it does not say 'adacap-bench records'"),
        (lambda lines: ["[]", *lines[1:]], "line 1: it holds no JSON object"),
        (lambda lines: [*lines[:2], lines[2][:40]], "line 3: "),
        (lambda lines: [*lines, '{"task": "toy"}'], "line 4: it has no 'metrics'"),
        (lambda lines: [lines[0], lines[1].replace('"seed":0', '"seed":"0"')], "column seed"),
        (lambda lines: [lines[0], lines[1].replace('"seed"', '"sead"')], "no column 'sead'"),
        (lambda lines: [lines[0], lines[2].replace("[3]", "[999999999]")], "would unpack to"),
        (lambda lines: [lines[0], "[" * 100_000], "line 2: "),
    ],
)
def test_what_pack_did_not_write_is_refused_whole(packed, tmp_path, change, message):
    rewritten(packed, change)
    with Store(tmp_path / "there.sqlite") as store:
        with pytest.raises(PackedFileError, match=message) as error:
            unpack(packed, store)
        assert store.records() == []
    assert str(packed) in str(error.value)
    assert "adacap bench pack" in str(error.value)


def test_a_newer_version_is_told(packed, tmp_path):
    newer = json.dumps({"format": "adacap-bench records", "version": 2})
    rewritten(packed, lambda lines: [newer, *lines[1:]])
    with Store(tmp_path / "there.sqlite") as store:
        with pytest.raises(PackedFileError, match="of version 2, but this adacap-bench reads"):
            unpack(packed, store)


@pytest.mark.parametrize(
    "content",
    [b"", b"not packed", gzip.compress(b"x" * 50)[:-9]],
    ids=["empty", "text", "cut"],
)
def test_a_damaged_file_is_refused(tmp_path, content):
    path = tmp_path / "records.jsonl.gz"
    path.write_bytes(content)
    with Store(tmp_path / "there.sqlite") as store, pytest.raises(PackedFileError, match="line 1"):
        unpack(path, store)


def test_a_line_without_an_end_takes_bounded_memory(packed, tmp_path, monkeypatch):
    monkeypatch.setattr("adacap_bench.packing._MOST_BYTES", 200)
    with Store(tmp_path / "there.sqlite") as store:
        with pytest.raises(PackedFileError, match="longer than 200 bytes"):
            unpack(packed, store)


def test_no_such_file(tmp_path):
    with Store(tmp_path / "there.sqlite") as store, pytest.raises(MissingFileError):
        unpack(tmp_path / "none.jsonl.gz", store)
