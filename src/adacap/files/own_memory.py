"""Bytes for arrow's threads, in memory of arrow's own.

Arrow reads text in threads of its own, which may let go of what they read a moment after the
result is there. If that belonged to Python (a ``bytes`` object, a codec), the thread would ask for
the interpreter's lock, and where the interpreter is ending just then the process aborts with
"terminate called without an active exception". So nothing of Python's is handed to them.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

from adacap.files.errors import need_arrow

__all__ = ["own_reader", "recoded"]

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


def recoded(stream: Any, encoding: str) -> Iterator[bytes]:
    """The text of an arrow stream in UTF-8, chunk by chunk.

    Raises
    ------
    UnicodeDecodeError
        If it is not written in that encoding.

    Examples
    --------
    >>> b"".join(recoded(own_reader("prix,été".encode("latin-1")), "latin-1")).decode()
    'prix,été'
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    while content := stream.read(_CHUNK):
        yield decoder.decode(content).encode()
    yield decoder.decode(b"", final=True).encode()
