"""Work that outlives the process: a long fit saves what it has, and resumes from there."""

from adacap.checkpoint.journal import Checkpoint

__all__ = ["Checkpoint"]
