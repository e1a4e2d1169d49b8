"""Write a file at once or not at all, and over an existing one only when told to."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["refuse_existing", "write_at_once"]


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse to overwrite a file, before the work is done."""
    if os.path.lexists(path) and not force:
        raise FileExistsError(
            f"{os.fspath(path)!r} exists already. Choose another name or pass force=True to "
            "replace it."
        )


def write_at_once(path: str | os.PathLike[str], content: bytes, *, force: bool) -> None:
    """Write to a draft beside the target, then move it there.

    Raises
    ------
    FileExistsError
        If there is a file and ``force`` is false, also where it appeared in the meantime.
    """
    target = Path(path).resolve()  # of a link, what it points to is replaced
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        refuse_existing(path, force)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
