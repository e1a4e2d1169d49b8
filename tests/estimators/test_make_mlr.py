"""The presets of the 2021 supplement: four nets, five ensembles, for both tasks."""

import numpy as np
import pytest

from adacap import make
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
from adacap.estimators.presets import MLR_NETS

TASKS = {"regression": MLRNetRegressor, "classification": MLRNetClassifier}

# Depths, nets trained, nets kept.
PAPER = {
    **{f"mlr-{depth}": ((depth,), 1, 1) for depth in (1, 2, 3, 4)},
    "bag-mlr-1": ((1,), 10, 10),
    "bag-mlr-2": ((2,), 10, 10),
    "ens-mlr": ((1, 2), 20, 20),
    "best-mlr": ((1, 2), 20, 1),
    "top5-mlr": ((1, 2), 20, 5),
    **{f"mlr-{depth}-2021": ((depth,), 1, 1) for depth in (1, 2, 3, 4)},
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", PAPER)
def test_a_preset_is_what_the_supplement_says(name, task, data):
    depths, n_trained, n_kept = PAPER[name]
    model = make(name, task, width=8, max_iter=3, random_state=0)
    assert type(model) is TASKS[task]
    assert (model.n_estimators, model.preprocessing) == (n_trained, "paper")
    assert model.time_limit == 600 * n_trained
    model.fit(data.X, data.y if task == "regression" else data.binary)
    assert len(model.members_) == n_kept
    specs = model.backbone_ if isinstance(model.backbone_, tuple) else [model.backbone_]
    found = {spec.depth for spec in specs}
    assert found <= set(depths)
    if n_kept == n_trained:
        assert found == set(depths)
    assert np.isfinite(model._outputs(data.X)).all()


def test_widths_and_paces_are_left_to_the_estimator():
    assert set(MLR_NETS) == set(PAPER)
    model = make("mlr-3")
    assert (model.width, model.max_iter, model.max_lr, model.batch_size) == (
        1024, "auto", "auto", "auto",
    )  # fmt: skip


def test_overrides_win_and_misspelt_names_are_met_with_the_nearest():
    assert make("ens-mlr", n_estimators=4, structured_dither=0.5).structured_dither == 0.5
    with pytest.raises(ValueError, match="Did you mean 'bag-mlr-2'"):
        make("bag-mlr2")
