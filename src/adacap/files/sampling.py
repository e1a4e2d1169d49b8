"""A uniform sample of the rows of a table, in one pass and at constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap.files.errors import FileError, need_arrow
from adacap.files.source import BATCH_ROWS, Source
from adacap.files.text import TextSource

__all__ = ["MOST_BYTES", "Sample", "draw_rows", "sample_table"]

MOST_BYTES = 256 << 20  # of a sample in memory; training takes a few times as much
_WHOLE_TEXT = 128 << 20  # bytes of a text file that is read at once

Progress = Callable[[int, float], None]


class Sample(NamedTuple):
    """Rows in memory, how many the file has, whether they were drawn, and their numbers from 1."""

    table: Any
    n_rows: int
    drawn: bool
    numbers: npt.NDArray[np.int64]


def sample_table(
    source: Source,
    columns: Sequence[str],
    most: int,
    seed: int = 0,
    *,
    most_bytes: int = MOST_BYTES,
    progress: Progress | None = None,
) -> Sample:
    """All rows of a table, or where they are too many a uniform sample of them.

    Parameters
    ----------
    source : Source
    columns : sequence of str
    most : int
        Rows to return at most.
    seed : int
    most_bytes : int
        Memory of the sample, about.
    progress : callable, optional
        Called with the number of rows read and the share of the file.

    Returns
    -------
    Sample
        Rows in the order of the file; the same for the same seed.
    """
    if isinstance(source, TextSource) and source.unpacked_size <= min(_WHOLE_TEXT, most_bytes):
        table = source.read(columns)
        batches: Iterable[Any] = (
            table.slice(i, BATCH_ROWS) for i in range(0, table.num_rows, BATCH_ROWS)
        )
        return draw_rows(batches, most, seed, most_bytes=most_bytes, progress=progress)

    def report(n_read: int, share: float) -> None:
        if progress is not None:
            known = n_read / source.n_rows if source.n_rows else source.position()
            progress(n_read, known)

    found = draw_rows(source.batches(columns), most, seed, most_bytes=most_bytes, progress=report)
    if not found.n_rows:
        raise FileError(f"{source.path} has no rows.")
    return found._replace(table=source.typed(found.table))


def draw_rows(
    batches: Iterable[Any],
    most: int,
    seed: int,
    *,
    most_bytes: int = MOST_BYTES,
    progress: Progress | None = None,
) -> Sample:
    """Uniform sample without replacement of rows that come in batches of unknown number.

    Each row gets a random key, and the rows of the ``most`` smallest keys stay. Memory holds one
    and a half samples and one batch at most.

    Returns
    -------
    Sample
        In the order of the rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batches = (pa.table({"x": [k, k + 0.5]}) for k in range(1000))
    >>> found = draw_rows(batches, 3, seed=0)
    >>> found.n_rows, found.table.num_rows, len(found.numbers)
    (2000, 3, 3)
    """
    rng = np.random.default_rng(seed)
    kept = _Kept(most)
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        kept.add(batch, rng.random(batch.num_rows), n_rows - batch.num_rows + 1)
        kept.limit_bytes(most_bytes)
        if progress is not None:
            progress(n_rows, 0.0)
    table, numbers = kept.table()
    return Sample(table, n_rows, table.num_rows < n_rows, numbers)


class _Kept:
    """The rows of the smallest keys so far."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._tables: list[Any] = []
        self._keys: list[npt.NDArray[np.float64]] = []
        self._numbers: list[npt.NDArray[np.int64]] = []
        self._bound = np.inf  # no row of a larger key can stay

    def add(self, batch: Any, keys: npt.NDArray[np.float64], first: int) -> None:
        use = keys < self._bound
        self._numbers.append(first + np.flatnonzero(use).astype(np.int64))
        self._tables.append(batch if use.all() else batch.filter(need_arrow().array(use)))
        self._keys.append(keys[use])
        if sum(map(len, self._keys)) > 1.5 * self.most + 1:
            self._shrink()

    def limit_bytes(self, most_bytes: int) -> None:
        """Keep fewer rows from now on if these take too much memory."""
        n_kept = sum(map(len, self._keys))
        n_bytes = sum(table.nbytes for table in self._tables)
        if n_bytes > 1.5 * most_bytes:
            self.most = max(1, min(self.most, int(n_kept * most_bytes / n_bytes)))
            self._shrink()

    def _shrink(self) -> None:
        keys = np.concatenate(self._keys) if self._keys else np.empty(0)
        if len(keys) <= self.most:
            return
        self._bound = float(np.partition(keys, self.most - 1)[self.most - 1])
        use = keys <= self._bound
        pa = need_arrow()
        table = pa.concat_tables(self._tables, promote_options="permissive")
        self._tables, self._keys = [table.filter(pa.array(use))], [keys[use]]
        self._numbers = [np.concatenate(self._numbers)[use]]

    def table(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """The rows and their numbers."""
        self._shrink()
        if not self._tables:
            return need_arrow().table({}), np.empty(0, dtype=np.int64)
        table = need_arrow().concat_tables(self._tables, promote_options="permissive")
        return table, np.concatenate(self._numbers)
