"""The pages: links lead somewhere, guides are found, public names are listed, Sphinx is content."""

import importlib
import importlib.util
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

import adacap

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCE = str(Path(adacap.__file__).parents[1])  # also where the tests run uninstalled
GUIDES = sorted((DOCS / "guides").glob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts),
]
TOOLS = ("sphinx", "myst_parser", "numpydoc", "furo")
PACKAGES = {
    "adacap.bench.methods": "bench",
    "adacap.bench.metrics": "bench",
    "adacap.core": "core",
    "adacap.datasets": "datasets",
    "adacap.estimators": "estimators",
    "adacap.exceptions": "exceptions",
    "adacap.export": "export",
    "adacap.files": "files",
    "adacap.lite": "lite",
    "adacap.model_selection": "model_selection",
    "adacap.nn": "nn",
    "adacap.page": "page",
    "adacap.report": "report",
    "adacap.training": "training",
}
DIRECTIVE = re.compile(r"^\.\. (?:auto(?:class|function|exception)|py:data):: ([\w.]+)$", re.M)


def walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from walk(token.children or [])


def parse(path: Path) -> list[Token]:
    text = path.read_text(encoding="utf-8")
    return list(walk(MarkdownIt("commonmark").enable("table").parse(text)))


def links(path: Path) -> list[str]:
    """Targets of links and images that stay in the repository."""
    found = [token.attrGet("href") or token.attrGet("src") for token in parse(path)]
    texts = [unquote(str(target)) for target in found if target is not None]
    return [text for text in texts if not re.match(r"[a-z]+:", text)]


def anchors(path: Path) -> set[str]:
    """What GitHub and MyST call the headings of a page."""
    tokens, found = parse(path), set()
    for token, inline in itertools.pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(part.content for part in inline.children or [])
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            same = [slug, *(f"{slug}-{k}" for k in range(1, 100))]
            found.add(next(name for name in same if name not in found))
    return found


def broken_links(path: Path) -> list[str]:
    broken = []
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        lost = not target.exists() or (anchor and anchor not in anchors(target))
        if lost:
            broken.append(link)
    return broken


# ------------------------------------------------------------------------------ the pages


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_a_broken_link_is_seen(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# A λ, `b` & c\n\n## Twice\n\n## Twice\n", encoding="utf-8")
    page.write_text(
        "# One\n[ok](other.md#a-λ-b--c) [ok](other.md#twice-1) [ok](#one) [ok](https://a.b/c)\n"
        "`[code](nowhere.md)`\n\n| a |\n|---|\n| [no](nowhere.md) |\n\n"
        "[no](other.md#twice-2) [no](#two) ![no](lost.png)\n",
        encoding="utf-8",
    )
    assert broken_links(page) == ["nowhere.md", "other.md#twice-2", "#two", "lost.png"]


def test_there_are_guides():
    names = {path.stem for path in GUIDES}
    assert names >= {"first_model", "capacity", "intervals", "own_net", "selection", "export"}


@pytest.mark.parametrize("start", [ROOT / "README.md", DOCS / "index.md"], ids=lambda p: p.name)
def test_every_guide_is_one_click_away(start):
    reached = {(start.parent / link.partition("#")[0]).resolve() for link in links(start)}
    assert {*GUIDES, DOCS / "BENCHMARK.md"} <= reached


def test_the_first_example_is_that_of_the_readme():
    blocks = [
        next(
            token.content
            for token in parse(path)
            if token.type == "fence" and "python" in token.info
        )
        for path in (ROOT / "README.md", DOCS / "index.md")
    ]
    assert blocks[0] == blocks[1]


# ----------------------------------------------------------------------- the API reference


def listed(page: str, package: str) -> list[str]:
    """Names that a page of the reference describes as those of a package, the package left out."""
    text = (DOCS / "api" / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"^\.\. currentmodule:: ([\w.]+)$", text, flags=re.M)
    found = []
    for module, part in zip(parts[1::2], parts[2::2], strict=True):
        names = DIRECTIVE.findall(part.partition("```")[0])
        found += [name for name in names if module == package]
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_described_once(package):
    home = "adacap" if package == "adacap.estimators" else package
    names = listed(PACKAGES[package], home)
    expected = set(importlib.import_module(package).__all__)
    assert sorted(names) == sorted(expected | ({"load"} if home == "adacap" else set()))


def test_the_reference_names_every_name_of_the_root():
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert [name for name in adacap.__all__ if f"adacap.{name}" not in text] == []


# ------------------------------------------------------------------------------- the build


def test_the_pages_build_without_a_warning(tmp_path):
    missing = [name for name in TOOLS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs the extra docs: {', '.join(missing)}")
    command = ["-m", "sphinx", "-W", "--keep-going", "--quiet", "-d", str(tmp_path / "trees")]
    result = subprocess.run(
        [sys.executable, *command, str(DOCS), str(tmp_path / "html")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for page in ("index.html", "guides/first_model.html", "api/estimators.html", "BENCHMARK.html"):
        assert (tmp_path / "html" / page).is_file()
    text = (tmp_path / "html/api/estimators.html").read_text(encoding="utf-8")
    assert 'id="adacap.AdaCapRegressor.predict_interval"' in text
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//', text)
