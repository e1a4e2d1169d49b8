"""What the commands of the benchmark share: how an app looks, and options of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["LOOKS", "Address", "Data", "EngineName", "Jobs", "Threads", "at_once"]

LOOKS: dict[str, Any] = {
    "add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}  # fmt: skip

Jobs = Annotated[int | None, typer.Option(min=1, help="Jobs at once.", show_default="processors")]
Threads = Annotated[int, typer.Option(min=1, help="Threads of each job.")]
EngineName = Annotated[str, typer.Option(help="local or ray.")]
Address = Annotated[str | None, typer.Option(help="Ray cluster to join.")]
Data = Annotated[Path | None, typer.Option(help="Folder of the data sets.")]


def at_once(jobs: int | None, threads: int) -> int:
    """How many jobs run at once: as many as there are processors for, unless it was said."""
    return jobs or max(1, (os.cpu_count() or 1) // threads)
