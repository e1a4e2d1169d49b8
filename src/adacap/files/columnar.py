"""Tables that are stored by columns: Parquet, folders of it, Feather."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from adacap.files.errors import FileError, MissingFileError, need, need_arrow, readable
from adacap.files.source import BATCH_BYTES, Source, plain_columns

__all__ = ["ArrowSource", "ParquetSource"]

_FEATHER = "Feather file of version 2"


class ParquetSource(Source):
    """One Parquet file, or a folder of them read in the order of their names.

    Folders named ``key=value`` inside give a column each.
    """

    def __init__(self, path: Path) -> None:
        need_arrow()
        self._parts = _parts(path)
        names, self._rows_of = None, []
        for file, keys in self._parts:
            with readable(file, "Parquet file"), _open(file) as opened:
                found = [*opened.schema_arrow.names, *keys]
                self._rows_of.append(opened.metadata.num_rows)
            names = names or found
            if missing := [name for name in names if name not in found]:
                first = self._parts[0][0].name
                raise FileError(f"{file} has no column {missing[0]!r}, but {first} has.")
        super().__init__(path, names or [], sum(self._rows_of))

    @property
    def files(self) -> list[Path]:
        """The files it is made of."""
        return [file for file, _ in self._parts]

    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        for (file, keys), n_rows in zip(self._parts, self._rows_of, strict=True):
            if start < n_rows:
                with readable(file, "Parquet file"):
                    yield from _file_pieces(file, keys, names, rows, start)
            start = max(0, start - n_rows)


def _parts(path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Files of a folder with what the names of their folders say; or the one file."""
    if not path.is_dir():
        return [(path, {})]
    datasets = need("pyarrow.dataset", "Reading a folder of Parquet files")
    files = [str(file) for file in sorted(path.rglob("*.parquet")) if _is_visible(file, path)]
    if not files:
        raise MissingFileError(f"The folder {path} holds no file that ends in .parquet.")
    with readable(path, "folder of Parquet files"):
        found = datasets.dataset(
            files, format="parquet", partitioning="hive", partition_base_dir=str(path)
        )
        parts = [
            (Path(fragment.path), datasets.get_partition_keys(fragment.partition_expression))
            for fragment in found.get_fragments()
        ]
    return sorted(parts, key=lambda part: part[0])


def _is_visible(file: Path, folder: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _open(file: Path, dictionaries: Collection[str] = ()) -> Any:
    return need("pyarrow.parquet", "Reading Parquet files").ParquetFile(
        file, memory_map=True, read_dictionary=list(dictionaries)
    )


def _file_pieces(
    file: Path, keys: dict[str, Any], names: list[str], rows: int, start: int
) -> Iterator[Any]:
    pa = need_arrow()
    own = [name for name in names if name not in keys]
    with _open(file) as opened:
        plain_columns(opened.schema_arrow.empty_table().select(own), file)  # refuse before reading
        folded = _folded(opened, own)
        rows = max(1, min(rows, BATCH_BYTES // (8 * max(len(own), 1))))
    with _open(file, folded) as opened:
        groups = list(range(opened.num_row_groups))
        while groups and start >= (size := opened.metadata.row_group(groups[0]).num_rows):
            start -= size
            groups.pop(0)
        for batch in opened.iter_batches(rows, row_groups=groups, columns=own, use_threads=False):
            whole = pa.Table.from_batches([batch]).slice(start)
            start = max(0, start - batch.num_rows)
            for table in _unfolded(whole, folded):
                for name in names:
                    if name in keys:
                        column = pa.repeat(pa.scalar(keys[name]), table.num_rows)
                        table = table.append_column(name, column)
                yield table.select(names)


# A text that many rows share stands once in a Parquet file, and takes memory in each row when it is
# spelled out: 54 kB may be 30 GB. So such columns are read as they stand, and then in pieces.

_PIECE = 1 << 24  # bytes of text to spell out at once


def _folded(opened: Any, names: Collection[str]) -> list[str]:
    """Columns of text that the file holds as numbers of texts."""
    types = need_arrow().types
    schema, about = opened.schema_arrow, opened.metadata
    is_text = {
        name
        for name in names
        for kind in [schema.field(name).type]
        if types.is_string(kind) or types.is_large_string(kind)
    }
    places = [j for j in range(about.num_columns) if about.schema.column(j).path in is_text]
    found = set()
    for number in range(about.num_row_groups if places else 0):
        # pyarrow ends the process where the description of a column is damaged: its own reader,
        # which raises, has to take a row first.
        next(opened.iter_batches(1, row_groups=[number], columns=sorted(is_text)), None)
        for column in map(about.row_group(number).column, places):
            if any("DICTIONARY" in one for one in column.encodings):
                found.add(column.path_in_schema)
    return sorted(found)


def _unfolded(table: Any, names: Collection[str]) -> Iterator[Any]:
    """The table with these columns spelled out, in pieces of bounded size."""
    compute = need_arrow().compute
    sizes = np.zeros(table.num_rows)
    for name in names:
        sizes += np.concatenate(
            [
                np.append(compute.binary_length(chunk.dictionary).fill_null(0).to_numpy(False), 0)[
                    chunk.indices.fill_null(-1).to_numpy(False)
                ]
                for chunk in table.column(name).chunks
            ]
        )
    ends = np.cumsum(sizes)
    start = 0
    while start < table.num_rows:
        before = ends[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, before + _PIECE, side="right")))
        piece = table.slice(start, stop - start)
        for name in names:
            column = piece.column(name)
            piece = piece.set_column(
                piece.column_names.index(name), name, column.cast(column.type.value_type)
            )
        yield piece
        start = stop


class ArrowSource(Source):
    """A Feather (version 2) or Arrow file."""

    def __init__(self, path: Path) -> None:
        pa = need_arrow()
        datasets = need("pyarrow.dataset", "Reading Feather files")
        with readable(path, _FEATHER):
            with pa.memory_map(str(path)) as file:
                names = pa.ipc.open_file(file).schema.names
            n_rows = datasets.dataset(str(path), format="feather").count_rows()
        super().__init__(path, names, n_rows)

    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        pa = need_arrow()
        with readable(self.path, _FEATHER), pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                batch.validate(full=True)  # lengths and offsets that a damaged file may lie about
                table = pa.Table.from_batches([batch]).select(names).slice(start)
                start = max(0, start - batch.num_rows)
                if table.num_rows:
                    yield table
