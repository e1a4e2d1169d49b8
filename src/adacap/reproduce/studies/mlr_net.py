"""Studies of the 2021 supplement on one setting of MLR-NN at a time (D6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adacap.bench.methods import Method
from adacap.reproduce.item import Item, Scale
from adacap.reproduce.methods import training, variant
from adacap.reproduce.studies import mlr_numbers as paper
from adacap.reproduce.studies.mlr_numbers import BIKE, NAMES, QSAR, SLUMP, WHOLE
from adacap.reproduce.table_item import Cell, Rows, Rule, table_item

__all__ = ["STUDIES"]

_ALL = (SLUMP, QSAR, BIKE)
_EXTRA = {"iterations": "best_iter", "R² valid": "valid_score", "λ init": "lambda_init"}
Numbers = Mapping[str, Mapping[Any, float]]


def _method(name: str, preset: str = "mlr-2", **settings: Any) -> Method:
    """MLR-NN with whole batches, as these studies have them, and a setting of one's own."""
    whole = {"batch_size": WHOLE, **settings}
    return variant(f"{preset}-{name}", preset, "AdaCap", probe=training, **whole)


def _name(value: float) -> str:
    """Number as part of a method's name."""
    return f"{value:g}".replace(".", "p").replace("-", "m").replace("+", "")


def _label(task: str, what: str, value: Any) -> str:
    return f"{NAMES[task]}, {what} {value:g}"


def _cells(numbers: Numbers, what: str, build: Callable[[Any], Method]) -> Any:
    def cells(scale: Scale) -> list[Cell]:
        return [
            Cell(_label(task, what, value), task, build(value), r2, "", value, NAMES[task])
            for task in scale["tasks"]
            for value, r2 in numbers[task].items()
            if value <= scale["most"]
        ]

    return cells


def _of(rows: Rows, numbers: Numbers, what: str) -> dict[str, dict[Any, float]]:
    """R² by task and value, of what was measured."""
    found = {
        task: {
            value: rows[_label(task, what, value)].ours
            for value in values
            if _label(task, what, value) in rows
        }
        for task, values in numbers.items()
    }
    return {task: values for task, values in found.items() if values}


def _each(
    numbers: Numbers, what: str, test: Callable[[Mapping[Any, float]], tuple[bool, str]]
) -> Callable[[Rows], tuple[bool, str]]:
    """Rule that must hold on every data set."""

    def check(rows: Rows) -> tuple[bool, str]:
        verdicts = {task: test(values) for task, values in _of(rows, numbers, what).items()}
        evidence = "; ".join(f"{NAMES[task]}: {text}" for task, (_, text) in verdicts.items())
        return all(holds for holds, _ in verdicts.values()), evidence

    return check


def _above(high: Any, low: Any, by: float = 0.0) -> Callable[..., tuple[bool, str]]:
    def test(values: Mapping[Any, float]) -> tuple[bool, str]:
        text = f"R² {values[low]:.3f} at {low:g}, {values[high]:.3f} at {high:g}"
        return values[high] > values[low] + by, text

    return test


def _near_best(value: Any, within: float) -> Callable[..., tuple[bool, str]]:
    def test(values: Mapping[Any, float]) -> tuple[bool, str]:
        best = max(values, key=lambda key: values[key])
        text = f"R² {values[value]:.3f} at {value:g}, best {values[best]:.3f} at {best:g}"
        return values[value] >= values[best] - within, text

    return test


def _flat(within: float) -> Callable[..., tuple[bool, str]]:
    def test(values: Mapping[Any, float]) -> tuple[bool, str]:
        low, high = min(values.values()), max(values.values())
        return high - low <= within, f"R² between {low:.3f} and {high:.3f}"

    return test


def _scales(most: float, full_most: float) -> dict[str, Scale]:
    return {
        "quick": Scale(1, 1, {"tasks": (SLUMP,), "most": most}),
        "ledger": Scale(2, 1, {"tasks": (SLUMP, QSAR), "most": most}),
        "full": Scale(100, 1, {"tasks": _ALL, "most": full_most}),
    }


def _extent(scale: Scale) -> str:
    names = ", ".join(NAMES[task] for task in scale["tasks"])
    return f"{names}: {scale.splits} splits × {scale.seeds} seeds"


def _study(
    key: str,
    title: str,
    what: str,
    numbers: Numbers,
    build: Callable[[Any], Method],
    rules: list[Rule],
    *,
    most: float = float("inf"),
    log_x: bool = True,
    notes: tuple[str, ...] = (),
) -> Item:
    return table_item(
        key, title, f"Supplement of 2021, table of {title.lower()}",
        cells=_cells(numbers, what, build),
        rules=rules,
        scales=_scales(most, float("inf")),
        extent=_extent,
        measure="Test R², mean over splits",
        metric="test_r2",
        digits=3,
        extra=_EXTRA,
        caption=f"Test R² of MLR-2 against {what}.",
        x_label=what,
        y_label="test R²",
        log_x=log_x,
        notes=("Batches are whole training parts, min(n, 2^14), as the section says.", *notes),
    )  # fmt: skip


def _depth_cells(scale: Scale) -> list[Cell]:
    return [
        Cell(
            _label(task, "depth", depth), task,
            variant(f"mlr-{depth}-depth", f"mlr-{depth}", "AdaCap", probe=training),
            paper.DEPTH[task][depth - 1], "", depth, NAMES[task],
        )
        for task in scale["tasks"]
        for depth in (1, 2, 3, 4)
    ]  # fmt: skip


def _depth_depends(rows: Rows) -> tuple[bool | None, str]:
    best = {}
    for task, numbers in paper.DEPTH.items():
        labels = {depth: _label(task, "depth", depth) for depth in range(1, len(numbers) + 1)}
        found = {depth: rows[label].ours for depth, label in labels.items() if label in rows}
        if found:
            best[NAMES[task]] = max(found, key=lambda depth: found[depth])
    text = "best depth " + ", ".join(f"{depth} on {name}" for name, depth in best.items())
    return (None if len(best) < 2 else len(set(best.values())) > 1), text


def _rule_is_good(rows: Rows) -> tuple[bool, str]:
    shares = {}
    for task, values in _of(rows, paper.LAMBDA, "λ_init").items():
        chosen = rows[f"{NAMES[task]}, λ_init by rule"].ours
        shares[NAMES[task]] = chosen, max(values.values())
    text = "; ".join(
        f"{name}: R² {chosen:.3f} by rule, best of the grid {best:.3f}"
        for name, (chosen, best) in shares.items()
    )
    mean = sum(chosen / best for chosen, best in shares.values()) / len(shares)
    return mean >= 0.97, text


def _lambda_cells(scale: Scale) -> list[Cell]:
    fixed = _cells(
        paper.LAMBDA, "λ_init", lambda lam: _method(f"lambda-{_name(lam)}", lambda_init=lam)
    )
    by_rule = [
        Cell(
            f"{NAMES[task]}, λ_init by rule", task, _method("lambda-rule"),
            paper.LAMBDA_BY_RULE[task], "by rule", 1e2, NAMES[task],
        )
        for task in scale["tasks"]
    ]  # fmt: skip
    return [*fixed(scale), *by_rule]


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
        ],
        log_x=False,
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
            Rule("The rule is within 3 % of the best of the grid, on average", _rule_is_good),
            Rule(
                "The start of λ is very impactful: 1000 is better than 0.001 by 0.1",
                _each(paper.LAMBDA, "λ_init", _above(1e3, 1e-3, 0.1)),
            ),
        ],
        scales=_scales(float("inf"), float("inf")),
        extent=_extent,
        measure="Test R², mean over splits",
        metric="test_r2",
        digits=3,
        extra=_EXTRA,
        caption="Test R² of MLR-2 against the start of λ; the rule is drawn at 100.",
        x_label="λ_init",
        y_label="test R²",
        log_x=True,
        notes=("λ_init = 0 of the table is left out: λ must be positive.",),
    ),
    _study(
        "d6-dither", "Dither of the target", "σ̃", paper.DITHER,
        lambda sigma: _method(f"dither-{_name(sigma)}", target_dither=sigma),
        [
            Rule(
                "Some noise on the target does not hurt: 0.03 is within 0.02 of none",
                _each(paper.DITHER, "σ̃", lambda v: (v[0.03] > v[0.0] - 0.02,
                      f"R² {v[0.0]:.3f} without, {v[0.03]:.3f} at 0.03")),
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
        lambda size: _method(f"batch-{size}", batch_size=size),
        [
            Rule(
                "As big as possible: the whole training part is better than batches of 16",
                _each(paper.BATCH, "batch", _above(WHOLE, 16)),
            ),
            Rule(
                "A batch of one row learns nothing: R² below 0.1",
                _each(paper.BATCH, "batch", lambda v: (v[1] < 0.1, f"R² {v[1]:.3f}")),
            ),
        ],
        notes=(f"{WHOLE} stands for the whole training part.",),
    ),
    table_item(
        "d6-depth", "Depth", "Supplement of 2021, table of depths",
        cells=_depth_cells,
        rules=[Rule("The best depth depends on the data", _depth_depends)],
        scales={
            "quick": Scale(1, 1, {"tasks": ("mlr-regression12", SLUMP)}),
            "ledger": Scale(2, 1, {"tasks": ("mlr-regression12", SLUMP, "mlr-regression2", QSAR)}),
            "full": Scale(100, 1, {"tasks": tuple(paper.DEPTH)}),
        },
        extent=_extent,
        measure="Test R², mean over splits",
        metric="test_r2",
        digits=3,
        extra=_EXTRA,
        caption="Test R² of MLR-1 to MLR-4.",
        x_label="hidden layers",
        y_label="test R²",
    ),
)  # fmt: skip
