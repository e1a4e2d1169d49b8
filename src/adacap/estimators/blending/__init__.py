"""A blend: members of several kinds and encodings, trained in the same folds and weighed.

Every member is a model per fold that never saw the fold, so that its predictions there are honest:

- kernel, ridge and trees are trained on the rows outside the fold and nothing else;
- a net's weights too, and its output layer is solved without the fold; only its iteration is chosen
  on it. This flatters nets a little, so their errors count ``NET_OPTIMISM`` times when weights are
  found; on many rows, where a fold is large, hardly more than once, which was not measured.
  docs/DEFAULTS.md has the optimism of each kind as measured on small tables.
"""

from adacap.estimators.blending.nets import NetTraining
from adacap.estimators.blending.parts import Blended, Part, blend_module, out_of_fold
from adacap.estimators.blending.weighing import NET_OPTIMISM
from adacap.estimators.blending.workshop import BUDGETS, Budget, fit_blend

__all__ = [
    "BUDGETS", "NET_OPTIMISM", "Blended", "Budget", "NetTraining", "Part",
    "blend_module", "fit_blend", "out_of_fold",
]  # fmt: skip
