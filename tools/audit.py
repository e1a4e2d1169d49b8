"""Known holes in what is installed, by pip-audit; a stated skip where it has nothing to ask.

Exit code 0: none known, or skipped with the reason; 1: there are some, or pip-audit itself failed.
``make audit`` installs pip-audit first, where it can.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

UNREACHABLE = ("ConnectionError", "Failed to resolve", "Max retries", "ServiceError", "timed out")


def verdict(code: int, found: str, said: str) -> tuple[int, str]:
    """Exit code and last word for what pip-audit gave.

    Parameters
    ----------
    code : int
        Its exit code.
    found : str
        Its JSON; empty where it did not get that far.
    said : str
        Its messages.

    Examples
    --------
    >>> verdict(1, "", "ConnectionError: Failed to resolve the host")
    (0, 'Audit skipped: pip-audit cannot reach its database from here.')
    >>> verdict(0, '{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}', "")
    (0, 'Audit: no known holes in 1 packages, 0 could not be looked up.')
    >>> verdict(0, '{"dependencies": [{"name": "a", "skip_reason": "not found"}]}', "")
    (0, 'Audit skipped: the database that pip-audit asks from here knows none of 1 packages.')
    """
    packages = _packages(found)
    if packages is None:
        if any(word in said for word in UNREACHABLE):
            return 0, "Audit skipped: pip-audit cannot reach its database from here."
        return 1, f"Audit failed: pip-audit ended with exit code {code}, see above."
    holes = [f"{one['name']} {one['version']}" for one in packages if one.get("vulns")]
    if holes:
        return 1, f"Audit: known holes in {', '.join(holes)}, see above."
    if code != 0:
        return 1, f"Audit failed: pip-audit ended with exit code {code}, see above."
    unknown = sum("skip_reason" in one for one in packages)
    if unknown == len(packages):
        return 0, (
            "Audit skipped: the database that pip-audit asks from here knows none of "
            f"{unknown} packages."
        )
    return 0, (
        f"Audit: no known holes in {len(packages) - unknown} packages, {unknown} could not be "
        "looked up."
    )


def _packages(found: str) -> list[dict[str, Any]] | None:
    try:
        return list(json.loads(found)["dependencies"])
    except (ValueError, KeyError, TypeError):
        return None


def main() -> int:
    """Run pip-audit on this environment, if it is installed."""
    if importlib.util.find_spec("pip_audit") is None:
        print("Audit skipped: pip-audit is not installed; pip could not, or was not asked to.")
        return 0
    command = [sys.executable, "-m", "pip_audit", "--local", "--progress-spinner", "off"]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=False
    )
    for one in _packages(done.stdout) or ():
        for hole in one.get("vulns", ()):
            fixed = ", ".join(hole.get("fix_versions", ())) or "none"
            print(f"{one['name']} {one['version']}: {hole['id']}, fixed in {fixed}")
    print(done.stderr, end="")
    code, word = verdict(done.returncode, done.stdout, done.stderr)
    print(word)
    return code


if __name__ == "__main__":
    sys.exit(main())
