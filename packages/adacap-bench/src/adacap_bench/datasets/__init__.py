"""Data sets: a catalogue of tasks, loading, downloading, and the user's own tables."""

from __future__ import annotations

from adacap_bench.datasets.catalogue import SUITES, catalogue, find_suite, find_task, find_tasks
from adacap_bench.datasets.errors import DataError, DownloadError, MissingDataError
from adacap_bench.datasets.fetching import fetch
from adacap_bench.datasets.loading import load_table
from adacap_bench.datasets.mnist import load_digit_images, load_mnist
from adacap_bench.datasets.tasks import Task, TaskTable

__all__ = [
    "SUITES",
    "DataError",
    "DownloadError",
    "MissingDataError",
    "Task",
    "TaskTable",
    "catalogue",
    "fetch",
    "find_suite",
    "find_task",
    "find_tasks",
    "load_digit_images",
    "load_mnist",
    "load_table",
]
