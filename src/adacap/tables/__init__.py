"""Tables as typed columns and what becomes of each, on NumPy alone.

Shared by the estimators and ``adacap.lite``, so that a cell means the same to both.
"""
