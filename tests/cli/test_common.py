"""What commands share: tables, targets, and JSON everywhere."""

import json

import numpy as np
import pyarrow as pa
import pytest
import typer

from adacap.cli import app
from adacap.cli.common import print_json, print_table
from adacap.cli.targets import read_target


def test_json_has_no_nan(capsys):
    print_json({"a": float("nan"), "b": np.float64(1.5), "c": np.array([1, 2]), "d": (np.inf,)})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": 1.5, "c": [1, 2], "d": [None]}


def test_tables_are_not_cut(capsys):
    long = "x" * 200
    print_table(["name", "value"], [[long, "1"], ["[bold]", "22"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"{long}       1"
    assert lines[2].startswith("[bold]")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([0, 1, 0, 1], "classification"),
        ([0.0, 1.0, 0.0], "classification"),
        ([True, False, True], "classification"),
        (["a", "b", "a"], "classification"),
        ([1, 2, 3, 4, 5, 1, 2], "classification"),
        ([1.5, 2.5, 3.5], "regression"),
        (list(range(20)) * 2, "regression"),
    ],
)
def test_task_by_target(values, task):
    assert read_target(pa.table({"y": values}), ["y"]).task == task


def test_whole_floats_are_whole_classes():
    target = read_target(pa.table({"y": [0.0, 1.0, None, 1.0]}), ["y"])
    assert target.y.tolist() == [0, 1, 1]
    assert target.y.dtype.kind == "i"
    assert target.known.tolist() == [True, True, False, True]


def commands(group):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from ((f"{name} {inner}", each) for inner, each in commands(command))
        else:
            yield name, command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json(name):
    options = {option for each in COMMANDS[name].params for option in each.opts}
    assert "--json" in options


def test_the_commands_are_there():
    assert {"fit", "predict", "evaluate", "inspect", "export", "demo"} <= set(COMMANDS)


@pytest.mark.filterwarnings("always::UserWarning")
def test_warnings_come_once_and_in_plain_words(capsys):
    import warnings

    from adacap.cli.common import command

    @command
    def warn() -> None:
        for k in (3, 5, 5):
            warnings.warn(f"The {k} nets are trained one by one, since layer 'x' …", stacklevel=1)
        warnings.warn("Something else.", stacklevel=1)

    warn()
    assert capsys.readouterr().err == (
        "Note: The nets are trained one after the other, not all at once, which takes longer.\n"
        "Note: Something else.\n"
    )
