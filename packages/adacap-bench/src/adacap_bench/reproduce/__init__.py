"""The reproduction ledger: every figure, table and theorem of the paper, measured again.

Each item says which jobs the benchmark's runner is to do, which numbers of the paper they stand
beside, and which rule decides each claim. Importing this loads no tensor library.
"""

from adacap_bench.reproduce.costs import cheapest_first
from adacap_bench.reproduce.item import SCALES, Claim, Item, Outcome, Row, Scale
from adacap_bench.reproduce.item_record import (
    ItemRecord,
    ItemRecordError,
    read_folder,
    read_item_record,
)
from adacap_bench.reproduce.ledger import write_ledger
from adacap_bench.reproduce.registry import UnknownItemError, find_items, items
from adacap_bench.reproduce.results import NoResultError, UnfinishedError
from adacap_bench.reproduce.running import Machine, reproduce, write_all

__all__ = [
    "SCALES",
    "Claim",
    "Item",
    "ItemRecord",
    "ItemRecordError",
    "Machine",
    "NoResultError",
    "Outcome",
    "Row",
    "Scale",
    "UnfinishedError",
    "UnknownItemError",
    "cheapest_first",
    "find_items",
    "items",
    "read_folder",
    "read_item_record",
    "reproduce",
    "write_all",
    "write_ledger",
]
