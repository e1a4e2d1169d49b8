"""From the command to the files: real runs of items that take seconds; the claims, marked slow."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adacap.exceptions import AdaCapError
from adacap_bench.cli.reproduce import app
from adacap_bench.plan import Skipped
from adacap_bench.reproduce import (
    Machine,
    UnfinishedError,
    cheapest_first,
    items,
    read_folder,
    reproduce,
)
from adacap_bench.reproduce.results import NoResultError
from adacap_bench.runner import Summary
from adacap_bench.store import Store

RECORDS = Path(__file__).parents[4] / "docs" / "reproduction"


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_list():
    result = run("list", "--json")
    assert result.exit_code == 0
    assert {row["item"] for row in json.loads(result.output)} == set(items())


def test_wrong_usage_is_exit_code_2(tmp_path):
    for words, text in (
        (["c88"], "Unknown item 'c88'. Did you mean"),
        (["c8", "--quick", "--full"], "Choose one scale, got quick and paper."),
        (["c8", "--scale", "huge"], "Unknown scale 'huge'."),
    ):
        result = run(*words, "-o", tmp_path)
        assert result.exit_code == 2
        assert text in result.stderr


def test_ridge_is_run_once_and_then_read_from_the_state(tmp_path):
    words = ["c4", "--quick", "--splits", 3, "--jobs", 1, "-o", tmp_path, "--json"]
    first = run(*words)
    assert first.exit_code == 0, first.output
    record = json.loads((tmp_path / "c4.json").read_text(encoding="utf-8"))
    assert record["command"] == "adacap reproduce c4 --quick --splits 3"
    assert (record["scale"], record["n_jobs"], record["n_failed"]) == ("own", 18, 0)
    assert "## c4" in (tmp_path / "REPRODUCTION.md").read_text(encoding="utf-8")
    with Store(tmp_path / "state.sqlite", read_only=True) as store:
        before = [found.created for found in store.records()]
    run(*words)
    with Store(tmp_path / "state.sqlite", read_only=True) as store:
        assert [found.created for found in store.records()] == before
    again = json.loads((tmp_path / "c4.json").read_text(encoding="utf-8"))
    assert again == record


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    state = tmp_path / "state.sqlite"
    words = ["c4", "--quick", "--splits", "16", "--jobs", "1", "-o", str(tmp_path), "--json"]
    command = [sys.executable, "-c", "from adacap_bench.cli.reproduce import app; app()", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while count(state) < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    kept = count(state)
    assert 3 <= kept < 96
    assert not (tmp_path / "c4.json").exists()
    result = run(*words)
    assert result.exit_code == 0, result.output
    with Store(state, read_only=True) as store:
        jobs = [record.job for record in store.records()]
    assert len(jobs) == len(set(jobs)) == 96
    assert json.loads((tmp_path / "c4.json").read_text(encoding="utf-8"))["n_jobs"] == 96


def test_a_time_limit_keeps_what_is_done_and_says_what_is_left(tmp_path):
    state = tmp_path / "state.sqlite"
    words = ["c4", "--quick", "--jobs", 1, "-o", tmp_path]
    assert run(*words, "--splits", 2, "--json").exit_code == 0
    assert count(state) == 12
    words += ["--splits", 5]
    result = run(*words, "--time-limit", 0.1, "--json")
    left = 30 - count(state)
    assert result.exit_code == 1
    assert 0 < left <= 18
    assert f"c4: unfinished: {30 - left} of 30 runs." in result.stderr
    assert f"The time limit was reached: {left} jobs are left." in result.stderr
    assert f"kept in {state}; run the same command to resume." in result.stderr
    found = json.loads(result.stdout)[0]
    assert (found["item"], found["verdict"], found["jobs_left"]) == ("c4", "unfinished", left)
    record = json.loads((tmp_path / "c4.json").read_text(encoding="utf-8"))
    assert (record["n_jobs"], record["n_left"]) == (30 - left, left)
    page = (tmp_path / "REPRODUCTION.md").read_text(encoding="utf-8")
    assert page.count(f"unfinished: {30 - left} of 30 runs") == 2  # summary and record
    assert run(*words, "--max-hours", 0.2, "--json").exit_code == 0
    whole = json.loads((tmp_path / "c4.json").read_text(encoding="utf-8"))
    assert (whole["n_jobs"], whole["n_left"]) == (30, 0)
    assert "unfinished:" not in (tmp_path / "REPRODUCTION.md").read_text(encoding="utf-8")


def test_a_study_that_is_cut_has_all_its_methods_on_what_is_done(tmp_path, monkeypatch):
    """C10 goes seed by seed: at any moment all four rows are of the same seeds."""
    item = items()["c10"]
    orders = []
    monkeypatch.setattr(
        "adacap_bench.runner._execute", lambda plan, *_: orders.extend(plan.orders) or Summary()
    )
    with pytest.raises(NoResultError):
        reproduce(item, Machine(tmp_path / "state.sqlite", deadline=time.monotonic() + 9), "ledger")
    seeds = [order.job.seed for order in orders]
    assert seeds == sorted(seeds)
    assert len({order.job.method for order in orders[:4]}) == 4


def test_an_unfinished_record_does_not_replace_one_of_more_runs(tmp_path):
    words = ["c4", "--quick", "--jobs", 1, "--json"]
    assert run(*words, "--splits", 3, "-o", tmp_path).exit_code == 0
    before = (tmp_path / "c4.json").read_bytes()
    other = tmp_path / "other.sqlite"
    assert run(*words, "--splits", 1, "-o", tmp_path / "b", "--state", other).exit_code == 0
    late = ["--splits", 40, "--state", other, "--time-limit", 0.1]
    result = run(*words, *late, "-o", tmp_path)
    assert result.exit_code == 1
    assert "c4.json is of 18 runs and is kept." in result.stderr
    assert json.loads(result.stdout)[0]["files"] == []
    assert (tmp_path / "c4.json").read_bytes() == before


def test_a_job_that_is_stopped_is_told_in_the_record(tmp_path, made_up, monkeypatch):
    def stopped(item, scale, machine):
        results = made_up(item, scale)
        first = results.records.pop(0)
        text = "Stopped at the time limit of 9 s."
        results.failed = [replace(first, status="timeout", traceback=text)]
        results.skipped = [Skipped("paper-2", "svm", "takes up to 9 rows, the table has 10")]
        return results

    monkeypatch.setattr("adacap_bench.reproduce.running._run", stopped)
    machine = Machine(tmp_path / "state.sqlite", job_limit=9.0)
    found = reproduce(items()["c8"], machine, "quick")
    assert found.command == "adacap reproduce c8 --quick --job-limit 9"
    assert found.notes[-2:] == (
        "1 of the runs ended without a result. Stopped at the time limit of 9 s. "
        "adacap-fast-mlp-drop-0 on paper-1.",
        "Not run: svm on paper-2: takes up to 9 rows, the table has 10.",
    )


def test_with_a_deadline_the_cheapest_items_come_first():
    order = [item.key for item in cheapest_first(items().values(), "paper")]
    assert order.index("c2") < order.index("c8") < order.index("d6-lambda") < order.index("n1")
    assert set(order) == set(items())


def test_a_ledger_of_no_records_is_refused(tmp_path):
    page = tmp_path / "page.md"
    for folder in (tmp_path / "missing", tmp_path):
        result = run("ledger", "-o", folder, "--page", page)
        assert result.exit_code == 2
        assert f"{folder} holds no record" in result.stderr
    assert not page.exists()
    assert not (tmp_path / "missing").exists()


def test_after_the_deadline_a_finished_item_still_gives_its_record(tmp_path):
    state = tmp_path / "state.sqlite"
    late = Machine(state, deadline=time.monotonic() - 1)
    with pytest.raises(UnfinishedError, match="12 of 12 jobs are left") as caught:
        reproduce(items()["c4"], late, "quick", splits=2)
    assert (caught.value.n_left, caught.value.n_jobs) == (12, 12)
    whole = reproduce(items()["c4"], Machine(state), "quick", splits=2)
    assert reproduce(items()["c4"], late, "quick", splits=2) == whole


def count(state: Path) -> int:
    if not state.exists():
        return 0
    try:
        with Store(state, read_only=True) as store:
            return len(store.records())
    except AdaCapError:  # being made
        return 0


def test_ray_gives_the_same_numbers(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="needs the extra ray: pip install 'adacap-bench[ray]'")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # a cluster that is none of ours
    words = ["c4", "--quick", "--splits", 2, "--jobs", 1, "--json"]
    found = []
    for engine in ("local", "ray"):
        result = run(*words, "--engine", engine, "-o", tmp_path / engine)
        assert result.exit_code == 0, result.output
        found.append(json.loads((tmp_path / engine / "c4.json").read_text(encoding="utf-8")))
    assert found[0]["rows"] == found[1]["rows"]
    assert [record["n_failed"] for record in found] == [0, 0]


def test_items_about_the_benchmark_read_a_store(tmp_path, made_up):
    """Nothing is trained: the store is all they look at."""
    item = items()["c12"]
    results = made_up(item, item.scales["quick"])
    with Store(tmp_path / "bench.sqlite") as store:
        store.add_all(results.records)
    for key in ("c5", "c6", "c12"):
        found = run(key, "--store", tmp_path / "bench.sqlite", "-o", tmp_path / "out", "--json")
        assert found.exit_code == 0, found.output
        record = json.loads((tmp_path / "out" / f"{key}.json").read_text(encoding="utf-8"))
        assert record["command"] == f"adacap reproduce {key} --store bench.sqlite"
        assert "2 tasks" in record["extent"]
    assert not (tmp_path / "out" / "state.sqlite").exists()


def test_the_classification_table_reads_a_store(tmp_path, made_up):
    item = items()["c5-classes"]
    with Store(tmp_path / "classes.sqlite") as store:
        store.add_all(made_up(item, item.scales["quick"]).records)
    out = tmp_path / "out"
    found = run(item.key, "--store", tmp_path / "classes.sqlite", "-o", out, "--json")
    assert found.exit_code == 0, found.output
    record = json.loads((out / "c5-classes.json").read_text(encoding="utf-8"))
    assert record["command"] == "adacap reproduce c5-classes --store classes.sqlite"
    assert "The paper's table is about 18 tasks" in record["notes"][-1]


def test_absent_data_are_named_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.delenv("ADACAP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(NoResultError, match="c8 could not be run"):
        reproduce(items()["c8"], Machine(tmp_path / "state.sqlite"), "quick")


def test_listing_loads_no_tensor_library():
    code = (
        "import sys, adacap_bench.reproduce as r; r.items(); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'pandas', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_theorem_1_error_falls_as_n_grows(tmp_path):
    record = reproduce(items()["c11"], Machine(tmp_path / "state.sqlite", n_jobs=2), "quick")
    assert record.claims[0].verdict == "reproduced"
    assert record.claims[1].verdict == "reproduced"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["c3", "c8", "c9", "c10", "c11"])
def test_a_fresh_run_gives_the_verdicts_of_the_ledger(key, tmp_path, data_folder):
    """What is reproduced stays so; what is not says so in the ledger, and is not passed over."""
    machine = Machine(tmp_path / "state.sqlite", n_jobs=2, folder=data_folder)
    fresh = reproduce(items()[key], machine, "ledger")
    print([f"{claim.text}: {claim.verdict}, {claim.evidence}" for claim in fresh.claims])
    kept = read_folder(RECORDS)[key]
    assert {c.text: c.verdict for c in fresh.claims} == {c.text: c.verdict for c in kept.claims}
