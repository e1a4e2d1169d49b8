"""Free text as a few dense features: hashed TF-IDF weights of its words, projected on axes.

What :mod:`adacap.tables.policies` learns with scikit-learn is applied here with NumPy: the words
are hashed as ``HashingVectorizer`` does, weighted as ``TfidfTransformer`` does, and projected on
the axes of ``TruncatedSVD``.
"""

from __future__ import annotations

import base64
import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats

if TYPE_CHECKING:
    from adacap.tables.plan import Cells

__all__ = ["N_BUCKETS", "Words", "is_free_text", "murmur3", "packed"]

N_BUCKETS = 4096
_WORD = re.compile(r"(?u)\b\w\w+\b")
_LEAST_ROWS = 30
_DISTINCT = 0.5  # of the rows, from which on text is free
_LEAST_WORDS, _LEAST_LENGTH = 3.0, 15.0  # on average
_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Words:
    """Weights of the words of a text, projected on axes; zeros for a missing one.

    ``buckets`` are those that training met, with their ``idf`` and a row of ``axes`` each, packed
    as base64 of little-endian int32, float64 and float32. Any other bucket has ``unseen_idf``.
    """

    n_axes: int
    unseen_idf: float
    buckets: str = field(repr=False)
    idf: str = field(repr=False)
    axes: str = field(repr=False)

    title: ClassVar[str] = "words"

    def suffixes(self) -> list[str]:
        """Suffix of each feature's name."""
        return [f":words{k}" for k in range(self.n_axes)]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        """Features of these cells, one array each."""
        features = np.zeros((len(cells.levels) + 1, self.n_axes))  # the last row is of the missing
        used = np.unique(cells.codes[cells.codes >= 0])
        features[used] = self.project([cells.levels[k] for k in used])
        return iter(features[cells.codes].T)

    def project(self, texts: Sequence[str]) -> Floats:
        """Features of texts, one row each."""
        known, idf, axes = self._arrays
        out = np.zeros((len(texts), self.n_axes))
        for i, text in enumerate(texts):
            counts = hashed(text)
            if not counts:
                continue
            at = np.fromiter(counts, dtype=np.int64, count=len(counts))
            weights = np.fromiter(counts.values(), dtype=np.float64, count=len(counts))
            place = np.searchsorted(known, at)
            found = known[np.minimum(place, len(known) - 1)] == at
            weights *= np.where(found, idf[np.where(found, place, 0)], self.unseen_idf)
            norm = np.sqrt(weights @ weights)
            out[i] = (weights[found] / (norm or 1.0)) @ axes[place[found]]
        return out

    @functools.cached_property
    def _arrays(self) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
        buckets = _unpacked(self.buckets, "<i4").astype(np.int64)
        axes = _unpacked(self.axes, "<f4").astype(np.float64)
        return buckets, _unpacked(self.idf, "<f8"), axes.reshape(len(buckets), self.n_axes)

    @property
    def is_consistent(self) -> bool:
        """Whether its arrays are consistent and hold numbers."""
        try:
            buckets, idf, axes = self._arrays
        except ValueError:
            return False
        in_order = bool((np.diff(buckets) > 0).all()) and len(buckets) > 0
        return in_order and len(idf) == len(buckets) and bool(np.isfinite(axes).all())

    @property
    def has_finite_weights(self) -> bool:
        """Whether the weight of every word is a number."""
        return bool(np.isfinite(self._arrays[1]).all())


def packed(array: npt.NDArray[Any], dtype: str) -> str:
    """An array as text.

    Examples
    --------
    >>> packed(np.array([1, 2]), "<i4")
    'AQAAAAIAAAA='
    """
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()


def _unpacked(text: str, dtype: str) -> npt.NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)


# -------------------------------------------------------------------------------- hashing


def hashed(text: str, n_buckets: int = N_BUCKETS) -> dict[int, int]:
    """Signed counts of the words of a text by bucket.

    Examples
    --------
    >>> sum(abs(count) for count in hashed("A flat with a garden").values())
    3
    """
    counts: dict[int, int] = {}
    for word, n in Counter(_WORD.findall(text.lower())).items():
        bucket, sign = _bucket(word, n_buckets)
        counts[bucket] = counts.get(bucket, 0) + sign * n
    return counts


@functools.lru_cache(maxsize=100_000)
def _bucket(word: str, n_buckets: int) -> tuple[int, int]:
    """Bucket and sign of a word."""
    value = murmur3(word.encode("utf-8", "surrogatepass"))
    if value == -(2**31):  # its absolute value is not an int32
        return (2**31 - 1 - (n_buckets - 1)) % n_buckets, -1
    return abs(value) % n_buckets, 1 if value >= 0 else -1


def murmur3(data: bytes, seed: int = 0) -> int:
    """MurmurHash3 of 32 bits, as a signed integer.

    Examples
    --------
    >>> murmur3(b"flat")
    -69842580
    """
    value, n_whole = seed, len(data) - len(data) % 4
    for i in range(0, n_whole, 4):
        value ^= _mixed(int.from_bytes(data[i : i + 4], "little"))
        value = (_rotated(value, 13) * 5 + 0xE6546B64) & _MASK
    if len(data) > n_whole:
        value ^= _mixed(int.from_bytes(data[n_whole:], "little"))
    value ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        value = ((value ^ (value >> shift)) * factor) & _MASK
    return value - 2**32 if value >= 2**31 else value


def _mixed(block: int) -> int:
    return (_rotated((block * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


# -------------------------------------------------------------------------- free or not


def is_free_text(cells: Cells) -> bool:
    """Whether a column of text is long and mostly distinct: sentences, not names of categories."""
    codes = cells.codes[cells.codes >= 0]
    if len(codes) < _LEAST_ROWS:
        return False
    used = np.unique(codes)
    if len(used) < _DISTINCT * len(codes):
        return False
    texts = [cells.levels[k] for k in used[:1000]]
    words = np.mean([len(_WORD.findall(text)) for text in texts])
    return bool(words >= _LEAST_WORDS and np.mean([len(text) for text in texts]) >= _LEAST_LENGTH)
