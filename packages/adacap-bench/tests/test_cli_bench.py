"""``adacap bench``: options, what it prints, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adacap_bench.cli.bench import app
from adacap_bench.jobs import Job, Record
from adacap_bench.methods import METHODS
from adacap_bench.plan import Skipped
from adacap_bench.runner import Summary
from adacap_bench.store import Store

TOYS = Path(__file__).parent / "toy_methods.py"


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call of the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture
def filled(tmp_path) -> Path:
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        for split, status in enumerate(["ok", "ok", "failed", "failed", "timeout"]):
            reason = {"failed": "Traceback\nValueError: no", "timeout": "Stopped."}.get(status)
            job = Job("builtin-diabetes", split, "ridge")
            store.add(Record(job, status, "a", "regression", "Linear", traceback=reason))
    return path


def test_run_then_run_again(call):
    command = ["run", "--suite", "builtin-diabetes", "--methods", "ols,intercept", "--splits", "2"]
    first = call(*command, "--jobs", "1", "--json")
    assert first.exit_code == 0, first.output
    summary = json.loads(first.stdout)
    assert (summary["n_jobs"], summary["counts"]) == (4, {"ok": 4})
    second = call(*command)
    assert second.exit_code == 0
    assert second.stdout.startswith("4 jobs: 4 done before, now none, in ")
    with Store("results.sqlite", read_only=True) as store:
        assert store.counts() == {"ok": 4}


def test_a_job_that_fails_and_a_method_that_does_not_fit(call):
    result = call(
        "run", "--suite", "builtin-diabetes", "--methods", "toy-raise,logreg",
        "--splits", "1", "--plugin", str(TOYS),
    )  # fmt: skip
    assert result.exit_code == 1
    assert "failed: toy-raise on builtin-diabetes, split 0, seed 0: RuntimeError" in result.stderr
    assert "1 jobs: 0 done before, now 1 failed" in result.stdout
    left_out = "left out: logreg on builtin-diabetes: does binary and multiclass, not regression"
    assert left_out in result.stdout


@pytest.fixture
def arguments(monkeypatch):
    """What the command hands to the runner, which does nothing here."""
    found = {}

    def run(tasks, methods, splits, seeds, store, **options):
        names = ("tasks", "methods", "splits", "seeds", "store")
        found.update(zip(names, (tasks, methods, splits, seeds, store), strict=True), **options)
        return Summary(n_jobs=1, n_before=1)

    monkeypatch.setattr("adacap_bench.runner.run", run)
    return found


def test_options_reach_the_runner(call, arguments, tmp_path):
    result = call(
        "run", "--suite", "builtin-iris,builtin-diabetes", "--methods", "ridge, gbdt",
        "--splits", "3", "--seeds", "2", "--jobs", "5", "--threads", "4", "--engine", "ray",
        "--address", "auto", "--store", "x.sqlite", "--time-limit", "9.5", "--retries", "0",
        "--data", str(tmp_path), "--plugin", "a.py", "--plugin", "b.py", "--raw-target",
        "--retry-failed",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert [task.key for task in arguments.pop("tasks")] == ["builtin-iris", "builtin-diabetes"]
    assert arguments == {
        "methods": ["ridge", "gbdt"], "splits": range(3), "seeds": range(2), "n_jobs": 5,
        "threads": 4, "engine": "ray", "address": "auto", "store": Path("x.sqlite"),
        "time_limit": 9.5, "retries": 0, "folder": tmp_path, "retry_failed": True,
        "plugins": [Path("a.py"), Path("b.py")], "raw_target": True, "progress": True,
    }  # fmt: skip


def test_defaults(call, arguments):
    assert call("run").exit_code == 0
    assert (arguments["methods"], arguments["splits"]) == (["all"], range(10))
    assert {task.key.split("-")[0] for task in arguments["tasks"]} == {"builtin"}
    assert arguments["n_jobs"] >= 1


def test_quick_is_few_methods_and_two_splits_unless_told_otherwise(call, arguments):
    from adacap_bench.methods import METHODS

    assert call("run", "--quick").exit_code == 0
    assert arguments["splits"] == range(2)
    assert 4 <= len(arguments["methods"]) <= 8
    assert set(arguments["methods"]) <= set(METHODS)
    assert call("run", "--quick", "--methods", "lasso", "--splits", "1").exit_code == 0
    assert (arguments["methods"], arguments["splits"]) == (["lasso"], range(1))


def test_what_was_left_out_is_told_once_per_reason(call, monkeypatch):
    skipped = [Skipped(f"task-{k}", "logreg", "does classes") for k in range(5)]
    skipped += [Skipped("*", "moon", "pip install moonshine"), Skipped("gone", "*", "absent")]
    summary = Summary(n_jobs=1, n_before=1, skipped=skipped)
    monkeypatch.setattr("adacap_bench.runner.run", lambda *a, **k: summary)
    assert call("run").stdout.splitlines()[1:] == [
        "left out: logreg on task-0, task-1, task-2 and 2 more: does classes",
        "left out: moon: pip install moonshine",
        "left out: all methods on gone: absent",
    ]


def test_an_interrupted_run_says_how_to_go_on(call, monkeypatch):
    interrupted = Summary(n_jobs=3, interrupted=True)
    monkeypatch.setattr("adacap_bench.runner.run", lambda *a, **k: interrupted)
    result = call("run")
    assert result.exit_code == 130
    assert "Interrupted; run the same command to resume." in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--suite", "paper-regresion"], "Did you mean 'paper-regression'"),
        (["--methods", "catbost"], "Did you mean 'catboost'"),
        (["--engine", "dask"], "engine must be one of ['local', 'ray'], got 'dask'"),
        (["--address", "auto"], "goes with engine='ray'"),
        (["--time-limit", "-1"], "time_limit must be a positive number of seconds, got -1.0"),
        (["--plugin", "absent.py"], "no plugin file absent.py"),
        (["--store", "nowhere/x.sqlite"], "no folder nowhere to keep x.sqlite in"),
        (["--splits", "0"], "--splits"),
        (["--splits", "1000000000"], "splits are more than 1,000,000, the most of one run"),
        (["--seeds", "9" * 30], "seeds are more than 1,000,000, the most of one run"),
        (["--splits", "1001", "--seeds", "1000"], "1,001 splits x 1,000 seeds are 1,001,000 jobs"),
        (["--methods", ""], "--methods is an empty list"),
        (["--suite", " ,"], "--suite is an empty list"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_usage_ends_with_2_and_the_reason(call, options, message):
    result = call("run", "--methods", "ols", "--suite", "builtin-diabetes", *options)
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.stderr


def test_a_file_that_is_no_store(call, tmp_path):
    (tmp_path / "notes.txt").write_text("some text that is long enough" * 20)
    result = call("status", "notes.txt")
    assert result.exit_code == 1
    assert "not a store of benchmark results" in result.stderr


def test_status_counts_and_reasons(call, filled):
    result = call("status", str(filled))
    assert result.exit_code == 0
    assert "2 failed, 2 ok, 1 timeout" in result.stdout
    assert "1 tasks, 1 methods" in result.stdout
    assert "failed: ridge on builtin-diabetes, 2 times: ValueError: no" in result.stdout


def test_status_as_json(call, filled):
    found = json.loads(call("status", str(filled), "--json").stdout)
    assert found["counts"] == {"ok": 2, "failed": 2, "timeout": 1}
    assert {"status": "timeout", "method": "ridge", "task": "builtin-diabetes", "n": 1,
            "reason": "Stopped."} in found["failures"]  # fmt: skip


def outcome(method, category, split, rmse, **more):
    job = Job("builtin-diabetes", split, method)
    metrics = {} if rmse is None else {"test_rmse": rmse}
    status = "failed" if rmse is None else "ok"
    return Record(job, status, "a", "regression", category, metrics=metrics, **more)


@pytest.fixture
def outcomes(tmp_path):
    path = tmp_path / "outcomes.sqlite"
    with Store(path) as store:
        for split, rmse in enumerate((0.25, 0.75, 2.0)):
            store.add(outcome("their-net", "Peer", split, rmse, fit_seconds=2.0))
        store.add(outcome("ridge", "Linear", 0, 0.4))
        store.add(outcome("ridge", "Linear", 1, None, traceback="ValueError: no"))
        store.add(outcome("lasso", "Linear", 0, None, traceback="ValueError: a|b"))
    return path


def test_status_says_what_became_of_each_method(call, outcomes):
    text = call("status", str(outcomes), "--methods").stdout
    lines = text.splitlines()
    assert "| mean RMSE |" in lines[2]
    assert lines[4] == "| their-net | Peer | ran | 3 | 0 | 1.0000 | 2.00 |  |"
    assert lines[5] == "| ridge | Linear | ran | 1 | 1 | 0.4000† | – | ValueError: no |"
    assert r"| lasso | Linear | failed | 0 | 1 | – | – | ValueError: a\|b |" in lines
    assert "| ols | Linear | not run | 0 | 0 | – | – |  |" in lines
    assert "| gp | Peer | not run | 0 | 0 | – | – | takes up to 1000 rows |" in lines
    logreg = "| logreg | Linear | does not apply | 0 | 0 | – | – | does binary and multiclass |"
    assert logreg in lines
    assert "† Some experiments have no result" in text
    found = json.loads(call("status", str(outcomes), "--methods", "--json").stdout)
    assert {row["method"] for row in found} == {*METHODS, "their-net"}
    assert found[1]["scores"] == {"rmse": 0.4}


def test_status_of_the_first_splits(call, outcomes):
    text = call("status", str(outcomes), "--methods", "--splits", "2").stdout
    assert "| their-net | Peer | ran | 2 | 0 | 0.5000 | 2.00 |  |" in text


def test_status_reads_what_a_run_wrote(call, tmp_path):
    run = ["run", "--suite", "builtin-diabetes,builtin-iris", "--methods", "intercept,logreg,ols"]
    assert call(*run, "--splits", "1", "--store", "r.sqlite").exit_code == 0
    found = json.loads(call("status", "r.sqlite", "--methods", "--json").stdout)
    scores = {row["method"]: row["scores"] for row in found if row["n_ok"]}
    assert {method: set(of) for method, of in scores.items()} == {
        "intercept": {"rmse", "accuracy"}, "logreg": {"accuracy"}, "ols": {"rmse"},
    }  # fmt: skip
    assert scores["ols"]["rmse"] < scores["intercept"]["rmse"]
    assert all(row["is_complete"] for row in found if row["n_ok"])


def test_status_says_which_methods_cannot_be_run(call, filled, monkeypatch):
    monkeypatch.setattr("adacap_bench.status.unavailable", lambda method: "needs a rocket")
    lines = call("status", str(filled), "--methods").stdout.splitlines()
    assert "| ols | Linear | unavailable | 0 | 0 | – | needs a rocket |" in lines
    assert not any("not run" in line for line in lines)


def test_status_of_an_empty_store(call, tmp_path):
    Store(tmp_path / "empty.sqlite").close()
    result = call("status", "empty.sqlite")
    assert (result.exit_code, "no record" in result.stdout) == (0, True)


def test_methods_say_what_is_missing_and_how_to_get_it(call, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from adacap_bench.methods import Method, register\n"
        "register(Method('moon', 'Peer', {'binary'}, print, packages=('moonshine',)))\n"
    )
    result = call("methods", "--plugin", "mine.py", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    by_name = {row["name"]: row for row in found["methods"]}
    assert by_name["ridge"]["unavailable"] is None
    assert "pip install moonshine" in by_name["moon"]["unavailable"]
    assert "moon" in found["groups"]["peers"]


def test_methods_as_a_table(call, monkeypatch):
    hint = "pip install 'adacap-bench[peers]'"
    monkeypatch.setattr("adacap_bench.methods.unavailable", lambda method: hint)
    result = call("methods")
    assert result.exit_code == 0
    assert result.stdout.count(hint) == len(METHODS)
    assert "adacap-snn" in result.stdout
    assert "Groups: all (" in result.stdout


def test_import_adds_records(call, tmp_path):
    (tmp_path / "mine.csv").write_text("task,split,method,score\nbuiltin-diabetes,0,my-net,0.7\n")
    result = call("import", "mine.csv", "--store", "new.sqlite")
    assert (result.exit_code, result.stdout) == (
        0, "1 results imported into new.sqlite, 0 were there.\n",
    )  # fmt: skip


def test_a_bad_file_leaves_no_store(call, tmp_path):
    (tmp_path / "mine.csv").write_text("task,split,method,score\nbuiltin-diabetes,x,my-net,0.7\n")
    result = call("import", "mine.csv", "--store", "new.sqlite")
    assert result.exit_code == 1
    assert "row 2: split must be an integer, got 'x'" in result.stderr
    assert not (tmp_path / "new.sqlite").exists()


def test_report_options_reach_the_report(call, filled, monkeypatch):
    found = {}
    monkeypatch.setattr(
        "adacap_bench.report.write_report",
        lambda store, out, **options: found.update(options, store=store, out=out),
    )
    result = call(
        "report", str(filled), "-o", "page.html", "--tables", "t", "--suite", "builtin",
        "--title", "Mine", "--complete", "--force",
    )  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "Report written to page.html.\n")
    assert found == {
        "store": filled, "out": Path("page.html"), "tables_dir": Path("t"), "suite": "builtin",
        "title": "Mine", "allow_missing": False, "force": True,
    }  # fmt: skip


def test_a_report_of_results_that_were_run(call):
    lines = [f"builtin-diabetes,{k},{name},0.{k + 5}" for k in range(3) for name in ("one", "two")]
    Path("mine.csv").write_text("\n".join(["task,split,method,score", *lines]))
    assert call("import", "mine.csv").exit_code == 0
    result = call("report", "results.sqlite", "--tables", "tables")
    assert result.exit_code == 0, result.output
    assert "<html" in Path("report.html").read_text(encoding="utf-8")[:500]
    assert list(Path("tables").iterdir())
    again = call("report", "results.sqlite")
    assert (again.exit_code, "report.html" in again.stderr) == (2, True)


def test_help_is_quick_and_loads_no_numerical_library(environment):
    code = (
        "import sys\nfrom adacap_bench.cli.bench import app\n"
        "try:\n    app(['run', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'pandas', 'torch', 'sklearn', 'ray'} & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_methods_name_the_extra_that_lacks(call, monkeypatch):
    from adacap_bench import methods

    monkeypatch.setattr(methods, "unavailable", lambda method: "pip install 'adacap-bench[peers]'")
    text = call("methods").stdout
    assert "pip install 'adacap-bench[peers]'" in text


def test_a_run_goes_on_from_packed_records(call):
    run = ["run", "--suite", "builtin-diabetes", "--methods", "ols", "--splits", "2", "--jobs", "1"]
    assert call(*run, "--store", "here.sqlite").exit_code == 0
    packed = call("pack", "here.sqlite", "-o", "records.jsonl.gz")
    assert packed.stdout == "2 records of here.sqlite written to records.jsonl.gz.\n"
    imported = call("import", "records.jsonl.gz", "--store", "there.sqlite")
    assert imported.stdout == "2 results imported into there.sqlite, 0 were there.\n"
    again = call(*run, "--store", "there.sqlite")
    assert again.stdout.startswith("2 jobs: 2 done before, now none, in ")


def test_a_file_that_is_not_packed_makes_no_store(call):
    Path("records.jsonl.gz").write_bytes(b"text")
    result = call("import", "records.jsonl.gz", "--store", "new.sqlite")
    assert result.exit_code == 1
    assert "cannot be imported" in result.stderr
    assert not Path("new.sqlite").exists()
