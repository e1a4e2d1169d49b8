"""What a download shows: lines in a file, a bar on a terminal."""

import io

from rich.console import Console

from adacap.datasets.progress import show_progress


def test_lines_by_quarters():
    out = io.StringIO()
    with show_progress("toy", Console(file=out, width=100)) as progress:
        for done in range(0, 2_000_001, 100_000):
            progress(done, 2_000_000)
    assert out.getvalue().splitlines() == [
        f"toy: {share} % of 2.0 MB" for share in (0, 25, 50, 75, 100)
    ]


def test_lines_without_a_total():
    out = io.StringIO()
    with show_progress("toy", Console(file=out, width=100)) as progress:
        for done in (500, 1000, 9_000_000):
            progress(done, None)
    assert out.getvalue().splitlines() == ["toy: 0.5 kB", "toy: 9.0 MB"]


def test_bar():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    with show_progress("toy", console) as progress:
        progress(500, 1000)
        progress(1000, 1000)
    assert "toy" in out.getvalue()
