"""Work that outlives the process: a long fit writes what it has, and goes on from there."""

from adacap.checkpoint.journal import Checkpoint

__all__ = ["Checkpoint"]
