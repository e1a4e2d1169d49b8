"""No parameter is inert in silence: it changes the model, is refused, or says what else it does."""

import re

import numpy as np
import pytest
from sklearn.base import clone

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.estimators.quality import plan_of
from adacap.training import EarlyStopping

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.exp(X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=40))

CHANGED = {
    "quality": ["kernel", "ridge"],
    "architecture": "snn",
    "scheme": "tikhonov",
    "width": 7,
    "depth": 4,
    "n_estimators": 4,
    "preprocessing": "paper",
    "validation": 0.3,
    "calibration_fraction": 0.25,
    "target_transform": "log",
    "class_weight": {False: 1.0, True: 3.0},
    "max_iter": 2,
    "max_lr": 0.2,
    "batch_size": 16,
    "optimizer": "sgd",
    "weight_decay": 0.7,
    "refit": "net",
    "n_permutations": 3,
    "lambda_init": 0.2,
    "fit_intercept": False,
    "random_state": 1,
}
ELSEWHERE = {
    "time_limit": "when training stops, if it would take longer",
    "warm_start": "what the next fit starts from",
    "device": "where it is computed",
    "callbacks": "they follow training, and may stop it",
    "verbose": "what is shown",
}
OF_SOLVED_LAYERS = {"n_permutations", "lambda_init", "fit_intercept"}
"""Of the closed-form output layer, which the plain scheme has not: their docstrings say so."""

QUALITIES = [["ridge"], ["nets:bins", "nets"], "nets"]  # without nets, with some, nothing else
OF_NETS = {
    "architecture", "scheme", "width", "depth", "max_iter", "max_lr", "batch_size", "optimizer",
    "weight_decay", "refit", *OF_SOLVED_LAYERS,
}  # fmt: skip
HEARD_BY_WAVES = {"scheme", "batch_size", "optimizer", "refit", "n_permutations", "fit_intercept"}
SMALL = {"width": 4, "max_iter": 3}


def options_of(quality, **options):
    has_size = "nets" in str(quality)
    return {"quality": quality, "random_state": 0, **(SMALL if has_size else {}), **options}


def fingerprint(model):
    """What a model says of rows, and the errors of its members, those without weight included."""
    y = Y > np.median(Y) if isinstance(model, AdaCapClassifier) else Y
    model.fit(X, y)
    said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return [*np.ravel(said), *(share.error for share in model.settings_.blend)]


def refusal_of(call, *arguments):
    """The text of a refusal; empty where there is none."""
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def unchanged():
    known = {}

    def get(kind, quality):
        key = kind, str(quality)
        if key not in known:
            known[key] = fingerprint(kind(**options_of(quality)))
        return known[key]

    return get


def test_every_parameter_is_looked_at(kind):
    assert set(kind._constraints) <= {*CHANGED, *ELSEWHERE}
    assert not set(CHANGED) & set(ELSEWHERE)


@pytest.mark.parametrize("quality", QUALITIES, ids=str)
@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_value_changes_the_model_or_is_refused(kind, quality, name, unchanged):
    if name not in kind._constraints:
        pytest.skip(f"{kind.__name__} has no {name}")
    is_trained_anew = kind is AdaCapClassifier and quality == "nets"  # one net with a hold-out
    value = "none" if name == "refit" and is_trained_anew else CHANGED[name]
    model = kind(**{**options_of(quality), name: value})
    if refusal := refusal_of(plan_of, model, 200):
        assert re.search(rf"\b{name}=", refusal)
        assert "quality='nets'" in refusal
        return
    found = fingerprint(model)
    is_plain = kind is AdaCapClassifier and name in OF_SOLVED_LAYERS
    assert (found == unchanged(kind, quality)) is is_plain
    if is_plain:
        assert fingerprint(model.set_params(scheme="adacap")) != fingerprint(
            kind(**options_of(quality, scheme="adacap"))
        )


@pytest.mark.parametrize(
    ("quality", "refused"),
    [("fast", OF_NETS), (["trees"], OF_NETS), (["fourier", "ridge"], OF_NETS - HEARD_BY_WAVES),
     ("balanced", set()), ("best", set()), ("nets", set())],
    ids=["fast", "trees", "fourier-ridge", "balanced", "best", "nets"],
)  # fmt: skip
def test_what_no_member_hears_of_is_refused(kind, quality, refused):
    found = set()
    for name in OF_NETS:
        text = refusal_of(plan_of, kind(quality=quality, **{name: CHANGED[name]}), 200)
        if f"{name}={CHANGED[name]!r} describes nets, and quality={quality!r}" in text:
            found.add(name)
        else:
            assert text == ""
    assert found == refused


@pytest.mark.parametrize("name", ["fast", "balanced", "best", "nets", "fast-nets"])
def test_presets_take_a_scheme_or_refuse_it(kind, name):
    task = "regression" if kind is AdaCapRegressor else "classification"
    for scheme in ("adacap", "tikhonov", "plain"):
        model = clone(adacap.make(name, task, scheme=scheme))
        if name != "fast":
            assert plan_of(model, 200).has_nets
            continue
        with pytest.raises(ValueError, match=f"scheme='{scheme}' describes nets, and quality='f"):
            plan_of(model, 200)
        assert plan_of(model, 19).members == ("nets",)


def test_the_message_names_every_parameter_and_a_way_out_that_works(kind):
    options = {"width": 7, "scheme": "plain", "max_iter": 2}
    text = (
        "scheme='plain', width=7 and max_iter=2 describe nets, and quality='fast' trains none. "
        "Leave them out, or use quality='nets', a bag of nets, or quality='balanced'"
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        plan_of(kind(quality="fast", **options), 200)
    for quality in ("nets", "balanced"):
        assert plan_of(kind(quality=quality, **options), 200).has_nets


def test_what_makes_an_iteration_the_best_is_of_nets():
    told = {"validation": ("folds", "auc")}
    with pytest.raises(ValueError, match=r"validation=\('folds', 'auc'\) describes nets"):
        plan_of(AdaCapClassifier(quality="fast", **told), 200)
    assert plan_of(AdaCapClassifier(quality="fast", validation=("folds", "loss")), 200).is_blend
    assert plan_of(AdaCapClassifier(validation=("auto", "auc")), 200).members == ("nets",)


@pytest.mark.parametrize(
    "options",
    [
        {"n_permutations": np.int64(16)}, {"fit_intercept": np.True_},
        {"optimizer": np.str_("adamw")}, {"width": np.str_("auto")}, {"warm_start": np.False_},
    ],
    ids=str,
)  # fmt: skip
def test_defaults_of_other_types_are_defaults(kind, options):
    assert plan_of(kind(**options), 200).is_blend
    plan_of(kind(quality="fast", **options), 200)  # which has no nets to describe


def test_callbacks_that_nobody_calls_are_told_of(kind):
    model = kind(quality=["ridge"], callbacks=[EarlyStopping(3)], random_state=0)
    text = r"callbacks follow the training of nets, and quality=\['ridge'\] trains none"
    with pytest.warns(UserWarning, match=text):
        fingerprint(model)
    fingerprint(model.set_params(callbacks=[]))  # nobody to tell: a warning would be an error
