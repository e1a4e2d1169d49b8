"""Values into a page: escaped text, and data as JSON that no parser takes for markup."""

import html
import json
import math
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

__all__ = ["asset", "compact", "embed_json", "escape"]

# What could end a script element, start a comment in it or break a line of JavaScript.
_UNSAFE = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def escape(value: object) -> str:
    """A value as text of an element or of a quoted attribute.

    Examples
    --------
    >>> escape("<b title='x'>")
    '&lt;b title=&#x27;x&#x27;&gt;'
    """
    return html.escape(str(value), quote=True)


def compact(value: Any, digits: int = 6) -> Any:
    """Plain lists, dicts and numbers, floats rounded to some significant digits.

    Arrays and their scalars become lists and numbers, values that JSON does not have (``nan``,
    infinities) becomes ``None``, any other object its text.

    Examples
    --------
    >>> compact({"rmse": (0.123456789, float("nan")), "n": 3.0})
    {'rmse': [0.123457, None], 'n': 3}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return _short(value, digits)
    if isinstance(value, Mapping):
        return {str(key): compact(item, digits) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array, a series or one of their scalars
        return compact(value.tolist(), digits)
    if isinstance(value, Iterable):
        return [compact(item, digits) for item in value]
    return str(value)


def _short(value: float, digits: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def embed_json(value: object) -> str:
    r"""JSON for the inside of a script element: compact, and free of ``<``, ``>`` and ``&``.

    Examples
    --------
    >>> embed_json(["</script>", 0.5])
    '["\\u003c/script\\u003e",0.5]'
    """
    text = json.dumps(compact(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)


def asset(name: str, package: str = "adacap.page") -> str:
    """Text of a file in the folder ``assets`` of a package."""
    return (resources.files(package) / "assets" / name).read_text(encoding="utf-8")
