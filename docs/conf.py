"""How Sphinx builds these pages: make docs."""

from typing import Any

import adacap

project = "adacap"
author = "the adacap developers"
copyright = author  # no year to forget
release = version = adacap.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
root_doc = "index"
html_theme = "furo"
html_title = f"adacap {release}"
html_copy_source = False
highlight_language = "none"  # a block is highlighted only as the language it names
nitpicky = True  # a reference that leads nowhere fails the build

myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings hold types, with shapes
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    # What these bring along is documented elsewhere.
    "inherited-members": ", ".join(
        [
            "AssertionError", "BaseEstimator", "BaseException", "BaseSearchCV", "Exception", "Module",
            "dict", "list", "object", "tuple",
        ]
    ),
}  # fmt: skip

numpydoc_show_class_members = False  # autodoc lists them in full
numpydoc_class_members_toctree = False


def skip_fields(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: "Alias for field number 0" tells nothing."""
    is_field = type(value).__name__ == "_tuplegetter"
    return True if is_field else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", skip_fields)
