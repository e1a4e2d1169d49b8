"""``adacap fit``: from a table on disk to a model file, with honest scores on the way."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import starmap
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, print_table, say
from adacap.text import counted, number, size_of

if TYPE_CHECKING:
    from adacap.cli.tables import Loaded

__all__ = ["fit"]

_COVERAGE = 0.9  # of the intervals that the test part judges


@dataclass
class FitOutcome:
    """What is known after training.

    ``facts`` is what ``--json`` prints, ``scorer`` the model that was scored, ``rows`` those that
    the model was fitted on, and the two parts that the scorer was fitted and tested on;
    ``checkpoint`` is removed when everything is written.
    """

    model: Any
    facts: dict[str, Any] = field(default_factory=dict)
    scorer: Any = None
    rows: tuple[Any, ...] = ()
    checkpoint: Any = None


@command
def fit(
    data: option.Data,
    target: Annotated[
        str, typer.Option("--target", "-t", help="Column to predict; several separated by commas.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path(
        "model.adacap"
    ),
    report: Annotated[Path | None, typer.Option(help="Page about the model to write.")] = None,
    task: option.Task = "auto",
    method: option.Method = None,
    n_estimators: option.Members = None,
    target_transform: option.TargetTransform = None,
    class_weight: Annotated[
        str | None,
        typer.Option(help="Of classes: balanced, or such as rare=5,common=1; others count 1."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds for all training.")
    ] = None,
    drop: option.Drop = None,
    weight: option.Weight = None,
    dependence: option.DependentRows,
    test_size: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of rows held out for scores.")
    ] = 0.2,
    refit: Annotated[
        bool, typer.Option(help="Train the model that is saved on all rows, after scoring.")
    ] = True,
    max_rows: option.MaxRows = None,
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.")] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File for the work done so far: the same command resumes from it after a crash. "
            "Removed when the model is saved."
        ),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(min=0.0, help="Seconds between two writes of the checkpoint.")
    ] = 10.0,
    key_file: option.KeyFile = None,
    force: option.Force = False,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Train a model on a table and save it.

    A part of the rows is held out: the scores come from a model trained on the rest. The model
    that is saved is then trained on all rows, unless --no-refit.
    """
    from adacap.checkpoint import Checkpoint
    from adacap.cli.loading import read_key
    from adacap.cli.tables import load_rows
    from adacap.cli.targets import read_class_weight
    from adacap.files import check_writable

    start = time.perf_counter()
    for path in (output, *([report] if report else [])):
        check_writable(path, force)
    option.refuse_same(
        {"DATA": data, "--output": output, "--report": report, "--checkpoint": checkpoint,
         "--key-file": key_file}
    )  # fmt: skip
    key = read_key(key_file)
    if report is not None and not test_size:
        raise UsageError("--report needs a test part: leave --test-size 0 out.")
    if checkpoint is not None:
        check_writable(checkpoint, force=True)
    loaded = load_rows(
        data, target, task, method, drop=drop, max_rows=max_rows, seed=seed, text=text,
        weight=weight, dependence=dependence,
    )  # fmt: skip
    _say_rows(loaded, as_json)
    _say_columns(loaded, method, target_transform, seed, as_json)
    n_fits = 2 if test_size and refit else 1
    options = {
        "method": method,
        "n_estimators": n_estimators,
        "time_limit": None if time_limit is None else time_limit / n_fits,
        "seed": seed,
        "read_text": loaded.read_text,
        "target_transform": target_transform,
        "class_weight": read_class_weight(class_weight, loaded.target),
    }
    keeping: Any = None
    if checkpoint is not None:
        keeping = partial(
            Checkpoint, checkpoint, every_seconds=checkpoint_every, keep=True,
            tell=cache(note),  # once for both fits
        )  # fmt: skip
    try:
        outcome = _train(loaded, options, test_size, refit, as_json, keeping)
    except KeyboardInterrupt as error:
        if checkpoint is None or not checkpoint.exists():
            raise
        told = f"{checkpoint} holds what was done, and the same command resumes from it"
        raise KeyboardInterrupt(told) from error
    _save(outcome.model, output, force, key)
    if report is not None:
        _write_report(outcome, loaded, report, output, force)
    if outcome.checkpoint is not None:
        outcome.checkpoint.remove()
    outcome.facts |= {
        "model": str(output),
        "report": None if report is None else str(report),
        "seconds": time.perf_counter() - start,
    }
    if as_json:
        unused = [plan.name for plan in outcome.model.encoder_.columns_ if plan.dropped]
        facts = {**loaded.facts(), "dropped": [*loaded.dropped, *unused]}
        print_json({**facts, "seed": seed, **outcome.facts})
        return
    _say_end(outcome, output, report, loaded)


# ------------------------------------------------------------------------------ training


def _train(
    loaded: Loaded,
    options: dict[str, Any],
    test_size: float,
    refit: bool,
    as_json: bool,
    keeping: Any,
) -> FitOutcome:
    import numpy as np

    from adacap.cli.models import repeated_rows, split

    everything = np.arange(len(loaded.target.y))
    dependence = loaded.dependence.of(everything)
    train, test = split(loaded.target, test_size, options["seed"], dependence)
    if not len(test):
        if test_size:
            groups = loaded.dependence.groups
            few = "rows" if groups is None or len(set(groups)) != 2 else "groups (2)"
            note(f"Too few {few} to hold out a test part, so there are no scores.")
        kept = keeping and keeping(part="model")
        model = _fit_rows(loaded, options, everything, "Fitting", as_json, kept)
        facts = _model_facts(model, len(everything), 0, refit=False)
        return FitOutcome(model, facts, checkpoint=kept)
    say(
        f"Scores come from a model on {counted(len(train), 'row')}, tested on {len(test):,}.",
        as_json,
    )
    if text := repeated_rows(loaded.target, loaded.X, train, test):
        loaded.notes.append(text)
        note(text)
    kept = keeping and keeping(part="scores")
    model = _fit_rows(loaded, options, train, "Fitting for scores", as_json, kept)
    scores = _scores(model, loaded, train, test)
    intervals = _coverage(model, loaded, test)
    if not as_json:
        _say_scores(scores, intervals, loaded)
    n_rows, scorer = len(train), model
    if refit:
        kept = keeping and keeping(part="model")
        model = _fit_rows(loaded, options, everything, "Fitting on all rows", as_json, kept)
        n_rows = len(everything)
    facts = _model_facts(model, n_rows, len(test), refit)
    found = {method: _plain_keys(each) for method, each in scores.items()}
    facts |= {"scores": found, "intervals": intervals}
    return FitOutcome(model, facts, scorer, (everything if refit else train, train, test), kept)


def _plain_keys(scores: dict[str, float]) -> dict[str, float]:
    """Scores under names for machines, such as ``r2`` and ``log_loss``."""
    signs = str.maketrans({"²": "2", "-": "_", " ": "_", "(": "", ")": ""})
    return {name.lower().translate(signs): value for name, value in scores.items()}


def _fit_rows(
    loaded: Loaded, options: dict[str, Any], rows: Any, label: str, quiet: bool, checkpoint: Any
) -> Any:
    from adacap.cli.models import build, describe, enough_rows
    from adacap.estimators.quality import plan_of
    from adacap.training.callbacks import ProgressBar

    model = build(loaded.target.task, **options)
    with enough_rows(model, len(rows)), warnings.catch_warnings():
        if not quiet and label != "Fitting on all rows":
            dependence = loaded.dependence.of(rows)
            say(f"Method: {describe(model, len(rows), dependence)}.")
        if plan_of(model, len(rows)).has_nets:
            model.set_params(callbacks=[ProgressBar(label)])
        warnings.filterwarnings("ignore", "Not used: column")  # the table of columns says so
        model.fit(
            loaded.X.take(rows), loaded.target.y[rows], sample_weight=loaded.weights(rows),
            checkpoint=checkpoint, **loaded.dependence.of(rows),
        )  # fmt: skip
    model.set_params(callbacks=None)
    if not quiet and (untrained := model.settings_.untrained_text):
        say(untrained)
    model.provenance_ = replace(model.provenance_, targets=tuple(loaded.target.names))
    return model


def _scores(model: Any, loaded: Loaded, train: Any, test: Any) -> dict[str, dict[str, float]]:
    """Scores of the model and of the baselines, the model first."""
    from adacap.report import baseline_scores, model_scores

    X, y = loaded.X, loaded.target.y
    X_test, y_test = X.take(test), y[test]
    own = model_scores(model, X_test, y_test)
    weight = loaded.weights(train)
    others = baseline_scores(model, X.take(train), y[train], X_test, y_test, sample_weight=weight)
    return {one.method: one.scores for one in (own, *reversed(others))}


def _coverage(model: Any, loaded: Loaded, test: Any) -> dict[str, Any] | None:
    """How often intervals covered the test rows, and how wide they are."""
    import numpy as np

    if loaded.target.task == "classification":
        return None
    try:
        method = model.intervals_.resolve("auto")
    except ValueError:  # a model without intervals
        return None
    bounds = model.predict_interval(loaded.X.take(test), coverage=_COVERAGE)
    y = loaded.target.y[test]
    inside = (bounds[..., 0] <= y) & (y <= bounds[..., 1])
    return {
        "asked": _COVERAGE,
        "method": method,
        "promise": model.intervals_.describe(_COVERAGE),
        "coverage": np.mean(inside, axis=0),
        "mean_width": np.mean(bounds[..., 1] - bounds[..., 0], axis=0),
    }


def _save(model: Any, output: Path, force: bool, key: Any) -> None:
    """Save the model; if its folder has gone or the disk is full, in a temporary folder."""
    import tempfile

    from adacap.exceptions import AdaCapError

    try:
        model.save(output, force=force, key=key)
    except OSError as error:
        try:
            kept = Path(tempfile.mkdtemp(prefix="adacap-"), output.name)
            model.save(kept, key=key)
        except OSError:
            raise error from None
        raise AdaCapError(f"{error} The model is kept in {kept}.") from error


def _write_report(
    outcome: FitOutcome, loaded: Loaded, path: Path, output: Path, force: bool
) -> None:
    """Page about the saved model."""
    from adacap.exceptions import AdaCapError
    from adacap.report import About, write_report

    if not outcome.rows:  # too few rows for a test part
        note("No report: it needs a test part.")
        return
    X, y, (fitted, train, test) = loaded.X, loaded.target.y, outcome.rows
    numbers = loaded.numbers
    about = About(
        loaded.path.name, loaded.target.names, numbers[fitted], numbers[test], output.name
    )
    typer.echo("Writing the report", err=True)
    try:
        write_report(
            outcome.model, X.take(test), y[test], path, X_train=X.take(train), y_train=y[train],
            sample_weight=loaded.weights(train), scored_by=outcome.scorer, about=about,
            force=force,
        )  # fmt: skip
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model {output} is kept, without a report") from None
    except Exception as error:
        raise AdaCapError(
            f"The model {output} is kept, but its report could not be written: "
            f"{str(error) or type(error).__name__}"
        ) from error


def _model_facts(model: Any, n_rows: int, n_test: int, refit: bool) -> dict[str, Any]:
    return {
        "estimator": type(model).__name__,
        "n_estimators": len(model.members_),
        "fitted_on": n_rows,
        "tested_on": n_test,
        "refit": refit,
        "lambda": model.lambda_,
        "effective_dof": model.effective_dof_,
        "n_iter": model.n_iter_,
        "columns": model.encoder_.summary(),
        "split": model.settings_.split_text,
        "target_transform": getattr(model.settings_, "target_transform", None),
        "scores": None,
        "intervals": None,
    }


# ------------------------------------------------------------------------------ printing


def _say_rows(loaded: Loaded, as_json: bool) -> None:
    for text in loaded.notes:
        note(text)
    target = loaded.target
    names = ", ".join(target.names)
    say(
        f"{loaded.path.name}: {counted(loaded.n_rows, 'row')}, "
        f"{counted(loaded.X.num_columns, 'column')} to learn from. "
        f"Target: {names} ({target.task}: {target.why}).",
        as_json,
    )
    if loaded.weight is not None:
        say(
            f"Weights: {loaded.weight_name}. They count in training; scores count every test row "
            "once.",
            as_json,
        )
    if text := loaded.dependence.text():
        say(text, as_json)


def _say_columns(
    loaded: Loaded, method: str | None, transform: str | None, seed: int, as_json: bool
) -> None:
    """What becomes of the columns that are changed or dropped."""
    from adacap.cli.models import build, column_doubts, fitted_encoder
    from adacap.tables.telling import tell, told_table

    model = build(loaded.target.task, method, seed=seed, read_text=loaded.read_text)
    encoder = fitted_encoder(loaded.target, model, loaded.X)
    for text in column_doubts(loaded.target, encoder, loaded.X, transform):
        loaded.notes.append(text)
        note(text)
    told = tell(encoder.columns_)
    if told and not as_json:
        say()
        say(told_table(told))
        say()


def _say_scores(scores: dict[str, Any], intervals: Any, loaded: Loaded) -> None:
    rows = [[method, *starmap(shown_score, found.items())] for method, found in scores.items()]
    say()
    print_table(["test scores", *next(iter(scores.values()))], rows, best=0)
    if intervals is not None:
        for name, share, width in zip(
            loaded.target.names, _flat(intervals["coverage"]), _flat(intervals["mean_width"]),
            strict=True,
        ):  # fmt: skip
            of = f" of {name}" if len(loaded.target.names) > 1 else ""
            if isinf(width):  # a note has said how many rows or groups are missing
                continue
            say(
                f"{100 * intervals['asked']:.0f} % intervals{of} ({intervals['method']}) held for "
                f"{100 * share:.0f} % of the test rows; mean width {number(width)}."
            )
    say()


def _transform_text(model: Any, names: list[str]) -> str:
    """Which transform of the target is used; empty where none was asked for."""
    asked = getattr(model, "target_transform", "none")
    if asked == "none":
        return ""
    found = model.settings_.target_transform
    if not isinstance(found, str):
        found = ", ".join(f"{kind} of {name}" for kind, name in zip(found, names, strict=True))
    return f"Target transform: {found}{', found out of fold' if asked == 'auto' else ''}."


def shown_score(name: str, value: float) -> str:
    """Errors in the unit of the target have any size; other scores have four decimals."""
    if name.startswith(("RMSE", "MAE")) or value != value:
        return number(value)
    return f"{round(value, 4) + 0.0:.4f}".replace("-", "−")


def _flat(value: Any) -> list[Any]:
    return list(value) if getattr(value, "ndim", 0) else [value]


def _say_end(outcome: FitOutcome, output: Path, report: Path | None, loaded: Loaded) -> None:
    from adacap.estimators._capacity_text import source_of

    facts, source = outcome.facts, outcome.model.settings_.read_from
    if facts["lambda"] is not None and (source is None or source.weight >= 0.5):
        say(
            f"λ {number(facts['lambda'], 3)}, {number(facts['effective_dof'], 3)} effective "
            f"degrees of freedom on {counted(facts['fitted_on'], 'row')}"
            + ("." if source is None else f": read from {source_of(source)}.")
        )
    if text := _transform_text(outcome.model, loaded.target.names):
        say(text)
    if report is not None:
        say(f"Report: {report}")
    of = "all " if facts["refit"] or not facts["tested_on"] else ""
    size = size_of(output.stat().st_size)
    say(f"Model: {output} ({size}), trained on {of}{counted(facts['fitted_on'], 'row')}.")
    found = facts["intervals"]
    is_bounded = found is not None and not any(map(isinf, _flat(found["mean_width"])))
    interval = " --interval 0.9" if is_bounded else ""
    say(f"Next:  adacap predict {output} NEW.csv -o out.csv{interval}")
