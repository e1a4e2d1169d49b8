"""Files of blends: back to the bit, small, and run by NumPy alone."""

import functools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacap import AdaCapClassifier, AdaCapRegressor, lite, load
from adacap.estimators.blending import weighing
from adacap.estimators.quality import MEMBERS
from adacap.modelfile import lite as lite_module
from adacap.modelfile.contents import read_model

N = 70
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4)).round(2)
Y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.normal(size=N)
THIRDS = np.digitize(Y, [-0.7, 0.7])
NEW = np.random.default_rng(1).normal(size=(2500, 4))
QUICK = {"max_iter": 4, "width": 8, "random_state": 0}
EVERY = list(MEMBERS)

Case = tuple[Any, Any, Any]  # estimator, targets, weights
CASES: dict[str, Callable[[], Case]] = {
    "default": lambda: (AdaCapRegressor(random_state=0), Y, None),
    "fast": lambda: (AdaCapRegressor(quality="fast", random_state=0), Y, None),
    "best": lambda: (AdaCapRegressor(quality="best", **QUICK), Y, None),
    "two classes": lambda: (AdaCapClassifier(random_state=0), Y > 0, None),
    "three classes": lambda: (AdaCapClassifier(random_state=0), THIRDS, None),
    "fast classes": lambda: (AdaCapClassifier(quality="fast", random_state=0), THIRDS, None),
    "weights": lambda: (AdaCapRegressor(quality="fast", random_state=0), Y, 1 + np.arange(N) % 3),
}
EQUAL: dict[str, Callable[[], Case]] = {  # in which every member counts
    "every member": lambda: (AdaCapRegressor(quality=EVERY, **QUICK), Y, None),
    "two targets": lambda: (
        AdaCapRegressor(quality=EVERY, **QUICK),
        np.column_stack([Y, 100 * X[:, 2] ** 2]),
        1 + np.arange(N) % 3,
    ),
    "every member, two classes": lambda: (AdaCapClassifier(quality=EVERY, **QUICK), Y > 0, None),
    "every member, three classes": lambda: (
        AdaCapClassifier(quality=EVERY, **QUICK),
        np.array(["low", "mid", "top"])[THIRDS],
        None,
    ),
    "mixed nets": lambda: (
        AdaCapRegressor(quality=["nets", "ridge", "nets:rank"], architecture=["glu", "mlp"],
                        depth=1, **QUICK), Y, None,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def models() -> Callable[[str], Any]:
    """Fitted models by name."""

    @functools.cache
    def fitted(name: str) -> Any:
        model, y, weight = (CASES | EQUAL)[name]()
        with pytest.MonkeyPatch.context() as patch:
            for weigh in ("blend_weights", "class_weights") if name in EQUAL else ():
                patch.setattr(weighing, weigh, lambda r, *_: np.full(len(r), 1 / len(r)))
            return model.fit(X, y, weight)

    return fitted


def outputs(model: Any, rows: Any) -> Any:
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)


def same(first: Any, second: Any) -> bool:
    """Whether fitted attributes are equal, modules by their buffers."""
    if isinstance(first, torch.nn.Module):
        states = first.state_dict(), second.state_dict()
        names = states[0].keys() == states[1].keys()
        return names and all(torch.equal(t, states[1][name].to(t)) for name, t in states[0].items())
    return bool(first == second)


@pytest.mark.parametrize("name", [*CASES, *EQUAL])
def test_a_blend_comes_back_to_the_bit(name: str, models: Any, tmp_path: Path) -> None:
    model = models(name)
    assert model.blend_
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    np.testing.assert_array_equal(outputs(again, NEW), outputs(model, NEW))
    if not hasattr(model, "classes_"):
        for method in ("auto", "cv+"):
            bounds = [one.predict_interval(NEW[:50], method=method) for one in (again, model)]
            np.testing.assert_array_equal(*bounds)
    assert repr(again.capacity()) == repr(model.capacity())
    for key, value in model.capacity_.to_arrays().items():
        np.testing.assert_array_equal(again.capacity_.to_arrays()[key], value)
    for key in ("settings_", "lambda_", "effective_dof_", "n_iter_", "best_iter_", "seeds_",
                "backbone_", "scheme_", "provenance_"):  # fmt: skip
        assert getattr(again, key) == getattr(model, key), key
    assert list(again.history_) == list(model.history_)
    assert [share.seconds for share in again.settings_.blend] == [
        share.seconds for share in model.settings_.blend
    ]


@pytest.mark.parametrize("name", [*CASES, *EQUAL])
def test_parts_come_back_with_what_they_learnt(name: str, models: Any, tmp_path: Path) -> None:
    model = models(name)
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    assert [part[:5] for part in again.blend_] == [part[:5] for part in model.blend_]
    assert len(again.members_) == len(model.members_)
    for ours, theirs in zip(model.blend_, again.blend_, strict=True):
        assert len(ours.nets) == len(theirs.nets)
        if ours.frozen is not None:
            assert theirs.frozen.predictor == ours.frozen.predictor
            assert same(ours.frozen, theirs.frozen)


@pytest.mark.parametrize("name", [*CASES, *EQUAL])
def test_a_loaded_blend_is_saved_to_the_same_bytes(name: str, models: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "a.adacap", tmp_path / "b.adacap"
    models(name).save(first)
    load(first).save(second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", [*CASES, *EQUAL])
def test_lite_predicts_what_the_estimator_does(name: str, models: Any, tmp_path: Path) -> None:
    model = models(name)
    model.save(tmp_path / "m.adacap")
    light = lite.load(tmp_path / "m.adacap")
    expected = outputs(model, NEW)
    spread = 1.0 if hasattr(model, "classes_") else np.abs(model.codec_.scale)
    assert (np.abs(outputs(light, NEW) - expected) / spread).max() < 1e-6
    names = ", ".join(part.name for part in model.blend_)
    assert repr(light) == f"{type(light).__name__}(4 features, blend of {names})"


def test_every_member_counts_where_the_tests_say_so(models: Any) -> None:
    assert sorted(part.name for part in models("every member").blend_) == sorted(MEMBERS)
    assert models("fast").members_ == ()
    assert [part.name for part in models("fast").blend_]


def test_chunks_do_not_change_what_lite_predicts(
    models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models("every member").save(tmp_path / "m.adacap")
    light = lite.load(tmp_path / "m.adacap")
    expected = light.predict(NEW[:20])
    held = max(group.held_per_row for part in light._parts for group in part.groups)
    monkeypatch.setattr(lite_module, "_MOST_NUMBERS", 3 * held)
    assert light._rows_at_once() == 3
    np.testing.assert_allclose(light.predict(NEW[:20]), expected, 1e-12, 1e-12)


def test_a_kernel_of_many_rows_is_run_on_few_rows_at_once(models: Any) -> None:
    from adacap.estimators.predicting import _LEAST_CHUNK, _rows_at_once

    kernel = next(part.frozen for part in models("fast").blend_ if part.name == "kernel")
    assert kernel.predictor.held_per_row == 5 * (N + 4)
    assert _rows_at_once(kernel) * kernel.predictor.held_per_row <= 2**19
    assert _rows_at_once(kernel) > _LEAST_CHUNK


def test_numbers_are_stored_as_narrow_as_they_are(models: Any, tmp_path: Path) -> None:
    models("every member").save(tmp_path / "m.adacap")
    file = read_model(tmp_path / "m.adacap")
    kinds: dict[str, set[str]] = {}
    for name, array in file.tensors.items():
        if ".predictor." in name or ".encoding." in name:
            kinds.setdefault(name.split(".")[-1], set()).add(str(array.dtype))
    for name in ("column", "left", "right"):
        assert kinds[name] == {"int16"}
    for name in ("threshold", "leaf", "rows", "start", "slope", "shift"):
        assert kinds[name] == {"float32"}
    assert kinds["scale"] == {"float64"}


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_a_default_model_of_500_rows_has_less_than_5_mb(kind: Any, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    table = draw.normal(size=(500, 10))
    y = table[:, 0] * table[:, 1] + draw.normal(size=500)
    model = kind(random_state=0).fit(table, y if kind is AdaCapRegressor else np.digitize(y, [0]))
    model.save(tmp_path / "m.adacap")
    assert (tmp_path / "m.adacap").stat().st_size < 5e6


def test_trees_of_500_noisy_rows_have_less_than_5_mb(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    table, labels = draw.normal(size=(500, 10)), draw.integers(0, 3, 500)
    model = AdaCapClassifier(quality=["trees"], random_state=0).fit(table, labels)
    model.save(tmp_path / "m.adacap")
    assert (tmp_path / "m.adacap").stat().st_size < 5e6
    again = load(tmp_path / "m.adacap")
    assert repr(again.capacity()) == repr(model.capacity())


def test_a_member_that_is_worse_than_nothing_says_almost_nothing(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    table, noise = draw.normal(size=(60, 3)), draw.integers(0, 3, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighing, "class_weights", lambda r, *_: np.zeros(len(r)))
        model = AdaCapClassifier(quality=["ridge", "kernel"], random_state=0).fit(table, noise)
    assert [part.weight for part in model.blend_] == [1.0]
    shares = model.predict_proba(table)
    assert np.abs(shares - 1 / 3).max() < 0.05
    model.save(tmp_path / "m.adacap")
    np.testing.assert_array_equal(load(tmp_path / "m.adacap").predict_proba(table), shares)


def test_a_file_of_nets_alone_has_no_blend(tmp_path: Path) -> None:
    model = AdaCapRegressor(quality="nets", **QUICK).fit(X, Y)
    model.save(tmp_path / "m.adacap")
    with zipfile.ZipFile(tmp_path / "m.adacap") as archive:
        described = json.loads(archive.read("model.json"))
    assert (described["blend"], described["readings"]) == ([], None)
    assert {group["kind"] for group in described["groups"]} == {"nets"}
    assert repr(lite.load(tmp_path / "m.adacap")) == "LiteRegressor(4 features, 5 networks)"
    assert load(tmp_path / "m.adacap").blend_ == ()


def test_a_model_without_nets_needs_no_architecture(models: Any, tmp_path: Path) -> None:
    models("fast").save(tmp_path / "m.adacap")
    with pytest.raises(ValueError, match="The model has no nets"):
        load(tmp_path / "m.adacap", architecture=torch.nn.Identity)
