"""How weights move: the loop, its data, objectives, callbacks and records."""

from adacap.training.callbacks import Callback, DofTrace, ProgressBar, TrainingState
from adacap.training.config import TrainingConfig
from adacap.training.data import MemberRows, TrainingData
from adacap.training.dithering import Dither, DitheredObjective
from adacap.training.history import History
from adacap.training.loop import Trained, train
from adacap.training.members import Members, Net
from adacap.training.objectives import MLRObjective, PlainObjective
from adacap.training.refit import solve_head

__all__ = [
    "Callback",
    "Dither",
    "DitheredObjective",
    "DofTrace",
    "History",
    "MLRObjective",
    "MemberRows",
    "Members",
    "Net",
    "PlainObjective",
    "ProgressBar",
    "Trained",
    "TrainingConfig",
    "TrainingData",
    "TrainingState",
    "solve_head",
    "train",
]
