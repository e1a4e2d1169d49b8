"""What is installed beside adacap, as a bill of materials in CycloneDX JSON.

    python tools/sbom.py adacap -o sbom.json

Lists a distribution and all that it needs, with versions, licences and the hash of each record of
installed files, from ``importlib.metadata`` alone. Equal environments give equal bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import re
import sys
from pathlib import Path
from typing import Any


def key(name: str) -> str:
    """Name of a distribution as it is compared.

    Examples
    --------
    >>> key("Scikit_Learn")
    'scikit-learn'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str) -> dict[str, list[str]]:
    """Installed distributions that one needs, itself included, each with what it needs."""
    found: dict[str, list[str]] = {}
    waiting = [key(name)]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        lines = importlib.metadata.requires(one) or []
        names = {key(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines}
        found[one] = sorted(other for other in names if is_installed(other))
        waiting += found[one]
    return found


def is_installed(name: str) -> bool:
    """Whether there is such a distribution."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def component(name: str) -> dict[str, Any]:
    """One distribution in the words of CycloneDX."""
    distribution = importlib.metadata.distribution(name)
    told, version = distribution.metadata, distribution.version
    licence = told.get("License-Expression") or told.get("License") or ""
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(name),
        "name": told["Name"],
        "version": version,
    }
    if licence.strip():
        found["licenses"] = [{"license": {"name": licence.strip().splitlines()[0][:120]}}]
    if record := distribution.read_text("RECORD"):
        digest = hashlib.sha256(record.encode()).hexdigest()
        found["properties"] = [{"name": "sha256 of RECORD", "value": digest}]
    return found


def reference(name: str) -> str:
    """A distribution as others refer to it, such as ``numpy@2.1.0``."""
    return f"{name}@{importlib.metadata.version(name)}"


def bill(name: str) -> dict[str, Any]:
    """The bill of a distribution."""
    every = needed(name)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(key(name))},
        "components": [component(one) for one in sorted(every) if one != key(name)],
        "dependencies": [
            {"ref": reference(one), "dependsOn": [reference(other) for other in others]}
            for one, others in sorted(every.items())
        ],
    }


def main() -> int:
    """Write the bill."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="adacap")
    parser.add_argument("-o", "--output", type=Path)
    told = parser.parse_args()
    text = json.dumps(bill(told.name), indent=2) + "\n"
    if told.output is None:
        sys.stdout.write(text)
    else:
        told.output.write_text(text, encoding="utf-8")
        print(f"{told.output}: {len(json.loads(text)['components']) + 1} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
