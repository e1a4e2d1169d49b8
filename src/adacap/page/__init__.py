"""One self-contained HTML file: prose, facts, sortable tables and charts that need no network.

Everything a caller passes is escaped, scripts and styles are embedded, and the page adapts to
light and dark, to a phone and to paper.
"""

from adacap.page.embed import compact, embed_json
from adacap.page.page import Page, Section
from adacap.page.table import Column, Table

__all__ = [
    "Column",
    "Page",
    "Section",
    "Table",
    "compact",
    "embed_json",
]
