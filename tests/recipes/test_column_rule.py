"""A stranger's column rule: learnt from a column, it is applied, saved and run without Python's."""

import numpy as np
import pytest

from adacap import AdaCapRegressor, lite, load
from adacap.tables.policies import POLICIES


def recipe():
    from adacap.tables.plan import MissingFlag, Number
    from adacap.tables.policies import POLICIES, register_policy

    @register_policy("scores")
    def scores(cells, rules):
        """Numbers from 0 to 1 by their extremes, and whether they are missing."""
        if cells.kind != "numeric":
            return POLICIES["default"](cells, rules)
        low, high = np.nanmin(cells.values), np.nanmax(cells.values)
        scaled = Number(fill=low, center=low, scale=(high - low) or 1.0)
        return [scaled, MissingFlag()], ""


@pytest.fixture
def scores(recipe):
    recipe()
    yield "scores"
    POLICIES.pop("scores", None)


def test_a_new_column_rule_goes_all_the_way(scores, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[::7, 0] = np.nan
    model = AdaCapRegressor(
        quality="nets", max_iter=10, preprocessing={"policy": scores}, random_state=0
    ).fit(X, X[:, 1])
    assert list(model.encoder_.get_feature_names_out()) == [
        "x0", "x0=<missing>", "x1", "x1=<missing>",
    ]  # fmt: skip
    model.save(tmp_path / "m.adacap")
    del POLICIES[scores]  # the file holds what was learnt
    np.testing.assert_array_equal(load(tmp_path / "m.adacap").predict(X), model.predict(X))
    light = lite.load(tmp_path / "m.adacap")
    np.testing.assert_allclose(light.predict(X), model.predict(X), rtol=1e-4, atol=1e-5)


def test_a_name_is_taken_once(scores, recipe):
    with pytest.raises(ValueError, match="There is already a policy 'scores'"):
        recipe()
