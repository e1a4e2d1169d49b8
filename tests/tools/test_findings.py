"""Every finding of the trust attack has a test, and docs/TRUST.md lists them."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from adacap_bench.markdown import placed

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "findings.py"
findings = SimpleNamespace(**runpy.run_path(str(TOOL)))


def test_every_finding_has_a_test() -> None:
    assert len(findings.FINDINGS) == 30
    assert findings.without_test(findings.marked()) == []


def test_the_page_lists_the_tests_there_are() -> None:
    page = (ROOT / "docs" / "TRUST.md").read_text(encoding="utf-8")
    assert placed(page, findings.MARKS, f"\n{findings.table(findings.marked())}\n") == page


def test_a_finding_without_a_test_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings.main(["--collect"]) == 0
    names = findings.main.__globals__
    monkeypatch.setitem(names, "FINDINGS", [*findings.FINDINGS, "L18"])
    assert findings.main(["--collect"]) == 1
    assert "No test closes L18." in capsys.readouterr().out
