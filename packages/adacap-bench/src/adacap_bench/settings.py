"""What a result depends on besides its job: hashed, so that a change makes a new record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adacap._version import __version__
from adacap.comparison.registry import with_threads
from adacap_bench.jobs import describe, describe_function, settings_hash
from adacap_bench.plugins import Plugin, load_plugin
from adacap_bench.sources import MadeTask
from adacap_bench.split import PREPROCESSING

if TYPE_CHECKING:
    from adacap_bench.datasets import Task
    from adacap_bench.methods import Method

__all__ = ["RunSettings"]


class RunSettings:
    """Settings hashes of one run.

    The hash covers the version of adacap, the preprocessing, how the task reads and transforms
    its data, the content of a data file whose checksum the catalogue does not know, the
    parameters of the method, and the source of the plugin that registered it. It does not cover
    the versions of other packages, which every record lists, nor time limit and threads. Plugins
    are loaded here.
    """

    def __init__(
        self,
        raw_target: bool = False,
        plugins: Sequence[Plugin] = (),
        folder: str | Path | None = None,
    ) -> None:
        self.raw_target = raw_target
        self.folder = folder
        self._digests = {name: p.digest for p in plugins for name in load_plugin(p)}
        self._methods: dict[tuple[str, str], str] = {}
        self._tasks: dict[str, dict[str, Any]] = {}

    def hash(self, method: Method, task: Task | MadeTask) -> str:
        """Settings hash of the jobs of one method on one task."""
        settings = {
            "adacap": __version__,
            "preprocessing": PREPROCESSING,
            "task": self._task(task),
            "method": self._method(method, task.kind),
            "plugin": self._digests.get(method.name),
        }
        if method.probe is not None:  # not for others: their hashes are in many stores
            settings["probe"] = describe_function(method.probe)
        return settings_hash(settings)

    def _method(self, method: Method, kind: str) -> str:
        known = method.name, kind
        if known not in self._methods:
            try:
                with with_threads(1):  # threads are not settings
                    self._methods[known] = describe(method.build(kind, 0))
            except Exception as error:  # the worker fails in the same way and records it
                self._methods[known] = f"cannot be built: {type(error).__name__}"
        return self._methods[known]

    def _task(self, task: Task | MadeTask) -> dict[str, Any]:
        if isinstance(task, MadeTask):
            return {"kind": task.kind, "source": dict(task.settings)}
        if task.key not in self._tasks:
            self._tasks[task.key] = {
                "kind": task.kind,
                "reader": asdict(task.reader),
                "target": task.target,
                "transform": "none" if self.raw_target else task.transform,
                "classes": task.classes,
                "maker": task.maker,
                "options": task.options,
                "content": self._content(task),
            }
        return self._tasks[task.key]

    def _content(self, task: Task) -> str:
        from adacap_bench.datasets.places import locate

        if task.file is None:
            return ""
        if len(task.file.sha256) == 1:
            return task.file.sha256[0]
        path = locate(task.file, self.folder)
        return "absent" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
