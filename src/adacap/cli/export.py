"""``adacap export``: a model as an ONNX graph, checked before it is put in place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adacap.cli.common import (
    AsJson,
    Force,
    KeyFile,
    UsageError,
    command,
    note,
    print_json,
    refuse_same,
    say,
    shares,
    size_of,
)

__all__ = ["export"]

_TOLERANCE = {"float64": 1e-5, "float32": 1e-3}
_MOST_ROWS = 10_000  # of the user's table, to check on


@command
def export(
    model: Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")],
    onnx: Annotated[Path, typer.Option(help="ONNX file to write.")],
    data: Annotated[
        Path | None, typer.Option(help="Table to check on; synthetic rows by default.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float64 or float32, of numbers.")] = "float64",
    missing_text: Annotated[str, typer.Option(help="String for a missing text cell.")] = "",
    interval: Annotated[
        str | None, typer.Option(help="Coverage of lower and upper bounds, such as 0.9.")
    ] = None,
    key_file: KeyFile = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a model as one ONNX graph of preprocessing, networks and output layer.

    The graph is run by onnxruntime and compared with the model; it is not written if it differs.
    """
    from adacap.cli.loading import load_model
    from adacap.exceptions import AdaCapError, suggest
    from adacap.export import compare_onnx, onnx_inputs, to_onnx
    from adacap.files import check_writable, drafted

    check_writable(onnx, force)
    refuse_same({"MODEL": model, "--data": data, "--onnx": onnx, "--key-file": key_file})
    if dtype not in ("float64", "float32"):
        raise UsageError(suggest(dtype, _TOLERANCE, "dtype"))
    kind: Any = dtype
    levels = shares(interval, "--interval", "0.9")
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
        from adacap.cli.made_up import synthetic_rows

        rows = synthetic_rows(estimator.encoder_)
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
