"""Lines and modules of each package, as the table of docs/ARCHITECTURE.md.

python tools/tree.py            # print it
python tools/tree.py --write    # into the page
"""

from __future__ import annotations

import argparse
from pathlib import Path

from adacap_bench.markdown import markdown_lines, place

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
SOURCES = (
    ROOT / "src" / "adacap",
    ROOT / "packages" / "adacap-bench" / "src" / "adacap_bench",
)
MARKS = "<!-- tree: python tools/tree.py --write -->", "<!-- end of tree -->"
# Lines and modules at d7b5883, when both were one package and a model file had three homes.
BEFORE = {
    "adacap": (21_791, 146), "adacap/estimators": (5088, 30), "adacap/cli": (2855, 16),
    "adacap/report": (2452, 12), "adacap/core": (2218, 13), "adacap/training": (2054, 14),
    "adacap/files": (1391, 13), "adacap/model_selection": (1349, 9), "adacap/modelfile": (2749, 21),
    "adacap/tables": (910, 5), "adacap/page": (536, 5), "adacap/nn": (521, 5),
    "adacap_bench": (12_663, 88), "adacap_bench/datasets": (1747, 16),
    "adacap_bench/reproduce": (3922, 26),
}  # fmt: skip


def counted(modules: list[Path]) -> tuple[int, int]:
    """Lines and modules."""
    return sum(len(path.read_bytes().splitlines()) for path in modules), len(modules)


def table() -> str:
    """The packages of both distributions, the largest first, then the modules beside them."""
    cells = []
    for source in SOURCES:
        packages = [path for path in source.iterdir() if list(path.glob("*.py"))]
        rows = [
            (*counted(sorted(path.rglob("*.py"))), f"{source.name}/{path.name}")
            for path in packages
        ]
        cells.append(_row(*counted(sorted(source.rglob("*.py"))), source.name, strong="**"))
        cells += [_row(*row) for row in sorted(rows, reverse=True)]
        cells.append(_row(*counted(sorted(source.glob("*.py"))), "modules beside them"))
    titles = ("package", "lines", "modules", "lines before", "modules before")
    return "\n".join(markdown_lines(titles, cells, "lr"))


def _row(n_lines: int, n_modules: int, name: str, strong: str = "") -> list[str]:
    before = [f"{n:,}" for n in BEFORE.get(name, ())] or ["", ""]
    shown = name if " " in name else f"`{name.rpartition('/')[2]}`"
    cells = [f"{strong}{cell}{strong}" for cell in (shown, f"{n_lines:,}", str(n_modules))]
    return [*cells, *before]


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="into docs/ARCHITECTURE.md")
    if parser.parse_args().write:
        place(PAGE, MARKS, f"\n{table()}\n")
    else:
        print(table())


if __name__ == "__main__":
    main()
