"""A file that is no whole model is refused by one error, before anything is predicted."""

import copy
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, lite
from adacap.exceptions import ModelFileError
from adacap.modelfile.archive import FORMAT_VERSION

TINY = {"width": 8, "max_iter": 3, "random_state": 0}
X = np.random.default_rng(0).normal(size=(30, 3))
MIXED = [[row[0], "abc"[i % 3], row[1]] for i, row in enumerate(X.tolist())]


def own_rows(d_in: int) -> nn.Module:
    return nn.Sequential(nn.Linear(d_in, 8), nn.Tanh())


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> tuple[dict[str, Any], bytes]:
    """Description and weights of a small model of two members."""
    path = tmp_path_factory.mktemp("model") / "m.adacap"
    AdaCapRegressor(**TINY, n_estimators=2).fit(MIXED, X[:, 0]).save(path)
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json")), archive.read("weights.safetensors")


@pytest.fixture(scope="module")
def class_parts(tmp_path_factory) -> tuple[dict[str, Any], bytes]:
    path = tmp_path_factory.mktemp("classes") / "m.adacap"
    AdaCapClassifier(**TINY).fit(X, X[:, 0] > 0).save(path)
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json")), archive.read("weights.safetensors")


def write(path: Path, model: Any, weights: bytes, **more: bytes) -> Path:
    text = model if isinstance(model, bytes) else json.dumps(model).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", text)
        archive.writestr("weights.safetensors", weights)
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def split(weights: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack_from("<Q", weights)
    return json.loads(weights[8 : 8 + length]), weights[8 + length :]


def join(header: Any, numbers: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def test_the_untouched_parts_load(parts, tmp_path):
    light = lite.load(write(tmp_path / "m", *parts))
    assert light.predict(MIXED).shape == (30,)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        lite.load(tmp_path / "absent")


def test_no_zip(tmp_path):
    path = tmp_path / "m.adacap"
    path.write_bytes(b"price,size\n1,2\n")
    with pytest.raises(ModelFileError, match=r"Cannot load '.*m\.adacap': it does not begin as a"):
        lite.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_cut_short(parts, tmp_path, share):
    path = write(tmp_path / "m", *parts)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ModelFileError, match="the zip file is damaged"):
        lite.load(path)


def test_a_third_part(parts, tmp_path):
    with pytest.raises(ModelFileError, match="its parts are"):
        lite.load(write(tmp_path / "m", *parts, code=b"import os"))


def test_compressed(parts, tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(parts[0]))
        archive.writestr("weights.safetensors", parts[1])
    with pytest.raises(ModelFileError, match="is compressed or gives a false size"):
        lite.load(path)


@pytest.mark.parametrize("text", [b"{", b"[1]", b"{}", b"\xff", b"[" * 100_000])
def test_no_description(parts, tmp_path, text):
    with pytest.raises(ModelFileError, match=r"model\.json"):
        lite.load(write(tmp_path / "m", text, parts[1]))


def test_a_later_version(parts, tmp_path):
    model = parts[0] | {"format_version": FORMAT_VERSION + 1}
    with pytest.raises(
        ModelFileError, match=rf"it has format_version {FORMAT_VERSION + 1}, and adacap .* Upgrade"
    ):
        lite.load(write(tmp_path / "m", model, parts[1]))


def test_a_backbone_of_the_users_own(tmp_path):
    path = tmp_path / "m.adacap"
    AdaCapRegressor(**TINY, architecture=own_rows).fit(X, X[:, 0]).save(path)
    with pytest.raises(ValueError, match=r"needs torch. Use adacap.load\(path, architecture=own"):
        lite.load(path)


def test_a_codec_that_holds_more_is_refused(parts, class_parts, tmp_path):
    """What a later version might do to predictions must not be passed over."""
    for model, weights in (parts, class_parts):
        model = copy.deepcopy(model)
        model["codec"]["offset"] = 2.0
        with pytest.raises(ModelFileError, match="codec is not an object of"):
            lite.load(write(tmp_path / "m", model, weights))


def test_an_unknown_part_of_a_plan(parts, tmp_path):
    model = copy.deepcopy(parts[0])
    model["encoder"]["columns"][0]["parts"][0]["part"] = "Wavelet"
    with pytest.raises(ModelFileError, match=r"encoder.columns\[0\].parts\[0\] is not .*Words"):
        lite.load(write(tmp_path / "m", model, parts[1]))


def test_a_plan_that_contradicts_itself(parts, tmp_path):
    model = copy.deepcopy(parts[0])
    model["encoder"]["columns"][1]["center"].append(0.0)
    with pytest.raises(ModelFileError, match="the plan of column 'x1' contradicts itself"):
        lite.load(write(tmp_path / "m", model, parts[1]))


def test_a_layout_that_is_no_order_of_the_columns(parts, tmp_path):
    model = copy.deepcopy(parts[0])
    model["encoder"]["layout"][0] = model["encoder"]["layout"][1]
    with pytest.raises(
        ModelFileError, match=r"encoder\.layout is not an order of encoder\.columns"
    ):
        lite.load(write(tmp_path / "m", model, parts[1]))


def test_another_backbone_than_the_saved_one(parts, tmp_path):
    layers = parts[0]["groups"][0]["layers"]
    for other in (layers[:2], layers + layers[-2:], [{"kind": "Attention"}], layers[1:], [], None):
        model = copy.deepcopy(parts[0])
        model["groups"][0]["layers"] = other
        with pytest.raises(
            ModelFileError, match=r"different features|no tensor|malformed|contradicts|not float32"
        ):
            lite.load(write(tmp_path / "m", model, parts[1]))


def test_changed_weights_are_noticed(parts, tmp_path):
    header, numbers = split(parts[1])
    start, end = header["groups.0.backbone.0.bias"]["data_offsets"]
    other = numbers[:start] + np.full((end - start) // 4, 9.0, "<f4").tobytes() + numbers[end:]
    with pytest.raises(ModelFileError, match="computes different features from the saved one"):
        lite.load(write(tmp_path / "m", parts[0], join(header, other)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda header: header.pop("groups.0.output.bias"),
        lambda header: header.pop("groups.0.probe"),
        lambda header: header["groups.0.probe"].update(dtype="F8"),
        lambda header: header["groups.0.probe"].update(shape=[9]),
        lambda header: header["groups.0.probe"].update(shape=[-8]),
        lambda header: header["groups.0.probe"].update(data_offsets=[0, 2**60]),
        lambda header: header["groups.0.probe"].update(data_offsets=["a", "b"]),
        lambda header: header.update({"groups.0.probe": 3}),
    ],
)
def test_a_spoiled_header(parts, tmp_path, spoil):
    header, numbers = split(parts[1])
    spoil(header)
    with pytest.raises(ModelFileError, match=r"damaged|malformed|one after another|not where"):
        lite.load(write(tmp_path / "m", parts[0], join(header, numbers)))


def test_a_header_longer_than_the_file(parts, tmp_path):
    weights = struct.pack("<Q", 2**40) + parts[1][8:]
    with pytest.raises(ModelFileError, match="gives a false size of its header"):
        lite.load(write(tmp_path / "m", parts[0], weights))


def leaves(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of all values, containers included."""
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [place, *(leaf for key, part in inside for leaf in leaves(part, (*place, key)))]


def places(model: dict[str, Any]) -> list[tuple[Any, ...]]:
    """All that predictions depend on, and ``members`` for its length."""
    parts = [
        (part, *leaf) for part in ("encoder", "codec", "groups") for leaf in leaves(model[part])
    ]
    return [*parts, ("members",)]


@pytest.mark.parametrize("wrong", [None, "text", -1, [], {}], ids=str)
def test_a_wrong_value_anywhere(parts, tmp_path, wrong):
    """Either the model still predicts, or the file is refused, by an error that says so."""
    refused = []
    for place in places(parts[0]):
        model = copy.deepcopy(parts[0])
        target = model
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = wrong
        path = write(tmp_path / "m", model, parts[1])
        if place == ("groups", 0, "factory") and wrong is not None:
            continue  # a backbone of the user's own: tested above
        try:
            light = lite.load(path)
        except ModelFileError:
            refused.append(place)
        else:
            light.predict(MIXED)
    assert {("encoder",), ("codec",), ("groups",), ("members",)} <= set(refused)


def test_labels_of_another_type(class_parts, tmp_path):
    for codec in (
        {"dtype": "int8", "classes": [1, 300]},
        {"dtype": "datetime64[s]", "classes": [1, 2]},
        {"dtype": "bool", "classes": [True]},
        {"dtype": "str", "classes": ["a", "b", "c"]},
        {"temperature": 0.0},
        {"temperature": "hot"},
    ):
        model = class_parts[0] | {"codec": class_parts[0]["codec"] | codec}
        with pytest.raises(ModelFileError, match=r"codec|malformed|outputs"):
            lite.load(write(tmp_path / "m", model, class_parts[1]))
