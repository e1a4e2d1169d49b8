"""Model files: ``estimator.save(path)`` and ``adacap.load(path)``.

A file is one zip of ``model.json``, a description in plain data, and ``weights.safetensors``. There
is no pickle in it, and reading it runs no code taken from it. Whatever :func:`load` finds amiss it
refuses with :class:`~adacap.exceptions.ModelFileError`.
"""

from adacap.persistence.loading import load
from adacap.persistence.saving import save

__all__ = ["load", "save"]
