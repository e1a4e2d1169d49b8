"""``adacap advise`` and ``adacap check`` on files."""

import json
from pathlib import Path

import numpy as np
import pytest


def test_advise_prints_the_verdict_and_the_columns_at_risk(call, houses):
    result = call("advise", houses, "--target", "rent", "--drop", "price")
    assert result.exit_code == 0, result.output
    assert "Use " in result.stdout
    assert "error / AdaCap's" in result.stdout
    assert "column at risk" in result.stdout


def test_advise_says_how_to_choose_the_other_task(call, houses):
    result = call("advise", houses, "--target", "rent", "--drop", "price")
    assert "distinct; --task classification if they are labels)" in result.stdout
    result = call("advise", houses, "--target", "rent", "--drop", "price", "--task", "regression")
    assert "(regression: set by --task)" in result.stdout


def test_advise_takes_groups_and_times(call, houses):
    result = call("advise", houses, "-t", "rent", "--drop", "price", "--group", "rooms", "--json")
    found = json.loads(result.stdout)
    assert (found["group"], found["split_by"]) == ("rooms", ["group"])
    result = call("advise", houses, "-t", "rent", "--drop", "price", "--time", "sold")
    assert result.exit_code == 0, result.output
    assert "Rows are held out as later rows by sold. Not learned from: sold (see --keep)." in (
        result.stdout
    )
    assert "Errors are on rows later than all" in result.stdout


def test_advise_as_json_has_every_number(call, houses):
    result = call("advise", houses, "-t", "rent", "--drop", "price,id", "--json")
    found = json.loads(result.stdout)
    assert found["winner"] in ("adacap", "linear", "trees")
    assert set(found["expected"]) == {"adacap", "linear", "trees"}
    assert found["memorisation"]["gap"] > 0
    assert found["seconds"] > 0


@pytest.mark.parametrize("command", ["advise", "evaluate"])
def test_a_seed_beyond_what_methods_take(call, houses, command):
    result = call(command, houses, "-t", "rent", "--seed", "9" * 30)
    assert result.exit_code == 2
    assert "Invalid value for '--seed'" in result.output  # the other words are those of typer
    assert str(2**31 - 1) in result.output


def test_check_is_content_with_rows_of_the_same_kind(call, write_houses, house_model, tmp_path):
    new = write_houses(tmp_path / "new.csv", n_rows=120, seed=5)
    result = call("check", house_model[0], new, "--strict")
    assert result.exit_code == 0, result.output
    assert "No column has moved." in result.stdout


@pytest.fixture
def moved(write_houses, tmp_path):
    """Houses twice as large, some of them in a city that training had not."""
    path = write_houses(tmp_path / "moved.csv", n_rows=120, seed=5)
    lines = path.read_text("utf-8").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    for i, row in enumerate(rows):
        row[1] = f"{2 * float(row[1]):.2f}" if row[1] else ""
        row[3] = "Brest" if i % 3 == 0 else row[3]
    path.write_text("\n".join([lines[0], *(",".join(row) for row in rows)]), "utf-8")
    return path


def test_check_names_what_moved(call, house_model, moved):
    result = call("check", house_model[0], moved)
    assert result.exit_code == 0
    assert "size" in result.stdout
    assert "never seen in city: 'Brest'" in result.stderr


def test_check_as_json_counts_the_rows_not_to_trust(call, house_model, moved):
    result = call("check", house_model[0], moved, "--json", "--strict")
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert {"size", "city"} <= set(found["moved"])
    assert found["never_seen"] == {"city": ["Brest"]}
    assert len(found["untrusted_rows"]) == round(found["share_untrusted"] * 120)
    assert np.isfinite(found["share_beyond_reach"])


@pytest.mark.parametrize("alpha", ["0", "1.5"])
def test_an_alpha_that_is_no_chance_is_a_wrong_command_line(call, house_model, houses, alpha):
    assert call("check", house_model[0], houses, "--alpha", alpha).exit_code == 2


def test_check_takes_the_key_of_a_signed_model(call, house_model, houses):
    house_model[1].save("signed.adacap", key=b"secret")
    Path("key").write_bytes(b"secret\n")
    assert call("check", "signed.adacap", houses, "--key-file", "key").exit_code == 0
    Path("other").write_bytes(b"another\n")
    assert call("check", "signed.adacap", houses, "--key-file", "other").exit_code == 1
