"""``adacap explain``: contributions that add up, in a file that appears when it is complete."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from adacap.files import open_table

FEATURES = ["size", "rooms", "city", "sold", "garage"]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_contributions_add_up_to_the_predictions(call, houses, house_model, name):
    path, model = house_model
    result = call(
        "explain", path, houses, "-o", name, "--rows-from", houses, "--id", "id",
        "--method", "permutation", "--permutations", "4",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = open_table(name).read()
    own = [f"contribution_{column}" for column in model.encoder_.names_]
    assert found.column_names == ["id", "prediction", "base", *own]
    parts = np.column_stack([found.column(n).to_numpy() for n in found.column_names[2:]])
    want = model.predict(open_table(houses).read(FEATURES))
    np.testing.assert_allclose(parts.sum(1), want, rtol=1e-6)
    assert os.listdir() == [name]
    assert "predictions explained beside 50 rows; by sampling, standard error at most" in (
        result.stdout
    )


def test_text_that_looks_like_a_formula_is_escaped_on_request(call, houses, house_model):
    head, *rows = houses.read_text("utf-8").splitlines()
    Path("odd.csv").write_text("\n".join([f"{head},note", *(f"{row},=1+1" for row in rows[:4])]))
    words = ["explain", house_model[0], "odd.csv", "--rows-from", houses, "--id", "note"]
    words += ["--method", "permutation", "--permutations", "4"]
    assert call(*words, "-o", "as_it_is.csv").exit_code == 0
    assert call(*words, "-o", "escaped.csv", "--escape-formulas").exit_code == 0
    found = [
        open_table(name).read().column("note")[0].as_py()
        for name in ("as_it_is.csv", "escaped.csv")
    ]
    assert found == ["=1+1", "'=1+1"]


def test_json_tells_what_matters_and_how_sure_it_is(call, houses, house_model):
    options = ["--method", "permutation", "--permutations", "4", "--json"]
    result = call("explain", house_model[0], houses, "-o", "o.csv", *options)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert next(iter(told["mean_size"])) == "size"
    assert told["method"] == "permutation"
    assert told["largest_error"] > 0
    assert "compared with the first rows of the table" in result.stderr


def test_what_is_wrong_on_the_command_line_is_said(call, houses, house_model):
    result = call("explain", house_model[0], houses, "-o", "o.csv", "--method", "shap")
    assert (result.exit_code, os.listdir()) == (2, [])
    assert "--method is auto, exact or permutation, got 'shap'" in result.stderr


@pytest.mark.parametrize("copies", [1, 3])
def test_rows_without_others_to_compare_with_are_refused(call, houses, house_model, copies):
    head, row = houses.read_text("utf-8").splitlines()[:2]
    Path("one.csv").write_text("\n".join([head, *[row] * copies]) + "\n", "utf-8")
    result = call("explain", house_model[0], "one.csv", "-o", "o.csv")
    assert (result.exit_code, os.listdir()) == (2, ["one.csv"])
    assert ["has one row.", "has 3 rows that are all the same."][copies > 1] in result.stderr
    assert "such as that of fit: --rows-from TABLE." in result.stderr
    options = ["--rows-from", houses, "--method", "permutation", "--permutations", "4"]
    assert call("explain", house_model[0], "one.csv", "-o", "o.csv", *options).exit_code == 0


def test_a_signed_model_is_explained_with_its_key_and_refused_with_another(
    call, houses, house_model
):
    house_model[1].save("signed.adacap", key=b"secret")
    Path("key").write_bytes(b"secret\n")
    Path("other").write_bytes(b"another\n")
    options = ["--rows-from", houses, "--method", "permutation", "--permutations", "4"]
    found = call("explain", "signed.adacap", houses, "-o", "o.csv", "--key-file", "key", *options)
    assert found.exit_code == 0, found.output
    refused = call(
        "explain", "signed.adacap", houses, "-o", "p.csv", "--key-file", "other", *options
    )
    assert refused.exit_code != 0
    assert "key" in refused.output
    assert not Path("p.csv").exists()
