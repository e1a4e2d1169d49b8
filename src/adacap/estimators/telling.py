"""What ``fit`` says of the columns: a table where it may speak, a warning for what was lost."""

from __future__ import annotations

import warnings

from adacap.estimators.encoder import TableEncoder
from adacap.tables.telling import lost_columns, tell, told_table

__all__ = ["tell_columns"]


def tell_columns(encoder: TableEncoder, verbose: int | bool, stacklevel: int) -> None:
    """Print what became of columns that were not taken as they stand; warn of those lost.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    verbose : int or bool
        Whether to print; columns that held something and were dropped are warned of in any case.
    stacklevel : int
        Of the warning, counted from the caller.
    """
    if verbose and (told := tell(encoder.columns_)):
        print(told_table(told))
    if lost := lost_columns(encoder.columns_):
        way_out = "Drop them yourself, or turn them into numbers, dates or fewer categories."
        warnings.warn(f"{lost} {way_out}", stacklevel=stacklevel + 1)
