"""Known holes in what is installed, by pip-audit; a stated skip where it has nothing to ask.

Exit code 0: none known, or skipped with the reason; 1: there are some.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

UNREACHABLE = ("ConnectionError", "Failed to resolve", "Max retries", "ServiceError", "timed out")


def verdict(code: int, said: str) -> tuple[int, str]:
    """Exit code and last word for what pip-audit gave.

    Examples
    --------
    >>> verdict(1, "ConnectionError: Failed to resolve the host")
    (0, 'Audit skipped: pip-audit cannot reach its database from here.')
    >>> verdict(1, "Found 1 known vulnerability in 1 package")
    (1, 'Audit: there are known holes, see above.')
    """
    if code == 0:
        return 0, "Audit: no known holes."
    if any(word in said for word in UNREACHABLE):
        return 0, "Audit skipped: pip-audit cannot reach its database from here."
    return 1, "Audit: there are known holes, see above."


def main() -> int:
    """Run pip-audit on this environment, if it is installed."""
    if importlib.util.find_spec("pip_audit") is None:
        print("Audit skipped: pip-audit is not installed (pip install pip-audit).")
        return 0
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--local", "--progress-spinner", "off"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(done.stdout, done.stderr, sep="\n")
    code, word = verdict(done.returncode, done.stdout + done.stderr)
    print(word)
    return code


if __name__ == "__main__":
    sys.exit(main())
