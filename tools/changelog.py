"""Join the fragments of changes/ into CHANGELOG.md; changes/README.md says how to write one.

python tools/changelog.py draft              # print what the next release would say
python tools/changelog.py release 0.2.0      # write it, and remove the fragments
"""

import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("added", "changed", "fixed", "numerics")
OPEN = "## Unreleased"


def fragments(folder: Path) -> dict[str, list[Path]]:
    """Files of each kind, by name; a file that names no kind is refused."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        parts = path.name.split(".")
        if len(parts) != 3 or not parts[0] or parts[1] not in KINDS:
            kinds = "|".join(KINDS)
            raise SystemExit(f"A fragment is named <subject>.<{kinds}>.md, got {path.name!r}.")
        found[parts[1]].append(path)
    return found


def bullets(text: str) -> str:
    """List entries: each line without a dash of its own continues the one above."""
    first, *rest = text.strip().removeprefix("- ").splitlines()
    return "\n".join([f"- {first}", *map(continued, rest)])


def continued(line: str) -> str:
    """A further line of a fragment: a new entry, or part of the one above."""
    if line.startswith("- ") or not line.strip():
        return line.rstrip()
    return f"  {line.strip()}"


def join(section: str, found: dict[str, list[Path]]) -> str:
    """The section with each fragment at the end of its kind; a kind it lacks is added below."""
    for kind, paths in found.items():
        if not paths:
            continue
        heading = f"### {kind.capitalize()}"
        entries = "\n".join(bullets(path.read_text(encoding="utf-8")) for path in paths)
        if f"{heading}\n" in section:
            before, after = section.split(f"{heading}\n", 1)
            old, mark, rest = after.partition("\n### ")
            section = f"{before}{heading}\n\n{old.strip()}\n{entries}\n{mark}{rest}"
        else:
            section = f"{section.rstrip()}\n\n{heading}\n\n{entries}\n"
    return section


def released(changelog: str, found: dict[str, list[Path]], title: str) -> str:
    """The changelog with its open section joined with the fragments, under the release's title."""
    if changelog.count(f"{OPEN}\n") != 1:
        raise SystemExit(f"CHANGELOG.md must have one section {OPEN!r}.")
    before, after = changelog.split(f"{OPEN}\n")
    older = re.search(r"^## ", after, flags=re.MULTILINE)
    end = older.start() if older else len(after)
    section = join(after[:end].strip() + "\n", found).strip()
    return f"{before}{OPEN}\n\n{title}\n\n{section}\n\n{after[end:]}".rstrip() + "\n"


def release(root: Path, version: str, day: date) -> None:
    """Write CHANGELOG.md and remove the fragments it now holds."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", version):
        raise SystemExit(f"A version is three numbers such as 0.2.0, got {version!r}.")
    page = root / "CHANGELOG.md"
    found = fragments(root / "changes")
    text = released(page.read_text(encoding="utf-8"), found, f"## {version} ({day.isoformat()})")
    page.write_text(text, encoding="utf-8")
    for path in (path for paths in found.values() for path in paths):
        path.unlink()


def main(command: str = "", version: str = "") -> None:
    """Do what the command line asks for."""
    if command == "draft":
        print(join("", fragments(ROOT / "changes")).strip())
    elif command == "release":
        release(ROOT, version, date.today())
    else:
        raise SystemExit(f"The command must be draft or release, got {command!r}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
