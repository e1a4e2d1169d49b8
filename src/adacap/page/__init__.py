"""One self-contained HTML file: prose, facts, sortable tables and charts that need no network.

Everything a caller passes is escaped, scripts and styles are embedded, and the page adapts to
light and dark, to a phone and to paper.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from adacap.exceptions import suggest
from adacap.files.atomic import write_text
from adacap.page.embed import asset, compact, embed_json, escape
from adacap.page.table import PageColumn, PageTable

__all__ = ["Page", "PageColumn", "PageTable", "Section", "compact", "embed_json"]

# Nothing may be fetched: neither by us nor by hostile data.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)


_SCRIPTS = ("page_tables.js", "page_scales.js", "page_marks.js", "page_charts.js")
_TRACES = ("scatter", "bar", "heatmap")


class Figure(Protocol):
    """A figure of plotly, or anything that describes itself as one."""

    def to_plotly_json(self) -> dict[str, Any]:
        """The keys ``data`` and ``layout``."""


class Section:
    """Part of a page under one heading; every method adds to its end and returns it."""

    def __init__(self, page: "Page", title: str, name: str, *, in_contents: bool = True) -> None:
        self.title, self.name, self.in_contents = title, name, in_contents
        self._page = page
        self._parts: list[str] = []

    def text(self, *paragraphs: str) -> "Section":
        """Paragraphs of prose."""
        self._parts += [f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs]
        return self

    def note(self, text: str) -> "Section":
        """A remark that is set apart."""
        self._parts.append(f"<p class='note'>{escape(text)}</p>")
        return self

    def facts(self, facts: Mapping[str, object]) -> "Section":
        """A list of names and values."""
        pairs = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in facts.items()
        )
        self._parts.append(f"<dl class='facts'>{pairs}</dl>")
        return self

    def table(
        self,
        columns: Sequence[PageColumn | str],
        rows: Sequence[Sequence[object]],
        *,
        caption: str = "",
        search: bool = False,
    ) -> "Section":
        """A table that can be sorted and filtered; a bare string is a column of text."""
        made = [PageColumn(column) if isinstance(column, str) else column for column in columns]
        self._parts.append(PageTable(made, rows, caption, search).html())
        return self

    def chart(
        self, figure: Figure | Mapping[str, Any], *, caption: str = "", height: int = 420
    ) -> "Section":
        """A chart, drawn by the page itself in its own colours.

        Parameters
        ----------
        figure : mapping or plotly figure
            With the keys ``data`` and ``layout``, in the words of plotly: traces of the types
            scatter, bar and heatmap; axes with titles, ranges, ticks and a logarithmic scale; lines
            and labels across the plot. Fonts, background, grid and the sequence of colours come
            from the page, in light and in dark.
        caption : str
            Describes the figure; also read by screen readers.
        height : int, default=420
            In pixels; the width follows the screen.

        Raises
        ------
        ValueError
            If a trace is of another type.
        """
        whole = figure if isinstance(figure, Mapping) else figure.to_plotly_json()
        for trace in whole["data"]:
            if trace.get("type", "scatter") not in _TRACES:
                raise ValueError(suggest(trace["type"], _TRACES, "type of trace on a page:"))
        layout = {key: item for key, item in whole.get("layout", {}).items() if key != "template"}
        name = self._page.data(
            f"chart-{len(self._page)}", {"data": whole["data"], "layout": layout}
        )
        text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        self._parts.append(
            f"<figure class='chart'><div class='plot' data-chart='{name}' role='img' "
            f"aria-label='{escape(caption)}' style='height:{int(height)}px'></div>{text}</figure>"
        )
        return self

    def html(self, markup: str) -> "Section":
        """Markup as it is: never pass what came from a user."""
        self._parts.append(markup)
        return self

    def render(self) -> str:
        """The section as HTML."""
        body = "\n".join(self._parts)
        return f"<section id='{self.name}'><h2>{escape(self.title)}</h2>\n{body}\n</section>"


class Page:
    """A self-contained HTML file in the making.

    Parameters
    ----------
    title : str
    subtitle : str, default=""

    Examples
    --------
    >>> page = Page("Errors of two methods")
    >>> section = page.section("Result").text("Lower is better.")
    >>> section = section.table(
    ...     ["method", PageColumn("RMSE", "number")], [("ols", 0.5), ("rf", 0.4)]
    ... )
    >>> "<h1>Errors of two methods</h1>" in page.render()
    True
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title, self.subtitle = title, subtitle
        self._sections: list[Section] = []
        self._data: dict[str, str] = {}
        self._styles = [asset("page.css")]
        self._scripts = [asset(name) for name in _SCRIPTS]

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections so far, in order."""
        return tuple(self._sections)

    def __len__(self) -> int:
        """Number of data sets embedded so far."""
        return len(self._data)

    def section(self, title: str, *, name: str | None = None, in_contents: bool = True) -> Section:
        """A new section at the end.

        Parameters
        ----------
        title : str
        name : str, optional
            What a link to it says after ``#``; made from the title by default.
        in_contents : bool, default=True
            Whether the list of contents names it.
        """
        slug = re.sub(r"[^a-z0-9]+", "-", (name or title).lower()).strip("-") or "section"
        taken = {section.name for section in self._sections}
        unique, count = slug, 1
        while unique in taken:
            count += 1
            unique = f"{slug}-{count}"
        section = Section(self, title, unique, in_contents=in_contents)
        self._sections.append(section)
        return section

    def data(self, name: str, value: object) -> str:
        """Embed data for a script, which reads it by ``AdaPage.data(name)``; returns the name."""
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(f"A name of data is made of a-z, 0-9 and -, got {name!r}.")
        if name in self._data:
            raise ValueError(f"The page has data named {name!r} already.")
        self._data[name] = embed_json(value)
        return name

    def style(self, css: str) -> None:
        """Add a style sheet."""
        if "</" in css:
            raise ValueError("A style sheet cannot hold '</', which would end it.")
        self._styles.append(css)

    def script(self, js: str) -> None:
        """Add a script, run after the page's own; it must not come from a user."""
        if "</script" in js.lower():
            raise ValueError("A script cannot hold '</script', which would end it.")
        self._scripts.append(js)

    def render(self) -> str:
        """The whole file as text."""
        data = "\n".join(
            f"<script type='application/json' id='data-{name}'>{text}</script>"
            for name, text in self._data.items()
        )
        return "\n".join(
            [
                "<!doctype html>",
                "<html lang='en'><head><meta charset='utf-8'>",
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
                "<meta name='viewport' content='width=device-width, initial-scale=1'>",
                "<meta name='color-scheme' content='light dark'>",
                f"<title>{escape(self.title)}</title>",
                *(f"<style>\n{css}</style>" for css in self._styles),
                "</head><body>",
                self._header(),
                "<main>",
                *(section.render() for section in self._sections),
                "</main>",
                data,
                *(f"<script>\n{js}\n</script>" for js in self._scripts),
                "</body></html>\n",
            ]
        )

    def _header(self) -> str:
        subtitle = f"<p class='subtitle'>{escape(self.subtitle)}</p>" if self.subtitle else ""
        links = "".join(
            f"<a href='#{section.name}'>{escape(section.title)}</a>"
            for section in self._sections
            if section.in_contents
        )
        contents = f"<nav aria-label='Contents'>{links}</nav>" if links else ""
        return f"<header><h1>{escape(self.title)}</h1>{subtitle}{contents}</header>"

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the file in one step; refuses to replace one unless forced."""
        return write_text(path, self.render(), force=force)
