"""Parts of a description that must agree with each other, one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adacap.exceptions import ModelFileError, SignatureError
from adacap.modelfile import contents
from adacap.modelfile.contents import (
    Classes,
    Numbers,
    _check_member,
    _groups,
    _labels,
    _of_group,
    _shape,
    _targets,
    _transforms,
    loading,
)

NUMBERS: dict[str, Any] = {"mean": [1.0], "scale": [2.0], "is_1d": True, "transforms": []}
TRANSFORM: dict[str, Any] = {
    "kind": "log", "shift": 0.0, "unit": 1.0, "power": 1.0, "low": 0.0, "high": 1.0,
    "errors": [0.0],
}  # fmt: skip


def test_targets_that_are_numbers() -> None:
    one = _targets(NUMBERS)
    assert isinstance(one, Numbers)
    assert (one.mean, one.scale, one.is_1d, one.transforms, one.n_out) == (1.0, 2.0, True, (), 1)
    two = _targets({**NUMBERS, "mean": [1.0, 2.0], "scale": [1.0, 1.0], "is_1d": False})
    assert two.n_out == 2
    assert _targets({**NUMBERS, "is_1d": False}).n_out == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean": [], "scale": []}, "0 means, 0 scales"),
        ({"mean": [], "scale": [], "is_1d": False}, "0 means, 0 scales"),
        ({"scale": [1.0, 1.0]}, "1 means, 2 scales"),
        ({"mean": [1.0, 1.0], "scale": [1.0, 1.0]}, "contradicts itself"),
        ({"mean": [np.nan]}, "not finite"),
        ({"scale": [np.inf]}, "not finite"),
        ({"transforms": [TRANSFORM, TRANSFORM]}, "2 transforms of 1 targets"),
    ],
)
def test_targets_that_contradict_themselves(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        _targets({**NUMBERS, **change})


@pytest.mark.parametrize(
    "change", [{}, {"unit": -1.0}, {"power": 1.99}, {"power": 0.01}, {"low": 1.0}]
)
def test_transforms_that_a_target_has(change: dict[str, Any]) -> None:
    (found,) = _transforms([{**TRANSFORM, **change}], 1)
    assert found.errors == (0.0,)


@pytest.mark.parametrize(
    "change", [{"unit": 0.0}, {"power": 0.0}, {"power": 2.0}, {"low": 1.5}, {"errors": []}]
)
def test_transforms_that_no_target_has(change: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError, match="a transform that no target has"):
        _transforms([{**TRANSFORM, **change}], 1)


@pytest.mark.parametrize("heat", [1e-9, 1.0, 1e9])
def test_targets_that_are_classes(heat: float) -> None:
    found = _targets({"dtype": "int64", "classes": [1, 2, 3], "temperature": heat})
    assert isinstance(found, Classes)
    assert (found.labels.tolist(), found.temperature, found.n_out) == ([1, 2, 3], heat, 3)
    assert found._replace(labels=found.labels[:2]).n_out == 1


@pytest.mark.parametrize("heat", [0.0, -1.0, 9e-10, 1.1e9, np.nan])
def test_temperatures_that_leave_nothing_to_tell(heat: float) -> None:
    with pytest.raises(ModelFileError, match="temperature"):
        _targets({"dtype": "int64", "classes": [1, 2], "temperature": heat})


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["a", "b"], "str"), (["a", "b"], "object"), ([False, True], "bool"), ([-128, 127], "int8"),
        ([0, 2**64 - 1], "uint64"), ([0.5, 1.5], "float16"), ([0, 0.5], "float64"),
    ],
)  # fmt: skip
def test_labels(labels: list[Any], dtype: str) -> None:
    assert _labels(labels, dtype).tolist() == labels


@pytest.mark.parametrize(
    ("labels", "dtype", "message"),
    [
        (["a"], "str", "1 labels of 'str'"),
        ([1, 2], "int128", "2 labels of 'int128'"),
        ([1, "a"], "int64", r"codec\.classes\[1\] is not int"),
        ([True, False], "int64", r"codec\.classes\[0\] is not int"),
        ([0, 128], "int8", "not of dtype int8"),
        ([0.1, 0.2], "float32", "not distinct sorted labels"),
        (["b", "a"], "str", "not distinct sorted labels"),
        (["a", "a"], "str", "not distinct sorted labels"),
    ],
)
def test_labels_that_are_none(labels: list[Any], dtype: str, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        _labels(labels, dtype)


def test_text_labels_take_as_many_characters_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (contents._MOST_CHARACTERS, contents._MOST_STRETCHED) == (4 * 1024 * 1024, 8)
    monkeypatch.setattr(contents, "_MOST_CHARACTERS", 10)
    labels = [f"{k:02d}" for k in range(19)] + ["x" * 27]  # 20 × 27 = 540 ≤ 10 + 8 × 65 = 530
    with pytest.raises(ModelFileError, match="would take 540 characters"):
        _labels(labels, "str")
    monkeypatch.setattr(contents, "_MOST_CHARACTERS", 20)
    assert len(_labels(labels, "str")) == 20


class _Encoder:
    def __init__(self, n_features: int) -> None:
        self.n_features_out = n_features


def test_the_shape_of_samples() -> None:
    own = [{"factory": "f"}]
    assert _shape({"sample_shape": None}, _Encoder(3)) == (3,)  # type: ignore[arg-type]
    assert _shape({"sample_shape": None}, _Encoder(0)) == (1,)  # type: ignore[arg-type]
    assert _shape({"sample_shape": [2, 3], "groups": own}, _Encoder(6)) == (2, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "factory"),
    [([6], "f"), ([2, 2], "f"), ([-2, -3], "f"), ([], "f"), ([2, 3], None), ([1, 7], "f")],
)
def test_shapes_that_fit_nothing(shape: list[int], factory: str | None) -> None:
    model = {"sample_shape": shape, "groups": [{"factory": factory}]}
    with pytest.raises(ModelFileError, match="sample_shape"):
        _shape(model, _Encoder(6))  # type: ignore[arg-type]


def test_lambda_of_a_member_and_its_head() -> None:
    _check_member({"lam": None}, "linear")
    _check_member({"lam": 0.0}, "tikhonov")
    for lam, head in [(1.0, "linear"), (None, "tikhonov"), (-1.0, "tikhonov")]:
        with pytest.raises(ModelFileError, match=f"lam {lam} and a {head} head"):
            _check_member({"lam": lam}, head)


def test_tensors_of_a_group_are_not_those_of_another() -> None:
    tensors = {name: np.zeros(1) for name in ("groups.1.a", "groups.11.b", "x.groups.1.c")}
    assert list(_of_group(tensors, 1)) == ["a"]


class OfNets:
    """What a group of nets says of itself."""

    def __init__(self, factory: str | None) -> None:
        self.factory = factory

    @classmethod
    def read(cls, group: dict[str, Any], stored: Any, facts: Any) -> "OfNets":
        return cls(group["factory"])


def groups(monkeypatch: pytest.MonkeyPatch, seed: int, *factories: str | None) -> Any:
    monkeypatch.setattr(contents, "NetGroup", OfNets)
    monkeypatch.setattr(contents, "GROUPS", {"nets": OfNets})
    members = [{"group": g, "index": 0, "seed": seed, "lam": 1.0} for g, _ in enumerate(factories)]
    model = {
        "members": members, "blend": [], "head": {"kind": "tikhonov"},
        "groups": [{"kind": "nets", "factory": one} for one in factories],
    }  # fmt: skip
    return _groups(model, {}, (1,), 1)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_seeds_that_a_member_has(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    assert len(groups(monkeypatch, seed, None, None)) == 2


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_that_no_member_has(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    with pytest.raises(ModelFileError, match="group 0 has the seeds"):
        groups(monkeypatch, seed, None)


def test_nets_are_all_the_users_own_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(groups(monkeypatch, 1, "mine.net", "mine.net")) == 2
    with pytest.raises(ModelFileError, match="in part the user's own"):
        groups(monkeypatch, 1, "mine.net", None)


def test_a_blend_of_one_part_without_nets_is_a_model(ridge_file: Path) -> None:
    file = contents.read_model(ridge_file)
    assert (file.description["members"], len(file.parts), file.settings.scheme) == ([], 1, None)
    with pytest.raises(ModelFileError, match="it has no members"):
        _groups({"members": [], "blend": [], "groups": []}, {}, (1,), 1)


def test_a_refusal_names_the_file_and_keeps_its_kind() -> None:
    with pytest.raises(SignatureError, match=r"^Cannot load 'm\.adacap': wrong$"):
        with loading("m.adacap"):
            raise SignatureError("wrong")
