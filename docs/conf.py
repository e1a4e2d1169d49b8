"""How Sphinx builds these pages: make docs."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import adacap

HERE = Path(__file__).parent

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
smartquotes = False  # "auto" is to be copied as it stands
nitpicky = True  # a reference that leads nowhere fails the build

myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings hold types, with shapes
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}

numpydoc_show_class_members = False  # autodoc lists them in full
numpydoc_class_members_toctree = False


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what stands elsewhere, and what tells nothing.

    Members of modules are listed on the pages, in an order for readers; methods inherited from
    scikit-learn, torch and Python are described there; the fields of named tuples would say no more
    than "Alias for field number 0".
    """
    owner = value.fget if isinstance(value, property) else getattr(value, "__objclass__", value)
    module = getattr(owner, "__module__", None)
    is_foreign = module is not None and not module.startswith("adacap")
    is_field = type(value).__name__ == "_tuplegetter"
    return True if what == "module" or is_foreign or is_field else None


def draw_gallery(app: Any) -> None:
    """Run the scripts whose pictures the gallery shows; not again while a picture is newer."""
    folder = HERE / "_build" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    page = (HERE / "gallery.md").read_text(encoding="utf-8")
    for name in re.findall(r"_build/gallery/(\w+)\.png", page):
        script, picture = HERE.parent / "examples" / f"{name}.py", folder / f"{name}.png"
        if not picture.exists() or picture.stat().st_mtime < script.stat().st_mtime:
            environment = {**os.environ, "MPLBACKEND": "Agg"}
            subprocess.run([sys.executable, script], cwd=folder, env=environment, check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", skip)
    app.connect("builder-inited", draw_gallery)
