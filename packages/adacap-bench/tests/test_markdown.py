"""Tables of Markdown and their place on a page."""

import pytest

from adacap_bench.markdown import markdown_lines, place, placed

MARKS = "<!-- t: begin -->", "<!-- t: end -->"


@pytest.mark.parametrize(
    ("aligned", "expected"),
    [("", "|---|---|---|"), ("lr", "|:--|--:|--:|"), ("rl-r", "|--:|:--|---|")],
)
def test_columns_are_aligned_by_letters(aligned, expected):
    assert list(markdown_lines("abc", [], aligned)) == ["| a | b | c |", expected]


def test_a_bar_does_not_end_a_cell():
    assert list(markdown_lines(["a"], [["x|y"], [r"x\|y"]]))[2:] == [r"| x\|y |", r"| x\|y |"]


def test_lines_come_with_their_rows():
    lines = markdown_lines(["n"], ([1 / n] for n in (1, 0)))
    assert [next(lines) for _ in range(3)] == ["| n |", "|---|", "| 1.0 |"]
    with pytest.raises(ZeroDivisionError):
        next(lines)


def test_what_stands_between_the_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Before {MARKS[0]}\nold\n{MARKS[1]} after.\n")
    for body in ("new", "newer"):
        place(page, MARKS, body)
        assert page.read_text() == f"Before {MARKS[0]}\n{body}\n{MARKS[1]} after.\n"


@pytest.mark.parametrize("text", ["", MARKS[0], MARKS[1], " ".join(MARKS[::-1])])
def test_a_page_without_marks_is_refused(text):
    with pytest.raises(ValueError, match="needs the marks <!-- t: begin --> and <!-- t: end -->"):
        placed(text, MARKS, "new")
