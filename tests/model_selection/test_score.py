import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error, zero_one_loss
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

from adacap.model_selection import SignalWarning, mlr_score
from adacap.model_selection.labels import draw_orders
from adacap.model_selection.losses import LOSSES, resolve_loss

# Whether the warning comes is tested where it is the subject; random tables may deserve it.
pytestmark = pytest.mark.filterwarnings("ignore::adacap.model_selection.SignalWarning")


def test_the_score_is_the_difference_of_in_sample_fits(table, seed):
    model = KNeighborsRegressor(10)
    score = mlr_score(model, *table, n_permutations=5, random_state=seed, loss="squared")
    orders = draw_orders(100, 5, np.random.default_rng(seed))
    fits = [
        ((labels - KNeighborsRegressor(10).fit(table.X, labels).predict(table.X)) ** 2).mean()
        for labels in [table.y, *(table.y[o] for o in orders)]
    ]
    assert score.fit_true == pytest.approx(fits[0])
    np.testing.assert_allclose(score.permuted, fits[1:])
    assert score.value == float(score) == pytest.approx(fits[0] - np.mean(fits[1:]))
    assert score.constant == pytest.approx(table.y.var())
    assert score.memorised == pytest.approx(1 - np.mean(fits[1:]) / table.y.var())
    assert not hasattr(model, "n_features_in_"), "the estimator given must not be fitted"


@pytest.mark.parametrize("loss", ["squared", "rmse", "absolute"])
def test_identical_labels_sets_score_zero_for_a_constant(table, loss):
    strategy = {"absolute": "median"}.get(loss, "mean")
    with pytest.warns(SignalWarning, match="p = 1"):
        score = mlr_score(DummyRegressor(strategy=strategy), *table, loss=loss, random_state=0)
    assert score.value == pytest.approx(0, abs=1e-12)
    assert score.memorised == pytest.approx(0, abs=1e-12)
    assert score.p_value == 1


def test_the_p_value_is_uniform_without_a_signal():
    T, p_values = 9, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
        score = mlr_score(LinearRegression(), X, y, n_permutations=T, random_state=seed)
        p_values.append(score.p_value)
    counts = np.bincount(np.round(np.array(p_values) * 10).astype(int), minlength=11)[1:]
    assert ((counts - 20) ** 2 / 20).sum() < 27.9  # 0.999 quantile of χ² with 9 degrees


def test_signal_to_noise_from_the_two_fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] * 0.7 + rng.normal(size=3000)
    for loss in ("squared", "rmse", "absolute"):
        score = mlr_score(LinearRegression(), X, y, loss=loss, random_state=0)
        assert score.snr == pytest.approx(0.49, abs=0.08)
        assert score.valid


def test_jobs_do_not_change_numbers(table):
    one, two = (mlr_score(Ridge(30.0), *table, random_state=0, n_jobs=j) for j in (None, 2))
    np.testing.assert_array_equal(one.permuted, two.permuted)


def test_several_targets_pipelines_and_column_vectors(banded, seed):
    X, Y = banded(seed, n_targets=2)
    model = make_pipeline(StandardScaler(), Ridge(100.0))
    both = mlr_score(model, X, Y, random_state=0)
    each = [mlr_score(model, X, Y[:, [j]], random_state=0).value for j in (0, 1)]
    assert both.value == pytest.approx(np.mean(each))


def test_weights_reach_fit_and_loss(table, rng):
    w = rng.uniform(0.5, 2, size=100)
    score = mlr_score(Ridge(30.0), *table, random_state=0, params={"sample_weight": w})
    fitted = Ridge(30.0).fit(*table, sample_weight=w).predict(table.X)
    assert score.fit_true == pytest.approx(np.average((table.y - fitted) ** 2, weights=w))
    mean = np.average(table.y, weights=w)
    assert score.constant == pytest.approx(np.average((table.y - mean) ** 2, weights=w))


def test_classifiers_are_scored_by_their_probabilities(table):
    labels = np.where(table.y > 0, "yes", "no")
    score = mlr_score(LogisticRegression(C=0.01), table.X, labels, random_state=0)
    assert score.loss == "log_loss"
    assert score.fit_true < score.fit_permuted < score.constant <= np.log(2)
    assert np.isnan(score.snr)
    assert "signal-to-noise" not in str(score)


def test_a_function_as_loss(table):
    score = mlr_score(Ridge(30.0), *table, loss=mean_absolute_error, random_state=0)
    assert score.loss == "mean_absolute_error"
    assert score.value == mlr_score(Ridge(30.0), *table, loss="absolute", random_state=0).value
    labels = table.y > 0
    score = mlr_score(LogisticRegression(C=0.01), table.X, labels, loss=zero_one_loss)
    assert 0 <= score.fit_true < score.fit_permuted
    assert score.constant == pytest.approx(min(labels.mean(), 1 - labels.mean()))


def test_the_score_prints_what_it_is_made_of(table):
    text = str(mlr_score(Ridge(30.0), *table, random_state=0))
    for part in ("MLR score -", "squared, 16 permutations", "p-value", "memorised", "0.059"):
        assert part in text


# ------------------------------------------------------------------------------------- warnings


def test_memorising_is_told(table):
    with pytest.warns(SignalWarning, match=r"100% memorised\): its in-sample fit says nothing"):
        score = mlr_score(DecisionTreeRegressor(random_state=0), *table, random_state=0)
    assert not score.valid
    assert "!" in str(score)


def test_noise_is_told(rng):
    X, y = rng.normal(size=(60, 3)), np.sin(7 * np.arange(60.0))
    X -= y[:, None] * (y @ X) / (y @ y)  # no column knows anything about y
    with pytest.warns(SignalWarning, match="there may be no signal to select by"):
        mlr_score(LinearRegression(), X, y, random_state=0)


def test_a_signal_above_the_noise_is_told_if_there_is_memorisation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30))
    y = X.sum(1) + rng.normal(size=300)
    with pytest.warns(SignalWarning, match="prefers models that are too simple"):
        mlr_score(LinearRegression(), X, y, random_state=0)
    assert mlr_score(LinearRegression(), X[:, :3], X[:, :3].sum(1), random_state=0).valid


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("estimator", "loss", "error", "text"),
    [
        (Ridge(), "squard", ValueError, "loss must be one of auto, .*Did you mean 'squared'"),
        (Ridge(), "log_loss", ValueError, "loss='log_loss' does not suit Ridge"),
        (LogisticRegression(), "squared", ValueError, "does not suit LogisticRegression"),
        (LinearSVC(), "auto", ValueError, "needs predict_proba, which LinearSVC does not have"),
        (StandardScaler(), "auto", TypeError, "got StandardScaler without predict"),
        (Ridge, "auto", TypeError, "got estimator class instead"),
    ],
)
def test_unsuitable_losses_and_estimators_are_named(estimator, loss, error, text):
    with pytest.raises(error, match=text):
        resolve_loss(loss, estimator)


def test_labels_are_checked(table):
    with pytest.raises(ValueError, match="target y is None"):
        mlr_score(Ridge(), table.X, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        mlr_score(Ridge(), table.X, np.full(100, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        mlr_score(Ridge(), table.X, table.y[:50])
    with pytest.raises(ValueError, match=r"one target, got y of shape \(100, 2\)"):
        mlr_score(LogisticRegression(), table.X, np.zeros((100, 2), dtype=int))


def test_an_error_of_the_estimator_names_its_settings(table):
    with pytest.raises(ValueError, match="alpha") as caught:
        mlr_score(Ridge(-1.0), *table)
    assert any("while fitting Ridge" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("name", ["squared", "rmse", "absolute"])
def test_no_constant_beats_the_best_one(name, rng):
    y = rng.exponential(size=50)
    loss = LOSSES[name]
    others = [loss.function(y, np.full(50, c)) for c in np.linspace(0, 3, 300)]
    assert loss.of_constant(y) <= min(others) + 1e-12
