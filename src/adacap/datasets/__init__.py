"""Data sets: a catalogue of tasks, loading, downloading, and the user's own tables."""

from __future__ import annotations

from adacap.datasets.catalogue import SUITES, catalogue, find_suite, find_task, find_tasks
from adacap.datasets.errors import DataError, DownloadError, MissingDataError
from adacap.datasets.fetching import fetch
from adacap.datasets.loading import load_table
from adacap.datasets.mnist import load_digit_images, load_mnist
from adacap.datasets.tasks import Table, Task

__all__ = [
    "SUITES",
    "DataError",
    "DownloadError",
    "MissingDataError",
    "Table",
    "Task",
    "catalogue",
    "fetch",
    "find_suite",
    "find_task",
    "find_tasks",
    "load_digit_images",
    "load_mnist",
    "load_table",
]
