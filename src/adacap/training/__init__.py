"""How weights move: data, the loop, scores, callbacks."""

from adacap.training.callbacks import Callback, EarlyStopping, ProgressBar, StopAbove, TrainingState
from adacap.training.config import TrainingConfig
from adacap.training.data import Batch, MemberRows, TrainingData
from adacap.training.history import History, Trained
from adacap.training.loop import MLRObjective, Trainer, train

__all__ = [
    "Batch", "Callback", "EarlyStopping", "History", "MLRObjective", "MemberRows", "ProgressBar",
    "StopAbove", "Trained", "Trainer", "TrainingConfig", "TrainingData", "TrainingState", "train",
]  # fmt: skip
