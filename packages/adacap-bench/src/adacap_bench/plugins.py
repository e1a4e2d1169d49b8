"""User-defined methods: a Python file that calls ``register``, sent to every worker."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from adacap.exceptions import AdaCapError
from adacap_bench import methods

__all__ = ["MissingPluginError", "Plugin", "PluginError", "load_plugin"]


class PluginError(AdaCapError, ValueError):
    """A plugin file cannot be read or run."""


class MissingPluginError(PluginError, FileNotFoundError):
    """There is no such plugin file."""


@dataclass(frozen=True)
class Plugin:
    """Source of a plugin, so that a worker on another machine needs no file."""

    path: str  # where it was read; named in tracebacks
    source: str

    @classmethod
    def read(cls, path: str | Path) -> Plugin:
        """Read a plugin without running it."""
        path = Path(path)
        if not path.is_file():
            raise MissingPluginError(
                f"There is no plugin file {path}. Give the path of a .py file."
            )
        try:
            return cls(str(path.resolve()), path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise PluginError(f"Plugin {path} cannot be read as text in UTF-8: {error}.") from error

    @property
    def digest(self) -> str:
        """Changes with the source, and so does the settings hash of the plugin's methods."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]


# What each file registered: path -> (digest of its source, names).
_loaded: dict[str, tuple[str, tuple[str, ...]]] = {}


def load_plugin(plugin: Plugin) -> tuple[str, ...]:
    """Run a plugin, once per process and again if it was edited; names of the methods it registers.

    If it fails, what it registered before that is removed again.

    Examples
    --------
    >>> load_plugin(Plugin("empty.py", "x = 1"))
    ()
    """
    digest, names = _loaded.get(plugin.path, ("", ()))
    if digest == plugin.digest and all(name in methods.METHODS for name in names):
        return names
    for name in names:  # of the source before the edit
        methods.METHODS.pop(name, None)
    before = set(methods.METHODS)
    try:
        _execute(plugin)
    except (Exception, SystemExit) as error:  # sys.exit() would end the run as if all were done
        for name in set(methods.METHODS) - before:
            del methods.METHODS[name]
        message = f"Plugin {plugin.path} failed: {type(error).__name__}: {error}"
        raise PluginError(message) from error
    names = tuple(name for name in methods.METHODS if name not in before)
    _loaded[plugin.path] = plugin.digest, names
    return names


def _execute(plugin: Plugin) -> None:
    name = f"adacap_plugin_{plugin.digest}"
    module = ModuleType(name)
    module.__file__ = plugin.path
    sys.modules[name] = module  # before it runs, as for any module, so that classes can be pickled
    exec(compile(plugin.source, plugin.path, "exec"), module.__dict__)
