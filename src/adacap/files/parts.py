"""An output written part by part, so that an interrupted run can resume."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adacap.files.atomic import write_bytes
from adacap.files.errors import FileError, need_arrow, readable
from adacap.files.writing import write_tables

__all__ = ["Parts", "fingerprint"]

_STATE = "state.json"


def fingerprint(files: list[Path]) -> list[list[Any]]:
    """Name, size and modification time of files, to check that they are the same."""
    stats = [(file, file.stat()) for file in files]
    return [[str(file.resolve()), stat.st_size, stat.st_mtime_ns] for file, stat in stats]


class Parts:
    """Finished parts of an output, in a hidden folder beside it.

    Each part is a file of its own, which is there whole or not at all. ``finish`` puts them
    together and removes the folder.

    Parameters
    ----------
    output : Path
    settings : mapping
        JSON-able; parts are only resumed if these are the same.

    Attributes
    ----------
    n_rows : int
        Rows of the parts that are there.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> output = Path(tempfile.mkdtemp(), "out.csv")
    >>> first = Parts(output, {"interval": 0.9})
    >>> first.start(resume=False)
    >>> first.add(pa.table({"prediction": [1.0, 2.0]}))
    >>> again = Parts(output, {"interval": 0.9})
    >>> again.start(resume=True)
    >>> again.n_rows
    2
    >>> again.add(pa.table({"prediction": [3.0]}))
    >>> again.finish(force=False)
    3
    >>> output.read_text().split()
    ['prediction', '1', '2', '3']
    """

    def __init__(self, output: Path, settings: Mapping[str, Any]) -> None:
        self.output = output
        self.folder = output.with_name(f".{output.name}.part")
        self._settings = json.loads(json.dumps(dict(settings)))
        self._rows: list[int] = []

    @property
    def n_rows(self) -> int:
        """Rows of the parts that are there."""
        return sum(self._rows)

    def start(self, resume: bool) -> None:
        """Start over, or resume from the parts of an interrupted run.

        Raises
        ------
        FileError
            If there are parts of a run with other settings.
        """
        if not resume or not self._has_state():
            self._begin()
            return
        with readable(self.folder / _STATE, "state of an interrupted run"):
            before = dict(json.loads((self.folder / _STATE).read_text("utf-8")))
        changed = [name for name in self._settings if before.get(name) != self._settings[name]]
        if changed:
            raise FileError(
                f"The interrupted run for {self.output} had another {' and '.join(changed)}, so it "
                "cannot resume. Start over: leave --resume out."
            )
        pa = need_arrow()
        for part in self._files():
            with readable(part, "part of an interrupted run"), pa.memory_map(str(part)) as file:
                reader = pa.ipc.open_file(file)
                rows = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
            self._rows.append(sum(rows))

    def _begin(self) -> None:
        self.discard()
        try:
            self.folder.mkdir()
            self._write(_STATE, json.dumps(self._settings).encode())
        except BaseException:
            self.discard()
            raise

    def add(self, table: Any) -> None:
        """Keep one more part."""
        pa = need_arrow()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        self._write(f"{len(self._rows):08d}.arrow", sink.getvalue())
        self._rows.append(table.num_rows)

    def columns(self) -> list[str]:
        """Names of the columns of the parts that are there."""
        first = next(self._tables(), None)
        return [] if first is None else list(first.column_names)

    def finish(self, force: bool, *, escape_formulas: bool = False) -> int:
        """Write the output from all parts, remove them, and count the rows."""
        n_rows = write_tables(self.output, self._tables(), force, escape_formulas=escape_formulas)
        self.discard()
        return n_rows

    def discard(self) -> None:
        """Remove the parts."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._rows = []

    def _has_state(self) -> bool:
        return (self.folder / _STATE).is_file()

    def _files(self) -> Iterator[Path]:
        """Parts in their order, up to the first that is missing."""
        k = 0
        while (part := self.folder / f"{k:08d}.arrow").is_file():
            yield part
            k += 1

    def _tables(self) -> Iterator[Any]:
        pa = need_arrow()
        for part in self._files():
            with pa.memory_map(str(part)) as file:
                yield pa.ipc.open_file(file).read_all()

    def _write(self, name: str, content: Any) -> None:
        write_bytes(self.folder / name, content, force=True)
