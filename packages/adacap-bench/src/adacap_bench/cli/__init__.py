"""The commands of the benchmark, which attach to ``adacap``, and how they take folders."""

from __future__ import annotations

from pathlib import Path

from adacap.exceptions import UsageError

__all__ = ["folder_to_read", "folder_to_write"]


def folder_to_read(path: Path | None) -> Path | None:
    """A folder that must be there, or None.

    Examples
    --------
    >>> folder_to_read(Path("nowhere"))
    Traceback (most recent call last):
    adacap.exceptions.UsageError: There is no folder nowhere to read data from.
    """
    if path is not None and not path.is_dir():
        raise UsageError(f"There is no folder {path} to read data from.")
    return path


def folder_to_write(path: Path) -> Path:
    """A folder that is made if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{path} cannot be a folder: there is a file of that name.") from error
    return path
