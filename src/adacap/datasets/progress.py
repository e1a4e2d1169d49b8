"""Progress of a download: a bar on a terminal, a few lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar

from adacap.datasets.download import Progress

__all__ = ["show_progress"]


@contextmanager
def show_progress(name: str, console: Console) -> Iterator[Progress]:
    """Callback that shows how far the download of ``name`` is.

    Examples
    --------
    >>> import io
    >>> with show_progress("abalone", Console(file=io.StringIO())) as progress:
    ...     progress(100, 200)
    """
    if console.is_terminal:
        with _bar(name, console) as progress:
            yield progress
    else:
        yield _lines(name, console)


@contextmanager
def _bar(name: str, console: Console) -> Iterator[Progress]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(name: str, console: Console) -> Progress:
    """Print a line at the start and whenever a further quarter, or 8 MB, is there."""
    printed = -1

    def progress(done: int, total: int | None) -> None:
        nonlocal printed
        step = 4 * done // total if total else done >> 23
        if step != printed:
            printed = step
            share = f"{100 * done // total} % of {_size(total)}" if total else _size(done)
            console.print(f"{name}: {share}", highlight=False)

    return progress


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
