"""The zip and the tensors in it: what is declared is held against the bytes there are."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adacap.exceptions import ModelFileError
from adacap.modelfile import archive
from adacap.modelfile.archive import (
    DESCRIPTION,
    WEIGHTS,
    read,
    read_tensors,
    refusing,
    require,
    shown,
    unique_names,
    write,
)


def tensors_file(header: Any, numbers: bytes = b"", length: int | None = None) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + numbers


def entry(shape: list[Any], start: Any, end: Any, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    "dtype", ["F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "C64"]
)
def test_every_type_of_number_is_read(dtype: str) -> None:
    kind = np.dtype(archive._DTYPES[dtype])
    values = np.arange(6).astype(kind).reshape(2, 3)
    content = tensors_file({"a": entry([2, 3], 0, values.nbytes, dtype)}, values.tobytes())
    found = read_tensors(content)["a"]
    assert found.dtype == kind
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(("dtype", "size"), [("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1)])
def test_types_that_numpy_has_not_are_read_as_fields_of_their_name(dtype: str, size: int) -> None:
    content = tensors_file({"a": entry([3], 0, 3 * size, dtype)}, bytes(3 * size))
    assert read_tensors(content)["a"].dtype.names == (dtype,)


def test_tensors_stand_one_after_another_in_any_order_of_names() -> None:
    numbers = np.arange(3, dtype="<f4").tobytes()
    found = read_tensors(tensors_file({"z": entry([1], 8, 12), "a": entry([2], 0, 8)}, numbers))
    assert {name: each.tolist() for name, each in found.items()} == {"z": [2.0], "a": [0.0, 1.0]}


def test_no_tensor_at_all_and_a_tensor_without_numbers_are_read() -> None:
    assert read_tensors(tensors_file({})) == {}
    assert read_tensors(tensors_file({"a": entry([0, 4], 0, 0)}))["a"].shape == (0, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged"),
        (b"1234567", "is damaged"),
        (tensors_file({}, length=3), "false size of its header"),
        (tensors_file({}, length=2**63), "false size of its header"),
        (tensors_file({"__metadata__": {}}), "holds more than tensors"),
        (tensors_file({"a": entry([1], 0, 4)}, bytes(5)), "one after another"),
        (tensors_file({"a": entry([1], 1, 5)}, bytes(5)), "one after another"),
        (tensors_file({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, bytes(4)), "one after"),
        (tensors_file({"a": entry([2], 0, 4)}, bytes(4)), "not where its header says"),
        (tensors_file({"a": entry([-1], 0, 4)}, bytes(4)), "malformed header"),
        (tensors_file({"a": entry([True], 0, 4)}, bytes(4)), "malformed header"),
        (tensors_file({"a": entry([1.0], 0, 4)}, bytes(4)), "malformed header"),
        (tensors_file({"a": {**entry([1], 0, 4), "more": 1}}, bytes(4)), "malformed header"),
        (tensors_file({"a": entry([1], 0, 4, "F128")}, bytes(4)), "is damaged"),
        (tensors_file([1]), "is damaged"),
    ],
)
def test_tensors_that_are_not_there_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        read_tensors(content)


def test_a_header_may_be_as_long_as_the_limit_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = tensors_file({"a": entry([1], 0, 4)}, bytes(4))
    monkeypatch.setattr(archive, "MOST_TEXT", len(content) - 12)
    assert list(read_tensors(content)) == ["a"]
    monkeypatch.setattr(archive, "MOST_TEXT", len(content) - 13)
    with pytest.raises(ModelFileError, match="has a header of"):
        read_tensors(content)


# ------------------------------------------------------------------------------------ the zip


def test_what_is_written_is_read_and_the_bytes_are_always_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, b"{}", b"1234", force=False, signature=b"signed")
    assert read(tmp_path / "a") == (b"{}", b"1234", b"signed")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with zipfile.ZipFile(tmp_path / "a") as file:
        assert file.namelist() == [DESCRIPTION, WEIGHTS]


def test_a_description_may_be_as_long_as_the_limit_and_weights_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "m", b"x" * 50, b"y" * 99, force=False)
    monkeypatch.setattr(archive, "MOST_TEXT", 50)
    assert read(tmp_path / "m").text == b"x" * 50
    monkeypatch.setattr(archive, "MOST_TEXT", 49)
    with pytest.raises(ModelFileError, match=r"model\.json has 50 bytes, more than 49"):
        read(tmp_path / "m")


def test_the_limits_are_those_that_docs_give() -> None:
    assert archive.MOST_TEXT == 64 * 1024 * 1024
    assert (archive.FORMAT, archive.FORMAT_VERSION) == ("adacap-model", 5)


# ----------------------------------------------------------------------------------- refusals


def test_only_what_is_no_fact_is_refused() -> None:
    require(True, "never said")
    with pytest.raises(ModelFileError, match="said"):
        require(False, "said")


def test_refusals_pass_and_named_errors_become_refusals() -> None:
    with pytest.raises(ModelFileError, match=r"^own$"), refusing("it is bad", ValueError):
        raise ModelFileError("own")
    with (
        pytest.raises(ModelFileError, match=r"it is bad \(KeyError: 'k'\)\.") as found,
        refusing("it is bad", ValueError, KeyError),
    ):
        raise KeyError("k")
    assert isinstance(found.value.__cause__, KeyError)
    with pytest.raises(ZeroDivisionError), refusing("it is bad", ValueError):
        raise ZeroDivisionError


def test_a_name_is_given_once() -> None:
    assert unique_names([("a", 1), ("b", 2)], "part") == {"a": 1, "b": 2}
    with pytest.raises(ModelFileError, match=r"part gives a name twice, among \['a', 'a'\]"):
        unique_names([("a", 1), ("a", 1)], "part")


def test_values_are_shown_in_brief() -> None:
    assert shown({"a": [1, 2]}) == "{'a': [1, 2]}"
    assert shown([[[[1]]]]) == "[[[[...]]]]"
    assert len(shown("a" * 1000)) == 60
    assert len(shown(10**100)) == 40
    assert len(shown(["a" * 70] * 6)) == 80
    assert shown("abcdef", 3) == "'ab"
