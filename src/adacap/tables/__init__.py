"""Tables as typed columns and how each is encoded, on NumPy alone.

Shared by the estimators and ``adacap.lite``, so that a cell means the same to both.
"""
