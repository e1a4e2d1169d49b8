"""How weights move: data, the loop, scores, callbacks."""

from adacap.training.callbacks import Callback, ProgressBar, TrainingState
from adacap.training.config import TrainingConfig
from adacap.training.data import Batch, MemberRows, TrainingData
from adacap.training.history import History, Trained
from adacap.training.loop import MLRObjective, Trainer, train

__all__ = [
    "Batch",
    "Callback",
    "History",
    "MLRObjective",
    "MemberRows",
    "ProgressBar",
    "Trained",
    "Trainer",
    "TrainingConfig",
    "TrainingData",
    "TrainingState",
    "train",
]
