"""The user's tables on disk: find out how they are written, read and write them in batches.

Tables are arrow tables; pyarrow comes with ``pip install 'adacap[files]'`` and is imported when the
first file is opened.
"""

from adacap.files.errors import FileError, MissingFileError, OutputExistsError
from adacap.files.opening import open_table
from adacap.files.parts import Parts, fingerprint
from adacap.files.sampling import Sample, sample_table
from adacap.files.sniff import TextOptions
from adacap.files.source import BATCH_ROWS, Source
from adacap.files.writing import check_output, drafted, write_tables

__all__ = [
    "BATCH_ROWS",
    "FileError",
    "MissingFileError",
    "OutputExistsError",
    "Parts",
    "Sample",
    "Source",
    "TextOptions",
    "check_output",
    "drafted",
    "fingerprint",
    "open_table",
    "sample_table",
    "write_tables",
]
