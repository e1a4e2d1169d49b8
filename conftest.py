"""Fixtures shared by all tests, and names that the examples in docstrings use without importing.

The default dtype is left alone: tests of core ask for float64.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch

SEED = int(os.environ.get("ADACAP_TEST_SEED", "0"))

# No deadline: a shared machine is slow at times. Derandomised: one tree, one verdict.
hypothesis.settings.register_profile("adacap", deadline=None, derandomize=True)
hypothesis.settings.load_profile("adacap")


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, object]) -> None:
    import torch

    import adacap.core
    import adacap.nn

    doctest_namespace["torch"] = torch
    doctest_namespace["nn"] = torch.nn
    for package in (adacap.core, adacap.nn):
        doctest_namespace.update({name: getattr(package, name) for name in package.__all__})


def pytest_report_header() -> str:
    return f"ADACAP_TEST_SEED={SEED}"


@pytest.fixture
def seed() -> int:
    """Seed of every generator in a test; ADACAP_TEST_SEED replaces it."""
    return SEED


class Clock:
    """A clock that goes on by `tick` seconds at every look, and by nothing else."""

    def __init__(self, tick: float = 2**-7) -> None:  # sums of it are exact
        self.tick, self.now = tick, 0.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that time limits of ``fit`` are checked against: a busy machine plays no part."""
    made = Clock()
    monkeypatch.setattr("time.perf_counter", made)
    monkeypatch.setattr("adacap.estimators._base.perf_counter", made)
    return made


def numpy_state() -> object:
    return np.random.get_state()  # noqa: NPY002 (looks at the global generator, never draws)


@pytest.fixture
def global_state_untouched() -> Iterator[None]:
    """Fail a test that moves a global generator or the number of torch threads."""
    before = numpy_state(), torch.get_rng_state(), torch.get_num_threads()
    yield
    np.testing.assert_equal(numpy_state(), before[0], "numpy's global generator moved")
    assert torch.equal(torch.get_rng_state(), before[1]), "torch's global generator moved"
    assert torch.get_num_threads() == before[2], "the number of torch threads changed"


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Two threads of torch's, whatever the machine or its settings give it."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def data_folder() -> Path:
    """Folder of the real data sets; the test is skipped where ADACAP_DATA does not name one."""
    folder = os.environ.get("ADACAP_DATA")
    if not folder:
        pytest.skip("needs real data: set ADACAP_DATA to the folder that holds it")
    return Path(folder)


@pytest.fixture
def normal(seed: int) -> Callable[..., torch.Tensor]:
    """Maker of tensors with normal entries, float64 unless told otherwise."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    return draw


@pytest.fixture(scope="module")  # one driver at a time: the next module starts its own
def browser() -> Iterator[Any]:
    """Headless Chromium; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium on the path")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a file; fails the test on a message, an error or a request beyond the file itself."""
    contexts, trouble = [], []

    def go(path: Path, *, width: int = 1280, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        address = path.resolve().as_uri()
        allowed = (address, "data:", "blob:")
        page.on(
            "request",
            lambda request: (
                request.url.startswith(allowed) or trouble.append(f"request: {request.url}")
            ),
        )
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert trouble == []
