"""Choosing a model without a hold-out: by how much better it fits the labels than permuted ones."""

from adacap.model_selection.ridge import RidgeMLR
from adacap.model_selection.score import MLRScore, mlr_score
from adacap.model_selection.search import MLRSearch
from adacap.model_selection.signal import SignalWarning

__all__ = ["MLRScore", "MLRSearch", "RidgeMLR", "SignalWarning", "mlr_score"]
