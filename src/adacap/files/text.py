"""CSV and its relatives, packed or not, read in blocks."""

from __future__ import annotations

import codecs
import math
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adacap.files.errors import FileError, in_memory, need, need_arrow, temporary_room
from adacap.files.formats import Format
from adacap.files.sniff import (
    DATE_FORMATS,
    MISSING,
    SAMPLE_BYTES,
    TextOptions,
    encoding_of,
    line_of_cell,
    line_of_other_width,
    refuse_binary,
    sniff_text,
)
from adacap.files.source import Source, plain_columns
from adacap.files.unpacking import bomb_error, most_unpacked

__all__ = ["TextSource", "own_reader", "read_bytes", "recoded"]

_BLOCK = 1 << 20  # bytes read at once; arrow reads some 32 blocks ahead
_FEW_LINES, _MOST_SAMPLE = 5, 1 << 26  # lines to look at, unless they have more bytes than this
_COUNTED = 1 << 29  # bytes of text of a packed file to find out how many they are
_ENCODING = "Give its encoding, for example --encoding latin-1."


class TextSource(Source):
    """A text file, whose separator and so on are found out from its beginning."""

    def __init__(
        self,
        path: Path,
        form: Format,
        known: Collection[str] = (),
        options: TextOptions | None = None,
    ) -> None:
        self._packing = form.packing
        self.path = path
        sample = self._sample()
        refuse_binary(sample, (options and options.encoding) or encoding_of(sample), str(path))
        self.form = sniff_text(sample, known, options, form.separator)
        self._block = max(_BLOCK, 4 * max(map(len, sample.split(b"\n"))))  # holds any line
        super().__init__(path, self.form.names)
        if not self.form.header:
            self.notes.append(
                f"{path.name} has no line of names: its columns are called "
                f"{self.names[0]} to {self.names[-1]}."
            )
        if self.form.titles:
            self.notes.append(
                f"{path.name}: {self.form.titles} line(s) above the names are left out."
            )
        self._codes = self._find_codes(sample)
        self._inferred = self._infer(sample)
        self._share = 0.0
        self._n_unpacked = math.inf if self._packing else float(self.size)  # as far as is known

    @property
    def text_size(self) -> float:
        """Bytes of text; infinite where a packed file has more than is worth counting."""
        most = most_unpacked(self.path)
        found = self._count(min(most, _COUNTED))
        if math.isinf(found) and most <= _COUNTED:
            raise bomb_error(self.shown, most)
        return found

    def position(self) -> float:
        """Share of the file that has been read."""
        return self._share

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """The whole table, each column in the type that fits all of its cells."""
        most = most_unpacked(self.path)
        if self._packing and self._count(most) > most:
            raise bomb_error(self.shown, most)
        with self._errors(), self._utf8() as (stream, _):
            table = _csv().read_csv(stream, *self._options(columns, self._codes))
        if not table.num_rows:
            raise FileError(f"{self.shown} has no rows.")
        for field in table.schema:
            if need_arrow().types.is_binary(field.type):  # arrow's word for text that is not UTF-8
                raise FileError(f"Cannot read {self.shown}: {_not_utf8(field.name)}")
        with in_memory(self.shown):
            return plain_columns(self._ungrouped(table), self.shown)

    def typed(self, table: Any) -> Any:
        """Rows of text in the types that fit their cells."""
        pa = need_arrow()
        sink = pa.BufferOutputStream()
        _csv().write_csv(table, sink, _csv().WriteOptions(include_header=False))
        read = _csv().ReadOptions(column_names=table.column_names)
        parse = _csv().ParseOptions(newlines_in_values=True)
        codes = {name: kind for name, kind in self._codes.items() if name in table.column_names}
        with self._errors():
            typed = _csv().read_csv(sink.getvalue(), read, parse, self._convert(None, codes))
        return plain_columns(self._ungrouped(typed), self.shown)

    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        pa = need_arrow()
        types = {name: self._type(name, kinds.get(name, "categorical")) for name in names}
        points = self._grouped_points(names, kinds)
        types |= dict.fromkeys(points, pa.string())
        with self._errors(), self._utf8() as (stream, file):
            total, most = max(file.size(), 1), most_unpacked(self.path)
            reader = _csv().open_csv(stream, *self._options(names, types))
            for k, batch in enumerate(reader):  # one of each block
                if self._packing and k * self._block > most:
                    raise bomb_error(self.shown, most)
                self._share = min(1.0, file.tell() / total)
                table = pa.Table.from_batches([batch]).slice(start)
                start = max(0, start - batch.num_rows)
                if table.num_rows:
                    yield numbers_of_points(table, points)

    def _type(self, name: str, kind: str) -> Any:
        """Arrow type in which to read a column of this kind."""
        pa = need_arrow()
        guess = self._inferred.get(name, pa.null())
        if kind == "datetime":
            return guess if pa.types.is_timestamp(guess) else pa.timestamp("us")
        if kind == "numeric":
            return guess if pa.types.is_time(guess) else pa.float64()
        if kind == "boolean":
            return pa.bool_() if pa.types.is_boolean(guess) else pa.float64()
        return pa.string()

    # -- reading

    def _count(self, most: int) -> float:
        """Bytes of text, unpacked; infinite where they are more than so many."""
        if math.isinf(self._n_unpacked):
            with self._errors(), self._stream() as stream:
                n = 0
                while n <= most and (chunk := stream.read_buffer(_CHUNK).size):
                    n += chunk
            if n <= most:
                self._n_unpacked = n
        return self._n_unpacked

    def _sample(self) -> bytes:
        """The first lines; all of a small file."""
        with self._errors(), self._stream() as stream:
            sample, is_whole = _first_lines(stream)
        if not sample.strip():
            raise FileError(f"{self.shown} is empty.")
        if not is_whole and b"\n" in sample:
            sample = sample[: sample.rindex(b"\n") + 1]
            if sample.startswith((b"\xff\xfe", b"\xfe\xff")) and len(sample) % 2:
                sample += b"\0"  # the second byte of a line end in UTF-16
        return sample

    @contextmanager
    def _stream(self) -> Iterator[Any]:
        with need_arrow().OSFile(str(self.path)) as file:
            yield file if self._packing is None else _unpack(file, self._packing)

    @contextmanager
    def _utf8(self) -> Iterator[tuple[Any, Any]]:
        """The text in UTF-8, and the file whose position says how far it has been read.

        A file in another encoding is copied first: see ``recoded``.
        """
        pa = need_arrow()
        if self.form.encoding == "utf-8":
            with pa.OSFile(str(self.path)) as file:
                yield file if self._packing is None else _unpack(file, self._packing), file
            return
        with (
            temporary_room(self.shown),
            tempfile.NamedTemporaryFile(prefix="adacap-", suffix=".csv") as copy,
        ):
            with self._stream() as stream:
                copy.writelines(self._bounded(recoded(stream, self.form.encoding)))
                copy.flush()
            with pa.OSFile(copy.name) as file:
                yield file, file

    def _bounded(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """The parts of a text, until a packed file has had more of them than it may."""
        n, most = 0, most_unpacked(self.path)
        for part in parts:
            n += len(part)
            if self._packing and n > most:
                raise bomb_error(self.shown, most)
            yield part

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the reader's error into a message about the file."""
        try:
            with in_memory(self.shown):
                yield
        except FileError:
            raise
        except UnicodeDecodeError as error:
            raise FileError(
                f"{self.shown} is not written in {self.form.encoding}: {error}. {_ENCODING}"
            ) from error
        except (ValueError, OSError, EOFError) as error:  # of arrow and of codecs
            raise FileError(f"Cannot read {self.shown}: {self._explain(str(error))}") from error

    def _explain(self, message: str) -> str:
        text = message.splitlines()[0] if message else "unknown reason"
        number = text.partition("column #")[2].partition(":")[0]
        is_known = number.isdecimal() and int(number) < len(self.names)
        name = self.names[int(number)] if is_known else None
        if "UTF8" in text or "utf-8" in text.lower():
            return f"{text}. {_ENCODING}" if name is None else _not_utf8(name)
        if "conversion error to" in text and "column #" in text:
            line = line_of_cell(self.path, self._packing, self.form, text)
            told = text if name is None else text.replace(f"column #{number}", f"column {name!r}")
            return f"{told}.{line} In training that column was of this type."
        if "Expected" in text and "columns" in text:
            line = line_of_other_width(self.path, self._packing, self.form)
            return f"{line or text} Separator {self.form.separator!r} was assumed: see --separator."
        return text

    def _options(
        self, columns: Sequence[str] | None = None, types: Mapping[str, Any] | None = None
    ) -> tuple[Any, Any, Any]:
        form, csv = self.form, _csv()
        read = csv.ReadOptions(
            column_names=list(form.names), skip_rows=form.skip, block_size=self._block
        )
        parse = csv.ParseOptions(delimiter=form.separator, newlines_in_values=True)
        return read, parse, self._convert(columns, types)

    def _convert(
        self, columns: Sequence[str] | None = None, types: Mapping[str, Any] | None = None
    ) -> Any:
        csv = _csv()
        # what else than ISO 8601 is a date is for the model to find out, unless it is known
        is_date = need_arrow().types.is_timestamp
        asked = self.form.dates != DATE_FORMATS or any(map(is_date, (types or {}).values()))
        return csv.ConvertOptions(
            null_values=list(MISSING),
            strings_can_be_null=True,
            decimal_point=self.form.decimal,
            timestamp_parsers=[csv.ISO8601, *(self.form.dates if asked else ())],
            include_columns=None if columns is None else list(columns),
            column_types=None if types is None else dict(types),
        )

    # -- looking at the first lines

    def _infer(self, sample: bytes) -> dict[str, Any]:
        with self._errors():
            options = self._options(None, self._codes)
            schema = _csv().read_csv(self._sampled(sample), *options).schema
        return dict(zip(schema.names, schema.types, strict=True))

    def _find_codes(self, sample: bytes) -> dict[str, Any]:
        """Columns of digits that are text: codes of places, numbers of telephones."""
        pa = need_arrow()
        if not has_codes(sample, self.form.encoding):
            return {}
        text = dict.fromkeys(self.names, pa.string())
        with self._errors():
            table = _csv().read_csv(self._sampled(sample), *self._options(None, text))
        return {name: pa.string() for name in self.names if is_code(table.column(name))}

    def _ungrouped(self, table: Any) -> Any:
        """Table of a file with decimal commas whose points separate thousands."""
        return ungrouped(table) if self.form.decimal == "," else table

    def _grouped_points(self, names: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
        """Numeric columns whose points may separate thousands."""
        if self.form.decimal != ",":
            return []
        types = need_arrow().types
        return [
            name
            for name in names
            if kinds.get(name) == "numeric" and types.is_string(self._inferred[name])
        ]

    def _sampled(self, sample: bytes) -> Any:
        parts = recoded(own_reader(sample), self.form.encoding)
        return own_reader(b"".join(parts))


def _first_lines(stream: Any) -> tuple[bytes, bool]:
    """The beginning of a text, a few lines at least, and whether that is all of it.

    A line of a hundred thousand cells is longer than what tells how most files are written.
    """
    sample = read_bytes(stream, SAMPLE_BYTES)
    while sample.count(b"\n") < _FEW_LINES and SAMPLE_BYTES <= len(sample) < _MOST_SAMPLE:
        more = read_bytes(stream, len(sample))
        if not more:
            return sample, True
        sample += more
    return sample, len(sample) < SAMPLE_BYTES


def _not_utf8(name: str) -> str:
    return f"column {name!r} holds text that is not UTF-8. {_ENCODING}"


def _unpack(file: Any, packing: str) -> Any:
    return need_arrow().CompressedInputStream(file, packing)


def _csv() -> Any:
    return need("pyarrow.csv", "Reading text files")


# ----------------------------------------------------------------- memory of arrow's own
# Arrow reads text in threads of its own, which may let go of what they read a moment after the
# result is there. If that belonged to Python (a `bytes` object, a codec), the thread would ask for
# the interpreter's lock, and where the interpreter is ending just then the process aborts with
# "terminate called without an active exception". So nothing of Python's is handed to them.

_CHUNK = 1 << 20


def own_reader(content: bytes) -> Any:
    r"""Arrow stream over a copy of some bytes that no Python object owns.

    Examples
    --------
    >>> own_reader(b"a,b\n1,2\n").read(3)
    b'a,b'
    """
    pa = need_arrow()
    sink = pa.BufferOutputStream()
    sink.write(content)
    return pa.BufferReader(sink.getvalue())


def read_bytes(stream: Any, n: int) -> bytes:
    r"""The next bytes of an arrow stream, so many at most.

    The ``read`` of arrow's streams makes the bytes before it fills them, and never lets go of them
    where that fails: each try to read a damaged file would cost as much memory for ever.

    Examples
    --------
    >>> read_bytes(own_reader(b"a,b\n1,2\n"), 3)
    b'a,b'
    """
    return bytes(stream.read_buffer(n).to_pybytes())


def recoded(stream: Any, encoding: str) -> Iterator[bytes]:
    """The text of an arrow stream in UTF-8, chunk by chunk.

    Examples
    --------
    >>> b"".join(recoded(own_reader("prix,été".encode("latin-1")), "latin-1")).decode()
    'prix,été'
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    while content := read_bytes(stream, _CHUNK):
        yield decoder.decode(content).encode()
    yield decoder.decode(b"", final=True).encode()


# ------------------------------------------------------------- numbers and codes in text

_CODES = re.compile(r"""(?:^|[,;\t|"\s])(?:0\d+|\+\d{8,})(?:$|[,;\t|"\s])""", re.MULTILINE)
_GROUPED = r"^\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?\s*$"
_FEW = 0.01


def has_codes(sample: bytes, encoding: str) -> bool:
    r"""Whether some cell is a whole number with a leading zero, or like that of a telephone.

    Examples
    --------
    >>> has_codes(b"zip,x\n01234,5\n", "utf-8"), has_codes(b"x,y\n0,0.05\n", "utf-8")
    (True, False)
    """
    return _CODES.search(sample.decode(encoding, "replace")) is not None


def is_code(column: Any) -> bool:
    """Whether cells are digits alone, of which some begin with a zero, or most like telephones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_code(pa.chunked_array([["01234", "99999"]])), is_code(pa.chunked_array([["1", "0"]]))
    (True, False)
    """
    compute = need_arrow().compute
    present = column.drop_null()
    if not len(present):
        return False
    digits = compute.all(compute.match_substring_regex(present, r"^\s*\+?\d+\s*$")).as_py()
    zeros, phones = (
        compute.sum(compute.match_substring_regex(present, pattern)).as_py()
        for pattern in (r"^\s*0\d+\s*$", r"^\s*\+\d{8,}\s*$")
    )
    return bool(digits and (zeros > _FEW * len(present) or phones > 0.5 * len(present)))


def ungrouped(table: Any) -> Any:
    """Columns of text such as ``1.234`` and ``12.345,5`` as numbers; points are of thousands.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ungrouped(pa.table({"a": ["1.234", "5"], "b": ["1.2", "x"]})).to_pydict()
    {'a': [1234.0, 5.0], 'b': ['1.2', 'x']}
    """
    compute, types = need_arrow().compute, need_arrow().types
    names = [
        field.name
        for field in table.schema
        if types.is_string(field.type)
        and table.column(field.name).null_count < table.num_rows
        and compute.all(compute.match_substring_regex(table.column(field.name), _GROUPED)).as_py()
    ]
    return numbers_of_points(table, names)


def numbers_of_points(table: Any, names: Sequence[str]) -> Any:
    """These columns as numbers; a cell that is none is refused by arrow."""
    pa = need_arrow()
    compute = pa.compute
    for name in names:
        column = compute.utf8_trim_whitespace(table.column(name))
        is_grouped = compute.match_substring_regex(column, _GROUPED)
        bare = compute.replace_substring(column, ".", "")
        column = compute.if_else(is_grouped, bare, column)
        column = compute.replace_substring(column, ",", ".").cast(pa.float64())
        table = table.set_column(table.column_names.index(name), name, column)
    return table
