"""Files made to do harm: both readers refuse them alike, in bounded memory, or predict numbers."""

import importlib
import json
import os
import pickle
import stat
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from adacap import AdaCapClassifier, AdaCapRegressor, lite, load
from adacap.estimators.blending import BUDGETS, Budget, weighing
from adacap.exceptions import ModelFileError, NoFolderError, OutputError
from adacap.members.boosting import BoostingSettings
from adacap.members.kernel import KernelSettings
from adacap.modelfile import saving
from adacap.modelfile.contents import read_model

FUZZ = Path(__file__).parents[2] / "tools" / "fuzz"
READERS: list[Callable[..., Any]] = [load, lite.load, read_model]
N = 40
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
Y = X[:, 0] + 0.1 * rng.normal(size=N)
TINY = {"width": 4, "max_iter": 2, "random_state": 0}


def blend() -> Any:
    cheap = Budget(KernelSettings(n_steps=2), BoostingSettings(n_trees=2, depth=2), n_trees=2)
    names = ["nets:bins", "kernel:rank", "boosting", "trees", "ridge"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "balanced", cheap)
        patch.setattr(weighing, "blend_weights", lambda r, w: np.full(len(r), 1 / len(r)))
        return AdaCapRegressor(**TINY, n_estimators=2, quality=names).fit(X, Y)


MODELS: dict[str, Callable[[], Any]] = {
    "nets": lambda: AdaCapRegressor(**TINY, architecture="resblock").fit(X, Y),
    "classes": lambda: AdaCapClassifier(**TINY).fit(X, np.where(Y > 0, "over", "under")),
    "blend": blend,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("good")
    for name, make in MODELS.items():
        make().save(folder / f"{name}.adacap")
    return {name: folder / f"{name}.adacap" for name in MODELS}


def parts(path: Path) -> tuple[Any, bytes]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json")), archive.read("weights.safetensors")


def write(path: Path, text: Any, weights: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", text if isinstance(text, bytes) else json.dumps(text))
        archive.writestr("weights.safetensors", weights)
    return path


def refused_by_all(path: Path, match: str = ".") -> None:
    said = set()
    for read in READERS:
        with pytest.raises(ModelFileError, match=match) as error:
            read(path)
        said.add(str(error.value))
    assert len(said) == 1


# --------------------------------------------------------------------------- what fuzzers find


def test_hostile_files_meet_own_errors_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """1,500 of what ``make fuzz-models`` runs 200,000 of, and all that ever failed there."""
    monkeypatch.syspath_prepend(str(FUZZ))
    harness, models = importlib.import_module("harness"), importlib.import_module("models")
    budget = harness.Budget(cases=1500, seed=23, case_seconds=120.0)
    found = harness.fuzz("models", models.Fuzzer(tmp_path), budget, harness.kept("models"))
    assert [one.text for one in found.failures] == []
    assert {"refused", "equal", "other"} <= set(found.outcomes)


# ------------------------------------------------------------------------------------- numbers

BAD = {"NaN": np.nan, "infinite": np.inf, "minus infinite": -np.inf}


@pytest.mark.finding("M2", before="RuntimeError: atol must be greater than or equal to zero")
@pytest.mark.finding("L8", before="NaN predictions with NumPy warnings, 95 of 24,000")
@pytest.mark.parametrize("number", BAD)
@pytest.mark.parametrize("source", MODELS)
def test_weights_that_are_no_numbers_are_refused(
    source: str, number: str, files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files[source])
    for name, array in safetensors.numpy.load(weights).items():
        if not name.startswith("groups.") or array.dtype.kind != "f":
            continue
        wrong = array.copy()
        wrong.flat[-1] = BAD[number]
        arrays = {**safetensors.numpy.load(weights), name: wrong}
        path = write(tmp_path / "m.adacap", model, safetensors.numpy.save(arrays))
        refused_by_all(path, "NaN or infinite values|NaN, infinite or huge values")


@pytest.mark.finding("M2", before="TypeError: Got unsupported ScalarType")
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float8_e4m3fn], ids=["BF16", "F8"])
@pytest.mark.parametrize("source", MODELS)
def test_types_that_numpy_has_not_are_refused(
    source: str, kind: torch.dtype, files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files[source])
    for name, tensor in safetensors.torch.load(weights).items():
        tensors = {**safetensors.torch.load(weights), name: tensor.to(kind)}
        refused_by_all(write(tmp_path / "m.adacap", model, safetensors.torch.save(tensors)))


@pytest.mark.finding("L8", before="scale 0 and centre inf were loaded")
@pytest.mark.parametrize(
    ("place", "number"),
    [("center", 1e300), ("center", {"float": "inf"}), ("scale", 0.0), ("scale", -1.0),
     ("scale", {"float": "nan"})],
)  # fmt: skip
def test_a_plan_that_gives_no_numbers_is_refused(
    place: str, number: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files["nets"])
    column = model["encoder"]["columns"][0]
    is_clipped = number == 1e300  # within a part
    for owner in (column, *([] if is_clipped else column["parts"])):
        old = owner[place]
        owner[place] = [number] if isinstance(old, list) else number
        refused_by_all(write(tmp_path / "m.adacap", model, weights), "plan of column 'x0'")
        owner[place] = old


@pytest.mark.parametrize(("name", "size"), [("weight", 1e20), ("weight", 1e36), ("bias", 3e38)])
def test_nets_that_leave_float32_are_refused(
    name: str, size: float, files: dict[str, Path], tmp_path: Path
) -> None:
    """Up to there, both readers predict the same."""
    model, weights = parts(files["nets"])
    arrays = safetensors.numpy.load(weights)
    place = f"groups.0.output.{name}"
    arrays[place] = np.full_like(arrays[place], size)
    path = write(tmp_path / "m.adacap", model, safetensors.numpy.save(arrays))
    if size > 1e30:
        refused_by_all(path, r"its nets give 1e\+30 or no number for a row of 100")
    else:
        full, light = (read(path).predict(X) for read in (load, lite.load))
        np.testing.assert_allclose(full, light, rtol=1e-3)


@pytest.mark.parametrize(
    "text",
    [b'{"a": NaN}', b'{"a": %s}' % (b"9" * 5000), b'{"a": 1e999}', b"[" * 10**5, b'{"a":1,"a":1}'],
    ids=["NaN", "digits", "huge", "deep", "twice"],
)
def test_json_that_is_none_is_refused(text: bytes, files: dict[str, Path], tmp_path: Path) -> None:
    refused_by_all(write(tmp_path / "m.adacap", text, parts(files["nets"])[1]))


@pytest.mark.parametrize("name", ["parameters", "groups"])
def test_lists_within_lists_end_somewhere(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files["nets"])
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    if name == "parameters":
        model["parameters"]["lambda_init"] = deep
    else:
        model["groups"][0]["layers"] = deep
    refused_by_all(write(tmp_path / "m.adacap", model, weights), f"{name} holds more than 60")


# -------------------------------------------------------------------------------------- memory


def _labels(model: Any) -> None:
    model["codec"]["classes"] = [*(f"{i:05d}" for i in range(9000)), "z" * 400_000]


def _records(model: Any) -> None:
    model["earlier_history"] = [{}] * 150_000


def _levels(model: Any) -> None:
    column = model["encoder"]["columns"][0]
    column["parts"] = [{"part": "OneHot", "levels": [float(k) for k in range(60_000)]}]


def _large_options(model: Any) -> None:
    model["groups"][0]["options"] = {f"{k}": [] for k in range(40_000)}


@pytest.mark.finding("H2", before="lite asked for 29.8 GiB for a file of 593 kB: MemoryError")
@pytest.mark.parametrize("bomb", [_labels, _records, _levels, _large_options])
def test_memory_is_bounded_by_the_size_of_the_file(
    bomb: Callable[[Any], None], files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files["classes"])
    bomb(model)
    path = write(tmp_path / "m.adacap", model, weights)
    for read in (load, lite.load):
        tracemalloc.start()
        try:
            read(path)
        except ModelFileError:
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 64 * path.stat().st_size + 64 * 2**20
        assert peak <= 64 * path.stat().st_size + 8 * 2**20  # the 64 MB are for labels


@pytest.mark.finding("L9", before="22.5 MB of earlier_history took 904 MB and loaded")
def test_records_beyond_a_million_values_are_refused_before_they_are_read(
    files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files["classes"])
    model["earlier_history"] = [{}] * 2_000_000  # 8 MB, which took 336 MB
    path = write(tmp_path / "m.adacap", model, weights)
    for read in (load, lite.load):
        tracemalloc.start()
        with pytest.raises(ModelFileError, match=r"has 40\d+ values, more than 1000000\."):
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 5 * path.stat().st_size


def test_a_history_that_no_reader_would_take_is_thinned(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(files["nets"])
    steps = [record["step"] for record in model.members_[0].history]
    monkeypatch.setattr(saving, "_MOST_RECORDS", (1 + len(model.members_)) * (len(steps) - 1))
    with pytest.warns(UserWarning, match="keeps 1 record of 2 in history_"):
        model.save(tmp_path / "m.adacap")
    kept = load(tmp_path / "m.adacap").members_[0].history
    assert [record["step"] for record in kept] == steps[::-1][::2][::-1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of a name here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.adacap")
    refused_by_all(tmp_path / "m.adacap", "it is a device or a pipe")


# ----------------------------------------------------------------------- what a reader may do


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES_FILES = {
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "tempfile.mkstemp", "tempfile.mkdtemp",
}  # fmt: skip
RUNS_CODE = {
    "exec", "compile", "import", "marshal.loads", "pickle.find_class", "ctypes.dlopen",
    "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn",
    "subprocess.Popen",
}  # fmt: skip
_watches: list[list[str]] = []  # those under way: a hook cannot be taken away


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _watches:
        return
    is_written = event == "open" and isinstance(args[2], int) and args[2] & WRITING
    if is_written or event in CHANGES_FILES | RUNS_CODE:
        _watches[-1].append(f"{event} {args[0]!r}")


sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[list[str]]:
    """What Python itself tells of files that are written or changed, and of code that is run."""
    _watches.append([])
    try:
        yield _watches[-1]
    finally:
        _watches.pop()


@pytest.mark.parametrize(
    ("do", "event"),
    [
        (lambda path: open(path, "w").close(), "open"),
        (lambda path: open(path, "r+b").close(), "open"),
        (lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT)), "open"),
        (lambda path: path.write_bytes(b""), "open"),
        (lambda path: path.rename(path.with_suffix(".b")), "os.rename"),
        (lambda path: os.replace(path, f"{path}.b"), "os.rename"),
        (lambda path: path.unlink(), "os.remove"),
        (lambda path: path.with_suffix(".d").mkdir(), "os.mkdir"),
        (lambda path: os.system("true"), "os.system"),
        (lambda path: pickle.loads(b"cos\ngetcwd\n."), "pickle.find_class"),
        (lambda path: eval("1"), "compile"),
    ],
)
def test_the_watch_sees_what_writes_and_what_runs(
    do: Callable[[Path], object], event: str, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.touch()
    with watched() as seen:
        do(path)
    assert event in {text.partition(" ")[0] for text in seen}


def test_a_reader_runs_and_writes_nothing(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "damaged.adacap"
    model, weights = parts(files["nets"])
    write(damaged, model, weights[:-4])

    def read_all() -> None:
        for read in READERS:
            for path in files.values():
                read(path)
            with pytest.raises(ModelFileError):
                read(damaged)

    read_all()  # what is imported is imported by now
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    before = {path: path.stat() for path in (damaged, *files.values())}
    with watched() as seen:
        read_all()
    assert seen == []
    assert os.listdir(empty) == []
    after = {path: path.stat() for path in before}
    assert [(s.st_mtime_ns, s.st_size) for s in after.values()] == [
        (s.st_mtime_ns, s.st_size) for s in before.values()
    ]


@pytest.mark.parametrize("read", READERS)
def test_a_pickle_runs_code_and_a_model_file_does_not(
    files: dict[str, Path], tmp_path: Path, read: Callable[..., Any]
) -> None:
    path, sprung = tmp_path / "m.adacap", tmp_path / "sprung"
    model = load(files["nets"])
    with pytest.MonkeyPatch.context() as patch:  # the pickle of a fitted estimator, forged
        patch.setattr(type(model), "__reduce__", lambda self: (Path.touch, (sprung,)))
        forged = pickle.dumps(model)
    path.write_bytes(forged)
    with pytest.raises(ModelFileError, match="it does not begin as a zip file"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:  # nor as the parts of a model file
        archive.writestr("model.json", forged)
        archive.writestr("weights.safetensors", forged)
    with pytest.raises(ModelFileError):
        read(path)
    assert not sprung.exists()
    pickle.loads(forged)
    assert sprung.exists()


@pytest.mark.parametrize("source", MODELS)
def test_another_default_type_of_the_program_changes_nothing(
    source: str, files: dict[str, Path]
) -> None:
    expected = load(files[source]).predict(X)
    torch.set_default_dtype(torch.float64)
    try:
        found = load(files[source]).predict(X)
    finally:
        torch.set_default_dtype(torch.float32)
    assert (found == expected).all()


# ----------------------------------------------------------------------- what a file may do


def test_other_weights_with_right_checksums_are_read(
    files: dict[str, Path], tmp_path: Path
) -> None:
    model, weights = parts(files["nets"])
    arrays = safetensors.numpy.load(weights)
    arrays["groups.0.output.bias"] = arrays["groups.0.output.bias"] + 1
    path = write(tmp_path / "m.adacap", model, safetensors.numpy.save(arrays))
    assert not np.allclose(load(path).predict(X), load(files["nets"]).predict(X))


def test_a_file_tells_about_the_training_data(tmp_path: Path) -> None:
    table = {"salary": list(range(30)), "town": ["Ghent", "Lille", "Namur"] * 10}
    labels = np.array(["ill", "well"] * 15)
    model = AdaCapClassifier(**TINY).fit(table, labels)
    model.save(tmp_path / "m.adacap")
    text, weights = parts(tmp_path / "m.adacap")
    assert all(word in json.dumps(text) for word in ("salary", "Ghent", "well"))
    assert len(safetensors.numpy.load(weights)["seen.keys"]) == 30
    with pytest.raises(ValueError, match="100% of the 2 rows were in fit"):
        model.calibrate({"salary": [7, 8], "town": ["Lille", "Namur"]}, labels[7:9])


def test_a_kernel_holds_training_rows(files: dict[str, Path]) -> None:
    weights = parts(files["blend"])[1]
    rows = [a for n, a in safetensors.numpy.load(weights).items() if n.endswith("predictor.rows")]
    assert [len(array) for array in rows] == [N]


# -------------------------------------------------------------------------------------- saving


@pytest.mark.finding("M9", before="a 0600 file was 0644 after saving again")
def test_a_model_saved_again_keeps_its_permissions(tmp_path: Path, files: dict[str, Path]) -> None:
    model, path = load(files["nets"]), tmp_path / "m.adacap"
    model.save(path)
    path.chmod(0o600)
    model.save(path, force=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.finding("L16", before="IsADirectoryError naming a hidden draft")
@pytest.mark.parametrize("name", ["", ".", "none/m.adacap"])
def test_a_place_that_is_no_file_is_named(
    name: str, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = NoFolderError if "none" in name else OutputError
    with pytest.raises(wanted, match=r"is a folder\. Name a file\.|There is no folder none"):
        load(files["nets"]).save(name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".", "it is a folder"),
        ("a\0b", r"cannot be read \(embedded null"),
        ("x" * 300, r"cannot be read \(File name too long"),
        pytest.param(
            "/proc/self/mem", r"cannot be read \(Input/output error",
            marks=pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="Linux alone"),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", [load, lite.load])
def test_what_cannot_be_read_is_no_model(read: Any, path: str, why: str) -> None:
    with pytest.raises(ModelFileError, match=rf"Cannot load '.*': (it )?{why}"):
        read(path)


@pytest.mark.parametrize("path", [0, 3, True, None])
@pytest.mark.parametrize("read", [load, lite.load])
def test_a_number_is_no_path_though_open_would_take_it(read: Any, path: Any) -> None:
    with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike"):
        read(path)
