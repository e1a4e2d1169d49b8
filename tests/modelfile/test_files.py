"""Model files: what is saved comes back to the bit, what is malformed is refused by one error."""

import copy
import functools
import json
import math
import os
import pickle
import random
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor, Architecture, load
from adacap.architectures import BACKBONES, _options_of
from adacap.exceptions import ModelFileError, OutputExistsError
from adacap.modelfile.loading import _member
from adacap.nn import ConvNet
from adacap.training.callbacks import Callback

TINY = {"width": 16, "max_iter": 10, "random_state": 0}
N = 40
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=N)
SIDES = np.where(Y > 0, "over", "under")
THIRDS = np.digitize(Y, [-1.0, 1.0])
IMAGES = rng.normal(size=(N, 1, 8, 8)).astype(np.float32)
FRAME = pd.DataFrame(
    {
        "size": Y + rng.normal(size=N),
        "gaps": np.where(rng.random(N) < 0.3, np.nan, rng.lognormal(size=N)),
        "rooms": rng.integers(1, 5, N),
        "sold": rng.random(N) < 0.5,
        "colour": rng.choice(["red", "green", "blue", None], N),
        "pair": rng.choice(["nan", "inf"], N),
        "city": rng.choice([f"city{i}" for i in range(20)], N),
        "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "h"),
        "same": 1.0,
    }
)


class OwnNet(nn.Module):
    """Convolutions, a lazy layer, a tied weight and a buffer that no state_dict has."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.conv = nn.Conv2d(shape[0], 2, 3)
        self.wide = nn.LazyLinear(8)
        self.square = nn.Linear(8, 8, bias=False)
        self.again = nn.Linear(8, 8, bias=False)
        self.again.weight = self.square.weight
        self.register_buffer("mask", torch.rand(8), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = torch.relu(self.wide(self.conv(x).flatten(1))) * self.mask
        return torch.relu(self.again(torch.relu(self.square(hidden))))


small_conv = functools.partial(ConvNet, channels=(2, 4), width=8)


def own_rows(d_in: int) -> nn.Module:
    return nn.Sequential(nn.Linear(d_in, 16), nn.Tanh())


def regressor(**options: Any) -> AdaCapRegressor:
    return AdaCapRegressor(**{**TINY, **options})


def classifier(**options: Any) -> AdaCapClassifier:
    return AdaCapClassifier(**{**TINY, **options})


def normed(name: str) -> Architecture:
    """A backbone with batch normalisation, if it can have that."""
    return Architecture(name, **({"batch_norm": True} if "batch_norm" in _options_of(name) else {}))


CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "regression": lambda: (regressor().fit(X, Y), X),
    "tikhonov": lambda: (regressor(scheme="tikhonov").fit(X, Y), X),
    "plain": lambda: (regressor(scheme="plain").fit(X, Y), X),
    "two targets": lambda: (regressor().fit(X, np.column_stack([Y, -Y])), X),
    "one column": lambda: (regressor().fit(X, Y[:, None]), X),
    "seeds": lambda: (regressor(n_estimators=3).fit(X, Y), X),
    "folds": lambda: (regressor(n_estimators=3, validation="folds").fit(X, Y), X),
    "plain ensemble": lambda: (regressor(scheme="plain", n_estimators=2).fit(X, Y), X),
    "no validation": lambda: (regressor(validation=0.0).fit(X, Y), X),
    "numbers": lambda: (
        regressor(lambda_init=[0.1, np.float32(1.0)], time_limit=math.inf).fit(X, Y),
        X,
    ),
    "wide seed": lambda: (regressor(random_state=2**100).fit(X, Y), X),
    "constant": lambda: (regressor().fit(np.ones((N, 2)), Y), np.ones((3, 2))),
    "frame": lambda: (regressor().fit(FRAME, Y), FRAME),
    "frame, two targets": lambda: (regressor().fit(FRAME, np.column_stack([Y, -Y])), FRAME),
    "frame, paper": lambda: (regressor(preprocessing="paper").fit(FRAME, Y), FRAME),
    "make": lambda: (adacap.make("adacap-fast-snn", **TINY).fit(X, Y), X),
    "none": lambda: (regressor(preprocessing="none").fit(X, Y), X),
    "binary": lambda: (classifier().fit(X, (Y > 0).astype(np.int8)), X),
    "binary adacap": lambda: (classifier(scheme="adacap").fit(X, Y > 0), X),
    "multiclass": lambda: (classifier().fit(X, THIRDS), X),
    "multiclass tikhonov": lambda: (classifier(scheme="tikhonov").fit(FRAME, THIRDS), FRAME),
    "float labels": lambda: (classifier().fit(X, THIRDS.astype(np.float32)), X),
    "text labels": lambda: (classifier().fit(X, SIDES), X),
    "object labels": lambda: (classifier().fit(X, pd.Series(SIDES, dtype=object)), X),
    "class ensemble": lambda: (
        classifier(n_estimators=2, architecture="mlp").fit(X, np.array(["a", "b", "ç"])[THIRDS]),
        X,
    ),
    **{
        f"{name} {scheme}": lambda name=name, scheme=scheme: (
            regressor(architecture=normed(name), scheme=scheme, depth=1).fit(X, Y),
            X,
        )
        for name in BACKBONES
        for scheme in ("adacap", "plain")
    },
}
OWN_CASES: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "rows": lambda: (regressor(architecture=own_rows).fit(X, Y), X, own_rows),
    "rows, ensemble": lambda: (
        regressor(architecture=own_rows, n_estimators=2).fit(X, Y),
        X,
        own_rows,
    ),
    "images": lambda: (
        classifier(architecture=small_conv, preprocessing="none").fit(IMAGES, THIRDS),
        IMAGES,
        small_conv,
    ),
    "lazy": lambda: (
        regressor(architecture=OwnNet, preprocessing="none", n_estimators=1).fit(IMAGES, Y),
        IMAGES,
        OwnNet,
    ),
}


def assert_same(a: Any, b: Any, new: Any) -> None:
    """Equal to the bit in all that an estimator answers."""
    np.testing.assert_array_equal(a.predict(new), b.predict(new), strict=True)
    if hasattr(a, "predict_proba"):
        np.testing.assert_array_equal(a.predict_proba(new), b.predict_proba(new), strict=True)
        np.testing.assert_array_equal(a.classes_, b.classes_)
        assert a.classes_.dtype.kind == b.classes_.dtype.kind
    for name in ("lambda_", "effective_dof_", "n_iter_", "best_iter_", "n_features_in_", "seeds_",
                 "scheme_", "sample_shape_", "backbone_"):  # fmt: skip
        assert getattr(a, name) == getattr(b, name), name
    assert vars(a).keys() == vars(b).keys()


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_is_the_saved_one(case: str, tmp_path: Path) -> None:
    model, new = CASES[case]()
    assert model.save(tmp_path / "m.adacap") is None
    again = load(str(tmp_path / "m.adacap"))
    assert_same(model, again, new)
    parameters = model.get_params()
    if isinstance(parameters["lambda_init"], list):
        parameters["lambda_init"] = tuple(parameters["lambda_init"])
    assert again.get_params() == parameters
    again.save(tmp_path / "again.adacap")
    assert (tmp_path / "again.adacap").read_bytes() == (tmp_path / "m.adacap").read_bytes()


@pytest.mark.parametrize("case", OWN_CASES)
def test_an_own_backbone_comes_back(case: str, tmp_path: Path) -> None:
    model, new, factory = OWN_CASES[case]()
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap", architecture=factory)
    assert_same(model, again, new)
    assert again.architecture is factory


@pytest.mark.parametrize("case", ["seeds", "frame", "class ensemble", "images"])
@pytest.mark.parametrize("copy_of", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_pickle_and_deepcopy(case: str, copy_of: Callable[[Any], Any]) -> None:
    model, new, *_ = (CASES | OWN_CASES)[case]()
    assert_same(model, copy_of(model), new)


@pytest.mark.parametrize("case", ["seeds", "rows"])
def test_clone_of_a_fitted_model(case: str) -> None:
    model, *_ = (CASES | OWN_CASES)[case]()
    again = clone(model)
    assert not hasattr(again, "members_")
    assert again.get_params() == model.get_params()


# ----------------------------------------------------------------- what a model goes on with


@pytest.mark.parametrize(
    "options", [{}, {"n_estimators": 2}, {"scheme": "plain"}, {"architecture": own_rows}]
)
def test_warm_start_goes_on(options: dict[str, Any], tmp_path: Path) -> None:
    path, factory = tmp_path / "m.adacap", options.get("architecture")
    model = regressor(warm_start=True, **options).fit(X, Y)
    model.save(path)
    for _ in range(2):
        again = load(path, architecture=factory)
        model.fit(X, Y)
        again.fit(X, Y)
        assert_same(model, again, X)
        again.save(path, force=True)
    assert len(load(path, architecture=factory).history_) == 30


def test_parameters_changed_after_fit_do_not_matter(tmp_path: Path) -> None:
    model = regressor(architecture="mlp").fit(X, Y)
    model.set_params(architecture="glu", width=3, depth=1, scheme="plain", fit_intercept=False)
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    assert_same(model, again, X)
    assert again.get_params() == model.get_params()
    assert again.members_[0].group.nets.head.fit_intercept


@pytest.mark.usefixtures("global_state_untouched")
def test_no_global_generator_moves(tmp_path: Path) -> None:
    model, _, factory = OWN_CASES["lazy"]()
    model.save(tmp_path / "m.adacap")
    load(tmp_path / "m.adacap", architecture=factory)


def test_no_pickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, new = CASES["frame"]()

    def fail(*args: object, **options: object) -> None:
        raise AssertionError("a model file must not need pickle")

    for module, names in ((pickle, ("dump", "dumps", "load", "loads", "Pickler", "Unpickler")),
                          (torch, ("load", "save"))):  # fmt: skip
        for name in names:
            monkeypatch.setattr(module, name, fail)
    model.save(tmp_path / "m.adacap")
    assert_same(model, load(tmp_path / "m.adacap"), new)


def test_a_changed_parameter_that_is_no_plain_data_is_named(tmp_path: Path) -> None:
    model = regressor(
        optimizer=torch.optim.SGD, callbacks=[Callback()], random_state=np.random.default_rng(0),
        n_estimators=1,
    ).fit(X, Y)  # fmt: skip
    lost = ["callbacks", "optimizer", "random_state"]
    with pytest.warns(UserWarning, match=f"not stored in the .*: {', '.join(lost)}. The") as seen:
        model.save(tmp_path / "m.adacap")
    assert seen[0].filename == __file__
    again = load(tmp_path / "m.adacap")
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert (again.optimizer, again.callbacks, again.random_state) == ("adamw", None, None)
    assert parts(tmp_path / "m.adacap")[0]["not_stored"] == lost


# -------------------------------------------------------------------------- save as a command


def test_save_needs_a_fitted_model(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        regressor().save(tmp_path / "m.adacap")
    assert list(tmp_path.iterdir()) == []


def test_save_refuses_a_class_it_cannot_name(tmp_path: Path) -> None:
    class Mine(AdaCapRegressor):
        pass

    with pytest.raises(TypeError, match="Only AdaCapRegressor, AdaCapClassifier, MLRN"):
        Mine(**TINY).fit(X, Y).save(tmp_path / "m.adacap")


@pytest.mark.parametrize("wrong", [{"width": -1}, {"fit_intercept": "yes"}, {"depth": 2.5}])
def test_save_refuses_what_load_would(wrong: dict[str, Any], saved: Path, tmp_path: Path) -> None:
    model = load(saved).set_params(**wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        model.save(tmp_path / "m.adacap")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_save_leaves_the_old_file(
    step: str, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.adacap"
    path.write_bytes(b"old")

    def fail(*args: object) -> None:
        raise OSError("disk full")

    model = load(saved)
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="disk full"):
            model.save(path, force=True)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["m.adacap"]
    model.save(path, force=True)
    assert path.read_bytes() == saved.read_bytes()


def test_save_replaces_what_a_link_points_to(saved: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "m.adacap", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with pytest.raises(OutputExistsError, match="link exists"):
        load(saved).save(link)
    load(saved).save(link, force=True)
    assert link.is_symlink()
    assert target.read_bytes() == saved.read_bytes()


# ------------------------------------------------------------------------ arguments of load


def test_a_missing_file_stays_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.adacap")


def test_device(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(saved).device is None
    assert load(saved, device="cpu").device == "cpu"
    with monkeypatch.context() as elsewhere:  # as if saved where this device can be used
        elsewhere.setattr("adacap.modelfile.saving.check_parameters", lambda model: None)
        load(saved).set_params(device="meta").save(tmp_path / "m.adacap")
    with pytest.raises(ModelFileError, match="device is not usable here, pass device='cpu'"):
        load(tmp_path / "m.adacap")
    assert_same(load(saved), load(tmp_path / "m.adacap", device="cpu"), X)


def test_an_own_backbone_is_asked_for(saved_own: Path) -> None:
    with pytest.raises(
        ValueError, match=r"built by '.*own_rows'.*architecture=own_rows\)"
    ) as error:
        load(saved_own)
    assert not isinstance(error.value, ModelFileError)


def test_a_backbone_that_is_known_is_not_asked_for(saved: Path) -> None:
    with pytest.raises(ValueError, match="has the backbone 'glu', which load builds itself"):
        load(saved, architecture=own_rows)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda d: nn.Sequential(nn.Linear(d, 8), nn.Tanh()), r"backbone\.0\.weight is \(\(5, 16,"),
        (lambda d: nn.Sequential(nn.Linear(d, 16, bias=False)), r"has no tensor backbone\.0\.b"),
        (lambda d: nn.Sequential(own_rows(d), nn.Linear(16, 16)), "file has no tensor backbone"),
        (lambda d: nn.Sequential(nn.Linear(d, 16), nn.ReLU()), "computes different features"),
        (lambda d: nn.Sequential(nn.Linear(d, 16), nn.Unflatten(1, (4, 4))), "fails on a row"),
        (lambda d: 1 / 0, r"to build a network for \(3,\) \(ZeroDivisionError"),
        (lambda d: d, "fails to build a network"),
    ],
)  # fmt: skip
def test_a_factory_that_does_not_fit(
    factory: Callable[[int], Any], message: str, saved_own: Path
) -> None:
    with pytest.raises(ModelFileError, match=message):
        load(saved_own, architecture=factory)


# ------------------------------------------------------------------------- malformed files


def saved_model(name: str, make: Callable[[], Any]) -> Any:
    """Fixture of the file of a fitted model."""

    @pytest.fixture(scope="module", name=name)
    def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp(name) / "m.adacap"
        make().save(path)
        return path

    return saved


SMALL = {"width": 4, "depth": 1, "max_iter": 2}
_saved = saved_model("saved", lambda: regressor(**SMALL).fit(X, Y))
_frame = saved_model(
    "saved_frame", lambda: regressor(**SMALL).fit(FRAME, Y)
)  # every kind of column
_classes = saved_model("saved_classes", lambda: classifier(**SMALL).fit(X, THIRDS))
_own = saved_model("saved_own", lambda: regressor(architecture=own_rows, max_iter=2).fit(X, Y))
_images = saved_model(
    "saved_images",
    lambda: regressor(architecture=small_conv, preprocessing="none", max_iter=2).fit(IMAGES, Y),
)


def parts(path: Path) -> tuple[Any, bytes]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json")), archive.read("weights.safetensors")


def write(path: Path, text: Any, weights: bytes, *extra: tuple[str, bytes], **options: Any) -> Path:
    """A zip with right checksums, whatever it holds."""
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", **options) as archive:
        warnings.simplefilter("ignore")  # of zipfile, about names given twice
        for name, content in (("model.json", text), ("weights.safetensors", weights), *extra):
            archive.writestr(name, content)
    return path


def loads_or_refuses(path: Path, **options: Any) -> Any:
    """Loaded model, or None if it was refused by the one error there is."""
    try:
        return load(path, **options)
    except ModelFileError:
        return None


def test_the_file_is_two_stored_parts(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        assert archive.namelist() == ["model.json", "weights.safetensors"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    model, weights = parts(saved)
    assert (model["format"], model["format_version"]) == ("adacap-model", 5)
    assert model["adacap_version"] == adacap.__version__
    assert "groups.0.head.log_lambda" in safetensors.torch.load(weights)


def test_truncation_is_refused(saved: Path, tmp_path: Path) -> None:
    content, path = saved.read_bytes(), tmp_path / "m.adacap"
    for size in {*range(0, len(content), 23), *range(len(content) - 300, len(content))}:
        path.write_bytes(content[:size])
        assert loads_or_refuses(path) is None, size


def test_flipped_bytes_change_nothing_or_are_refused(
    saved: Path, tmp_path: Path, seed: int
) -> None:
    content, path = saved.read_bytes(), tmp_path / "m.adacap"
    draw = random.Random(seed)
    expected = load(saved).predict(X)
    everywhere = draw.sample(range(len(content)), 300)
    for at in [*everywhere, *range(60), *range(len(content) - 200, len(content))]:
        flipped = bytearray(content)
        flipped[at] ^= draw.randrange(1, 256)
        path.write_bytes(flipped)
        model = loads_or_refuses(path)
        if model is not None:
            np.testing.assert_array_equal(model.predict(X), expected)


def test_flipped_bytes_behind_right_checksums(saved_frame: Path, tmp_path: Path, seed: int) -> None:
    """The zip is sound, its parts are not: no error but one, whatever they decode to."""
    model, weights = parts(saved_frame)
    text = json.dumps(model).encode()
    draw = random.Random(seed)
    (header,) = np.frombuffer(weights[:8], dtype="<u8")
    for _ in range(300):
        broken, damaged = bytearray(text), bytearray(weights)
        broken[draw.randrange(len(text))] ^= draw.randrange(1, 256)
        damaged[draw.randrange(8 + int(header))] ^= draw.randrange(1, 256)
        for pair in ((broken, weights), (text, damaged)):
            loads_or_refuses(write(tmp_path / "m.adacap", *map(bytes, pair)))


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value in a description, with the way to it; of a list, the first two are enough."""
    if path:
        yield path, value
    items = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        items = list(enumerate(value))[: 2 if len(value) > 20 or path[-1] != "columns" else None]
    for key, item in items:
        yield from nodes(item, (*path, key))


DROP = object()
MAY_BE_NULL = {
    "depth", "time_limit", "device", "calibration_fraction", "select_by", "class_weight",
    "random_state", "callbacks", "names", "sample_shape", "effective_dof", "clip", "levels",
    "reading",
    "scheduler", "target_transform",
}  # fmt: skip
SOURCES = ("saved_frame", "saved_classes", "saved_own", "saved_images")
FACTORIES = {"saved_own": own_rows, "saved_images": small_conv}


def changed(model: Any, path: tuple[Any, ...], value: Any) -> Any:
    model = copy.deepcopy(model)
    place = functools.reduce(lambda item, key: item[key], path[:-1], model)
    if value is DROP:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return model


@pytest.mark.parametrize("source", SOURCES)
def test_a_description_with_a_wrong_value(
    source: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model, weights = parts(request.getfixturevalue(source))
    architecture = FACTORIES.get(source)

    def outcome(path: tuple[Any, ...], value: Any) -> Any:
        file = write(tmp_path / "m.adacap", changed(model, path, value), weights)
        return loads_or_refuses(file, architecture=architecture)

    for path, value in nodes(model):
        is_free = "history" in path  # records may hold any numbers
        if isinstance(path[-1], str) and not is_free:
            assert outcome(path, DROP) is None, path
        if value is not None and not MAY_BE_NULL & set(path):
            assert outcome(path, None) is None, path
        wrong: Any = [] if isinstance(value, str | bool) else "text"
        if value is None:
            wrong = {"no": "such"}
        if path[-2:-1] != ("levels",) and path[-1] not in ("name", "random_state"):
            assert outcome(path, wrong) is None, path
        if type(value) in (int, float):
            for number in (-1, 10**299, 1e300):
                outcome(path, number)
        for anything in (None, [], {"float": "nan"}, {"float": "no"}):
            outcome(path, anything)


@pytest.mark.parametrize("source", ["saved", "saved_own"])
def test_a_key_too_many(source: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    model, weights = parts(request.getfixturevalue(source))
    for path, value in [((), model), *nodes(model)]:
        if isinstance(value, dict) and "history" not in path:
            file = write(tmp_path / "m.adacap", changed(model, (*path, "more"), 1), weights)
            assert loads_or_refuses(file, architecture=FACTORIES.get(source)) is None, path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "model.json is not an object"),
        (b"3", "model.json is not an object"),
        (b'{"format": NaN}', "model.json holds NaN"),
        (b'{"format": -Infinity}', "model.json holds -Infinity"),
        (b'{"format": 1e999}', "holds 1e999, too large a number"),
        (b'{"format": %s}' % (b"9" * 5000), "an integer of 5000 digits"),
        (b'{"format": 1, "format": 1}', "gives a name twice"),
        (b'{"format_version": 9}', r"format_version 9, and adacap .* reads 4 to 5\. Upgrade: pip"),
        (b'{"format_version": 2}', r"reads 4 to 5\. Adacap .* commit \w+, reads it\. Or fit the"),
        (b'{"format_version": true}', "model.json is not an object of"),
        (b" " * (64 * 2**20 + 1), "more than 67108864"),
    ],
)
def test_text_that_is_no_description(
    text: bytes, message: str, saved: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match=message):
        load(write(tmp_path / "m.adacap", text, parts(saved)[1]))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "zip", "model.json.format is not one of adacap-model: 'zip'"),
        (("estimator",), "Mine", "MLRNetClassifier, MLRNetRegressor: 'Mine'"),
        (("parameters", "width"), 2.5, "width must be 'auto' or an integer of at least 1, got 2.5"),
        (
            ("parameters", "width"),
            0,
            "parameter is invalid .*width must be .* an integer of at least",
        ),
        (("parameters", "refit"), "no", "parameter is invalid .*refit must be .*, got 'no'"),
        (("not_stored",), ["width"], "its parameters are not those of AdaCapRegressor"),
        (("sample_shape",), [3, 1], r"sample_shape \[3, 1\] fits nothing else"),
        (("members",), [], "no members"),
        (("members", 0, "lam"), -1.0, "lam -1.0 and a tikhonov head"),
        (("members", 0, "lam"), None, "lam None and a tikhonov head"),
        (("members", 0, "seed"), -1, r"the seeds \[-1, "),
        (("members", 0, "index"), 1, "members of group 0 are not numbered from 0"),
        (("members", 0, "group"), 1, "members of group 0 are not numbered from 0"),
        (("head", "kind"), "linear", r"the file has no tensor head\.weight"),
        (("groups",), [], "a member belongs to no group"),
        (
            ("groups", 0, "layers", 0, "d_in"),
            10**12,
            r"backbone\.0\.weight is float32 of shape \(5, 3, 8\), not",
        ),
        (
            ("groups", 0, "layers", 0, "d_out"),
            9,
            r"backbone\.0\.weight is float32 of shape \(5, 3, 8\), not",
        ),
        (("groups", 0, "layers", 1, "kind"), "Loop", "its layers are malformed"),
        (("groups", 0, "layers", 1, "activation"), "sine", "its layers are malformed"),
        (("groups", 0, "layers", 1, "activation"), "tanh", "different features"),
        (("groups", 0, "layers"), [], "network has no tensor|fails on a row|features, not 4"),
        (("groups", 0, "name"), "no", "its settings have the architecture .*glu"),
        (("groups", 0, "options"), {"dropuot": 1}, "its backbone is malformed .*Did you mean"),
        (("groups", 0, "kind"), "forest", "groups.0. is of kind 'forest'"),
        (("groups", 0, "factory"), "f", "backbone 'glu' contradicts itself"),
        (("codec", "mean"), [0.0, 0.0], "2 means, 1 scales"),
        (("encoder", "columns"), [], "encoder.names do not fit"),
        (("encoder", "names"), ["a", "a", "b"], "encoder.names do not fit"),
        (("encoder", "layout"), [0, 0, 1], "encoder.layout is not an order of encoder.columns"),
        (("encoder", "layout"), [0, 1], "encoder.layout is not an order of encoder.columns"),
        (("encoder", "max_levels"), 1, "max_levels is 1"),
        (("encoder", "columns", 0, "center"), [], "plan of column 'x0' contradicts itself"),
        (("encoder", "columns", 0, "kind"), "categorical", "plan of column 'x0' contradicts"),
    ],
)
def test_a_description_that_contradicts_itself(
    path: tuple[Any, ...], value: Any, message: str, saved: Path, tmp_path: Path
) -> None:
    model, weights = parts(saved)
    with pytest.raises(ModelFileError, match=message):
        load(write(tmp_path / "m.adacap", changed(model, path, value), weights))


LOPSIDED = [*(f"{i:05d}" for i in range(20_000)), "z" * 400_000]  # 0.6 MB as text, 30 GB as array


@pytest.mark.parametrize(
    ("codec", "message"),
    [
        ({"dtype": "int64", "classes": [0, 2, 1]}, "not distinct sorted"),
        ({"dtype": "int64", "classes": [0, 1, 1]}, "not distinct sorted"),
        ({"dtype": "int8", "classes": [0, 1, 300]}, "not of dtype int8"),
        ({"dtype": "float16", "classes": [0.0, 1.0, 2.0001]}, "not distinct sorted"),
        ({"dtype": "int64", "classes": [0, 1, 2.0]}, r"codec.classes\[2\] is not int"),
        ({"dtype": "int64", "classes": [0, 1, True]}, r"codec.classes\[2\] is not int"),
        ({"dtype": "str", "classes": ["a", "b", 3]}, r"codec.classes\[2\] is not str"),
        ({"dtype": "str", "classes": LOPSIDED}, "would take 8000400000 characters"),
        ({"dtype": "V8", "classes": [0, 1, 2]}, "3 labels of 'V8'"),
        ({"dtype": "int64", "classes": [0]}, "1 labels"),
        ({"dtype": "int64", "classes": [0, 1]}, "and 1 outputs"),
        ({"dtype": "int64", "classes": [0, 1, 2], "temperature": 0}, "the temperature 0"),
        ({"dtype": "int64", "classes": [0, 1, 2], "temperature": None}, "temperature is not float"),
        (
            {"mean": [0.0], "scale": [1.0], "is_1d": True},
            "codec is not an object of classes, dtype",
        ),
    ],
)
def test_classes_that_are_none(
    codec: dict[str, Any], message: str, saved_classes: Path, tmp_path: Path
) -> None:
    model, weights = parts(saved_classes)
    codec = {"temperature": 1.0, **codec} if "classes" in codec else codec
    with pytest.raises(ModelFileError, match=message):
        load(write(tmp_path / "m.adacap", model | {"codec": codec}, weights))


def test_parts_of_columns_that_do_not_match(saved_frame: Path, tmp_path: Path) -> None:
    model, weights = parts(saved_frame)
    changes = [
        (("counts",), []), (("means",), []), (("means", 0), []), (("unseen",), [0.0, 0.0]),
        (("period",), "moon"), (("levels",), ["a"]), (("levels",), [0.0]),
    ]  # fmt: skip
    found = set()
    for path, value in nodes(model["encoder"]):
        for keys, wrong in changes:
            if path[-len(keys) :] == keys and value != wrong:
                file = changed(model, ("encoder", *path), wrong)
                assert loads_or_refuses(write(tmp_path / "m.adacap", file, weights)) is None, path
                found.add(keys)
    assert found == {keys for keys, _ in changes}


# ------------------------------------------------------------------ malformed zips and tensors


@pytest.mark.parametrize(
    "extra", [("more.txt", b""), ("../../evil", b"x"), ("/etc/evil", b"x"), ("model.json", b"{}")]
)
def test_only_two_parts(extra: tuple[str, bytes], saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="its parts are"):
        load(write(tmp_path / "m.adacap", *parts(saved), extra))
    assert [file.name for file in tmp_path.iterdir()] == ["m.adacap"]


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
def test_both_parts_are_needed(name: str, saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.adacap"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, b"{}")
    with pytest.raises(ModelFileError, match="its parts are"):
        load(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nothing_is_inflated(method: int, saved: Path, tmp_path: Path) -> None:
    bomb = parts(saved)[0], bytes(10**7)
    with pytest.raises(ModelFileError, match="is compressed or gives a false size"):
        load(write(tmp_path / "m.adacap", *bomb, compression=method))


@pytest.mark.parametrize("offset", [20, 24])
def test_a_declared_size_is_not_believed(offset: int, saved: Path, tmp_path: Path) -> None:
    content = bytearray(saved.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + offset : entry + offset + 4] = b"\xf0\xff\xff\xff"
    (tmp_path / "m.adacap").write_bytes(content)
    with pytest.raises(ModelFileError, match="gives a false size"):
        load(tmp_path / "m.adacap")


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04", b"no model", pickle.dumps([1])])
def test_what_is_no_zip(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.adacap").write_bytes(content)
    with pytest.raises(ModelFileError, match="zip file"):
        load(tmp_path / "m.adacap")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("groups.0.head.log_lambda"), r"the file has no tensor head\.log_lambda"),
        (lambda t: t.pop("groups.0.output.weight"), "output.weight is missing"),
        (lambda t: t.pop("groups.0.probe"), "the file has no tensor probe"),
        (lambda t: t.update({"groups.0.backbone.9.w": torch.ones(1)}), "network has no tensor"),
        (lambda t: t.update({"groups.5.probe": torch.ones(1)}), "tensors of no layer"),
        (lambda t: t.update({"groups.0.output.weight": torch.ones(5, 4, 2)}), "and 1 outputs"),
        (lambda t: t.update({"groups.0.output.weight": torch.ones(5, 0, 1)}), "missing or not of"),
        (lambda t: t.update({"groups.0.output.weight": torch.ones(5, 5, 1)}), "probe is"),
        (lambda t: t.update({"groups.0.output.bias": torch.ones(5, 2)}), "output.bias is"),
        (lambda t: t.update({"groups.0.output.bias": torch.ones(5, 1).double()}), "float64"),
        (lambda t: t.update({"groups.0.head.log_lambda": torch.ones(2)}), "log_lambda is"),
        (lambda t: t.update({"groups.0.probe": torch.ones(5, 4)}), "different features"),
        (lambda t: t.update({"groups.0.probe": torch.ones(5, 4).char()}), "probe is int8"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit(
    change: Callable[[dict[str, Tensor]], Any], message: str, saved: Path, tmp_path: Path
) -> None:
    model, weights = parts(saved)
    tensors = safetensors.torch.load(weights)
    change(tensors)
    with pytest.raises(ModelFileError, match=message):
        load(write(tmp_path / "m.adacap", model, safetensors.torch.save(tensors)))


@pytest.mark.parametrize(
    "header",
    [
        '{"a":{"dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0]}}',
        '{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}',
        '{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}',
        '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4000000000]}}',
        '{"a":{"dtype":"F32","shape":[1,-1],"data_offsets":[0,4]}}',
        '{"__metadata__":{"a":1}}',
        "[]",
        "",
    ],
)
def test_tensors_that_are_none(header: str, saved: Path, tmp_path: Path) -> None:
    weights = len(header).to_bytes(8, "little") + header.encode() + bytes(8)
    with pytest.raises(ModelFileError):
        load(write(tmp_path / "m.adacap", parts(saved)[0], weights))


def test_reading_takes_no_more_memory_than_the_file(saved: Path, tmp_path: Path) -> None:
    """Huge sizes that agree with each other, but with no tensor."""
    model, weights = parts(saved)
    model["parameters"]["width"] = model["groups"][0]["width"] = 10**9
    model["groups"][0]["layers"] = [{"kind": "Dense", "d_in": 3, "d_out": 10**9}]
    file = write(tmp_path / "m.adacap", model, weights)
    with pytest.raises(
        ModelFileError, match=r"backbone\.0\.weight is float32 of shape \(5, 3, 8\), not"
    ):
        load(file)


def test_a_member_from_a_file_has_no_rows() -> None:
    data = {"seed": 1, "index": 0, "lam": None, "effective_dof": None, "history": []}
    member = _member(None, {**data, "best_iter": 0, "best_score": 0.0})
    assert (len(member.rows.train), len(member.rows.valid)) == (0, 0)
