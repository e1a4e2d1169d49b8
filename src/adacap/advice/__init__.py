"""Whether to use AdaCap at all: what a table is like, and which kind of model should win on it."""

from adacap.advice.advising import advise
from adacap.advice.records import Advice, ColumnRisk, Expected, Transform

__all__ = ["Advice", "ColumnRisk", "Expected", "Transform", "advise"]
