"""Commands of other distributions: attached by entry point, listed, or said to be missing."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
from typer.testing import CliRunner

from adacap.cli import GROUP, OF_BENCH, app

PLUGIN = """
import typer
app = typer.Typer(add_completion=False)

@app.command()
def hello(name: str, loud: bool = False) -> None:
    "Greet."
    typer.echo(name.upper() if loud else name)

several = typer.Typer(add_completion=False, help="Two of them.")
several.command()(hello)

@several.command()
def bye() -> None:
    "Part."
    raise typer.Exit(3)
"""


@pytest.fixture
def call(monkeypatch, tmp_path):
    """``adacap`` with some entry points and no others."""
    (tmp_path / "plugin_of_test.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "broken_plugin.py").write_text("import no_such_package", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = {}
    monkeypatch.setattr(
        "adacap.cli.entry_points",
        lambda group: [EntryPoint(name, value, group) for name, value in found.items()],
    )

    def run(*words, **attached):
        found.update(attached)
        return CliRunner().invoke(app, [str(word) for word in words])

    yield run
    sys.modules.pop("plugin_of_test", None)


@pytest.mark.parametrize("name", OF_BENCH)
@pytest.mark.parametrize("words", [[], ["run", "--quick"], ["--help"], ["c4", "-o", "x"]])
def test_without_the_benchmark_its_commands_say_what_to_install(call, name, words):
    result = call(name, *words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"Error: adacap {name} comes with the benchmark, which is not installed: "
        "pip install adacap-bench\n"
    )


def test_help_lists_them_all_the_same(call):
    text = call("--help").stdout
    for name in ("fit", "predict", "evaluate", "inspect", "export", "demo", *OF_BENCH):
        assert f"  {name} " in text
    assert [line.split()[0] for line in text.splitlines() if "Needs adacap-bench" in line] == [
        *OF_BENCH
    ]


def test_an_attached_command_takes_its_arguments(call):
    result = call("hello", "you", "--loud", hello="plugin_of_test:app")
    assert (result.exit_code, result.stdout) == (0, "YOU\n")


def test_a_group_of_commands_takes_its_own(call):
    assert call("greet", "hello", "you", greet="plugin_of_test:several").stdout == "you\n"
    assert call("greet", "bye").exit_code == 3


def test_an_attached_command_is_listed_with_its_help(call):
    text = call("--help", zzz="plugin_of_test:app", bench="plugin_of_test:several").stdout
    assert "Greet." in text
    assert "Two of them." in text
    assert text.count("Needs adacap-bench") == len(OF_BENCH) - 1


def test_no_command_of_the_library_is_replaced(call):
    assert "Train on two tables" in call("demo", "--help", demo="plugin_of_test:app").stdout


def test_one_that_cannot_be_imported_is_named_and_harms_no_other(call):
    result = call("bad", "--flag", bad="broken_plugin:app")
    assert result.exit_code == 2
    assert "adacap bad comes with broken_plugin:app, which cannot be imported" in result.stderr
    assert "no_such_package" in result.stderr
    assert call("--help").exit_code == 0
    assert call("--version").exit_code == 0


def test_a_command_of_the_library_looks_for_no_entry_point(call, monkeypatch):
    monkeypatch.setattr("adacap.cli.entry_points", lambda group: pytest.fail("looked"))
    assert CliRunner().invoke(app, ["fit", "--help"]).exit_code == 0


def test_an_unknown_command_is_refused_as_ever(call):
    result = call("bensch")
    assert result.exit_code == 2
    assert "No such command" in result.stderr


def test_the_group_of_entry_points_has_its_name():
    assert GROUP == "adacap.commands"


def test_help_of_the_whole_loads_no_numerical_library():
    code = (
        "import sys\nfrom adacap.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'pandas', 'torch', 'sklearn', 'ray'} & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"
