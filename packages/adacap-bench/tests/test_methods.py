"""The register of methods: what is in it, how it answers, and that each method works."""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from adacap.estimators.presets import MLR_NETS
from adacap.estimators.settings import TUNED
from adacap.nn.presets import PRESETS
from adacap_bench.methods import (
    CATEGORIES,
    GROUPS,
    METHODS,
    Method,
    MethodError,
    expand_methods,
    find_method,
    register,
    unavailable,
)
from adacap_bench.metrics.contests import CONTESTS

ROOT = Path(__file__).parents[1]
KINDS = ("regression", "binary", "multiclass")
NETWORKS = {"AdaCap", "Tikhonov", "MLR-NN", "DNN"}
OURS = (*PRESETS, *MLR_NETS)
# Of our presets two are fitted: the others differ by what tests of the estimators cover.
FITTED_PRESETS = {"adacap-fast-snn", "fast-mlp"}
HEAVY = {"realmlp-td", "tabm-d"}  # seconds each, even on 60 rows
FITTED = [name for name in METHODS if name not in OURS or name in FITTED_PRESETS]
CELLS = [
    pytest.param(name, kind, marks=[pytest.mark.slow] * (name in HEAVY and kind == "binary"))
    for name in FITTED
    for kind in KINDS
    if kind in METHODS[name].kinds
]

# Iterations run out by default on 60 rows, and a Gaussian process without noise hits its bounds.
not_converged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def table(seed):
    """Maker of (X, y): 60 rows that any method can learn something from."""

    def make(kind, n=60):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(n, 4)).astype(np.float32)
        y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * generator.normal(size=n)
        if kind == "regression":
            return X, (y - y.mean()) / y.std()
        shares = [0.5] if kind == "binary" else [0.3, 0.6]
        return X, np.searchsorted(np.quantile(y, shares), y)

    return make


def available(name):
    """The method, or a skip that says how to install it."""
    if reason := unavailable(METHODS[name]):
        pytest.skip(reason)
    return METHODS[name]


def dummy(name="dummy", **fields):
    return Method(
        name,
        **{"category": "Tree", "kinds": {"binary"}, "build": lambda kind, seed: None, **fields},
    )


# ------------------------------------------------------------------------------ each method


@not_converged
@pytest.mark.parametrize(("name", "kind"), CELLS)
def test_a_method_learns_in_silence(name, kind, table, tmp_path, monkeypatch, capfd):
    method = available(name)
    X, y = table(kind)
    monkeypatch.chdir(tmp_path)
    estimator = method.build(kind, 0)
    assert estimator.fit(X.copy(), y) is not None
    predicted = np.asarray(estimator.predict(X)).reshape(len(X))
    if kind == "regression":
        shares = 1 - np.mean((predicted - y) ** 2)
        assert shares > (-1e-9 if name in {"intercept", "lasso"} else 0.01)
    else:
        assert np.mean(predicted == y) > (0.3 if name == "intercept" else 0.6)
        assert class_scores(estimator, X).shape == ((60, 2) if kind == "binary" else (60, 3))
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def class_scores(estimator, X):
    """Scores of all classes, as the runner reads them."""
    if hasattr(estimator, "predict_proba"):
        scores = estimator.predict_proba(X)
        np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-5)
        return scores
    scores = estimator.decision_function(X)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


@not_converged
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in HEAVY)) for name in FITTED]
)
def test_a_seed_gives_the_same_model_again(name, table):
    method = available(name)
    kind = "regression" if "regression" in method.kinds else "binary"
    X, y = table(kind)
    first, again = (
        np.asarray(method.build(kind, 7).fit(X.copy(), y).predict(X), dtype=float) for _ in range(2)
    )
    # A forest sums its trees in the order in which threads end: the last bit may differ.
    np.testing.assert_allclose(first, again, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rf", "xcart", "sk-mlp", "fast-catboost"])
@not_converged
def test_another_seed_gives_another_model(name, table):
    method = available(name)
    X, y = table("regression")
    first, second = (method.build("regression", k).fit(X, y).predict(X + 0.3) for k in (1, 2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_preset_is_built_by_its_protocol(name, kind):
    import adacap

    task = "regression" if kind == "regression" else "classification"
    expected = adacap.make(name, task).get_params()
    found = find_method(name).build(kind, 5).get_params()
    assert found == {**expected, "preprocessing": "none", "random_state": 5}


def test_every_preset_is_registered_under_its_scheme():
    ours = {name for name, method in METHODS.items() if method.packages == ("torch",)}
    assert ours == {*OURS, *(f"adacap-{name}" for name in TUNED)}
    assert {name for name in ours if METHODS[name].category == "MLR-NN"} == set(MLR_NETS)
    scheme_of = {"AdaCap": "adacap", "Tikhonov": "tikhonov", "DNN": "plain"}
    for name in PRESETS:
        assert PRESETS[name].scheme == scheme_of[METHODS[name].category]


def test_fast_catboost_is_set_as_in_the_paper():
    settings = available("fast-catboost").build("regression", 0).get_params()
    wanted = {"iterations": 100, "subsample": 0.1, "max_bin": 32, "depth": 3}
    assert wanted.items() <= settings.items()
    assert settings["bootstrap_type"] == "Bernoulli"


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("catboost", "thread_count"),
        ("xgboost", "n_jobs"),
        ("lightgbm", "n_jobs"),
        ("rf", "n_jobs"),
        ("xrf", "n_jobs"),
        ("realmlp-td", "n_threads"),
        ("tabm-d", "n_threads"),
        ("xrfm", "n_threads"),
    ],
)
def test_threads_are_passed_on(name, parameter, monkeypatch):
    monkeypatch.setenv("ADACAP_THREADS", "3")
    assert available(name).build("regression", 0).get_params()[parameter] == 3


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("mars", "binary", "Earth does regression, not 'binary'"),
        ("logreg", "regression", "LogisticRegression does binary and multiclass, not 'regression'"),
        ("adacap-mlp", "regresion", "Unknown kind 'regresion'. Did you mean 'regression'"),
        ("gp", "ranking", "Unknown kind 'ranking'"),
        ("fastai", "ranking", "Unknown kind 'ranking'"),
    ],
)
def test_a_kind_that_a_method_does_not_do_is_refused(name, kind, message):
    with pytest.raises(MethodError, match=re.escape(message)):
        METHODS[name].build(kind, 0)


# ----------------------------------------------------------------------------- the register


def test_names_categories_and_kinds():
    assert len(METHODS) == 70
    assert {method.category for method in METHODS.values()} == set(CATEGORIES)
    for name, method in METHODS.items():
        assert name == method.name
        assert method.kinds <= set(KINDS)
        assert method.packages


def test_extras_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for method in METHODS.values():
        core = set(method.packages) <= {"sklearn", "torch"}
        assert (method.extra is None) == core
        assert core or method.extra in project["optional-dependencies"]


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(MethodError, match=r"Unknown method 'catbost'. Did you mean 'catboost'"):
        find_method("catbost")
    with pytest.raises(MethodError, match=r"Unknown method or group 'pears'. Did you mean 'peers'"):
        expand_methods(["pears"])


def test_a_name_is_registered_once():
    register(dummy("oak"))
    assert find_method("oak").category == "Tree"
    with pytest.raises(MethodError, match=r"already a method 'oak' \(category Tree\). Choose"):
        register(dummy("oak", category="RF"))
    with pytest.raises(MethodError, match="'peers' is the name of a group"):
        register(dummy("peers"))
    assert METHODS["oak"].category == "Tree"


@pytest.mark.parametrize(
    ("name", "package", "hint"),
    [
        ("mars", "pyearth", "needs the package pyearth, which is not installed: "
         "pip install 'adacap-bench[bench]'"),
        ("xrfm", "xrfm", "pip install 'adacap-bench[peers]'"),
        ("fastai", "fastai", "pip install 'adacap-bench[fastai]'"),
    ],
)  # fmt: skip
def test_a_missing_package_is_named_with_the_way_to_install_it(name, package, hint, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    reason = unavailable(METHODS[name])
    assert reason is not None
    assert reason.startswith(f"{name} needs the package")
    assert hint in reason


def test_listing_loads_no_method():
    code = (
        "import sys; from adacap_bench.methods import METHODS, unavailable\n"
        "for method in METHODS.values(): unavailable(method)\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'catboost', 'pytabkit', 'fastai', 'pyearth'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


# -------------------------------------------------------------------------------- groups


def test_groups_hold_registered_methods_once():
    assert GROUPS["all"] == tuple(METHODS)
    for name, members in GROUPS.items():
        assert members, name
        assert set(members) <= set(METHODS)
        assert len(set(members)) == len(members)
        assert name not in METHODS
    assert len(GROUPS) == len(list(GROUPS))
    assert {"gp", "gp-ard", "realmlp-td", "tabm-d", "xrfm"} == set(GROUPS["peers"])
    assert GROUPS["forests"] == ("rf", "xrf")


def test_the_paper_group_has_the_sixteen_networks_and_nothing_later():
    paper = {METHODS[name] for name in GROUPS["paper"]}
    assert sum(method.name in PRESETS for method in paper) == 16
    assert {method.category for method in paper} == set(CATEGORIES) - {"Peer", "Tikhonov", "MLR-NN"}
    assert set(GROUPS["all"]) - set(GROUPS["paper"]) == {
        *GROUPS["peers"],
        *GROUPS["tikhonov"],
        *GROUPS["mlr-nn"],
        *(f"adacap-{name}" for name in TUNED),
    }


@pytest.mark.parametrize("name", TUNED)
def test_our_own_settings_are_methods(name):
    model = METHODS[f"adacap-{name}"].build("regression", 3)
    assert {**model.get_params(), **TUNED[name]} == model.get_params()
    assert (model.preprocessing, model.random_state) == ("none", 3)
    if name == "fast-nets":
        with pytest.raises(MethodError, match="regression"):
            METHODS[f"adacap-{name}"].build("binary", 0)
    else:
        assert METHODS[f"adacap-{name}"].build("binary", 0).quality == TUNED[name]["quality"]


@pytest.mark.parametrize("contest", CONTESTS, ids=lambda contest: contest.name)
def test_contests_are_those_that_the_metrics_hold(contest):
    members = GROUPS["contest-" + contest.name.lower().replace(" ", "-")]
    assert tuple(n for n in members if METHODS[n].category in NETWORKS) == contest.networks
    others = {n for n in members if METHODS[n].category not in NETWORKS}
    left = {"Peer", "Baseline", *NETWORKS}
    assert others == {n for n, method in METHODS.items() if method.category not in left}


def test_names_and_groups_expand_in_order_without_repeats():
    found = [method.name for method in expand_methods(["xrf", "forests", "ridge", "xrf"])]
    assert found == ["xrf", "rf", "ridge"]
    register(dummy("oak"))
    assert expand_methods(["trees"])[-1].name == "oak"
    assert GROUPS["all"][-1] == "oak"
    with pytest.raises(MethodError, match="names must be a list of names, got 'rf,xrf'"):
        expand_methods("rf,xrf")


def test_quick_needs_no_extra():
    assert [method.name for method in expand_methods(["quick"]) if method.extra] == []


@pytest.mark.slow
@not_converged
@pytest.mark.parametrize("name", GROUPS["fast"])
def test_fast_is_below_a_second_on_a_small_table(name):
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import scale

    method = available(name)
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X[:350]).astype(np.float32), scale(y[:350])
    for kind in sorted(method.kinds):
        target = {"regression": y, "binary": y > 0, "multiclass": np.digitize(y, [-0.5, 0.5])}[kind]
        seconds = []
        for _ in range(3):
            estimator, start = method.build(kind, 0), time.process_time()
            estimator.fit(X, target if kind == "regression" else target.astype(int))
            seconds.append(time.process_time() - start)
        assert min(seconds) < 1, f"{kind}: {min(seconds):.2f} s"
