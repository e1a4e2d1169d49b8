"""What one reader of a model file refuses the others refuse, in the same words."""

import copy
import functools
import json
import random
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

from adacap import AdaCapClassifier, AdaCapRegressor, Architecture, lite, load
from adacap.estimators.blending import BUDGETS, Budget, weighing
from adacap.estimators.mlr_net import MLRNetRegressor
from adacap.exceptions import ModelFileError
from adacap.members.boosting import BoostingSettings
from adacap.members.kernel import KernelSettings
from adacap.modelfile.archive import FORMAT_VERSION
from adacap.modelfile.contents import read_model
from adacap.modelfile.groups import WRITERS
from adacap.modelfile.loading import ESTIMATORS
from adacap.modelfile.nets import GROUPS
from adacap.modelfile.schema import PARAMETERS

N = 30
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "gaps": np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N)),
        "colour": rng.choice(["red", "green", None], N),
        "city": rng.choice([f"city{i}" for i in range(15)], N),
        "price": [f"{k},5 €" for k in range(N)],
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "h"),
        "same": 1.0,
    }
)
Y = FRAME["gaps"].fillna(1.0) + rng.normal(size=N)
TINY = {"width": 4, "max_iter": 2, "random_state": 0}
MODELS: dict[str, Callable[[], Any]] = {
    "regressor": lambda: AdaCapRegressor(
        **TINY, n_estimators=2, architecture=[Architecture("glu", dropout=0.1), "mlp"]
    ).fit(FRAME, Y),
    "classifier": lambda: AdaCapClassifier(**TINY).fit(FRAME[["gaps", "city"]], np.arange(N) % 3),
    "blend": lambda: blend(),
    "MLR net": lambda: MLRNetRegressor(**TINY, depth=1).fit(FRAME[["gaps"]], Y),
}


def blend() -> Any:
    """A small blend of all kinds of members and encodings, each of which counts."""
    names = ["nets:bins", "kernel:rank", "boosting", "trees", "ridge"]
    model = AdaCapRegressor(**TINY, n_estimators=2, quality=names)
    cheap = Budget(KernelSettings(n_steps=3), BoostingSettings(n_trees=2, depth=2), n_trees=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "balanced", cheap)
        patch.setattr(weighing, "blend_weights", lambda r, w: np.full(len(r), 1 / len(r)))
        return model.fit(FRAME[["gaps"]], Y)


READERS: dict[str, Callable[[Path], Any]] = {
    "adacap.load": lambda path: load(path, device="cpu"),
    "adacap.lite.load": lite.load,
    "read_model": read_model,  # of `adacap inspect`
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, bytes]]:
    """Description and weights of a model, by its name."""

    @functools.cache
    def parts(name: str) -> tuple[Any, bytes]:
        path = tmp_path_factory.mktemp("saved") / "m.adacap"
        MODELS[name]().save(path)
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read("model.json")), archive.read("weights.safetensors")

    return parts


def write(path: Path, text: Any, weights: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", text if isinstance(text, bytes) else json.dumps(text))
        archive.writestr("weights.safetensors", weights)
    return path


def verdict(read: Callable[[Path], Any], path: Path) -> str:
    """Nothing for a file that is read, else the refusal; any other error is one of the test."""
    try:
        read(path)
    except ModelFileError as error:
        return str(error)
    return ""


def disagreement(path: Path) -> str:
    """What the readers say of a file where they do not say the same."""
    found = {name: verdict(read, path) for name, read in READERS.items()}
    return "" if len(set(found.values())) == 1 else f"{found}"


# ----------------------------------------------------------------------------- descriptions

DROP, MORE = object(), object()
WHOLE = ("columns", "parts", "groups", "blend")  # lists whose items differ in kind
ELSEWHERE = ("parameters", "architecture", 0, "name")  # of a backbone: a test of its own below
CHANGES = {
    "dropped": DROP,
    "with a key more": MORE,
    "null": None,
    "text": "text",
    "true": True,
    "negative": -1,
    "zero": 0,
    "huge": 10**299,
    "fraction": 0.5,
    "NaN": {"float": "nan"},
    "infinite": {"float": "inf"},
    "empty list": [],
    "list of a null": [None],
    "object": {"no": "such"},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value; of a long list, the first two are enough."""
    if path:
        yield path
    items = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        items = list(enumerate(value))[: None if path[-1] in WHOLE else 2]
    for key, item in items:
        yield from places(item, (*path, key))


def changed(model: Any, path: tuple[Any, ...], value: Any) -> Any:
    model = copy.deepcopy(model)
    place = functools.reduce(lambda item, key: item[key], path[:-1], model)
    if value is DROP:
        del place[path[-1]]
    elif value is MORE:
        if isinstance(place[path[-1]], dict):
            place[path[-1]]["more"] = 1
    else:
        place[path[-1]] = value
    return model


@pytest.mark.finding("L7", before="lite loaded 101 of 4,000 malformed files, load refused them")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of arithmetic on huge numbers
@pytest.mark.parametrize("source", MODELS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_description_has_one_verdict(
    change: str, source: str, saved: Any, tmp_path: Path
) -> None:
    model, weights = saved(source)
    told = {
        ".".join(map(str, path)): disagreement(write(tmp_path / "m.adacap", new, weights))
        for path in places(model)
        if path != ELSEWHERE and (new := changed(model, path, CHANGES[change])) != model
    }
    assert {path: text for path, text in told.items() if text} == {}


# ----------------------------------------------------------------------------------- tensors

Arrays = dict[str, Any]
TRICKS: dict[str, Callable[[Any], Any]] = {
    "float64": lambda a: a.astype(np.float64),
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "int64": lambda a: np.nan_to_num(a).astype(np.int64),
    "bool": lambda a: a.astype(bool),
    "NaN": lambda a: a * np.nan,
    "infinite": lambda a: a + np.inf,
    "negative": lambda a: -1 - abs(a),
    "zero": lambda a: a * 0,
    "one row more": lambda a: np.concatenate([a, a[-1:]]),
    "one row less": lambda a: a[1:],
    "empty": lambda a: a[:0],
    "flat": lambda a: a.ravel(),
    "one axis more": lambda a: a[None],
    "transposed": lambda a: a.T,
    "dropped": lambda a: None,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", MODELS)
@pytest.mark.parametrize("trick", TRICKS)
def test_a_changed_tensor_has_one_verdict(
    trick: str, source: str, saved: Any, tmp_path: Path
) -> None:
    model, weights = saved(source)
    told = {}
    for name, array in safetensors.numpy.load(weights).items():
        new = TRICKS[trick](array)
        arrays = {**safetensors.numpy.load(weights), name: new}
        if new is None:
            del arrays[name]
        else:
            arrays[name] = np.ascontiguousarray(new)
        file = write(tmp_path / "m.adacap", model, safetensors.numpy.save(arrays))
        told[name] = disagreement(file)
    assert {name: text for name, text in told.items() if text} == {}


HEADERS = {
    "empty": "{}",
    "a list": "[]",
    "no JSON": "{",
    "a name twice": '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
    '"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    "metadata": '{"__metadata__":{"a":"b"}}',
    "unknown type": '{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,8]}}',
    "a hole": '{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    "an overlap": '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
    '"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    "bytes left": '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    "beyond the end": '{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}',
    "a false size": '{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}',
    "a negative size": '{"a":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}}',
    "a size that is true": '{"a":{"dtype":"F64","shape":[true],"data_offsets":[0,8]}}',
    "a fraction": '{"a":{"dtype":"F64","shape":[1.0],"data_offsets":[0,8]}}',
    "a huge size": '{"a":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]}}',
    "a key more": '{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8],"more":1}}',
}


def test_a_changed_header_is_refused_by_all(saved: Any, tmp_path: Path) -> None:
    told = {}
    for name, header in HEADERS.items():
        weights = len(header).to_bytes(8, "little") + header.encode() + bytes(8)
        path = write(tmp_path / "m.adacap", saved("regressor")[0], weights)
        is_refused = bool(verdict(lite.load, path))
        told[name] = disagreement(path) if is_refused else "it is read"
    assert {name: text for name, text in told.items() if text} == {}


# ------------------------------------------------------------------------------------- files

TEXTS = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff",
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "NaN": b'{"format": NaN}',
    "too large a number": b'{"format": 1e999}',
    "too long a number": b'{"format": %s}' % (b"9" * 5000),
    "a name twice": b'{"format": 1, "format": 1}',
    "no version": b'{"format": "adacap-model"}',
    "an old version": b'{"format_version": 2}',
    "a later version": b'{"format_version": %d}' % (FORMAT_VERSION + 1),
    "a version that is true": b'{"format_version": true}',
}


def test_a_text_that_is_no_description_is_refused_by_all(saved: Any, tmp_path: Path) -> None:
    told = {}
    for name, text in TEXTS.items():
        path = write(tmp_path / "m.adacap", text, saved("regressor")[1])
        told[name] = disagreement(path) if verdict(load, path) else "it is read"
    assert {name: text for name, text in told.items() if text} == {}


def test_changed_bytes_have_one_verdict(saved: Any, tmp_path: Path) -> None:
    """Truncated, and single bytes changed: all over the file, and each of the zip's records."""
    path = write(tmp_path / "m.adacap", *saved("regressor"))
    content = path.read_bytes()
    directory = content.index(b"PK\x01\x02")
    draw = random.Random(0)
    spots = [*draw.sample(range(len(content)), 150), *range(60), *range(directory, len(content))]
    wrong = {f"cut at {spot}": content[:spot] for spot in spots}
    for spot in spots:
        flipped = content[spot] ^ draw.randrange(1, 256)
        wrong[f"changed at {spot}"] = content[:spot] + bytes([flipped]) + content[spot + 1 :]
    told, n_refused = {}, 0
    for name, new in wrong.items():
        path.write_bytes(new)
        told[name] = disagreement(path)
        n_refused += bool(verdict(lite.load, path))
    assert {name: text for name, text in told.items() if text} == {}
    assert n_refused > len(spots)  # those that are cut, and more


def zipped(path: Path, *parts: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", method) as archive:
        warnings.simplefilter("ignore", UserWarning)  # of a name twice
        for name, content in parts:
            archive.writestr(name, content)
    return path.read_bytes()


def at_entry(content: bytes, offset: int, new: bytes) -> bytes:
    """With bytes in the last entry of the directory replaced."""
    spot = content.rindex(b"PK\x01\x02") + offset
    return content[:spot] + new + content[spot + len(new) :]


def test_a_changed_zip_is_refused_by_all(saved: Any, tmp_path: Path) -> None:
    description, tensors = saved("regressor")
    text, weights = (
        ("model.json", json.dumps(description).encode()),
        ("weights.safetensors", tensors),
    )
    path = tmp_path / "m.adacap"
    good = zipped(path, text, weights)
    assert [verdict(read, path) for read in READERS.values()] == ["", "", ""]
    wrong = {
        "no parts": zipped(path),
        "no weights": zipped(path, text),
        "no description": zipped(path, weights),
        "a third part": zipped(path, text, weights, ("run.py", b"1/0")),
        "a part twice": zipped(path, text, weights, weights),
        "parts elsewhere": zipped(path, ("a/model.json", text[1]), weights),
        "a way out": zipped(path, ("../model.json", text[1]), weights),
        "parts exchanged": zipped(path, ("model.json", tensors), (weights[0], text[1])),
        "deflated": zipped(path, text, weights, method=zipfile.ZIP_DEFLATED),
        "LZMA": zipped(path, text, weights, method=zipfile.ZIP_LZMA),
        "encrypted": at_entry(good, 8, b"\x01"),
        "an unknown method": at_entry(good, 10, b"\x63\x00"),
        "another checksum": at_entry(good, 16, b"\0\0\0\0"),
        "packed to 4 GB": at_entry(good, 20, b"\xf0\xff\xff\xff"),
        "unpacks to 4 GB": at_entry(good, 24, b"\xf0\xff\xff\xff"),
        "an offset beyond the end": at_entry(good, 42, b"\xf0\xff\xff\x7f"),
        "an overlap": at_entry(good, 42, b"\0\0\0\0"),
        "bytes before": b"#!/bin/sh\n" + good,
        "no directory": good[: good.index(b"PK\x01\x02")],
        "a directory alone": good[good.index(b"PK\x01\x02") :],
    }  # fmt: skip
    told = {}
    for name, content in wrong.items():
        path.write_bytes(content)
        told[name] = disagreement(path) if verdict(lite.load, path) else "it is read"
    assert {name: text for name, text in told.items() if text} == {}


def test_what_only_the_machine_can_judge_is_no_fault_of_the_file(
    saved: Any, tmp_path: Path
) -> None:
    """A device, an optimiser of another torch: the model predicts; what needs them says so."""
    model, weights = saved("classifier")
    parameters = {**model["parameters"], "device": "abacus", "optimizer": "newest"}
    path = write(tmp_path / "m.adacap", {**model, "parameters": parameters}, weights)
    with pytest.raises(ModelFileError, match="its device is not usable here, pass device='cpu'"):
        load(path)
    again = load(path, device="cpu")
    rows = FRAME[["gaps", "city"]]
    assert (again.predict(rows) == lite.load(path).predict(rows)).all()
    with pytest.raises(ValueError, match="optimizer must be"):
        again.fit(rows, np.arange(N) % 3)


def test_a_backbone_that_is_registered_elsewhere_predicts_and_is_needed_to_train(
    saved: Any, tmp_path: Path
) -> None:
    model, weights = saved("regressor")
    path = write(tmp_path / "m.adacap", changed(model, ELSEWHERE, "theirs"), weights)
    light, full = lite.load(path), load(path)
    np.testing.assert_allclose(full.predict(FRAME), light.predict(FRAME), atol=1e-5)
    with pytest.raises(ValueError, match=r"architecture must be .*'theirs'"):
        full.fit(FRAME, np.arange(N))


def test_rows_that_a_plan_sends_to_infinity_are_refused_alike(saved: Any, tmp_path: Path) -> None:
    model, weights = saved("regressor")
    columns = model["encoder"]["columns"]
    j = [column["name"] for column in columns].index("city")
    means = ("encoder", "columns", j, "parts", 0, "means", 0, 3)
    path = write(tmp_path / "m.adacap", changed(model, means, 1e300), weights)
    for read in (load, lite.load):
        with pytest.raises(ValueError, match="column 'city' is infinity in float32"):
            read(path).predict(FRAME)


def test_readers_know_the_same_estimators_and_groups() -> None:
    assert {name: cls._constraints for name, cls in ESTIMATORS.items()} == PARAMETERS
    assert GROUPS.keys() == WRITERS.keys()
