"""The model file: written by ``estimator.save``, read by ``adacap.load`` and ``adacap.lite.load``.

A file is one zip of ``model.json``, a description in plain data, and ``weights.safetensors``. There
is no pickle in it, and reading it runs no code taken from it. Readers refuse anything malformed
with :class:`~adacap.exceptions.ModelFileError`. Importing this package imports no torch.
"""
