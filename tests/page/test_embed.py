"""Nothing that is embedded can be taken for markup, and numbers stay short."""

import json
import math

import numpy as np
import pytest

from adacap.page import compact, embed_json
from adacap.page.embed import asset, escape

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 & ' \""


def test_escape() -> None:
    assert escape("<a href=\"x\" b='y'>&") == "&lt;a href=&quot;x&quot; b=&#x27;y&#x27;&gt;&amp;"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456789, 0.123457),
        (123456789.0, 123457000),
        (1e-9, 1e-9),
        (2.0, 2),
        (math.nan, None),
        (-math.inf, None),
        (True, True),
        (None, None),
        (np.float32(0.1), 0.1),
        (np.int64(3), 3),
        (np.array([[1.5, np.nan]]), [[1.5, None]]),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        ({1: "x"}, {"1": "x"}),
        (np.datetime64("2024-01-02"), "2024-01-02"),
    ],
)
def test_compact(value: object, expected: object) -> None:
    found = compact(value)
    assert found == expected
    assert type(found) is type(expected)


def test_json_survives_and_ends_no_script() -> None:
    text = embed_json({HOSTILE: [HOSTILE, 0.5]})
    assert json.loads(text) == {HOSTILE: [HOSTILE, 0.5]}
    assert not set("<>&\u2028") & set(text)


@pytest.mark.parametrize(
    "name", ["page.css", "page_tables.js", "page_scales.js", "page_marks.js", "page_charts.js"]
)
def test_assets_are_part_of_the_package(name: str) -> None:
    text = asset(name)
    assert "</script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
