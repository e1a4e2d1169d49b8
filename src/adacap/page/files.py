"""Writing a file whole or not at all."""

import os
import tempfile
from pathlib import Path

from adacap.exceptions import AdaCapError, OutputExistsError
from adacap.exceptions import refuse_existing as refuse

__all__ = ["NoFolderError", "PageExistsError", "refuse_existing", "write_text"]


PageExistsError = OutputExistsError


class NoFolderError(AdaCapError, FileNotFoundError):
    """The folder of a file to write does not exist."""


def refuse_existing(path: Path) -> None:
    """Raise :class:`PageExistsError` if the file exists, before work is done for nothing."""
    refuse(path, force=False)


def write_text(path: str | Path, text: str, *, force: bool = False) -> Path:
    """Write a file in one step: a reader sees all of it or what was there before.

    Parameters
    ----------
    path : str or Path
    text : str
    force : bool, default=False
        Replace a file that exists.

    Returns
    -------
    Path

    Raises
    ------
    PageExistsError
        If the file exists and `force` is not set.
    NoFolderError
        If its folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "page.html"
    >>> write_text(path, "a").read_text()
    'a'
    """
    path = Path(path)
    if not force:
        refuse_existing(path)
    if not path.parent.is_dir():
        raise NoFolderError(f"There is no folder {path.parent} to write {path.name} to.")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        part.chmod(0o666 & ~_umask())  # mkstemp makes private files
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
