"""Studies of the 2021 supplement on one setting of MLR-NN at a time (D6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from adacap_bench.methods import Method
from adacap_bench.reproduce.item import Item, Row, Scale
from adacap_bench.reproduce.methods import training, variant
from adacap_bench.reproduce.studies import mlr_numbers as paper
from adacap_bench.reproduce.studies.mlr_numbers import BEIJING, BIKE, NAMES, QSAR, SLUMP, WHOLE
from adacap_bench.reproduce.studies.mlr_scales import extent, scale, splits_of
from adacap_bench.reproduce.table_item import PaperCell, RowsByLabel, Rule, table_item
from adacap_bench.reproduce.verdicts import LEAST, ClaimEffect, contrast

__all__ = ["REPLICA", "STUDIES", "depth_method"]

_SMALL, _ALL = (SLUMP, QSAR), (SLUMP, QSAR, BIKE)
_MEASURED: dict[str, Any] = {
    "extent": extent, "measure": "Test R², mean over splits", "metric": "test_r2", "digits": 3,
    "extra": {"iterations": "best_iter", "R² valid": "valid_score", "λ init": "lambda_init"},
    "y_label": "test R²",
}  # fmt: skip
_DEFAULTS = {"structured_dither": 1.0, "n_permutations": 16, "target_dither": 0.03, "width": 1024}
_STOP, REPLICA = ", divergence stop", ", replica of 2021"
PaperNumbers = Mapping[str, Mapping[Any, float]]


def _method(name: str, preset: str = "mlr-2", category: str = "AdaCap", **settings: Any) -> Method:
    """MLR-NN with a setting of one's own; where that is the default, the job that all share.

    Batches are whole, as these studies have them, but for the replica, which has its own. Fits are
    not cut by the clock, so that the load of the machine does not move them.
    """
    own = {name: value for name, value in settings.items() if _DEFAULTS.get(name) != value}
    batch = {} if preset.endswith("-2021") else {"batch_size": WHOLE}
    return variant(
        f"{preset}-{name if own else 'default'}", preset, category,
        probe=training, **{**batch, "time_limit": None, **own},
    )  # fmt: skip


def _name(value: float) -> str:
    """Number as part of a method's name."""
    return f"{value:g}".replace(".", "p").replace("-", "m").replace("+", "")


def _label(task: str, what: str, value: Any, end: str = "") -> str:
    return f"{NAMES[task]}, {what} {value:g}{end}"


def _cell(
    scale: Scale,
    task: str,
    what: str,
    value: Any,
    method: Method,
    r2: float,
    *,
    end: str = "",
    x: float | None = None,
) -> PaperCell:
    """Cell of one setting, with the start of λ that the table prints beside it."""
    shown = f"{value:g}" if isinstance(value, (int, float)) else f"by {value}"
    printed = paper.LAMBDA_INIT.get(what, {}).get(task, {}).get(value)
    return PaperCell(
        f"{NAMES[task]}, {what} {shown}{end}", task, method, r2, end.removeprefix(", "),
        value if x is None else x, NAMES[task], splits_of(scale, task),
        extra={} if printed is None else {"paper's λ init": printed},
    )  # fmt: skip


def _cells(numbers: PaperNumbers, what: str, build: Callable[[Any], Method]) -> Any:
    def cells(scale: Scale) -> list[PaperCell]:
        return [
            _cell(scale, task, what, value, build(value), r2)
            for task in scale["tasks"]
            for value, r2 in numbers[task].items()
            if value <= scale["most"]
        ]

    return cells


Finding = tuple[list[ClaimEffect], str]


def _of(
    rows: RowsByLabel, numbers: PaperNumbers, what: str, end: str = ""
) -> dict[str, dict[Any, Row]]:
    """Rows by task and value, of what was measured."""
    found = {
        task: {
            value: rows[_label(task, what, value, end)]
            for value in values
            if _label(task, what, value, end) in rows
        }
        for task, values in numbers.items()
    }
    return {task: values for task, values in found.items() if values}


def _each(
    numbers: PaperNumbers,
    what: str,
    measure: Callable[[Mapping[Any, Row]], Finding],
    end: str = "",
) -> Callable[[RowsByLabel], Finding]:
    """Rule that must hold on every data set with enough splits to decide; the others are told.

    A data set whose settings were not run so far that the rule can be read off is left out.
    """

    def check(rows: RowsByLabel) -> Finding:
        values = _of(rows, numbers, what, end)
        found: dict[str, Finding] = {}
        absent: KeyError | None = None
        for task, of_task in values.items():
            try:
                effects, text = measure(of_task)
            except KeyError as error:
                absent = error
            else:
                if effects:
                    found[task] = effects, text
        if not found:
            raise absent or KeyError(f"of {what}{end}")
        return _where_enough(found)

    return check


def _where_enough(found: Mapping[str, Finding]) -> Finding:
    """Effects of the data sets with enough splits to decide; the others are told and named."""
    n = {task: min(effect.n for effect in effects) for task, (effects, _) in found.items()}
    enough = [task for task in n if n[task] >= LEAST] or list(n)
    evidence = "; ".join(
        f"{NAMES[task]}: {text}{'' if task in enough else f' ({n[task]} splits, not judged)'}"
        for task, (_, text) in found.items()
    )
    return [effect for task in enough for effect in found[task][0]], evidence


def _above(high: Any, low: Any, by: float = 0.0) -> Callable[[Mapping[Any, Row]], Finding]:
    def measure(values: Mapping[Any, Row]) -> Finding:
        text = f"R² {values[low].ours:.3f} at {low:g}, {values[high].ours:.3f} at {high:g}"
        return [contrast([(1, values[high]), (-1, values[low])], -by)], text

    return measure


def _near_best(value: Any, within: float) -> Callable[[Mapping[Any, Row]], Finding]:
    """That no other setting is better by more than some R²."""

    def measure(values: Mapping[Any, Row]) -> Finding:
        best = max(values, key=lambda key: values[key].ours)
        text = f"R² {values[value].ours:.3f} at {value:g}, best {values[best].ours:.3f} at {best:g}"
        others = [row for key, row in values.items() if key != value]
        return [contrast([(1, values[value]), (-1, row)], within) for row in others], text

    return measure


def _flat(within: float) -> Callable[[Mapping[Any, Row]], Finding]:
    """That no two settings differ by more than some R²."""

    def measure(values: Mapping[Any, Row]) -> Finding:
        found = [row.ours for row in values.values()]
        text = f"R² between {min(found):.3f} and {max(found):.3f}"
        pairs = permutations(values.values(), 2)
        return [contrast([(1, a), (-1, b)], within) for a, b in pairs], text

    return measure


def _below(value: Any, bound: float) -> Callable[[Mapping[Any, Row]], Finding]:
    def measure(values: Mapping[Any, Row]) -> Finding:
        return [contrast([(-1, values[value])], bound)], f"R² {values[value].ours:.3f}"

    return measure


def _scales(most: float, full_most: float, tasks: Sequence[str] = _ALL) -> dict[str, Scale]:
    return {
        "quick": scale(1, (SLUMP,), most=most),
        "ledger": scale(20, _SMALL, most=most),
        "paper": scale(20, tasks, most=full_most),
    }


def _study(
    key: str,
    title: str,
    what: str,
    numbers: PaperNumbers,
    build: Callable[[Any], Method],
    rules: list[Rule],
    *,
    most: float = float("inf"),
    log_x: bool = True,
    notes: tuple[str, ...] = (),
    tasks: Sequence[str] = _ALL,
    more: Callable[[Scale], list[PaperCell]] | None = None,
) -> Item:
    cells = _cells(numbers, what, build)
    return table_item(
        key, title, f"Supplement of 2021, table of {title.lower()}",
        cells=cells if more is None else lambda scale: [*cells(scale), *more(scale)],
        rules=rules,
        scales=_scales(most, float("inf"), tasks),
        caption=f"Test R² of MLR-2 against {what}.",
        x_label=what,
        log_x=log_x,
        notes=("Batches are whole training parts, min(n, 2^14), as the section says.", *notes),
        **_MEASURED,
    )  # fmt: skip


def depth_method(depth: int) -> Method:
    """MLR-1 to MLR-4 as the table of architectures has them, batches of min(n, J) rows."""
    return variant(f"mlr-{depth}-depth", f"mlr-{depth}", "AdaCap", probe=training, time_limit=None)


def _depth_cells(scale: Scale) -> list[PaperCell]:
    return [
        PaperCell(
            _label(task, "depth", depth), task,
            depth_method(depth),
            paper.DEPTH[task][depth - 1], "", depth, NAMES[task], splits_of(scale, task),
        )
        for task in scale["tasks"]
        for depth in (1, 2, 3, 4)
    ]  # fmt: skip


def _depth_depends(rows: RowsByLabel) -> Finding:
    """That no depth is the best everywhere: each is beaten by another one on some data set."""
    told, judged = [], []
    for task, numbers in paper.DEPTH.items():
        labels = {depth: _label(task, "depth", depth) for depth in range(1, len(numbers) + 1)}
        found = {depth: rows[label] for depth, label in labels.items() if label in rows}
        if not found:
            continue
        n = min(row.experiments for row in found.values())
        few = "" if n >= LEAST else f" ({n} splits, not judged)"
        told.append(f"{max(found, key=lambda k: found[k].ours)} on {NAMES[task]}{few}")
        judged += [] if few else [found]
    text = f"best depth {', '.join(told)}"
    if len(judged) < 2:
        return [], text
    against: dict[int, list[ClaimEffect]] = {}
    for found in judged:
        for worse, better in permutations(found, 2):
            effect = contrast([(1, found[better]), (-1, found[worse])])
            against.setdefault(worse, []).append(effect)
    clearest = [max(every, key=lambda effect: effect.score or 0.0) for every in against.values()]
    trials = max(len(every) for every in against.values())
    return [replace(effect, trials=trials) for effect in clearest], text


def _rule_is_good(rows: RowsByLabel) -> Finding:
    found: dict[str, Finding] = {}
    for task, values in _of(rows, paper.LAMBDA, "λ_init").items():
        chosen = rows[f"{NAMES[task]}, λ_init by rule"]
        best = max(row.ours for row in values.values())
        effects = [contrast([(1, chosen), (-0.97, row)]) for row in values.values()]
        found[task] = effects, f"R² {chosen.ours:.3f} by rule, best of the grid {best:.3f}"
    return _where_enough(found)


def _lambda_method(lam: float) -> Method:
    if lam == 0:  # what the code of 2021 turns into the plain net
        return _method("lambda-0", category="DNN", scheme="plain")
    return _method(f"lambda-{_name(lam)}", lambda_init=lam)


def _lambda_cells(scale: Scale) -> list[PaperCell]:
    cells = []
    for task in scale["tasks"]:
        cells += [
            _cell(scale, task, "λ_init", lam, _lambda_method(lam), r2, x=lam or _AT_ZERO)
            for lam, r2 in paper.LAMBDA[task].items()
        ]
        cells += [
            _cell(
                scale,
                task,
                "λ_init",
                "rule",
                _method("default", preset),
                paper.LAMBDA_BY_RULE[task],
                end=end,
                x=x,
            )
            for preset, end, x in (("mlr-2", "", 1e2), ("mlr-2-2021", REPLICA, 2e2))
        ]
        plain = _method("lambda-0", "mlr-2-2021", "DNN", scheme="plain-mse")
        r2 = paper.LAMBDA[task][0.0]
        cells.append(_cell(scale, task, "λ_init", 0.0, plain, r2, end=REPLICA, x=_AT_ZERO))
    return cells  # fmt: skip


_AT_ZERO = 1e-4  # where the figure has λ = 0


def _diverging_cells(scale: Scale) -> list[PaperCell]:
    """σ of 1 and more by the replica, and with its stop alone, which does not touch σ = 1."""
    cells = []
    for task in scale["tasks"]:
        for sigma in (1.0, 2.0, 3.0):
            name = f"structured-{_name(sigma)}"
            r2 = paper.STRUCTURED[task][sigma]
            if sigma > 1:
                stop = _method(f"{name}-stop", structured_dither=sigma, reading="divergence-stop")
                cells.append(_cell(scale, task, "σ", sigma, stop, r2, end=_STOP))
            replica = _method(name, "mlr-2-2021", structured_dither=sigma)
            cells.append(_cell(scale, task, "σ", sigma, replica, r2, end=REPLICA))
    return cells


STUDIES: tuple[Item, ...] = (
    _study(
        "d6-structured", "Structured dithering", "σ", paper.STRUCTURED,
        lambda sigma: _method(f"structured-{_name(sigma)}", structured_dither=sigma),
        [
            Rule(
                "σ = 1 is consistently good: within 0.03 of the best",
                _each(paper.STRUCTURED, "σ", _near_best(1.0, 0.03)),
            ),
            Rule(
                "Higher values of σ lead to a significant degradation",
                _each(paper.STRUCTURED, "σ", _above(1.0, 3.0, 0.05)),
            ),
            Rule(
                "Higher values of σ lead to a significant degradation, by the code of 2021",
                _each(paper.STRUCTURED, "σ", _above(1.0, 3.0, 0.05), REPLICA),
            ),
        ],
        log_x=False,
        more=_diverging_cells,
        notes=(
            "Divergence stop (a reading of that name) ends the training once the fit of the true "
            "labels is above 1, as the code of 2021 does, so that the first iteration is kept. The "
            "replica of 2021 has all settings of that code, the stop among them.",
        ),
    ),
    _study(
        "d6-permutations", "Permutations", "T", paper.PERMUTATIONS,
        lambda T: _method(f"permutations-{T}", n_permutations=T),
        [
            Rule(
                "Permutations help: T = 16 is better than T = 0",
                _each(paper.PERMUTATIONS, "T", _above(16, 0)),
            ),
            Rule(
                "From T = 4 on little changes: T = 16 is within 0.02 of the best",
                _each(paper.PERMUTATIONS, "T", _near_best(16, 0.02)),
            ),
        ],
        most=256, log_x=False,
    ),
    table_item(
        "d6-lambda", "Start of λ", "Supplement of 2021, table of λ_init",
        cells=_lambda_cells,
        rules=[
            Rule("The rule is within 3 % of the best of the grid", _rule_is_good),
            Rule(
                "The start of λ is very impactful: 1000 is better than 0.001 by 0.1",
                _each(paper.LAMBDA, "λ_init", _above(1e3, 1e-3, 0.1)),
            ),
        ],
        scales=_scales(float("inf"), float("inf")),
        caption="Test R² of MLR-2 against the start of λ; the rule is drawn at 100, 0 at 0.0001.",
        x_label="λ_init",
        log_x=True,
        notes=(
            "λ_init = 0 is the plain net, without the ridge layer and without permutations, as in "
            "the code of 2021. Its replica ends that net at once, since its fit is above 1 from "
            "the start: that is the table's row, not what such a net can learn.",
            "By rule, the replica of 2021 has the printed λ_init; the text of the supplement "
            "starts lower.",
        ),
        **_MEASURED,
    ),
    _study(
        "d6-dither", "Dither of the target", "σ̃", paper.DITHER,
        lambda sigma: _method(f"dither-{_name(sigma)}", target_dither=sigma),
        [
            Rule(
                "Some noise on the target does not hurt: 0.03 is within 0.02 of none",
                _each(paper.DITHER, "σ̃", _above(0.03, 0.0, -0.02)),
            ),
            Rule(
                "Its scale matters little: R² varies by less than 0.05",
                _each(paper.DITHER, "σ̃", _flat(0.05)),
            ),
        ],
        log_x=False,
    ),
    _study(
        "d6-width", "Width", "J", paper.WIDTH,
        lambda J: _method(f"width-{J}", width=J),
        [
            Rule(
                "Wide nets generalise better: 1024 above 16",
                _each(paper.WIDTH, "J", _above(1024, 16)),
            ),
            Rule(
                "J = 1024 is good: within 0.03 of the best",
                _each(paper.WIDTH, "J", _near_best(1024, 0.03)),
            ),
        ],
        most=1024,
    ),
    _study(
        "d6-batch", "Batch size", "batch", paper.BATCH,
        lambda size: _method(f"batch-{size}-frozen", batch_size=size, reading="frozen-head"),
        [
            Rule(
                "As big as possible: the whole training part is better than batches of 16",
                _each(paper.BATCH, "batch", _above(WHOLE, 16)),
            ),
            Rule(
                "A batch of one row learns nothing: R² below 0.1",
                _each(paper.BATCH, "batch", _below(1, 0.1)),
            ),
        ],
        notes=(
            f"{WHOLE} stands for the whole training part.",
            "The output layer is the one that the minibatch of the best iteration gave (reading "
            "frozen-head): solved again on all rows, a batch of one row has R² near 0.5.",
            "Beijing has the rows of the paper of 2022, those with a target; the supplement has "
            "43824.",
        ),
        tasks=(*_ALL, BEIJING),
    ),
    table_item(
        "d6-depth", "Depth", "Supplement of 2021, table of depths",
        cells=_depth_cells,
        rules=[Rule("The best depth depends on the data", _depth_depends)],
        scales={
            "quick": scale(1, ("mlr-regression12", SLUMP)),
            "ledger": scale(10, tuple(paper.DEPTH)[:9]),
            "paper": scale(10, tuple(paper.DEPTH)),
        },
        caption="Test R² of MLR-1 to MLR-4.",
        x_label="hidden layers",
        **_MEASURED,
    ),
)  # fmt: skip
