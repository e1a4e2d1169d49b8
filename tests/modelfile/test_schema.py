"""The parser of descriptions, value by value."""

import json
import math
from pathlib import Path
from typing import Any, Literal

import pytest

from adacap.architectures import Architecture
from adacap.estimators.constraints import REGRESSOR
from adacap.exceptions import ModelFileError
from adacap.modelfile import schema
from adacap.modelfile.archive import read
from adacap.modelfile.schema import _check_parameter, _is_shallow, check, parameter, parse


def nested(levels: int, kind: type = list) -> Any:
    value: Any = kind()
    for _ in range(levels - 1):
        value = [value] if kind is list else {"k": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
def test_levels_are_counted(kind: type) -> None:
    assert schema._MOST_LEVELS == 60
    assert _is_shallow(nested(60, kind))
    assert not _is_shallow(nested(61, kind))
    assert _is_shallow([1, "text", None])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[1, NaN]", "holds NaN"),
        (b"[Infinity]", "holds Infinity"),
        (b"[-Infinity]", "holds -Infinity"),
        (b"[1e999]", "holds 1e999, too large a number"),
        (b"[-1E+400]", "too large a number"),
        (b"[" + b"9" * 301 + b"]", "an integer of 301 digits"),
        (b'{"a": 1, "a": 1}', "gives a name twice"),
        (b"\xff", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[" + b"9" * 300 + b"]", "is not an object of"),  # as long as an integer may be
        (b"[1e300]", "is not an object of"),
        (b"null", "is not an object of"),
    ],
)
def test_text_that_is_no_description(text: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        parse(text)


def test_a_description_may_be_as_long_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MOST_TEXT", 4)
    with pytest.raises(ModelFileError, match="is not an object"):
        parse(b"null")
    with pytest.raises(ModelFileError, match="has 5 bytes, more than 4"):
        parse(b" null")


def test_values_are_counted_without_what_stands_in_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_MOST_VALUES", 4)
    with pytest.raises(ModelFileError, match="is not an object"):
        parse(rb'["a,b,c{[[\\", "\"[,,", 1, 2]')
    with pytest.raises(ModelFileError, match="has 5 values, more than 4"):
        parse(b'["a,b", 1, 2, 3, 4]')


@pytest.fixture
def description(ridge_file: Path) -> dict[str, Any]:
    """Of a model without nets."""
    found: dict[str, Any] = json.loads(read(ridge_file).text)
    assert parse(json.dumps(found).encode())
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": "4"}, "format_version is not int: '4'"),
        ({"widths": {"kind": "predictor"}}, "widths is not an object of"),
    ],
)
def test_values_are_checked_before_they_are_used(
    description: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelFileError, match=message):
        parse(json.dumps({**description, **change}).encode())


def test_numbers_beside_a_long_one_are_what_they_were() -> None:
    assert schema._integer("12") == 12
    assert schema._finite("1.5") == 1.5


def test_numbers_that_json_has_not_are_objects_of_one_name() -> None:
    assert math.isnan(schema._object([("float", "nan")]))
    assert schema._object([("float", "-inf")]) == -math.inf
    assert schema._object([("float", "other")]) is None
    assert schema._object([("float", 1)]) == {"float": 1}
    assert schema._object([("float", "inf"), ("more", 1)]) == {"float": "inf", "more": 1}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.5, float), (2**53, float), (-(2**53), float), (3, int), (True, bool), ("a", str),
        (None, float | None), ([], list[int]), ([1], [int]), ({}, dict[str, int]),
        ({"a": 1}, dict[str, int]), ({"a": 1}, {"a": int}), ("x", {"x", "y"}),
        ("x", Literal["x"]), (object(), Any), ([[1.0]], tuple[list[float], ...]),
    ],
)  # fmt: skip
def test_values_of_their_kind(value: Any, kind: Any) -> None:
    check(value, kind, "it")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (2**53 + 1, float, "it is not float: 9007199254740993"),
        (-(2**53) - 1, float, "it is not float"),
        (True, float, "it is not float: True"),
        (True, int, "it is not int: True"),
        (1, bool, "it is not bool: 1"),
        (1.0, int, "it is not int: 1.0"),
        (None, str, "it is not str: None"),
        ("a", float | None, "it is not float . None: 'a'"),
        ((1,), list[int], r"it is not .*: \(1,\)"),
        ([1, "a"], list[int], r"it\[1\] is not int: 'a'"),
        ({"a": "b"}, dict[str, int], r"it\.a is not int: 'b'"),
        ([], dict[str, int], r"it is not .*: \[\]"),
        ({"a": 1, "b": 2}, {"a": int}, "it is not an object of a: "),
        ({}, {"b": int, "a": int}, "it is not an object of a, b: {}"),
        ({"a": [1, None]}, {"a": [int]}, r"it\.a\[1\] is not int: None"),
        ("z", {"y", "x"}, "it is not one of x, y: 'z'"),
        (["x"], {"y", "x"}, "it is not one of x, y"),
        ("z", Literal["x"], "it is not .*: 'z'"),
    ],
)
def test_the_first_value_of_another_kind_is_named(value: Any, kind: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        check(value, kind, "it")


def test_parameters_are_as_the_constructor_takes_them() -> None:
    assert parameter("depth", [1, [2]]) == (1, (2,))
    assert parameter("preprocessing", ["a"]) == ["a"]
    assert parameter("width", 3) == 3
    found = parameter("architecture", [{"name": "mlp", "options": {}}, "own"])
    assert found == (Architecture("mlp"), "own")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("device", None), ("device", "cpu"), ("device", "cuda:12"), ("optimizer", "Adam"),
        ("optimizer", ["Adam", None]), ("optimizer", ["Adam", "SGD"]), ("architecture", "mlp"),
        ("architecture", {"name": "not registered here", "options": {"a": 1}}), ("width", 8),
    ],
)  # fmt: skip
def test_parameters_that_are_acceptable(name: str, value: Any) -> None:
    _check_parameter(name, value, REGRESSOR[name] if name in REGRESSOR else REGRESSOR["width"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("device", "", "is not a device"), ("device", "cpu ", "is not a device"),
        ("device", "CPU", "is not a device"), ("device", "cuda:x", "is not a device"),
        ("optimizer", ["Adam"], "neither a name nor a pair"),
        ("optimizer", [], "neither a name nor a pair"),
        ("optimizer", [None, "Adam"], "neither a name nor a pair"),
        ("optimizer", ["Adam", "SGD", "Adam"], "neither a name nor a pair"),
        ("architecture", [], "names no architecture"),
    ],
)  # fmt: skip
def test_parameters_that_are_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        _check_parameter(name, value, REGRESSOR["width"])


def test_options_that_an_architecture_does_not_have_are_refused() -> None:
    with pytest.raises((TypeError, ValueError)):
        _check_parameter(
            "architecture", {"name": "mlp", "options": {"nothing": 1}}, REGRESSOR["width"]
        )
    with pytest.raises((TypeError, ValueError)):
        _check_parameter("width", -1, REGRESSOR["width"])
