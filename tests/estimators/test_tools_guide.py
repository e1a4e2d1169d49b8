"""The guide's lines for MLflow, Optuna and SHAP run as printed, where the tool is installed."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import adacap

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "tools.md"
FIRST, *TOOLS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)


def run(tool: str, folder, monkeypatch) -> dict[str, object]:
    """Names after the lines of a tool; the test is skipped where it is not installed."""
    with warnings.catch_warnings():  # of other people's packages
        warnings.simplefilter("ignore")
        pytest.importorskip(tool, reason=f"needs {tool}, of the extra tools")
        monkeypatch.chdir(folder)
        (code,) = (code for code in TOOLS if f"import {tool}" in code)
        names: dict[str, object] = {}
        exec(compile(FIRST, str(GUIDE), "exec"), names)
        exec(compile(code, str(GUIDE), "exec"), names)
    return names


def test_each_tool_takes_about_ten_lines() -> None:
    assert len(TOOLS) == 3
    for code in TOOLS:
        assert len([line for line in code.splitlines() if line.strip()]) <= 13


def test_mlflow(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    names = run("mlflow", tmp_path, monkeypatch)
    import mlflow

    kept = mlflow.get_run(names["run"].info.run_id).data
    assert kept.metrics["test_r2"] == pytest.approx(
        names["model"].score(names["X_test"], names["y_test"])
    )
    again = adacap.load(tmp_path / "diabetes.adacap")
    np.testing.assert_array_equal(
        again.predict(names["X_test"]), names["model"].predict(names["X_test"])
    )


def test_optuna(tmp_path, monkeypatch) -> None:
    names = run("optuna", tmp_path, monkeypatch)
    assert len(names["study"].trials) == 4
    assert names["tuned"].width == names["study"].best_params["width"]


def test_shap(tmp_path, monkeypatch, capsys) -> None:
    names = run("shap", tmp_path, monkeypatch)
    found = names["shares"]
    assert found.values.shape == (3, 10)
    total = found.values.sum(1) + found.base_values
    expected = names["model"].predict(names["X_test"].iloc[:3])
    np.testing.assert_allclose(total, expected, rtol=1e-6)
    assert len(capsys.readouterr().out.splitlines()) == 10
