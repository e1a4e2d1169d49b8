"""Members of a blend that are no nets: kernel, trees, ridge; and how members are weighed.

Every member is trained once per fold, on the rows outside it, so that its predictions on the fold
are honest: the rows it is judged by played no part in it.
"""
