"""The ledger page, from a folder of records."""

from __future__ import annotations

import os
from pathlib import Path

from adacap.page import write_text
from adacap.reproduce.evidence import read_folder
from adacap.reproduce.registry import items
from adacap.reproduce.text import ledger_text

__all__ = ["write_ledger"]


def write_ledger(records: Path, page: Path) -> Path:
    """Write the ledger from all records of a folder, whose pictures it shows.

    Parameters
    ----------
    records : Path
        Folder of ``ITEM.json`` and ``ITEM.png``.
    page : Path
        Replaced if it exists.
    """
    folder = Path(os.path.relpath(records, page.parent)).as_posix()
    return write_text(
        page, ledger_text(read_folder(records), [*items()], folder=folder), force=True
    )
