"""The ``adacap`` command: parse, call, exit code."""

from pathlib import Path
from typing import Annotated

import typer

from adacap._version import __version__
from adacap.cli import bench, data

__all__ = ["main"]

app = typer.Typer(
    name="adacap",
    help="Neural networks for small tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")


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
    """Neural networks for small tables."""


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the model of the first table.")
    ] = Path("demo.adacap"),
    seed: Annotated[int, typer.Option(help="Seed of the split and of every method.")] = 0,
) -> None:
    """Train on two tables that need no download and compare with simple methods."""
    from adacap.demo import run_demo

    run_demo(output, seed)


def main() -> None:
    """Run the command line; Ctrl-C ends with exit code 130 and no traceback."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise SystemExit(130) from None
