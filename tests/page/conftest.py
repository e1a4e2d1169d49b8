"""A headless browser that reports whatever a page says, asks for or throws."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


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
