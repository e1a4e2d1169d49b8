"""``adacap predict``: columns, order, refusals; a file of any length, stopped and gone on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.files import open_table

FEATURES = ["size", "rooms", "city", "sold", "garage"]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet", "out.feather"])
def test_predictions_are_those_of_the_model(call, houses, house_model, name):
    path, model = house_model
    result = call("predict", path, houses, "-o", name, "--interval", "0.8", "--batch-rows", "50")
    assert result.exit_code == 0, result.output
    table = open_table(houses).read(FEATURES)
    found = open_table(name).read()
    assert found.column_names == ["prediction", "lower", "upper"]
    assert np.allclose(found.column("prediction").to_numpy(), model.predict(table), rtol=1e-12)
    bounds = np.column_stack([found.column(k).to_numpy() for k in ("lower", "upper")])
    assert np.allclose(bounds, model.predict_interval(table, coverage=0.8), rtol=1e-12)
    assert os.listdir() == [name]


def test_columns_are_kept_in_their_order(call, houses, house_model):
    call("predict", house_model[0], houses, "-o", "a.csv", "--id", "kind,id")
    assert open_table("a.csv").names == ("kind", "id", "prediction")
    call("predict", house_model[0], houses, "-o", "b.csv", "--keep-columns")
    kept = open_table("b.csv").read()
    original = open_table(houses).read()
    assert kept.column_names == [*original.column_names, "prediction"]
    assert kept.column("city").to_pylist() == original.column("city").to_pylist()
    assert kept.column("id").to_pylist() == original.column("id").to_pylist()


def test_other_formats_of_the_same_rows_give_the_same_predictions(call, houses, house_model):
    table = open_table(houses).read()
    pyarrow.parquet.write_table(table, "t.parquet", row_group_size=30)
    call("predict", house_model[0], "t.parquet", "-o", "a.csv")
    call("predict", house_model[0], houses, "-o", "b.csv")
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_classes_and_probabilities(call, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    labels = np.where(x > 0, "yes", "no")
    table = pa.table({"x": x, "z": rng.normal(size=60)})
    model = AdaCapClassifier(width=8, max_iter=20, random_state=0).fit(table, labels)
    model.save("c.adacap")
    pyarrow.parquet.write_table(table, "t.parquet")
    assert call("predict", "c.adacap", "t.parquet", "-o", "o.csv").exit_code == 0
    found = open_table("o.csv").read()
    assert found.column_names == ["class", "probability_no", "probability_yes"]
    assert found.column("class").to_pylist() == model.predict(table).tolist()
    total = found.column(1).to_numpy() + found.column(2).to_numpy()
    assert np.allclose(total, 1.0)
    refused = call("predict", "c.adacap", "t.parquet", "-o", "p.csv", "--interval", "0.9")
    assert refused.exit_code == 2
    assert "--interval is for regression" in refused.stderr


def test_a_model_without_names_goes_by_position(call):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = AdaCapRegressor(width=8, max_iter=20, random_state=0).fit(X, X[:, 0])
    model.save("m.adacap")
    table = pa.table({"id": range(40), "a": X[:, 0], "b": X[:, 1]})
    pyarrow.parquet.write_table(table, "t.parquet")
    result = call("predict", "m.adacap", "t.parquet", "-o", "o.parquet", "--id", "id")
    assert result.exit_code == 0, result.output
    found = open_table("o.parquet").read()
    assert np.array_equal(found.column("prediction").to_numpy(), model.predict(X))


def test_a_model_that_cannot_give_intervals(call, houses):
    table = pa.table({"x": np.arange(40.0)})
    one_net = {"n_estimators": 1, "scheme": "plain"}
    model = AdaCapRegressor(**one_net, width=8, max_iter=5, random_state=0)
    model.fit(table, np.arange(40.0)).save("m.adacap")
    pyarrow.parquet.write_table(table, "t.parquet")
    result = call("predict", "m.adacap", "t.parquet", "-o", "o.csv", "--interval", "0.9")
    assert result.exit_code == 2
    assert "cannot make intervals" in result.stderr
    assert "adacap fit" in result.stderr


def test_missing_columns_name_the_nearest(call, house_model, tmp_path):
    (tmp_path / "t.csv").write_text("Size,roms,city,sold\n1,2,Nice,2024-01-01\n")
    result = call("predict", house_model[0], "t.csv", "-o", "o.csv")
    assert result.exit_code == 1
    assert "is missing 3 of the 5 columns" in result.stderr
    assert "'size' (is it 'Size'?), 'rooms' (is it 'roms'?), 'garage'" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--interval", "90"], 2, "is a share between 0 and 1, got 90. Did you mean 0.9?"),
        (["--id", "idd"], 2, "Unknown id column 'idd'. Did you mean 'id'?"),
        (["-o", "o.doc"], 1, "known endings are .csv"),
    ],
)
def test_wrong_options(call, houses, house_model, options, code, message):
    result = call("predict", house_model[0], houses, "-o", "o.csv", *options)
    assert result.exit_code == code
    assert message in result.stderr
    assert os.listdir() == []


def test_a_wrong_model_file(call, houses, tmp_path):
    table = tmp_path / "table.csv"
    table.write_bytes(houses.read_bytes())
    result = call("predict", table, houses, "-o", "o.csv")
    assert result.exit_code == 1
    assert "Model files are written by adacap fit" in result.stderr
    assert call("predict", "none.adacap", houses, "-o", "o.csv").exit_code == 2


def test_a_bad_cell_leaves_nothing(call, house_model, tmp_path, write_houses):
    text = write_houses(tmp_path / "t.csv", n_rows=20).read_text().splitlines()
    text[15] = text[15].replace(",", ",many,", 1).rpartition(",")[0]
    (tmp_path / "t.csv").write_text("\n".join(text))
    result = call("predict", house_model[0], "t.csv", "-o", "o.csv", "--batch-rows", "5")
    assert result.exit_code == 1
    assert "'many'" in result.stderr
    assert os.listdir(tmp_path) == ["t.csv"]


def test_nothing_to_resume(call, houses, house_model):
    result = call("predict", house_model[0], houses, "-o", "o.csv", "--resume")
    assert result.exit_code == 0
    assert "There is nothing to resume" in result.stderr


# ------------------------------------------------------------------------ long files


def write_long(path, n_rows, n_numbers=4, seed=0, row_group=20_000):
    """A Parquet file of numbers, text with missing cells and dates, written in pieces."""
    rng = np.random.default_rng(seed)
    towns = np.array(["Lyon", "Nice", "Paris", None], dtype=object)
    writer = None
    for begin in range(0, n_rows, 100_000):
        n = min(100_000, n_rows - begin)
        columns = {"id": np.arange(begin, begin + n)}
        columns |= {f"x{j}": rng.normal(size=n) for j in range(n_numbers)}
        columns["town"] = towns[rng.integers(4, size=n)]
        columns["day"] = np.datetime64("2020-01-01") + rng.integers(0, 1500, n)
        table = pa.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=row_group)
    writer.close()
    return path


def long_model(path, data, **options):
    table = next(open_table(data).batches(rows=2000))
    X = table.drop_columns(["id"])
    model = AdaCapRegressor(random_state=0, **options).fit(X, table.column("x0").to_numpy())
    model.save(path)
    return model


# A twentieth of a second for every part: Ctrl-C comes before the last of them, however late.
PACED = """
import signal, time
from adacap.cli import main
from adacap.files import Parts

def add(*args, whole=Parts.add, **options):
    time.sleep(0.05)
    return whole(*args, **options)

Parts.add = add
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def interrupt(process, folder, least=2):
    """Send Ctrl-C once so many parts of the output are there, their drafts not counted."""
    while len(list(folder.glob("[0-9]*.arrow"))) < least:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=300)[1]


def test_ctrl_c_then_resume(call, start, tmp_path):
    data = write_long(tmp_path / "long.parquet", 20_000)
    long_model(tmp_path / "m.adacap", data, width=8, max_iter=5)
    command = ["predict", "m.adacap", "long.parquet", "-o", "out.parquet", "--id", "id",
               "--batch-rows", "250"]  # fmt: skip
    process = start(*command, cwd=tmp_path, program=("-c", PACED))
    errors = interrupt(process, tmp_path / ".out.parquet.part")
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "of 20,000 rows are done and kept in .out.parquet.part" in errors
    assert "--resume continues from there" in errors
    assert not (tmp_path / "out.parquet").exists()

    result = call(*command[:-2], "--resume", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["rows"] == 20_000
    assert facts["resumed_at"] >= 500
    call(*command[:3], "-o", "whole.parquet", "--id", "id")
    whole, resumed = (pyarrow.parquet.read_table(f"{name}.parquet") for name in ("whole", "out"))
    assert resumed.column("id").to_pylist() == list(range(20_000))
    assert resumed.equals(whole)
    assert sorted(os.listdir()) == ["long.parquet", "m.adacap", "out.parquet", "whole.parquet"]


def test_a_time_limit_keeps_what_is_done(call, tmp_path, monkeypatch):
    data = write_long(tmp_path / "long.parquet", 4000)
    long_model(tmp_path / "m.adacap", data, width=8, max_iter=5)
    command = ["predict", "m.adacap", "long.parquet", "-o", "out.csv", "--batch-rows", "1000"]
    ticks = iter(range(0, 10_000))
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(sys.modules["adacap.cli.predict"], "time", clock)
    result = call(*command, "--time-limit", "2.5")  # a second passes at every look at the clock
    assert result.exit_code == 1
    assert "The time limit was reached: 2,000 of 4,000 rows are done and kept" in result.stderr
    assert not (tmp_path / "out.csv").exists()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    result = call(*command, "--resume", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["rows"], facts["resumed_at"]) == (4000, 2000)
    assert facts["predict_seconds"] < facts["seconds"]


def test_resume_refuses_another_table(call, tmp_path):
    data = write_long(tmp_path / "long.parquet", 1000)
    long_model(tmp_path / "m.adacap", data, width=8, max_iter=5)
    from adacap.files import Parts

    parts = Parts(tmp_path / "out.csv", {"model": [], "table": [], "interval": None, "columns": []})
    parts.start(resume=False)
    parts.add(pa.table({"prediction": [1.0]}))
    parts.leave()
    result = call("predict", "m.adacap", "long.parquet", "-o", "out.csv", "--resume")
    assert result.exit_code == 1
    assert "had another model and table, so it cannot resume" in result.stderr


PEAK = """
import resource, sys
from adacap.cli import main
sys.argv = ["adacap", *sys.argv[1:]]
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


@pytest.fixture
def peak(environment):
    """Most memory in MB that the command took, and what it printed on standard error."""

    def measure(*arguments, cwd):
        process = subprocess.run(
            [sys.executable, "-c", PEAK, *map(str, arguments)],
            cwd=cwd, env=environment, capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        lines = process.stderr.strip().splitlines()
        return int(lines[-1]), lines[:-1]

    return measure


def test_memory_does_not_grow_with_the_file(peak, tmp_path):
    short = write_long(tmp_path / "short.parquet", 35_000, n_numbers=24)
    long = write_long(tmp_path / "long.parquet", 300_000, n_numbers=24)
    long_model(tmp_path / "m.adacap", short, width=4, depth=1, max_iter=2)
    few, _ = peak("predict", "m.adacap", short, "-o", "a.parquet", cwd=tmp_path)
    many, _ = peak("predict", "m.adacap", long, "-o", "b.parquet", cwd=tmp_path)
    assert pyarrow.parquet.read_metadata(tmp_path / "b.parquet").num_rows == 300_000
    in_memory = 300_000 * 26 * 8 / 2**20  # of the table alone, 60 MB
    assert many - few < 0.75 * in_memory, (few, many)


@pytest.mark.slow
def test_two_million_rows(start, peak, tmp_path):
    """Peak memory below 1.5 GB, progress shown, complete after Ctrl-C and a resume."""
    data = write_long(tmp_path / "long.parquet", 2_000_000, n_numbers=10, row_group=1_000_000)
    long_model(tmp_path / "m.adacap", data, n_estimators=5, validation="folds")
    command = ["predict", "m.adacap", data, "-o", "out.parquet", "--id", "id"]
    process = start(*command, cwd=tmp_path)
    assert "--resume" in interrupt(process, tmp_path / ".out.parquet.part", least=10)
    most, lines = peak(*command, "--resume", cwd=tmp_path)
    print(f"peak memory {most} MB", *lines[-3:], sep="\n")
    assert most < 1500
    assert any("of 2,000,000 rows" in line for line in lines)
    table = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert table.column("id").to_numpy().tolist() == list(range(2_000_000))
    assert not np.isnan(table.column("prediction").to_numpy()).any()
