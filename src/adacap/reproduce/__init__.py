"""The reproduction ledger: every figure, table and theorem of the paper, measured again.

Each item says which jobs the benchmark's runner is to do, which numbers of the paper they stand
beside, and which rule decides each claim. Importing this loads no tensor library.
"""

from adacap.reproduce.evidence import Evidence, EvidenceError, read_evidence, read_folder
from adacap.reproduce.item import SCALES, Claim, Item, Outcome, Row, Scale
from adacap.reproduce.ledger import write_ledger
from adacap.reproduce.registry import UnknownItemError, find_items, items
from adacap.reproduce.results import NoResultError, UnfinishedError
from adacap.reproduce.running import Machine, reproduce, write_all

__all__ = [
    "SCALES",
    "Claim",
    "Evidence",
    "EvidenceError",
    "Item",
    "Machine",
    "NoResultError",
    "Outcome",
    "Row",
    "Scale",
    "UnfinishedError",
    "UnknownItemError",
    "find_items",
    "items",
    "read_evidence",
    "read_folder",
    "reproduce",
    "write_all",
    "write_ledger",
]
