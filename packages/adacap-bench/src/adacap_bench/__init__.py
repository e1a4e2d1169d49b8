"""Data sets, the benchmark, and the papers' figures measured again, for adacap.

The commands ``adacap data``, ``adacap bench`` and ``adacap reproduce`` come with it.
"""

from adacap_bench._version import __version__

__all__ = ["__version__"]
