"""What a file says of its blend must agree with its groups and its settings."""

import copy
import functools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adacap import AdaCapRegressor, load
from adacap.estimators.blending import weighing
from adacap.exceptions import ModelFileError
from adacap.modelfile.archive import read, read_tensors
from adacap.modelfile.contents import ModelFile

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
NAMES = ["nets:bins", "kernel:rank", "nets"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Any]:
    """Description and tensors of a blend of three members, two of them nets."""
    path = tmp_path_factory.mktemp("blend") / "m.adacap"
    model = AdaCapRegressor(quality=NAMES, n_estimators=2, width=4, max_iter=2, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighing, "blend_weights", lambda r, w: np.array([0.5, 0.3, 0.2]))
        model.fit(X, X[:, 0]).save(path)
    found = read(path)
    return found.text, read_tensors(found.weights)


def set_at(*way: Any) -> Callable[[Any], None]:
    """A change of one value: the way to it, then the value."""
    *path, key, value = way

    def change(model: Any) -> None:
        functools.reduce(lambda item, step: item[step], path, model)[key] = value

    return change


def swap(*way: Any) -> Callable[[Any], None]:
    """The first two items of a list change places."""

    def change(model: Any) -> None:
        items = functools.reduce(lambda item, step: item[step], way, model)
        items[0], items[1] = items[1], items[0]

    return change


def nets_first(model: Any) -> None:
    members = model["members"]
    members[:] = [*members[2:], *members[:2]]


CHANGES = {
    "a name of no member": (set_at("blend", 0, "name", "nets:bin"), "is not one of"),
    "another kind": (set_at("blend", 1, "name", "ridge"), "describe another blend"),
    "another weight": (set_at("blend", 0, "weight", 0.4), "its settings describe another blend"),
    "another error": (set_at("blend", 0, "error", 9.0), "its settings describe another blend"),
    "no group": (set_at("blend", 1, "groups", []), "blend are the groups"),
    "a group twice": (set_at("blend", 1, "groups", [1, 1]), "blend are the groups"),
    "a group of another": (set_at("blend", 1, "groups", [0]), "blend are the groups"),
    "groups in another order": (swap("blend"), "another blend"),
    "a negative factor": (set_at("blend", 0, "factor", -0.5), "nets:bins counts -0.5 times"),
    "no finite factor": (set_at("blend", 0, "factor", {"float": "inf"}), "counts inf times"),
    "no blend": (set_at("blend", []), "another blend"),
    "nets in another order": (nets_first, "its nets do not stand in the order"),
    "no readings": (set_at("readings", None), "its readings are not those of a blend"),
    "a negative λ": (set_at("readings", "lambda_", -1.0), "its readings are below 0"),
    "a negative iteration": (set_at("readings", "best_iter", -1), "its readings are below 0"),
    "too few readings": (set_at("readings", "studied", []), "capacity.members is float64"),
    "more folds": (set_at("settings", "n_estimators", 3), "2 models for 3 folds"),
    "no folds": (set_at("settings", "n_estimators", 0), "2 models for 0 folds"),
    "no encoding": (set_at("groups", 0, "encoding", None), "tensor"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_blend_that_contradicts_itself(name: str, parts: Any) -> None:
    text, tensors = parts
    model = json.loads(text)
    change, message = CHANGES[name]
    change(model)
    with pytest.raises(ModelFileError, match=message):
        ModelFile.of(json.dumps(model).encode(), tensors)


@pytest.mark.parametrize("weight", [-0.5, {"float": "nan"}, {"float": "inf"}])
def test_weights_are_finite_and_not_negative(weight: Any, parts: Any) -> None:
    text, tensors = parts
    model = json.loads(text)
    model["blend"][0]["weight"] = weight
    model["settings"]["blend"][0]["weight"] = weight
    with pytest.raises(ModelFileError, match=r"of its blend has the numbers|another blend"):
        ModelFile.of(json.dumps(model).encode(), tensors)


def test_names_and_groups_must_be_of_one_kind(parts: Any) -> None:
    text, tensors = parts
    for old, new in (
        ("kernel:rank", "ridge:rank"),
        ("kernel:rank", "kernel"),
        ("nets", "boosting"),
    ):
        model = copy.deepcopy(json.loads(text))
        for one in (*model["blend"], *model["settings"]["blend"]):
            one["name"] = new if one["name"] == old else one["name"]
        model["settings"]["members"] = [
            new if n == old else n for n in model["settings"]["members"]
        ]
        with pytest.raises(
            ModelFileError, match=f"the groups of member {new} do not make such a member"
        ):
            ModelFile.of(json.dumps(model).encode(), tensors)


def test_the_file_as_it_is_can_be_read(parts: Any, tmp_path: Path) -> None:
    text, tensors = parts
    file = ModelFile.of(text, tensors)
    assert [part.name for part in file.parts] == NAMES
    assert [part.groups for part in file.parts] == [(0,), (1,), (2,)]


def test_files_hold_no_pickle(parts: Any, tmp_path: Path) -> None:
    model = AdaCapRegressor(quality="fast", random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "m.adacap")
    with zipfile.ZipFile(tmp_path / "m.adacap") as archive:
        assert sorted(archive.namelist()) == ["model.json", "weights.safetensors"]
    assert load(tmp_path / "m.adacap").members_ == ()
