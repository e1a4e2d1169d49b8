"""The real files: what the catalogue says of them, checked against the matrices of 2021."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from adacap_bench.datasets import find_suite, find_task, load_table
from adacap_bench.datasets.places import read_content
from adacap_bench.datasets.reading import read_frame
from adacap_bench.datasets.tasks import Reader
from adacap_bench.verify import count_features

# Matrices of the supplement whose target is, row by row, that of a task of the paper.
SAME_TARGET = {
    "regression0": 3,
    "regression12": 1,
    "regression13": 2,
    "regression9": 8,
    "regression2": 9,
    "regression1": 16,
    "regression10": 22,
    "regression15": 25,
    "regression5": 28,
    "regression4": 29,
    "regression14": 31,
    "regression8": 36,
    "regression11": 37,
    "regression7": 38,
    "classification2": 0,
    "classification0": 4,
    "classification7": 10,
    "classification6": 11,
    "classification11": 13,
    "classification8": 14,
    "classification10": 20,
    "classification1": 27,
    "classification14": 39,
}


@pytest.mark.parametrize(("matrix", "number"), SAME_TARGET.items())
def test_targets_are_those_of_the_published_matrices(data_folder, matrix, number):
    """Transforms and rows to drop: the published targets are ours, standardised or renamed."""
    published = load_table(f"mlr-{matrix}", folder=data_folder).y
    ours = load_table(f"paper-{number}", folder=data_folder).y
    assert published.shape == ours.shape
    assert abs(np.corrcoef(published, ours)[0, 1]) > 0.9999998


def test_yacht_lacks_the_first_row(data_folder):
    published = load_table("mlr-regression3", folder=data_folder).y
    ours = load_table("paper-12", folder=data_folder).y
    assert np.corrcoef(published[1:], ours)[0, 1] > 0.9999999


def test_raw_target_of_seoul(data_folder):
    published = load_table("mlr-regression-1", folder=data_folder).y
    ours = load_table("paper-36", folder=data_folder, raw_target=True).y
    assert np.corrcoef(published, ours)[0, 1] > 0.9999999


def bands(data_folder):
    """Content of cylinder bands as it is at the source, made of the mended copy."""
    task = find_task("paper-15")
    lines = read_content(data_folder / task.file.path, "").rstrip(b"\n").split(b"\n")
    fields = lines[521].split(b",")
    halves = [b",".join(fields[:17]) + b",", b",".join(fields[17:])]
    return b"\n".join([*lines[:521], *halves, *lines[522:]]) + b"\n" * 10


def test_exemption_of_cylinder_bands(data_folder):
    """The source's file, known by its checksum, read with both halves of the broken line."""
    task, content = find_task("paper-15"), bands(data_folder)
    assert hashlib.sha256(content).hexdigest() == task.file.sha256[1]
    frame = read_frame(content, Reader(header=False))
    assert int(0.8 * len(frame)) == task.figures.n
    figures = task.figures
    expected = (figures.p, figures.continuous, figures.categorical)
    assert count_features(frame.iloc[:, 1:39]) == expected == (111, 1, 19)


def test_the_reader_mends_cylinder_bands(data_folder, write, tmp_path):
    write(find_task("paper-15").file.path, bands(data_folder))
    mended = load_table("paper-15", folder=tmp_path)
    copy = load_table("paper-15", folder=data_folder)
    assert mended.X.equals(copy.X)
    np.testing.assert_array_equal(mended.y, copy.y)


def test_published_cylinder_bands_lacks_both_halves(data_folder):
    published = load_table("mlr-classification12", folder=data_folder).y
    ours = load_table("paper-15", folder=data_folder).y
    assert np.corrcoef(published, np.delete(ours, 521))[0, 1] == pytest.approx(1.0)


def test_published_tic_tac_toe_has_the_rows_of_the_source(data_folder):
    """Its one-hot columns, written out, are the source's file to the last byte."""
    table = load_table("mlr-classification9", folder=data_folder)
    cells = table.X.to_numpy().reshape(958, 9, 4)[:, :, 1:].argmax(axis=2)
    rows = [["box"[cell] for cell in row] for row in cells]
    words = ("positive", "negative")  # the published codes
    text = "".join(f"{','.join(row)},{words[y]}\n" for row, y in zip(rows, table.y, strict=True))
    assert hashlib.sha256(text.encode()).hexdigest() == find_task("paper-26").file.sha256[1]


def test_exemption_of_bangalore(data_folder):
    """One level for all empty cells of balcony would give the 11 of a plain count."""
    X = load_table("paper-38", folder=data_folder).X
    assert count_features(X) == (6, 2, 1)
    counted_once = X.assign(balcony=X["balcony"].fillna(-1))
    assert X["balcony"].isna().sum() == 609
    assert count_features(counted_once) == (11, 2, 2)


def test_the_forest_fires(data_folder):
    first = load_table("paper-6", folder=data_folder)
    second = load_table("paper-5", folder=data_folder)
    assert (len(first.y), len(second.y)) == (122, 120)
    assert first.X["c0"].tolist()[:2] == [1, 2]
    assert second.X["c9"].dtype.kind not in "iuf"  # DC, text for the sake of '14.6 9'
    assert np.bincount(first.y).tolist() == [63, 59]


def test_boston(data_folder):
    table = load_table("boston", folder=data_folder)
    assert table.X.shape == (506, 13)
    assert table.y.mean() == pytest.approx(22.5328, abs=1e-4)


def test_other_outcomes_stay_in(data_folder):
    assert "SLUMP(cm)" in load_table("paper-1", folder=data_folder).X
    assert "stabf" in load_table("paper-37", folder=data_folder).X
    assert "No" not in load_table("paper-1", folder=data_folder).X


def test_every_present_task_loads_with_both_targets(data_folder):
    loaded = 0
    for task in find_suite("paper-regression"):
        y = load_table(task, folder=data_folder).y
        raw = load_table(task, folder=data_folder, raw_target=True).y
        assert np.isfinite(y).all()
        assert (task.transform == "none") == np.array_equal(y, raw)
        loaded += 1
    assert loaded == 26


def test_features_of_a_wrong_copy_are_noticed(data_folder, write, tmp_path):
    task = find_task("paper-31")
    content = (data_folder / task.file.path).read_bytes()
    write("raw/abalone/abalone.data", content.replace(b"\nI,", b"\nJ,K,", 1))
    with pytest.raises(ValueError, match="Cannot read"):
        load_table(replace(task), folder=tmp_path)
