"""``--group`` and ``--time``: named columns decide how rows are split, and are not learned from."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from adacap import load
from adacap.cli import app

runner = CliRunner()
pytestmark = pytest.mark.filterwarnings("ignore:coverage=0.9 needs at least 9 groups")  # 8 of 10


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("groups") / "visits.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["patient", "day", "one", "age", "y"])
        for i in range(80):
            day = f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}"
            rows.writerow([f"p{i % 10}", day, 1, rng.normal(), rng.normal() + i % 10])
    return path


def run(*words):
    found = runner.invoke(app, [str(word) for word in words])
    return found.exit_code, found.output


def fitted(table, folder, *words):
    output = folder / "m.adacap"
    options = ("-t", "y", "--method", "fast-nets", "-o", output, "--force", "--time-limit", 2)
    code, text = run("fit", table, *options, "--json", *words)
    assert code == 0, text
    return json.loads(text[text.index("{") :])


@pytest.mark.filterwarnings("ignore")
def test_two_groups_are_both_learned_from(table, tmp_path):
    lines = table.read_text().splitlines()
    half = tmp_path / "two.csv"
    half.write_text("\n".join([lines[0], *(line for line in lines if line[:3] in ("p1,", "p2,"))]))
    words = ("-t", "y", "--group", "patient", "--method", "fast", "-o", tmp_path / "m.adacap")
    code, text = run("fit", half, *words)
    assert code == 0, text
    assert "Too few groups (2) to hold out a test part, so there are no scores." in text


@pytest.mark.filterwarnings("ignore")
def test_intervals_without_a_bound_are_not_offered(table, tmp_path):
    few = tmp_path / "few.csv"
    lines = table.read_text().splitlines()
    few.write_text(
        "\n".join([lines[0], *(line for line in lines if line[:2] in ("p1", "p2", "p3"))])
    )
    words = ("-t", "y", "--method", "fast", "-o", tmp_path / "m.adacap", "--force")
    code, text = run("fit", few, *words, "--group", "patient")
    assert code == 0, text
    assert "held for" not in text
    assert "--interval" not in text
    code, text = run("fit", few, *words)
    assert "held for" in text
    assert "--interval 0.9" in text


def test_fit_splits_by_group_and_does_not_learn_from_it(table, tmp_path):
    facts = fitted(table, tmp_path, "--group", "patient", "--drop", "day,one")
    assert facts["group"] == "patient"
    assert facts["split"].startswith("whole groups, 10 in all")
    assert [column["column"] for column in facts["columns"]] == ["age"]
    assert facts["tested_on"] == 16


def test_keep_learns_from_a_column_all_the_same(table, tmp_path):
    words = ("--time", "day", "--keep", "day", "--drop", "patient,one", "--no-refit")
    facts = fitted(table, tmp_path, *words)
    assert facts["split"].startswith("in time")
    assert {column["column"] for column in facts["columns"]} == {"day", "age"}
    code, text = run("inspect", tmp_path / "m.adacap", "--no-capacity")
    assert code == 0
    assert "Held out: in time" in text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--group", "patent"), 2, "patent"),
        (("--group", "y"), 2, "--group y is the target"),
        (("--time", "day", "--drop", "day"), 2, "--time day is dropped"),
        (("--keep", "age"), 2, "--keep age is neither"),
        (("--group", "one"), 1, "Column 'one': groups holds a single group"),
        (("--time", "patient"), 1, "Column 'patient': time must hold numbers or dates"),
    ],
    ids=["unknown", "target", "dropped", "keep", "one group", "no time"],
)
def test_what_cannot_be_split_is_refused(table, tmp_path, words, code, message):
    found = run("fit", table, "-t", "y", "-o", tmp_path / "m.adacap", *words)
    assert found[0] == code
    assert message in " ".join(found[1].split())


def test_a_transform_of_the_target_is_chosen_by_name(table, tmp_path):
    words = ("--group", "patient", "--drop", "day,one", "--no-refit")
    fitted(table, tmp_path, *words, "--target-transform", "yeo-johnson")
    assert load(tmp_path / "m.adacap").settings_.target_transform == "yeo-johnson"
    for command in ("fit", "evaluate"):
        code, text = run(command, table, "-t", "y", "--target-transform", "logg")
        assert code == 2
        assert "Did you mean 'log'" in text
    words = ("fit", table, "-t", "patient", "--target-transform", "log")
    code, text = run(*words, "-o", tmp_path / "classes.adacap")
    assert code == 2
    assert "has no meaning for classes" in text
