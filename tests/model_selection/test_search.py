import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from adacap.model_selection import MLRSearch, RidgeMLR, SignalWarning, mlr_score

# Whether the warning comes is tested where it is the subject; random tables may deserve it.
pytestmark = pytest.mark.filterwarnings("ignore::adacap.model_selection.SignalWarning")

ALPHAS = [1.0, 10.0, 100.0, 1000.0]


def search(**settings):
    return MLRSearch(Ridge(), {"alpha": ALPHAS}, random_state=0).set_params(**settings)


@pytest.mark.parametrize("loss", ["squared", "rmse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "d", "n_targets"), [(100, 60, None), (60, 100, None), (100, 60, 2)])
def test_the_shortcut_for_ridge_is_exact(
    banded, seed, loss, fit_intercept, n, d, n_targets, monkeypatch
):
    X, y = banded(seed, n, d, n_targets)
    grid = {"alpha": [0.1, 1.0, 10.0, 100.0, 1e4]}
    model = MLRSearch(Ridge(fit_intercept=fit_intercept), grid, loss=loss, random_state=0)
    quick = clone(model).fit(X, y)
    monkeypatch.setattr("adacap.model_selection.search.ridge_shortcut", lambda *_: None)
    slow = clone(model).fit(X, y)
    assert quick.shortcut_
    assert not slow.shortcut_
    for name in ("mlr", "fit_true", "fit_permuted", "std_fit_permuted"):
        np.testing.assert_allclose(quick.results_[name], slow.results_[name], rtol=1e-7)
    assert quick.best_params_ == slow.best_params_
    assert quick.p_value_ == slow.p_value_
    np.testing.assert_allclose(quick.predict(X), slow.predict(X))


@pytest.mark.parametrize(
    ("estimator", "grid", "settings"),
    [
        (Ridge(positive=True), {"alpha": ALPHAS}, {}),
        (Ridge(solver="lsqr"), {"alpha": ALPHAS}, {}),
        (Ridge(), {"alpha": [1.0], "fit_intercept": [True, False]}, {}),
        (Ridge(), {"alpha": [0.0, 1.0]}, {}),
        (Ridge(), {"alpha": ALPHAS}, {"loss": "absolute"}),
        (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": ALPHAS}, {}),
        (RidgeMLR(), {"fit_intercept": [True]}, {}),
    ],
)
def test_the_shortcut_is_left_where_it_is_not_exact(estimator, grid, settings, table):
    model = MLRSearch(estimator, grid, n_permutations=2, random_state=0, **settings)
    assert not model.fit(*table).shortcut_


def test_weights_and_single_precision_take_the_long_way(table):
    assert not search().fit(*table, sample_weight=np.ones(100)).shortcut_
    assert not search().fit(table.X.astype(np.float32), table.y).shortcut_


def test_results_agree_with_scores_one_by_one(table):
    model = MLRSearch(KNeighborsRegressor(), {"n_neighbors": [5, 20, 60]}, random_state=4)
    results = model.fit(*table).results_
    for i, k in enumerate([5, 20, 60]):
        score = mlr_score(KNeighborsRegressor(k), *table, random_state=4)
        assert results["mlr"][i] == pytest.approx(score.value)
        assert results["p_value"][i] == pytest.approx(score.p_value)
    assert model.best_index_ == results["mlr"].argmin() == results["rank_mlr"].argmin()
    assert model.best_score_ == -results["mlr"].min()
    assert model.best_params_ == results["params"][model.best_index_]
    assert model.best_estimator_.n_neighbors == model.best_params_["n_neighbors"]


def test_results_make_a_data_frame(table):
    grid = [{"alpha": [1e4, 1e5]}, {"alpha": [1e4], "solver": ["lsqr"]}]
    model = MLRSearch(Ridge(), grid, random_state=0).fit(*table)
    frame = pd.DataFrame(model.cv_results_)
    assert model.cv_results_ is model.results_
    assert frame.shape[0] == 3
    assert frame["param_solver"].isna().tolist() == [True, True, False]
    assert frame["rank_mlr"].min() == 1
    assert {"mlr", "fit_true", "fit_permuted", "total_fit_time", "params"} <= set(frame)


def test_agrees_with_ridge_mlr_on_rows_in_canonical_order(table):
    order = np.argsort(table.y)
    X, y = table.X[order], table.y[order]
    grid = np.geomspace(1e-1, 1e7, 40)
    one = RidgeMLR(grid, random_state=0).fit(X, y)
    other = MLRSearch(Ridge(), {"alpha": grid}, random_state=0).fit(X, y)
    assert other.best_params_["alpha"] == one.alpha_
    np.testing.assert_allclose(other.results_["mlr"], one.criterion_path_)
    assert other.p_value_ == one.p_value_


def test_delegation_follows_the_estimator(table):
    model = search()
    assert hasattr(model, "predict")
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "transform")
    model.fit(*table)
    np.testing.assert_array_equal(model.predict(table.X), model.best_estimator_.predict(table.X))
    assert model.score(*table) == model.best_estimator_.score(*table)
    assert model.n_features_in_ == 60
    classes = np.where(table.y > 0, "yes", "no")
    logistic = MLRSearch(LogisticRegression(), {"C": [1e-4, 1e-2]}, random_state=0)
    logistic.fit(table.X, classes)
    assert logistic.predict_proba(table.X).shape == (100, 2)
    assert logistic.predict_log_proba(table.X).shape == (100, 2)
    assert logistic.decision_function(table.X).shape == (100,)
    assert logistic.classes_.tolist() == ["no", "yes"]
    pipe = Pipeline([("scale", StandardScaler()), ("ridge", Ridge())])
    assert not hasattr(MLRSearch(pipe, {"ridge__alpha": [1.0]}), "transform")


def test_without_refit_there_is_nothing_to_predict_with(table):
    model = search().fit(*table).set_params(refit=False).fit(*table)
    assert not hasattr(model, "best_estimator_")
    with pytest.raises(AttributeError, match="has no attribute 'predict'") as caught:
        model.predict(table.X)
    assert "refit=False" in str(caught.value.__cause__)
    assert model.best_params_["alpha"] in ALPHAS


def test_frames_keep_their_names(table):
    frame = pd.DataFrame(table.X).add_prefix("x")
    model = search().fit(frame, pd.Series(table.y))
    assert model.feature_names_in_[0] == "x0"
    model.predict(frame)


def test_inside_a_pipeline_and_cross_validation(table):
    inner = MLRSearch(Ridge(), {"alpha": [1, 10, 100, 1000]}, random_state=0)
    model = make_pipeline(StandardScaler(), inner)
    assert np.isfinite(cross_val_score(model, *table, cv=3)).all()
    model.set_params(mlrsearch__estimator__fit_intercept=False).fit(*table)
    assert model[-1].best_estimator_.fit_intercept is False


def test_around_a_pipeline_with_steps_as_candidates(table):
    pipe = Pipeline([("reduce", PCA(5)), ("ridge", Ridge())])
    grid = {"reduce": [PCA(2), PCA(10), "passthrough"], "ridge__alpha": [1e3]}
    model = MLRSearch(pipe, grid, random_state=0).fit(*table)
    assert len(model.results_["mlr"]) == 3
    chosen = model.best_params_["reduce"]
    assert chosen == "passthrough" or not hasattr(chosen, "components_")


def test_jobs_do_not_change_numbers(table):
    model = MLRSearch(KNeighborsRegressor(), {"n_neighbors": [10, 30]}, random_state=0)
    one, two = clone(model).fit(*table), clone(model).set_params(n_jobs=2).fit(*table)
    np.testing.assert_array_equal(one.results_["mlr"], two.results_["mlr"])


def test_verbose_says_what_will_be_done(table, capsys):
    search(verbose=1).fit(*table)
    assert (
        "17 label sets for each of 4 candidates, from one decomposition" in capsys.readouterr().out
    )
    knn = MLRSearch(KNeighborsRegressor(), {"n_neighbors": [20]}, verbose=1, n_permutations=3)
    knn.set_params(random_state=0)
    knn.fit(*table)
    assert "4 label sets for each of 1 candidates, totalling 4 fits" in capsys.readouterr().out


def test_candidates_see_the_same_permutations(table):
    model = MLRSearch(KNeighborsRegressor(20), {"weights": ["uniform"], "p": [2, 2]})
    results = model.fit(*table).results_
    assert results["mlr"][0] == results["mlr"][1]


def test_the_search_warns_of_its_best_candidate():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 5)), rng.normal(size=50)
    with pytest.warns(SignalWarning, match="no signal to select by"):
        model = MLRSearch(Ridge(), {"alpha": [1, 10]}, random_state=0).fit(X, y)
    assert not model.valid_
    assert model.notes_ == model.score_.notes


def test_an_empty_or_misspelt_grid_is_refused(table):
    with pytest.raises(ValueError, match="Invalid parameter 'alhpa'"):
        MLRSearch(Ridge(), {"alhpa": [1.0]}).fit(*table)
    with pytest.raises(ValueError, match="non-empty"):
        MLRSearch(Ridge(), {"alpha": []}).fit(*table)


def test_the_shortcut_needs_one_decomposition(table, monkeypatch):
    calls = []
    svd = np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda *a, **k: calls.append(1) or svd(*a, **k))
    search(refit=False).fit(*table)
    RidgeMLR(random_state=0).fit(*table)
    assert len(calls) == 2
