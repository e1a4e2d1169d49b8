"""Loading: where a file is looked for, what is checked, what is said; tables without a file."""

import gzip
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from adacap_bench.datasets import (
    DataError,
    MissingDataError,
    find_suite,
    find_task,
    load_table,
)
from adacap_bench.datasets.loading import make_table
from adacap_bench.datasets.places import cache_folder, data_folders, locate
from adacap_bench.datasets.tasks import DataFile, Reader, Task, TaskTable

FILE = DataFile("raw/toy/toy.csv", urls=("https://example.org/toy.csv",))
TASK = Task(
    "toy",
    "Toy",
    "regression",
    suites=("paper",),
    file=FILE,
    reader=Reader(exclude=(0,), drop_rows=(-1,)),
    target="y",
    transform="log",
    rows=4,
    columns=4,
)
CONTENT = "id,a,b,y\n1,5,x,1\n2,6,,\n3,,z,10\n4,8,x,100\n"


def zipped(name: str, content: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"folder/{name}", content)
    return buffer.getvalue()


def test_features_and_target(write, tmp_path, no_data):
    write("raw/toy/toy.csv", CONTENT)
    table = load_table(TASK, folder=tmp_path)
    assert [*table.X.columns] == ["a", "b"]  # not id
    assert len(table.X) == 2  # not the second row, without target, nor the last one
    np.testing.assert_allclose(table.y, [0.0, np.log(10.0)])
    assert load_table(TASK, folder=tmp_path, raw_target=True).y.tolist() == [1.0, 10.0]
    assert np.isnan(table.X["a"][1])
    assert table.classes == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("toy.csv", CONTENT),
        ("toy.csv.gz", gzip.compress(CONTENT.encode(), mtime=0)),
        ("toy.csv.zip", zipped("toy.csv", CONTENT)),
    ],
)
def test_packed_files(write, tmp_path, no_data, name, content):
    write(f"raw/toy/{name}", content)
    assert len(load_table(TASK, folder=tmp_path).y) == 2


def test_the_nearest_folder_wins(write, tmp_path, monkeypatch):
    monkeypatch.setenv("ADACAP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ADACAP_CACHE", str(tmp_path / "cache"))
    expected = [tmp_path / name for name in ("given", "data", "cache")]
    assert data_folders(tmp_path / "given") == expected
    for folder in reversed(expected):
        path = write(f"{folder.name}/raw/toy/toy.csv", CONTENT)
        assert locate(FILE, tmp_path / "given") == path


def test_cache_folder_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("ADACAP_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "adacap"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-3:] == ("Library", "Caches", "adacap")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache_folder() == tmp_path / "adacap"


def test_each_call_reads_the_file_as_it_is(write, tmp_path, no_data):
    write("raw/toy/toy.csv", CONTENT)
    X = load_table(TASK, folder=tmp_path).X
    X.loc[0, "a"] = -1.0
    assert load_table(TASK, folder=tmp_path).X["a"][0] == 5.0
    write("raw/toy/toy.csv", CONTENT.replace("1,5,", "1,7,"))
    assert load_table(TASK, folder=tmp_path).X["a"][0] == 7.0


def test_absent_data_say_how_to_get_them(no_data):
    with pytest.raises(MissingDataError, match=r"Run: adacap data fetch paper-31\. Looked for: "):
        load_table("paper-31")
    with pytest.raises(FileNotFoundError, match=r"get insurance\.csv from https://www\.kaggle"):
        load_table("paper-28")
    with pytest.raises(MissingDataError, match=f"put it, zipped or not, at one of: {no_data}"):
        load_table("paper-28")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONTENT[:-20], r"holds 2 rows × 4 columns, but 'toy' has 4 × 4\. .*fetch --force toy"),
        ("", r"Cannot read .*toy\.csv as 'toy': No columns"),
        (b"\xff\xfe" + CONTENT.encode("utf-16-le"), r"Cannot read .*'utf-8' codec"),
    ],
)
def test_a_damaged_file_is_not_loaded(write, tmp_path, no_data, content, message):
    write("raw/toy/toy.csv", content)
    with pytest.raises(DataError, match=message):
        load_table(TASK, folder=tmp_path)


def test_a_damaged_archive_is_not_loaded(write, tmp_path, no_data):
    write("raw/toy/toy.csv.gz", gzip.compress(CONTENT.encode())[:-9])
    with pytest.raises(DataError, match=r"Cannot read .*toy\.csv\.gz.*Delete it and get it again"):
        load_table(TASK, folder=tmp_path)
    write("raw/toy/toy.csv.gz", b"")
    (tmp_path / "raw/toy/toy.csv.gz").unlink()
    write("raw/toy/toy.csv.zip", zipped("other.csv", CONTENT))
    with pytest.raises(DataError, match=r"holds no toy\.csv, but: folder/other\.csv"):
        load_table(TASK, folder=tmp_path)


def test_nothing_left_is_an_error(write, tmp_path, no_data):
    write("raw/toy/toy.csv", CONTENT)
    everything = replace(TASK, reader=Reader(exclude=(0, 1, 2)))
    with pytest.raises(DataError, match="'toy' has no column of features left"):
        load_table(everything, folder=tmp_path)


def test_a_raw_target_that_is_lost_is_refused():
    with pytest.raises(DataError, match=r"holds its target as log, standardised"):
        load_table(find_task("mlr-regression9"), raw_target=True)


def test_a_table_has_as_many_targets_as_rows():
    table = load_table("builtin-iris")
    with pytest.raises(ValueError, match="X has 150 rows, but y has 149"):
        TaskTable(table.task, table.X, table.y[1:])


# -------------------------------------------------- built-in: offline, seeded, of a declared shape


@pytest.mark.parametrize("task", find_suite("builtin"), ids=lambda task: task.key)
def test_table(task, no_data, global_state_untouched):
    table = load_table(task)
    assert table.X.shape == (task.rows, task.columns - 1)
    assert "target" not in table.X
    again = load_table(task)
    assert table.X.equals(again.X)
    np.testing.assert_array_equal(table.y, again.y)
    if task.kind == "regression":
        assert table.y.dtype == np.float64
        assert table.y.std() > 0
    else:
        assert table.classes == task.classes
        assert np.bincount(table.y).min() >= 20


def test_quick_is_a_small_part_with_all_kinds():
    quick = find_suite("builtin-quick")
    assert set(quick) < set(find_suite("builtin"))
    assert {task.kind for task in quick} == {"regression", "binary", "multiclass"}
    assert max(task.rows for task in quick) <= 250


def test_noise_of_the_linear_task_is_as_said():
    """A least-squares fit on all features leaves about the declared share of noise."""
    table = load_table("builtin-noisy-linear")
    X = np.column_stack([table.X.to_numpy(), np.ones(len(table.y))])
    _, (residual,), _, _ = np.linalg.lstsq(X, table.y)
    noise = residual / (len(table.y) - X.shape[1])
    assert 0.3 < noise / table.y.var() < 0.7  # signal and noise have one deviation each


def test_mixed_columns():
    X = load_table("builtin-mixed-classes").X
    assert 0 < X["x0"].isna().sum() < 20
    assert sorted(set(X["group"])) == ["north", "south", "west"]


def test_unknown_maker():
    with pytest.raises(DataError, match=r"Unknown maker of 't': 'clay'\. Known: bundled, mixed"):
        make_table(Task("t", "T", "regression", maker="clay"))
