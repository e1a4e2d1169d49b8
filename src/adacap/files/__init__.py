"""The user's tables on disk: find out how they are written, read and write them in batches.

Tables are arrow tables; pyarrow comes with ``pip install 'adacap[files]'`` and is imported when the
first file is opened.
"""

from adacap.exceptions import OutputError, OutputExistsError
from adacap.files.atomic import check_writable, drafted, write_bytes, write_text
from adacap.files.errors import FileError, MissingFileError
from adacap.files.opening import open_table
from adacap.files.sniff import TextOptions
from adacap.files.source import BATCH_ROWS, Sample, Source, sample_table
from adacap.files.writing import Parts, fingerprint, write_tables

__all__ = [
    "BATCH_ROWS", "FileError", "MissingFileError", "OutputError", "OutputExistsError", "Parts",
    "Sample", "Source", "TextOptions", "check_writable", "drafted", "fingerprint", "open_table",
    "sample_table", "write_bytes", "write_tables", "write_text",
]  # fmt: skip
