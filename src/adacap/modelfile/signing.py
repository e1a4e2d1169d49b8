"""Signatures of model files: nobody can change a file unnoticed without the key.

A checksum finds accidents, but anyone who changes a file on purpose can correct it. A signature is
the HMAC-SHA256 of both parts under the user's key, kept as the comment of the zip.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from adacap.exceptions import SignatureError
from adacap.modelfile.archive import require

__all__ = ["Key", "check_signature", "sign"]

Key = str | bytes

_MARK = b"adacap-hmac-sha256:"
_SIGNATURE = re.compile(re.escape(_MARK) + rb"[0-9a-f]{64}")


def sign(text: bytes, weights: bytes, key: Key) -> bytes:
    """Signature of the parts of a file.

    A key that is text counts as its bytes in UTF-8.

    Examples
    --------
    >>> sign(b"{}", b"", "secret")[:30]
    b'adacap-hmac-sha256:38c21a32d54'
    >>> sign(b"{}", b"", b"secret") == sign(b"{}", b"", "secret")
    True
    """
    found = hmac.new(_bytes(key), digestmod=hashlib.sha256)
    for part in (text, weights):  # each with its length: no byte can move from one to the other
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return _MARK + found.hexdigest().encode()


def check_signature(comment: bytes, text: bytes, weights: bytes, key: Key | None) -> None:
    """Check the comment of a zip against the parts; without a key, only its form."""
    is_signed = _SIGNATURE.fullmatch(comment) is not None
    require(is_signed or not comment, "the comment of its zip is not a signature.")
    if key is None:
        return
    expected = sign(text, weights, key)
    if not is_signed:
        raise SignatureError(
            "it is not signed, and a key was given. Sign it: save(path, key=...); or load it "
            "without a key if you trust whoever could write it."
        )
    if not hmac.compare_digest(comment, expected):
        raise SignatureError(
            "its signature is not that of this key: the file was changed, or signed with another "
            "key."
        )


def _bytes(key: Key) -> bytes:
    """The key as bytes; an empty one is refused."""
    if not isinstance(key, str | bytes):
        raise TypeError(f"key must be str or bytes, got {type(key).__name__}.")
    if not key:
        raise ValueError("key is empty: give some 16 bytes that nobody can guess.")
    return key.encode() if isinstance(key, str) else key
