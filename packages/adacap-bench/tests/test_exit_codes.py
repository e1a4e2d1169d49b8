"""The rule of every command of adacap: a missing file is a wrong command line, exit code 2."""

from typer.main import get_command
from typer.testing import CliRunner

from adacap_bench.cli import bench, data, reproduce
from adacap_bench.store import Store

# Arguments that name a file which is not there, for every command that takes one.
MISSING = {
    bench.app: {
        "run": ["--suite", "no.csv"],
        "import": ["no.csv"],
        "pack": ["no.sqlite"],
        "methods": ["--plugin", "no.py"],
        "status": ["no.sqlite"],
        "report": ["no.sqlite"],
    },
    data.app: {
        "list": ["--suite", "no.csv"],
        "show": ["no.csv"],
        "fetch": ["no.csv"],
        "verify": ["no.csv"],
    },
}


def ends_so(app, words):
    result = CliRunner().invoke(app, words)
    gone = next(word for word in words if word.startswith("no."))
    return result.exit_code == 2 and gone in result.stderr and not result.stdout


def test_a_missing_file_is_a_wrong_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for app, missing in MISSING.items():
        for command in get_command(app).commands:  # a new command says above what it reads
            assert ends_so(app, [command, *missing[command]]), command
    assert ends_so(reproduce.app, ["c5", "--quick", "--store", "no.sqlite"])


def test_a_folder_in_place_of_a_file_is_a_wrong_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.folder").mkdir()
    for app, missing in MISSING.items():
        for command in get_command(app).commands:
            assert ends_so(app, [command, *missing[command][:-1], "no.folder"]), command
    run = ["run", "--suite", "builtin-iris", "--methods", "ridge", "--store", "no.folder"]
    assert ends_so(bench.app, run)
    assert ends_so(reproduce.app, ["c5", "--quick", "--store", "no.folder"])


def test_a_folder_of_data_must_be_there(tmp_path, monkeypatch):
    """It was passed over in silence, and the data were looked for elsewhere."""
    monkeypatch.chdir(tmp_path)
    run = ["run", "--suite", "builtin-iris", "--methods", "ridge", "--data", "no.folder"]
    assert ends_so(bench.app, run)
    assert ends_so(reproduce.app, ["c8", "--quick", "--data", "no.folder"])
    for command in (["list"], ["show", "paper-1"], ["verify", "paper-1"]):
        assert ends_so(data.app, [*command, "--folder", "no.folder"]), command


def test_places_to_write_to_are_checked_before_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("adacap_bench.cli.reproduce._run_all", None)  # not reached
    (tmp_path / "no.file").write_bytes(b"\xff")
    (tmp_path / "no.folder").mkdir()
    (tmp_path / "no.marks").write_text("a page", encoding="utf-8")
    assert ends_so(reproduce.app, ["c4", "-o", "no.file"])
    for option, place in (
        ("--page", "no.folder"), ("--readme", "no.readme"),
        ("--readme", "no.file"), ("--readme", "no.marks"),
    ):  # fmt: skip
        assert ends_so(reproduce.app, ["c4", "-o", "out", option, place]), (option, place)
    Store("s.sqlite").close()
    assert ends_so(bench.app, ["report", "s.sqlite", "--tables", "no.file"])


def test_a_value_error_of_the_work_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def fails(*args, **options):
        raise ValueError("It did not work out.")

    monkeypatch.setattr("adacap_bench.runner.make_plan", fails)
    words = ["run", "--suite", "builtin-iris", "--methods", "ridge", "--store", "s.sqlite"]
    result = CliRunner().invoke(bench.app, words)
    assert (result.exit_code, result.stderr) == (1, "Error: It did not work out.\n")


def test_a_bad_input_is_a_failure_not_a_wrong_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad"
    bad.write_bytes(b"\xff\xfe neither text nor a store" * 40)
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "c8.json").write_text("{}", encoding="utf-8")
    for app, words in (
        (bench.app, ["import", "bad"]),
        (bench.app, ["status", "bad"]),
        (bench.app, ["report", "bad"]),
        (bench.app, ["methods", "--plugin", "bad"]),
        (data.app, ["show", "empty.csv"]),
        (reproduce.app, ["ledger", "-o", "."]),
    ):
        result = CliRunner().invoke(app, words)
        assert (result.exit_code, result.stdout) == (1, ""), words
        assert result.stderr.startswith("Error: "), words
