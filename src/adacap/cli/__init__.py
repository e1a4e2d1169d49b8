"""The ``adacap`` command: parse, call, exit code."""

from pathlib import Path
from typing import Annotated

import typer

from adacap._version import __version__
from adacap.cli.advise import advise
from adacap.cli.attached import Commands
from adacap.cli.calibrate import calibrate
from adacap.cli.check import check
from adacap.cli.common import AsJson, Force, command, print_json
from adacap.cli.evaluate import evaluate
from adacap.cli.explain import explain
from adacap.cli.export import export
from adacap.cli.fit import fit
from adacap.cli.inspect import inspect
from adacap.cli.predict import predict

__all__ = ["main"]

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
    force: Force = False,
    as_json: AsJson = False,
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
