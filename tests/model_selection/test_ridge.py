import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge

from adacap.model_selection import RidgeMLR, SignalWarning
from adacap.model_selection.labels import draw_orders

# Whether the warning comes is tested where it is the subject; random tables may deserve it.
pytestmark = pytest.mark.filterwarnings("ignore::adacap.model_selection.SignalWarning")

GRID = np.geomspace(1e-2, 1e5, 30)


def brute_force(X, y, order, alphas, seed, n_permutations=16):
    """The criterion of the paper by refitting scikit-learn's ridge, in the model's row order."""
    X, y = X[order], y[order]
    orders = draw_orders(len(y), n_permutations, np.random.default_rng(seed))

    def squares(labels, alpha):
        return ((labels - Ridge(alpha).fit(X, labels).predict(X)) ** 2).sum()

    return np.array([squares(y, a) - np.mean([squares(y[o], a) for o in orders]) for a in alphas])


def test_the_criterion_is_the_papers(table, seed):
    model = RidgeMLR(GRID, random_state=seed).fit(*table)
    path = brute_force(*table, np.argsort(table.y), GRID, seed)
    np.testing.assert_allclose(model.criterion_path_, path / len(table.y), rtol=1e-6)
    assert model.alpha_ == GRID[path.argmin()]
    assert model.best_score_ == pytest.approx(-path.min() / len(table.y))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_targets", [None, 3])
def test_coefficients_are_those_of_ridge_at_the_chosen_alpha(
    banded, seed, fit_intercept, n_targets
):
    X, y = banded(seed, n_targets=n_targets)
    model = RidgeMLR(GRID, fit_intercept=fit_intercept, random_state=seed).fit(X, y)
    ridge = Ridge(model.alpha_, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-6, atol=1e-9)
    assert model.score(X, y) == pytest.approx(ridge.score(X, y))


def test_attributes_agree_with_each_other(table, seed):
    model = RidgeMLR(random_state=seed).fit(*table)
    best = np.flatnonzero(model.alphas_ == model.alpha_).item()
    assert len(model.alphas_) == 100
    assert model.fit_true_ == model.fit_true_path_[best]
    assert model.fit_permuted_ == model.fit_permuted_path_[best]
    assert model.best_score_ == pytest.approx(model.fit_permuted_ - model.fit_true_)
    assert model.fit_true_ == pytest.approx(((table.y - model.predict(table.X)) ** 2).mean())
    assert 0 < model.effective_dof_ < 60
    assert model.p_value_ == pytest.approx(1 / 17)
    assert 0.2 < model.snr_ < 2
    assert model.valid_
    assert model.notes_ == ()


def test_roots_change_the_criterion_to_the_difference_of_roots(table, seed):
    squared = RidgeMLR(GRID, n_permutations=1, random_state=seed).fit(*table)
    rooted = RidgeMLR(GRID, n_permutations=1, criterion="rmse", random_state=seed).fit(*table)
    expected = np.sqrt(squared.fit_true_path_) - np.sqrt(squared.fit_permuted_path_)
    np.testing.assert_allclose(rooted.criterion_path_, expected)


def test_risk_is_a_criterion_too(table, seed):
    model = RidgeMLR(GRID, criterion="risk", random_state=seed).fit(*table)
    assert model.excess_risk_ == 0
    assert model.best_score_ == -model.criterion_path_.min()


def test_same_seed_same_model(table):
    one, other = (RidgeMLR(random_state=3).fit(*table) for _ in range(2))
    np.testing.assert_array_equal(one.criterion_path_, other.criterion_path_)


def test_the_default_grid_can_be_spelled_in_three_ways(table):
    paths = [RidgeMLR(a, random_state=0).fit(*table).alphas_ for a in ("auto", None)]
    np.testing.assert_array_equal(*paths)
    np.testing.assert_array_equal(paths[0], RidgeMLR(random_state=0).fit(*table).alphas_)


def test_the_order_and_repetition_of_alphas_do_not_matter(table, rng):
    mixed = rng.permutation(np.r_[GRID, GRID[:3]])
    one, other = (RidgeMLR(a, random_state=0).fit(*table) for a in (GRID, mixed))
    np.testing.assert_array_equal(one.alphas_, other.alphas_)
    assert one.alpha_ == other.alpha_


def test_the_order_of_rows_does_not_matter(table, rng):
    shuffle = rng.permutation(len(table.y))
    one = RidgeMLR(random_state=0).fit(*table)
    other = RidgeMLR(random_state=0).fit(table.X[shuffle], table.y[shuffle])
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_shift_and_scale_of_the_target_do_not_change_alpha(table):
    one = RidgeMLR(random_state=0).fit(*table)
    other = RidgeMLR(random_state=0).fit(table.X, 5 * table.y + 100)
    assert other.alpha_ == pytest.approx(one.alpha_)
    np.testing.assert_allclose(other.coef_, 5 * one.coef_, rtol=1e-6, atol=1e-9)
    assert other.snr_ == pytest.approx(one.snr_)


def test_rotation_and_shift_of_the_features_do_not_change_predictions(table, rng):
    Q, _ = np.linalg.qr(rng.normal(size=(60, 60)))
    one = RidgeMLR(random_state=0).fit(*table)
    other = RidgeMLR(random_state=0).fit(table.X @ Q + 3, table.y)
    assert other.alpha_ == pytest.approx(one.alpha_, rel=1e-6)
    np.testing.assert_allclose(other.predict(table.X @ Q + 3), one.predict(table.X), rtol=1e-5)


def test_scale_of_the_features_scales_alpha(table):
    one = RidgeMLR(random_state=0).fit(*table)
    other = RidgeMLR(random_state=0).fit(10 * table.X, table.y)
    assert other.alpha_ == pytest.approx(100 * one.alpha_)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_weight_is_a_count(table, rng, fit_intercept):
    counts = rng.integers(4, size=len(table.y))
    model = RidgeMLR(fit_intercept=fit_intercept, random_state=0)
    weighted = clone(model).fit(*table, sample_weight=counts)
    repeated = clone(model).fit(table.X.repeat(counts, axis=0), table.y.repeat(counts))
    np.testing.assert_array_equal(weighted.criterion_path_, repeated.criterion_path_)
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    ridge = Ridge(weighted.alpha_, fit_intercept=fit_intercept, solver="svd")
    ridge.fit(*table, sample_weight=counts)
    np.testing.assert_allclose(weighted.coef_, ridge.coef_, rtol=1e-6, atol=1e-9)


def test_one_targets_copy_changes_nothing(table):
    one = RidgeMLR(random_state=0).fit(*table)
    two = RidgeMLR(random_state=0).fit(table.X, np.c_[table.y, table.y])
    np.testing.assert_allclose(two.criterion_path_, one.criterion_path_)
    np.testing.assert_allclose(two.coef_, [one.coef_, one.coef_])


def test_pickle_and_clone(table):
    model = RidgeMLR(GRID, random_state=1).fit(*table)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))
    assert clone(model).get_params()["criterion"] == "squared"


@pytest.mark.usefixtures("global_state_untouched")
def test_global_generators_are_left_alone(table):
    RidgeMLR().fit(*table)


# ------------------------------------------------------------------------------------- warnings


def noise(seed, n=60, d=20):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def test_pure_noise_is_told_most_of_the_time():
    told = 0
    for seed in range(20):
        model = RidgeMLR(random_state=seed).fit(*noise(seed))
        told += any("fitted about as well as the true ones" in note for note in model.notes_)
    assert told >= 15  # a p-value below 0.1 is one chance in seventeen


def test_a_signal_above_the_noise_is_told_with_the_way_out(banded, seed):
    X, y = banded(seed)
    signal = X[:, :20].sum(1) / X[:, :20].sum(1).std()
    strong = 10 * signal + 0.1 * (y - y.mean())
    model = RidgeMLR(random_state=0)
    with pytest.warns(SignalWarning, match=r"r/n = 0\.\d+ ≪ SNR ≪ 1.*Use criterion='risk'"):
        model.fit(X, strong)
    assert not model.valid_
    assert model.snr_ > 1
    assert model.excess_risk_ > 0.05
    assert RidgeMLR(criterion="risk", random_state=0).fit(X, strong).valid_


@pytest.mark.parametrize(
    ("alphas", "text"),
    [([1e-6, 1e-5], "is the largest of alphas: add larger"), ([1e4, 1e9], "is the smallest of")],
)
def test_an_end_of_the_grid_is_told(table, alphas, text):
    with pytest.warns(SignalWarning, match=text):
        RidgeMLR(alphas, random_state=0).fit(*table)


def test_no_shrinkage_needed_is_no_violation(rng):
    X = rng.normal(size=(2000, 3))
    y = X.sum(1) + rng.normal(size=2000)
    model = RidgeMLR([1e-4, 1.0, 1e4], random_state=0).fit(X, y)
    assert model.valid_
    assert model.alpha_ <= 1


def test_constant_target_and_constant_features_do_not_break():
    X, y = noise(0)
    with pytest.warns(SignalWarning, match="p = 1"):
        model = RidgeMLR(random_state=0).fit(X, np.full(60, 4.0))
    np.testing.assert_allclose(model.predict(X), 4.0)
    with pytest.warns(SignalWarning, match="p = 1"):
        model = RidgeMLR(random_state=0).fit(np.ones_like(X), y)
    np.testing.assert_allclose(model.predict(X), y.mean())


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"criterion": "squares"}, "criterion must be one of squared.*Did you mean 'squared'"),
        ({"alphas": "atuo"}, "alphas must be one of auto, None or an array.*Did you mean 'auto'"),
        ({"alphas": [1.0, -2.0]}, r"positive finite numbers, got \[1.0, -2.0\]"),
        ({"alphas": []}, "positive finite numbers"),
        ({"alphas": [1.0, np.inf]}, "positive finite numbers"),
        ({"n_permutations": 0}, "n_permutations must be an integer of at least 1, got 0"),
    ],
)
def test_wrong_parameters_are_named(table, parameters, text):
    with pytest.raises(ValueError, match=text):
        RidgeMLR(**parameters).fit(*table)


def test_equal_rows_alone_cannot_be_permuted():
    with pytest.raises(ValueError, match="at least 2 different rows, got n_samples=1"):
        RidgeMLR().fit(np.ones((5, 2)), np.ones(5))


def test_negative_weights_are_refused(table):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        RidgeMLR().fit(*table, sample_weight=-np.ones(len(table.y)))


def test_sparse_features_are_refused_with_the_way_out(table):
    with pytest.raises(TypeError, match=r"dense data is required. Use '.toarray\(\)'"):
        RidgeMLR().fit(scipy.sparse.csr_array(table.X), table.y)


# ------------------------------------------------------------------------------------- the rest


def test_theorem_one():
    """MLR(λ) + const ≈ R(λ) for r σ² ≪ ‖Xβ*‖² ≪ n σ², orthogonal columns, λ/n > ε.

    The paper's constant is ‖P Y_perm‖², since its residuals leave out what lies outside the span of
    X. With whole residuals it is ‖P Y‖²; neither depends on λ.
    """
    rng = np.random.default_rng(0)
    n, r, sigma = 40_000, 40, 1.0
    X, _ = np.linalg.qr(rng.normal(size=(n, r)))
    X *= np.sqrt(n)
    signal = np.sqrt(r * n) * sigma**2  # the middle of the band, on a log scale
    beta = rng.normal(size=r)
    beta *= np.sqrt(signal / n / (beta**2).sum())
    y = X @ beta + sigma * rng.normal(size=n)
    epsilon = np.sqrt(r * sigma**2 / signal) + np.sqrt(signal / (n * sigma**2))
    shrink = np.array([1.0, 2.0, 5.0]) * epsilon
    model = RidgeMLR(n * shrink, fit_intercept=False, n_permutations=50, random_state=0)
    with pytest.warns(SignalWarning, match="add smaller"):
        model.fit(X, y)
    projected = ((X.T @ y) ** 2).sum() / n
    risk = (shrink**2 * signal + r * sigma**2) / (1 + shrink) ** 2
    np.testing.assert_allclose(n * model.criterion_path_ + projected, risk, rtol=epsilon)


def test_torch_is_not_imported():
    program = (
        "import sys; from adacap.model_selection import MLRSearch, RidgeMLR, mlr_score; "
        "import numpy as np; X = np.arange(12.0)[:, None]; "
        "RidgeMLR(random_state=0).fit(X, X[:, 0]); sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
