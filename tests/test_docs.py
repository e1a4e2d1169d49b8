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
import adacap_bench

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCE = os.pathsep.join(  # also where the tests run uninstalled
    str(Path(package.__file__).parents[1]) for package in (adacap, adacap_bench)
)
GUIDES = sorted((DOCS / "guides").glob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("packages/*/*.md")),
    *(path for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts),
]
TOOLS = ("sphinx", "myst_parser", "numpydoc", "furo", "matplotlib")
PACKAGES = {
    "adacap.advice": "advice",
    "adacap.checkpoint": "checkpoint",
    "adacap.comparison": "comparison",
    "adacap.core": "core",
    "adacap.drift": "drift",
    "adacap.estimators": "estimators",
    "adacap.exceptions": "exceptions",
    "adacap.explain": "explain",
    "adacap.export": "export",
    "adacap.files": "files",
    "adacap.lite": "lite",
    "adacap.model_selection": "model_selection",
    "adacap.nn": "nn",
    "adacap.page": "page",
    "adacap.report": "report",
    "adacap.training": "training",
    "adacap_bench.datasets": "datasets",
    "adacap_bench.methods": "bench",
    "adacap_bench.metrics": "bench",
}
BORROWED = {
    "adacap_bench.methods": "adacap.comparison",
    "adacap.report": "adacap.explain",
}  # names described where they come from
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


# ------------------------------------------------------------ files that the pages speak of

DESCRIPTIONS = [
    ROOT / "CONTRIBUTING.md",
    *(DOCS / f"{name}.md" for name in ("ARCHITECTURE", "PAPER_MAP", "GLOSSARY", "gallery")),
    *sorted((DOCS / "adr").glob("*.md")),
]
FILES = [
    f"/{path.relative_to(ROOT).as_posix()}"
    for folder in ("src", "packages", "tests", "benchmarks", "examples", "docs", "tools")
    for path in (ROOT / folder).rglob("*")
]


def unknown_files(text: str) -> list[str]:
    """Files named in code spans that exist nowhere, by the end of their path."""
    named = set(re.findall(r"`([\w./-]+\.(?:py|toml|md))`", text))
    return sorted(name for name in named if not any(f.endswith(f"/{name}") for f in FILES))


@pytest.mark.parametrize("page", DESCRIPTIONS, ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(page):
    own = {path.name for path in ROOT.glob("*.*")}
    assert [n for n in unknown_files(page.read_text(encoding="utf-8")) if n not in own] == []


def test_a_file_that_is_gone_is_seen():
    text = "`core/ridge.py`, `ridge.py`, `core/gone.py` and `entries/paper.toml`"
    assert unknown_files(text) == ["core/gone.py"]


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
    if package in BORROWED:
        expected -= set(importlib.import_module(BORROWED[package]).__all__)
    assert sorted(names) == sorted(expected | ({"load"} if home == "adacap" else set()))


def test_the_reference_names_every_name_of_the_root():
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert [name for name in adacap.__all__ if f"adacap.{name}" not in text] == []


# ------------------------------------------------------------------------------- the build


def test_the_pages_build_without_a_warning(tmp_path):
    missing = [name for name in TOOLS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs the dependency group docs: {', '.join(missing)}")
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
    for page in (
        "index.html",
        "guides/first_model.html",
        "api/estimators.html",
        "BENCHMARK.html",
        "gallery.html",
    ):
        assert (tmp_path / "html" / page).is_file()
    text = (tmp_path / "html/api/estimators.html").read_text(encoding="utf-8")
    assert 'id="adacap.AdaCapRegressor.predict_interval"' in text
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//', text)
