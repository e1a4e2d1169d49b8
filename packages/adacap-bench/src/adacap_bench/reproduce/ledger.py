"""The ledger page, from a folder of records."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import wrap

from adacap.files import write_text
from adacap_bench.markdown import placed
from adacap_bench.reproduce.item_record import ItemRecord, read_folder, read_item_record
from adacap_bench.reproduce.registry import items
from adacap_bench.reproduce.rejudging import rejudged
from adacap_bench.reproduce.text import ledger_text, readme_text

__all__ = ["with_paragraph", "write_ledger"]

_MARKS = "<!-- ledger: begin -->", "<!-- ledger: end -->"


def write_ledger(records: Path, page: Path, readme: Path | None = None) -> Path:
    """Judge all records of a folder again and write the ledger from them, with their pictures.

    A record whose verdicts change by the rule of today is rewritten; one that does not keep what
    they need stays as it is. In the readme the paragraph between the marks is rewritten.
    """
    found = {item: _judged_again(one, records) for item, one in read_folder(records).items()}
    if readme is not None:
        text = readme.read_text(encoding="utf-8")
        write_text(readme, with_paragraph(text, readme_text(found, [*items()])), force=True)
    folder = Path(os.path.relpath(records, page.parent)).as_posix()
    return write_text(page, ledger_text(found, [*items()], folder=folder), force=True)


def _judged_again(record: ItemRecord, folder: Path) -> ItemRecord:
    item = items().get(record.item)
    again = None if item is None else rejudged(item, record)
    if again is None:
        return record
    path = folder / f"{record.item}.json"
    if again.to_json() != path.read_text(encoding="utf-8"):
        again.write(path)
    return read_item_record(path)  # with the digits that are kept: the page is of the records


def with_paragraph(text: str, paragraph: str) -> str:
    r"""A text with the paragraph between the marks of the ledger replaced, wrapped at 120.

    Examples
    --------
    >>> text = "<!-- ledger: begin -->\nold\n<!-- ledger: end -->\n"
    >>> print(with_paragraph(text, "new"), end="")
    <!-- ledger: begin -->
    new
    <!-- ledger: end -->
    """
    wrapped = "\n".join(wrap(paragraph, 120, break_long_words=False, break_on_hyphens=False))
    return placed(text, _MARKS, wrapped)
