"""The library works where the benchmark, another distribution, is not installed."""

import subprocess
import sys

import pytest

BLOCKED = "import sys; sys.modules['adacap_bench'] = None\n"  # as if it could not be found
EVERY_MODULE = """
import importlib, pkgutil, adacap
names = [info.name for info in pkgutil.walk_packages(adacap.__path__, "adacap.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
COMMAND = """
import importlib.metadata
importlib.metadata.entry_points = lambda group: []
sys.argv = ["adacap", *{words!r}]
from adacap.cli import main
main()
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_every_module_is_imported_without_the_benchmark() -> None:
    result = run(EVERY_MODULE)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 100


def test_the_block_is_a_block() -> None:
    assert "ModuleNotFoundError" in run("import adacap_bench.methods").stderr


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate", "inspect", "export", "demo"])
def test_commands_of_the_library_are_all_there(name: str) -> None:
    result = run(COMMAND.format(words=[name, "--help"]))
    assert (result.returncode, result.stderr) == (0, "")
    assert f"adacap {name}" in result.stdout


@pytest.mark.parametrize("words", [["bench", "run"], ["data", "list"], ["reproduce", "c4"]])
def test_commands_of_the_benchmark_say_what_to_install(words: list[str]) -> None:
    result = run(COMMAND.format(words=words))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.endswith("pip install adacap-bench\n")
    assert result.stderr.count("\n") == 1
