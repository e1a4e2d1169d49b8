"""Numbers as people write them: ``1,234.50``, ``1.234,5 €``, ``86 m²``, ``12 %``, ``(300)``.

A column has one :class:`Convention`, which all cells decide together: decimal sign, thousands
separator, and the unit or currency that its numbers carry. A cell that does not follow it is not a
number.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats

__all__ = ["MISSING_WORDS", "Convention", "FoundNumbers", "find_convention", "is_word_for_missing"]

MISSING_WORDS = frozenset(
    (
        "", "na", "n/a", "n.a.", "n.a", "#n/a", "nan", "-nan", "null", "none", "nil", "nat", "?",
        "-", "--", "---", ".", "..", "...", "…", "unknown", "missing", "not available",
        "not applicable", "not known", "tbd", "tba", "n/d", "n.d.", "k.a.", "k. a.", "#value!",
        "#div/0!", "#ref!", "#name?", "#num!", "#null!", "<na>",
    )
)  # fmt: skip
_CURRENCIES = frozenset(
    (
        *"$€£¥₹₽₩₺₫₪฿₴₦₱₡₲₵₸₭₮₣₤", "us$", "a$", "c$", "nz$", "hk$", "s$", "r$", "rs", "rs.", "kr",
        "kr.", "zł", "kč", "ft", "lei", "fr", "fr.", "sfr", "usd", "eur", "gbp", "jpy", "inr",
        "chf",
        "cad", "aud", "nzd", "cny", "rmb", "sek", "nok", "dkk", "pln", "czk", "huf", "rub", "brl",
        "mxn", "zar", "krw", "sgd", "hkd", "try", "ils", "thb", "idr", "myr", "php", "aed", "sar",
    )
)  # fmt: skip
_SAME_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u2007\u2009\u200a\u202f\t", " "),
        **dict.fromkeys("\u2212\u2010\u2011\u2013\u2014", "-"),
        **dict.fromkeys("\u2019\u02bc\u2032", "'"),
    }
)
_CELL = re.compile(
    r"(?P<open>\()?\s*(?P<sign>[+-])?\s*(?P<before>[^\W\d_]{1,3}\.|[^\W\d_]{0,3}[^\w\s.,()'+-]"
    r"|[^\W\d_]{1,3})?\s*(?P<sign2>[+-])?(?P<body>\d[\d.,' ]*|[.,]\d+)(?:[eE](?P<power>[+-]?\d+))?"
    r"\s*(?P<after>[^\W\d_].*?|[%‰°²³$€£¥₹\"].*?)??(?P<minus>-)?(?P<close>\))?"
)
_PLAIN = re.compile(r"-?\d[\d.,]*", re.ASCII)  # most cells: no unit, no space, no sign but a minus
_CODE = re.compile(r"0\d+")
_PHONE_DIGITS = 8
_ENOUGH = 0.95  # of the cells that are not missing
_FEW = 0.01

# Tried in this order: where several read as many cells, the first one is taken.
_SIGNS = ((".", ""), (".", ","), (".", " "), (".", "'"),
          (",", ""), (",", "."), (",", " "), (",", "'"))  # fmt: skip


class _Parts(NamedTuple):
    """A cell taken apart: whether it is negative, its digits with separators, power, unit."""

    negative: bool
    body: str
    power: str
    unit: str
    is_phone: bool


@dataclass(frozen=True)
class Convention:
    """How the numbers of a column are written.

    Examples
    --------
    >>> Convention(",", ".", "€").read(["1.234,50 €", "12", "about 5"])
    array([1234.5,   12. ,    nan])
    """

    decimal: str = "."
    thousands: str = ""  # may be empty
    unit: str = ""  # currency, percent sign or unit that a cell may carry; empty for none

    def read(self, cells: Sequence[str]) -> Floats:
        """Numbers of these cells, NaN where a cell is not a number."""
        return self._numbers([_take_apart(cell) for cell in cells])

    def _numbers(self, apart: Sequence[_Parts | None]) -> Floats:
        body = _body(self.decimal, self.thousands)
        values = (self._number(parts, body) for parts in apart)
        return np.fromiter(values, dtype=np.float64, count=len(apart))

    def _number(self, parts: _Parts | None, body: re.Pattern[str]) -> float:
        if parts is None or not self._has_unit(parts) or not body.fullmatch(parts.body):
            return np.nan
        digits = parts.body.replace(self.thousands, "") if self.thousands else parts.body
        value = float(digits.replace(self.decimal, ".") + parts.power)
        if not np.isfinite(value):
            return np.nan
        return -value if parts.negative else value

    def _has_unit(self, parts: _Parts) -> bool:
        """Whether the unit is that of the column; a cell may omit it, except for percent."""
        return parts.unit == self.unit or (not parts.unit and self.unit != "%")

    def __str__(self) -> str:
        names = {" ": "space", "'": "apostrophe", ",": "comma", ".": "point"}
        words = []
        if self.thousands:
            words.append(f"thousands {names[self.thousands]}")
        if self.decimal == ",":
            words.append("decimal comma")
        if self.unit:
            words.append(f"unit {self.unit!r}")
        return ", ".join(words)


class FoundNumbers(NamedTuple):
    """What was found about a column.

    ``share`` of the present cells are numbers under ``convention``; ``why_not`` says why they are
    still not numbers; ``doubt`` says what else they might mean.
    """

    convention: Convention
    values: Floats
    share: float
    why_not: str
    doubt: str

    @property
    def is_number(self) -> bool:
        """Whether the column is one of numbers."""
        return not self.why_not and self.share >= _ENOUGH


def is_word_for_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value.

    Examples
    --------
    >>> [is_word_for_missing(cell) for cell in (" N/A ", "-", "unknown", "0")]
    [True, True, True, False]
    """
    return cell.strip().translate(_SAME_SIGNS).casefold() in MISSING_WORDS


def find_convention(cells: Sequence[str], counts: npt.NDArray[np.intp]) -> FoundNumbers | None:
    """The convention under which most cells are numbers; None if no cell looks like one.

    The cells are distinct and present, and each occurs ``counts`` times.

    Examples
    --------
    >>> found = find_convention(["$1,200.50", "$900", "$12,000"], np.array([1, 1, 1]))
    >>> found.convention, found.values.tolist()
    (Convention(decimal='.', thousands=',', unit='$'), [1200.5, 900.0, 12000.0])
    >>> find_convention(["00123", "04711"], np.array([3, 2])).why_not
    'numbers with leading zeros are codes'
    """
    apart = [_take_apart(cell) for cell in cells]
    total = int(counts.sum())
    if not total or not any(apart):
        return None
    unit = _unit(apart, counts)
    used = [(parts, n) for parts, n in zip(apart, counts.tolist(), strict=True)
            if parts and (parts.unit == unit or not parts.unit)]  # fmt: skip
    sums = {signs: _cells_read(*signs, used) for signs in _candidates(used)}
    best = max(sums, key=lambda signs: sums[signs])  # the first of equals
    convention = Convention(*best, unit)
    values = convention._numbers(apart)
    share = float(counts[~np.isnan(values)].sum()) / total
    return FoundNumbers(convention, values, share, _why_not(used, total), _doubt(sums, best, used))


def _candidates(used: Sequence[tuple[_Parts, int]]) -> list[tuple[str, str]]:
    """Pairs of signs that the digits hold; the usual pair in any case."""
    held = {sign for sign in ".,' " if any(sign in parts.body for parts, _ in used)}
    return [signs for k, signs in enumerate(_SIGNS) if not k or held.intersection(signs)]


def _cells_read(decimal: str, thousands: str, used: Sequence[tuple[_Parts, int]]) -> int:
    body = _body(decimal, thousands)
    return sum(n for parts, n in used if body.fullmatch(parts.body))


def _unit(apart: Sequence[_Parts | None], counts: npt.NDArray[np.intp]) -> str:
    """Unit that nearly all numbers carry; a currency also where some omit it."""
    units: Counter[str] = Counter()
    for parts, n in zip(apart, counts.tolist(), strict=True):
        if parts:
            units[parts.unit] += n
    named = [(n, unit) for unit, n in units.items() if unit]
    if not named:
        return ""
    n, unit = max(named)
    of = sum(m for m, _ in named) if unit in _CURRENCIES else units.total()
    return unit if n >= _ENOUGH * of else ""


def _why_not(used: Sequence[tuple[_Parts, int]], total: int) -> str:
    codes = sum(n for parts, n in used if not parts.unit and _CODE.fullmatch(parts.body))
    if codes > _FEW * total:
        return "numbers with leading zeros are codes"
    phones = sum(n for parts, n in used if parts.is_phone)
    return "numbers like those of telephones are codes" if phones > 0.5 * total else ""


def _doubt(
    sums: dict[tuple[str, str], int], best: tuple[str, str], used: Sequence[tuple[_Parts, int]]
) -> str:
    """What an ambiguous separator was taken for, such as the comma of ``1,234``."""
    decimal, thousands = best
    other = {(".", ","): (",", ""), (".", ""): (",", ".")}.get(best)
    if other is None or not sums[best] or sums.get(other, 0) < sums[best]:
        return ""
    sign, body = thousands or decimal, _body(*best)
    shown = next(
        (parts.body for parts, _ in used if sign in parts.body and body.fullmatch(parts.body)), None
    )
    if shown is None:
        return ""
    value = Convention(decimal, thousands).read([shown])[0]
    return f"{shown} is taken for {value:.15g}, as nothing in the column says otherwise"


@functools.lru_cache(maxsize=16)
def _body(decimal: str, thousands: str) -> re.Pattern[str]:
    d, t = re.escape(decimal), re.escape(thousands)
    plain = rf"\d+(?:{d}\d*)?|{d}\d+"
    if not thousands:
        return re.compile(plain)
    return re.compile(rf"{plain}|[1-9]\d{{0,2}}(?:{t}\d{{2,3}})*{t}\d{{3}}(?:{d}\d*)?")


def _take_apart(cell: str) -> _Parts | None:
    """Parts of a cell that looks like a number."""
    if _PLAIN.fullmatch(cell):
        return _Parts(cell[0] == "-", cell.lstrip("-"), "", "", False)
    match = _CELL.fullmatch(cell.strip().translate(_SAME_SIGNS))
    if match is None:
        return None
    open_, sign, before, sign2, body, power, after, minus, close = match.groups()
    if bool(open_) != bool(close) or (sign and sign2):
        return None
    unit = _unit_name(after or "")
    if before:
        if (currency := before.casefold()) not in _CURRENCIES:
            return None
        unit = f"{currency.rstrip('.')}{' ' + unit if unit else ''}"
    signs = [s for s in (open_, sign or sign2, minus) if s and s != "+"]
    if len(signs) > 1:
        return None
    digits = body.strip()
    is_phone = (sign or sign2) == "+" and sum(map(str.isdigit, digits)) >= _PHONE_DIGITS
    return _Parts(bool(signs), digits, f"e{power}" if power else "", unit, is_phone)


def _unit_name(text: str) -> str:
    name = " ".join(text.split()).casefold()
    return name.rstrip(".") if len(name) > 1 else name
