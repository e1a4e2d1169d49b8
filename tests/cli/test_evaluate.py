"""``adacap evaluate``: repeated splits, left out methods, paired comparison."""

import json
import math

import numpy as np
import pytest

from adacap.cli.models import split
from adacap.cli.targets import Target
from adacap.comparison import METHODS, Method

QUICK = ["--method", "fast", "--n-estimators", "2", "--drop", "id", "--time-limit", "1"]


def evaluate(call, data, *options):
    return call("evaluate", data, *QUICK, "--splits", "2", *options)


def test_regression(call, houses):
    result = evaluate(call, houses, "-t", "rent", "--against", "ridge,intercept", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    by_name = {method["method"]: method for method in found["methods"]}
    assert list(by_name) == ["adacap", "ridge", "intercept"]
    assert by_name["ridge"]["r2"]["mean"] > 0.8 > by_name["intercept"]["r2"]["mean"]
    values = by_name["ridge"]["rmse"]["values"]
    assert by_name["ridge"]["rmse"]["mean"] == pytest.approx(np.mean(values))
    assert by_name["ridge"]["rmse"]["standard_error"] == pytest.approx(
        np.std(values, ddof=1) * math.sqrt(1 / 2 + 0.25)  # test rows per training row
    )
    assert [pair["method"] for pair in found["against"]] == ["ridge", "intercept"]


def test_classes(call, houses):
    result = call("evaluate", houses, "-t", "kind", "--drop", "id,price,rent", "--splits", "2",
                  "--against", "logreg,ridge,svm", "--time-limit", "1", "--json")  # fmt: skip
    found = json.loads(result.stdout)
    assert [method["method"] for method in found["methods"]] == ["adacap", "logreg", "svm"]
    assert found["left_out"] == {"ridge": "does regression, not binary"}
    assert found["methods"][1]["auc"]["mean"] > 0.8
    assert found["main_metric"] == "accuracy"


def test_by_default_a_linear_model_of_the_task_is_among_the_others(call, houses):
    for target, linear in (("rent", "ridge"), ("kind", "logreg")):
        drop = "id,price,rent,kind".replace(f",{target}", "")
        result = call("evaluate", houses, "-t", target, "--drop", drop, "--splits", "1",
                      "--method", "ridge:bins", "--json")  # fmt: skip
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert {one["method"] for one in found["methods"]} == {"adacap", linear, "rf"}
        assert found["left_out"] == {}


def write_two_lines(path, n_rows=200):
    """y = 5x in odd rows, of weight 1, and y = x in even ones, of weight 0; x is near 1 or -1."""
    is_odd = np.arange(n_rows) % 2 == 1
    x = np.random.default_rng(0).choice([-1.0, 1.0], n_rows) + np.linspace(-0.01, 0.01, n_rows)
    rows = zip(x, np.where(is_odd, 5.0, 1.0) * x, is_odd.astype(float), strict=True)
    path.write_text("x,y,w\n" + "".join(f"{x},{y},{w}\n" for x, y, w in rows))
    return is_odd


def test_weights_change_training_and_each_test_row_counts_once(call, tmp_path):
    is_odd = write_two_lines(tmp_path / "lines.csv")
    options = ["-t", "y", "--task", "regression", "--method", "fast", "--against", "ridge"]
    found = {}
    for name, more in (("weighted", ["--weight", "w"]), ("plain", ["--drop", "w"])):
        result = call("evaluate", "lines.csv", *options, "--splits", "2", *more, "--json")
        assert result.exit_code == 0, result.output
        facts = json.loads(result.stdout)
        assert facts.get("weight") == ("w" if name == "weighted" else None)
        found[name] = {one["method"]: one["rmse"]["values"] for one in facts["methods"]}
    every = np.ones(len(is_odd), dtype=bool)
    target = Target(["y"], "regression", np.zeros(len(is_odd)), every, "")
    tests = [split(target, 0.2, seed)[1] for seed in (0, 1)]
    # Trained on the line of weight 1, a model errs by 4 in each row of the other; were the test
    # rows weighted too, it would not err at all.
    expected = [4 * math.sqrt(1 - is_odd[rows].mean()) for rows in tests]
    for method in ("adacap", "ridge"):
        assert found["weighted"][method] == pytest.approx(expected, rel=0.1)
        assert found["plain"][method] == pytest.approx([2.0, 2.0], rel=0.1)  # between the lines


def test_the_table_puts_the_best_first(call, houses):
    text = evaluate(call, houses, "-t", "rent", "--against", "ridge,intercept").stdout
    lines = [line.split()[0] for line in text.splitlines() if line.strip()]
    order = [name for name in lines if name in ("adacap", "ridge", "intercept")]
    assert order[2] == "intercept"
    assert "corrected" in text


def test_an_unknown_method_is_refused_before_anything_runs(call, houses):
    result = evaluate(call, houses, "-t", "rent", "--against", "rigde")
    assert result.exit_code == 2
    assert "Did you mean 'ridge'?" in result.stderr


@pytest.mark.parametrize("installed", [(), ("bench",)])
def test_an_unknown_method_may_be_one_of_the_benchmark(call, houses, monkeypatch, installed):
    monkeypatch.setattr("adacap.comparison.load_attached", lambda: installed)
    result = evaluate(call, houses, "-t", "rent", "--against", "moon")
    assert result.exit_code == 2
    assert ("pip install adacap-bench" in result.stderr) == (not installed)


def test_a_missing_package_is_reported_with_the_hint(call, houses, monkeypatch):
    moon = Method("moon", "Peer", {"regression"}, lambda kind, seed: None, packages=("moonshine",))
    monkeypatch.setitem(METHODS, "moon", moon)
    result = evaluate(call, houses, "-t", "rent", "--against", "ridge,moon")
    assert result.exit_code == 0
    assert "pip install moonshine" in result.stderr


def test_a_method_that_fails_does_not_end_the_others(call, houses, monkeypatch):
    def build(kind, seed):
        raise RuntimeError("no luck")

    monkeypatch.setitem(METHODS, "bad", Method("bad", "Peer", {"regression"}, build))
    result = evaluate(call, houses, "-t", "rent", "--against", "bad,ridge")
    assert result.exit_code == 1
    assert "failed: bad: RuntimeError: no luck" in result.stderr
    assert "ridge" in result.stdout


def test_one_target_at_a_time(call, houses):
    result = evaluate(call, houses, "-t", "rent,price")
    assert result.exit_code == 2
    assert "one target at a time" in result.stderr


def test_ctrl_c_keeps_the_splits_that_are_finished(call, houses, monkeypatch):
    from adacap.comparison import Encoded

    plain, calls = Encoded.fit, []

    def interrupted(self, *args, **more):
        calls.append(self)
        if len(calls) == 2:  # ridge on the second split
            raise KeyboardInterrupt
        return plain(self, *args, **more)

    monkeypatch.setattr(Encoded, "fit", interrupted)
    options = ["-t", "rent", "--against", "ridge", "--json"]
    result = call("evaluate", houses, *QUICK, "--splits", "3", *options)
    assert result.exit_code == 130
    assert "Interrupted: these are the scores of 1 of 3 splits." in result.stderr
    found = json.loads(result.stdout)
    assert [len(method["rmse"]["values"]) for method in found["methods"]] == [1, 1]
    calls[:] = [0]
    result = call("evaluate", houses, *QUICK, "--splits", "3", *options)
    assert result.exit_code == 130
    assert "Interrupted: no split was finished, so there are no scores." in result.stderr
