"""Write a file at once or not at all, and over an existing one only when told to."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from adacap.exceptions import refuse_existing

__all__ = ["refuse_existing", "write_at_once"]


def write_at_once(path: str | os.PathLike[str], content: bytes, *, force: bool) -> None:
    """Write to a draft beside the target, then move it there.

    Raises
    ------
    OutputExistsError
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
