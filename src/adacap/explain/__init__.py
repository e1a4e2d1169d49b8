"""Why a model predicts what it predicts, and which rows it leans on.

All of it works on the user's own columns: numbers, categories, dates, missing cells.
"""

from adacap.explain.contributions import Explanation, explain
from adacap.explain.effects import Effect, Effects, effects
from adacap.explain.importance import Importance, permutation_importance
from adacap.explain.influence import Influence, influence
from adacap.explain.interactions import Interaction

__all__ = [
    "Effect", "Effects", "Explanation", "Importance", "Influence", "Interaction", "effects",
    "explain", "influence", "permutation_importance",
]  # fmt: skip
