"""Members of a blend that are not nets: kernel, trees, ridge; and how members are weighted.

Every member is trained once per fold, on the rows outside it, so that its predictions on the fold
are honest: it was not trained on the rows it is judged by.
"""
