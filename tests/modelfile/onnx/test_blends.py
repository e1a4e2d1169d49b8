"""Exported blends: encodings, kernels and trees compute what the estimator does."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.estimators import quality as qualities
from adacap.estimators.blending import weighing
from adacap.estimators.quality import MEMBERS
from adacap.export import compare_onnx, to_onnx

pytest.importorskip("onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4)).round(2)
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.normal(size=N)
NEW = np.random.default_rng(1).normal(size=(500, 4))
OPTIONS: dict[str, Any] = {"max_iter": 3, "width": 8, "random_state": 0}
TARGETS = {
    "one target": Y,
    "two targets": np.column_stack([Y, 1000 + 100 * X[:, 2] ** 2]),
    "two classes": np.where(Y > 0, "over", "under"),
    "three classes": np.digitize(Y, [-0.7, 0.7]),
}


@pytest.fixture(autouse=True)
def every_member_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for weigh in ("blend_weights", "class_weights"):
        monkeypatch.setattr(weighing, weigh, lambda r, *_: np.full(len(r), 1 / len(r)))


def fitted(name: str, quality: Any) -> Any:
    kind = AdaCapClassifier if name.endswith("classes") else AdaCapRegressor
    has_nets = any(member.startswith(("nets", "fourier")) for member in quality)
    options = OPTIONS if has_nets else {"random_state": 0}
    return kind(quality=quality, **options).fit(X, TARGETS[name])


@pytest.mark.parametrize("name", TARGETS)
def test_every_member(name: str, tmp_path: Path) -> None:
    model = fitted(name, list(MEMBERS))
    assert len(model.blend_) == len(MEMBERS)
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", NEW) < 1e-5
    assert compare_onnx(model, tmp_path / "m.onnx", X) < 1e-5  # rows that trees were grown on


@pytest.mark.parametrize("member", ["kernel:rank", "boosting", "trees", "ridge:bins"])
@pytest.mark.parametrize("name", TARGETS)
def test_members_one_by_one(name: str, member: str, tmp_path: Path) -> None:
    model = fitted(name, [member, "ridge"])
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", NEW) < 1e-5


def test_histogram_trees_of_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qualities, "MANY_ROWS", 30)
    model = fitted("two targets", ["boosting", "kernel"])
    names = {type(part.frozen.predictor).__name__ for part in model.blend_}
    assert names == {"Forest", "Kernel"}
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", NEW) < 1e-5


def test_a_table_of_text_and_gaps(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["a"] = frame["a"].mask(rng.random(N) < 0.3)
    frame["city"] = rng.choice(["Paris", "Rome", None], N)
    model = AdaCapRegressor(quality="best", **OPTIONS).fit(frame, Y)
    to_onnx(model, tmp_path / "m.onnx")
    assert compare_onnx(model, tmp_path / "m.onnx", frame) < 1e-5


def test_the_default_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for model, y in (
        (AdaCapRegressor(random_state=0), Y),
        (AdaCapClassifier(random_state=0), Y > 0),
    ):
        to_onnx(model.fit(X, y), tmp_path / "m.onnx", force=True)
        assert compare_onnx(model, tmp_path / "m.onnx", NEW) < 1e-5
