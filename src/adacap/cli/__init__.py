"""The ``adacap`` command: parse, call, exit code.

Other distributions attach commands by entry points of the group ``adacap.commands``, each a
``typer.Typer``; one with a single command is that command. It is loaded when it is called or
listed, and never by another command.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from adacap._version import __version__
from adacap.cli import options as option
from adacap.cli.advise import advise
from adacap.cli.calibrate import calibrate
from adacap.cli.check import check
from adacap.cli.common import command, print_json
from adacap.cli.evaluate import evaluate
from adacap.cli.explain import explain
from adacap.cli.export import export
from adacap.cli.fit import fit
from adacap.cli.inspect import inspect
from adacap.cli.predict import predict

__all__ = ["main"]

GROUP = "adacap.commands"
OF_BENCH = {
    "bench": "Compare methods on many tables.",
    "data": "Data sets: list, fetch, show, verify.",
    "reproduce": "The paper's figures and tables again.",
}
_INSTALL = "pip install adacap-bench"


class Commands(TyperGroup):
    """The library's own commands, then those of ``adacap-bench`` and of others.

    Contexts and commands are typer's, whose types are not public.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help; those that are not installed too."""
        found = [*super().list_commands(ctx), *OF_BENCH, *sorted(_attached())]
        return list(dict.fromkeys(found))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Look among adacap's own commands first: an attached one cannot replace them."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if entry := _attached().get(cmd_name):
            return _load(entry)
        return _missing(cmd_name) if cmd_name in OF_BENCH else None


def _attached() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _load(entry: EntryPoint) -> Any:
    try:
        return get_command(entry.load())
    except ImportError as error:
        package = entry.dist.name if entry.dist else entry.value
        text = f"adacap {entry.name} comes with {package}, which cannot be imported: {error}."
        return _refusal(entry.name, f"{text} Reinstall it.", f"Broken: {error}.")


def _missing(name: str) -> Any:
    text = f"adacap {name} comes with the benchmark, which is not installed: {_INSTALL}"
    return _refusal(name, text, f"{OF_BENCH[name]} Needs adacap-bench.")


def _refusal(name: str, text: str, short_help: str) -> Any:
    """A command that takes any arguments, says what is wrong and ends with exit code 2."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command(
        name,
        short_help=short_help,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )
    def refuse(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
        typer.echo(f"Error: {text}", err=True)
        raise typer.Exit(2)

    return get_command(app)


app = typer.Typer(
    name="adacap",
    cls=Commands,
    help="Models for small tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, whose texts have room on 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (fit, predict, explain, evaluate, advise, check, inspect, calibrate, export):
    app.command()(_command)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"adacap {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """Models for small tables."""


@app.command()
@command
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the model of the first table.")
    ] = Path("demo.adacap"),
    seed: Annotated[int, typer.Option(help="Seed of the split and of every method.")] = 0,
    force: option.Force = False,
    as_json: option.AsJson = False,
) -> None:
    """Train on two tables that need no download and compare with simple methods."""
    from adacap.demo import run_demo
    from adacap.files import check_writable

    check_writable(output, force)
    if as_json:
        print_json(run_demo(output, seed, quiet=True, force=force))
    else:
        run_demo(output, seed, force=force)


def main() -> None:
    """Run the command line; Ctrl-C ends with exit code 130 and no traceback."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise SystemExit(130) from None
