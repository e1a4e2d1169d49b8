"""From the bytes of a file to a data frame, as a reader says."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from adacap.exceptions import did_you_mean, few_of
from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.tasks import ColumnKey, Reader

if TYPE_CHECKING:
    import pandas

__all__ = ["read_frame", "resolve"]


def read_frame(content: bytes, reader: Reader, columns: int | None = None) -> pandas.DataFrame:
    """Table in the unpacked content of a file, every column and row that the file holds.

    ``drop_rows`` and ``exclude`` are left to the caller. Joining broken lines needs the number of
    columns.
    """
    if reader.format == "npy":
        return _read_matrix(content)
    if reader.lines or reader.join_broken:
        content = _prepare_lines(content, reader, columns)
    import pandas

    frame = pandas.read_csv(
        io.BytesIO(content),
        sep=r"\s+" if reader.separator == "space" else reader.separator,
        header=0 if reader.header else None,
        decimal=reader.decimal,
        encoding=reader.encoding,
        na_values=list(reader.missing),
        keep_default_na=False,
        low_memory=False,  # one type per column, whatever its length
    )
    if isinstance(frame.index, pandas.RangeIndex):
        names = [str(name).strip() if reader.header else f"c{name}" for name in frame.columns]
        return frame.set_axis(names, axis=1)
    raise DataError("rows hold more fields than the first line names")


def _read_matrix(content: bytes) -> pandas.DataFrame:
    matrix = np.load(io.BytesIO(content), allow_pickle=False)
    if matrix.ndim != 2:
        raise DataError(f"a matrix is expected, got an array of shape {matrix.shape}")
    names = [f"x{j}" for j in range(matrix.shape[1] - 1)] + ["target"]
    import pandas

    frame: pandas.DataFrame = pandas.DataFrame(matrix, columns=names)
    return frame


def _prepare_lines(content: bytes, reader: Reader, columns: int | None) -> bytes:
    lines = content.splitlines()
    if reader.lines:
        first, stop = reader.lines
        lines = lines[first:stop]
    if reader.join_broken and columns:
        lines = list(_joined(lines, reader.separator.encode(), columns))
    return b"\n".join(lines)


def _joined(lines: Iterable[bytes], separator: bytes, columns: int) -> Iterable[bytes]:
    """Lines, each continued by the next ones until it has all its fields."""
    pending = b""
    for line in lines:
        if not line and not pending:
            continue
        pending += line
        if pending.count(separator) >= columns - 1:
            yield pending
            pending = b""
    if pending:
        yield pending


def resolve(columns: ColumnKey | Iterable[ColumnKey], names: list[str], task: str) -> list[int]:
    """Positions of columns given by position, negative from the end, or by name."""
    asked = [columns] if isinstance(columns, int | str) else list(columns)
    return [_position(column, names, task) for column in asked]


def _position(column: ColumnKey, names: list[str], task: str) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int) and -len(names) <= column < len(names):
        return column % len(names)
    hint = f"{did_you_mean(column, names)} {few_of(column, names)}"
    raise DataError(f"{task!r} has no column {column!r}.{hint}")
