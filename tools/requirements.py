"""Requirements of pyproject.toml, one per line, for pip: Python's own library is enough.

    python tools/requirements.py group test docs    # members of dependency groups
    python tools/requirements.py lowest test        # lowest versions of the library and of test
    python tools/requirements.py pins               # what the hashed lock holds

``pip install --group`` needs pip 25.1; environments of Python 3.11 start with an older one.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOWER_BOUND = re.compile(r"(?P<name>[\w.-]+)\s*>=\s*(?P<version>[\w.]+)")
RUNNERS = {  # what the tests need to run, rather than what they test
    *("pytest", "pytest-xdist", "hypothesis", "packaging"),
    *("markdown-it-py", "playwright", "pyyaml"),
}
OF_THAT_TIME = (  # newer ones warn that what these import or call will go
    "click==8.2.1",  # the oldest typer
    "pyparsing<3.3",  # the oldest matplotlib
)
NOT_LOCKED = {
    "torch",  # each platform has its own build
    "xgboost",  # no test trains it, and it brings
    "nvidia-nccl-cu12",
}


def project() -> dict[str, Any]:
    """Content of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def members(groups: dict[str, list[Any]], name: str) -> Iterator[str]:
    """Requirements of a dependency group, those of the groups it includes among them."""
    if name not in groups:
        known = ", ".join(groups)
        raise SystemExit(f"Unknown dependency group {name!r}. pyproject.toml has {known}.")
    for entry in groups[name]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from members(groups, entry["include-group"])


def lowest(requirements: list[str]) -> Iterator[str]:
    """Each requirement at its lower bound; what runs the tests stays free, torch is pinned."""
    yield from OF_THAT_TIME
    for text in requirements:
        bound = LOWER_BOUND.match(text)
        if bound is None:
            raise SystemExit(
                f"A requirement needs a lower bound such as numpy>=1.26, got {text!r}."
            )
        if bound["name"] in RUNNERS:
            yield text
        elif bound["name"] != "torch":
            yield f"{bound['name']}=={bound['version']}"


def pins(constraints: str, requirements: list[str]) -> Iterator[str]:
    """Pins to lock, with the marker a requirement of that package has."""
    marked = [text.partition(";") for text in requirements if ";" in text]
    markers = {re.split(r"[<>=!~\[ ]", text)[0]: marker for text, _, marker in marked}
    for line in constraints.splitlines():
        name = line.partition("==")[0]
        if line and not line.startswith("#") and name not in NOT_LOCKED:
            yield f"{line} ;{markers[name]}" if name in markers else line


def main(command: str, *names: str) -> None:
    """Print what the command line asks for."""
    content = project()
    groups = content["dependency-groups"]
    grouped = [text for name in names for text in members(groups, name)]
    if command == "group":
        lines = grouped
    elif command == "lowest":
        lines = list(lowest([*content["project"]["dependencies"], *grouped]))
    elif command == "pins":
        constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
        lines = list(pins(constraints, list(members(groups, "dev"))))
    else:
        raise SystemExit(f"The command must be group, lowest or pins, got {command!r}.")
    print("\n".join(lines))


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["nothing"]))
