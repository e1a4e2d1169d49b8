"""What the page of a benchmark computes from: one row per cell, small enough to embed."""

from typing import Any

import pandas as pd

from adacap_bench.metrics import METRICS, nemenyi_quantile
from adacap_bench.metrics.cells import COUNTED
from adacap_bench.metrics.scores import natural
from adacap_bench.tables import reference_of, task_names

__all__ = ["EASY_LIMIT", "report_data"]

EASY_LIMIT = 0.25


def report_data(frame: pd.DataFrame) -> dict[str, Any]:
    """Everything the page's script needs, as columns.

    Seeds of a cell are averaged. A cell whose job failed is kept without scores, so that
    the script sees the same gaps as :func:`adacap_bench.metrics.from_frame`. Cells are columns of
    equal length, tasks and methods by position.
    """
    cells = _cells(frame)
    tasks = sorted(cells["task"].unique(), key=natural)
    methods = sorted(cells["method"].unique(), key=natural)
    place_of_task = {key: i for i, key in enumerate(tasks)}
    place_of_method = {name: i for i, name in enumerate(methods)}
    columns: dict[str, list[Any]] = {
        "task": [place_of_task[key] for key in cells["task"]],
        "method": [place_of_method[name] for name in cells["method"]],
        **{name: cells[name].tolist() for name in ("split", "seeds", "fit", "predict", *METRICS)},
    }
    categories = _last(frame, "method", "category")
    return {
        "metrics": [
            {"name": m.name, "label": m.label, "greater": m.greater_is_better, "kinds": [*m.kinds]}
            for m in METRICS.values()
            if cells[m.name].notna().any()
        ],
        "tasks": _tasks(frame, tasks),
        "methods": [{"name": name, "category": categories.get(name, "")} for name in methods],
        "cells": columns,
        "quantiles": {k: nemenyi_quantile(k) for k in range(2, len(methods) + 1)},
        "reference": reference_of(methods),
        "limit": EASY_LIMIT,
    }


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean over seeds of each (task, split, method), in a stable order."""
    rows = pd.DataFrame({name: frame[name].astype(str) for name in ("task", "method")})
    rows["split"] = frame["split"].astype(int)
    counted = frame["status"].isin(COUNTED)
    for metric in METRICS.values():
        column = next((name for name in metric.columns if name in frame.columns), None)
        usable = counted & frame["kind"].isin(list(metric.kinds))
        rows[metric.name] = frame[column].astype(float).where(usable) if column else float("nan")
    scored = counted & rows[list(METRICS)].notna().any(axis=1)
    for name in ("fit", "predict"):
        column = f"{name}_seconds"
        known = frame[column].astype(float) if column in frame.columns else float("nan")
        rows[name] = pd.Series(known, index=frame.index).where(scored)
    rows["seeds"] = scored.astype(int)
    means = {name: (name, "mean") for name in (*METRICS, "fit", "predict")}
    grouped = rows.groupby(["task", "split", "method"], sort=True)
    return grouped.agg(**means, seeds=("seeds", "sum")).reset_index()


def _last(frame: pd.DataFrame, key: str, column: str) -> dict[str, str]:
    if column not in frame.columns:
        return {}
    known = frame.dropna(subset=[column])
    return dict(zip(known[key].astype(str), known[column].astype(str), strict=True))


def _tasks(frame: pd.DataFrame, keys: list[str]) -> list[dict[str, Any]]:
    names, kinds = task_names(frame), _last(frame, "task", "kind")
    sizes = {
        column: frame.groupby(frame["task"].astype(str))[column].max().to_dict()
        if column in frame.columns
        else {}
        for column in ("n_train", "n_features")
    }
    return [
        {
            "key": key,
            "name": names.get(key, ""),
            "kind": kinds.get(key, ""),
            "n": sizes["n_train"].get(key) or None,  # 0 where an imported result does not say
            "p": sizes["n_features"].get(key) or None,
        }
        for key in keys
    ]
