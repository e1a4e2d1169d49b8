"""What the property tests cost: printed at the end of a run of this folder."""

from typing import Any

KEYS = ("examples", "longest_seconds", "peak_mb")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line over all tests and processes."""
    reports = [one for group in terminalreporter.stats.values() for one in group]
    found = [dict(getattr(one, "user_properties", ())) for one in reports]
    costs = [properties for properties in found if properties.keys() >= {*KEYS}]
    if costs:
        examples = sum(one["examples"] for one in costs)
        longest, peak = (max(one[key] for one in costs) for key in KEYS[1:])
        terminalreporter.write_line(
            f"properties: {examples:,} examples, longest {longest:.2f} s, peak memory {peak:.0f} MB"
        )
