"""Whether new rows are like those of training: columns that moved, rows beyond reach."""

from adacap.drift.checking import check_drift
from adacap.drift.records import ColumnDrift, Drift

__all__ = ["ColumnDrift", "Drift", "check_drift"]
