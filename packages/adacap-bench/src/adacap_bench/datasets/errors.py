"""What goes wrong with data sets: absent, not as expected, not available."""

from __future__ import annotations

from adacap.exceptions import AdaCapError

__all__ = ["DataError", "DownloadError", "MissingDataError"]


class DataError(AdaCapError, ValueError):
    """A data set is there, but is not what the catalogue or its entry says."""


class MissingDataError(AdaCapError, FileNotFoundError):
    """The file of a data set is in none of the folders looked at."""


class DownloadError(AdaCapError, OSError):
    """A file could not be downloaded, or the download is not the file."""
