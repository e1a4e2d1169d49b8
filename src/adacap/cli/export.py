"""``adacap export``: a model as an ONNX graph, checked before it is put in place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, say
from adacap.text import size_of

__all__ = ["export"]

_TOLERANCE = {"float64": 1e-5, "float32": 1e-3}
_MOST_ROWS = 10_000  # of the user's table, to check on


@command
def export(
    model: option.Model,
    onnx: Annotated[Path, typer.Option(help="ONNX file to write.")],
    data: Annotated[
        Path | None, typer.Option(help="Table to check on; synthetic rows by default.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float64 or float32, of numbers.")] = "float64",
    missing_text: Annotated[str, typer.Option(help="String for a missing text cell.")] = "",
    interval: Annotated[
        str | None, typer.Option(help="Coverage of lower and upper bounds, such as 0.9.")
    ] = None,
    key_file: option.KeyFile = None,
    force: option.Force = False,
    as_json: option.AsJson = False,
) -> None:
    """Write a model as one ONNX graph of preprocessing, networks and output layer.

    The graph is run by onnxruntime and compared with the model; it is not written if it differs.
    """
    from adacap.cli.loading import load_model
    from adacap.exceptions import AdaCapError, suggest
    from adacap.export import compare_onnx, onnx_inputs, to_onnx
    from adacap.files import check_writable, drafted

    check_writable(onnx, force)
    option.refuse_same({"MODEL": model, "--data": data, "--onnx": onnx, "--key-file": key_file})
    if dtype not in ("float64", "float32"):
        raise UsageError(suggest(dtype, _TOLERANCE, "dtype"))
    kind: Any = dtype
    levels = option.shares(interval, "--interval", "0.9")
    coverage: Any = (levels[0] if len(levels) == 1 else levels) or None
    estimator = load_model(model, key_file)
    X, what = _rows(estimator, data)
    with drafted(onnx, force) as draft:
        to_onnx(estimator, draft, dtype=kind, missing_text=missing_text, coverage=coverage)
        difference = None
        if _can_check():
            difference = compare_onnx(
                estimator, draft, X, dtype=kind, missing_text=missing_text, coverage=coverage
            )
            if not difference <= _TOLERANCE[dtype]:
                raise AdaCapError(
                    f"The graph differs from the model by {difference:.2g} on {what}, more than "
                    f"{_TOLERANCE[dtype]:g}: nothing was written."
                )
    inputs = {
        name: str(array.dtype) for name, array in onnx_inputs(estimator, X[:1], dtype=kind).items()
    }
    if as_json:
        print_json(
            {
                "model": str(model),
                "onnx": str(onnx),
                "bytes": onnx.stat().st_size,
                "difference": difference,
                "checked_on": what if difference is not None else None,
                "inputs": inputs,
                "outputs": _outputs(estimator, coverage),
            }
        )
        return
    say(f"{onnx} ({size_of(onnx.stat().st_size)})")
    say(f"Inputs: {', '.join(inputs)}. Outputs: {', '.join(_outputs(estimator, coverage))}.")
    if difference is None:
        note("Not checked: onnxruntime is missing. Run: pip install 'adacap[onnx]'")
    else:
        say(f"Largest difference from the model: {difference:.2g}, on {what}.")


def _can_check() -> bool:
    import importlib.util

    return importlib.util.find_spec("onnxruntime") is not None


def _outputs(estimator: Any, coverage: Any) -> list[str]:
    if hasattr(estimator, "predict_proba"):
        return ["prediction", "probabilities"]
    return ["prediction"] if coverage is None else ["prediction", "lower", "upper"]


def _rows(estimator: Any, data: Path | None) -> tuple[Any, str]:
    """Rows to compare graph and model on."""
    if data is None:
        rows = _synthetic_rows(estimator.encoder_)
        return rows, f"{len(rows)} synthetic rows"
    from adacap.cli.loading import file_kinds, find_columns
    from adacap.files import FileError, open_table

    names = estimator.encoder_.names_
    source = open_table(data, names or ())
    columns = find_columns(estimator, source) or list(source.names)
    kinds = file_kinds(estimator, columns)
    batch = next(source.batches(columns, kinds=kinds, rows=_MOST_ROWS), None)
    if batch is None:
        raise FileError(f"{data} has no rows.")
    return batch, f"{batch.num_rows} rows of {data.name}"


# ---------------------------------------------------------------------------- synthetic rows


_N_ROWS, _DAY = 256, 86_400.0


def _synthetic_rows(encoder: Any, n_rows: int = _N_ROWS, seed: int = 0) -> Any:
    """Arrow table of numbers, levels, dates, missing cells and levels never seen.

    Examples
    --------
    >>> from adacap.estimators import TableEncoder
    >>> from adacap.tables.table import read_table
    >>> encoder = TableEncoder().fit(read_table([[1.0, "a"], [2.0, "b"], [4.0, "a"]]))
    >>> _synthetic_rows(encoder, 4).shape
    (4, 2)
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    columns = [_cells(plan, encoder.policy, n_rows, rng) for plan in encoder.columns_]
    if encoder.names_ is None:
        rows = np.empty((n_rows, len(columns)), dtype=object)
        for j, cells in enumerate(columns):
            rows[:, j] = cells
        numeric = all(plan.kind in ("numeric", "boolean") for plan in encoder.columns_)
        return rows.astype(np.float64) if numeric else rows
    import pyarrow as pa

    arrays = [
        _array(cells, plan.kind, pa) for cells, plan in zip(columns, encoder.columns_, strict=True)
    ]
    return pa.table(dict(zip(encoder.names_, arrays, strict=True)))


def _array(cells: list[Any], kind: str, pa: Any) -> Any:
    if kind == "datetime":
        return pa.array(
            [None if cell is None else round(cell * 1e6) for cell in cells], pa.timestamp("us")
        )
    types = {"categorical": pa.string(), "boolean": pa.bool_(), "numeric": pa.float64()}
    if kind == "boolean":
        cells = [None if cell is None else bool(cell) for cell in cells]
    return pa.array(cells, types[kind])


def _cells(plan: Any, policy: str, n_rows: int, rng: Any) -> list[Any]:
    """Cells of one column; dates in seconds."""
    levels = [level for part in plan.parts for level in getattr(part, "levels", ())]
    known = [level for level in levels if level is not None]
    if plan.kind == "categorical":
        choices: list[Any] = [*map(str, known[:1000]), "never seen before", None]
        return [choices[k] for k in rng.integers(len(choices), size=n_rows)]
    if plan.kind == "boolean":
        choices = [0.0, 1.0] if policy == "none" else [0.0, 1.0, None]
        return [choices[k] for k in rng.integers(len(choices), size=n_rows)]
    values = _numbers(plan, known, n_rows, rng)
    if plan.kind == "datetime":
        values = (values * _DAY).clip(-2e9, 7e9)
    missing = rng.random(n_rows) < (0.0 if policy == "none" else 0.1)
    return [None if gone else float(v) for v, gone in zip(values, missing, strict=True)]


def _numbers(plan: Any, known: list[Any], n_rows: int, rng: Any) -> Any:
    """Numbers about as far out as those of training, and some of the known ones."""
    center, scale = 0.0, 1.0
    for part in plan.parts:
        center = getattr(part, "center", getattr(part, "fill", center))
        scale = getattr(part, "scale", scale)
    values = center + 2.0 * scale * rng.standard_normal(n_rows)
    if known:
        pick = rng.random(n_rows) < 0.5
        values[pick] = rng.choice([float(level) for level in known], size=int(pick.sum()))
    return values
