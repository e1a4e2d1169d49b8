"""The methods of the benchmark, by name. Importing this loads none of them.

They join those of :mod:`adacap.comparison`, so that ``adacap evaluate`` knows them too.
"""

from adacap.comparison import (
    METHODS,
    Method,
    MethodError,
    expand_methods,
    find_method,
    register,
    register_group,
    threads,
    unavailable,
)
from adacap_bench.methods import boosting, networks, peers
from adacap_bench.methods.groups import CATEGORIES, GROUPS, members_of

__all__ = [
    "CATEGORIES",
    "GROUPS",
    "METHODS",
    "Method",
    "MethodError",
    "expand_methods",
    "find_method",
    "register",
    "threads",
    "unavailable",
]

for _family in (boosting, networks, peers):
    for _method in _family.METHODS:
        register(_method)
for _name in GROUPS:
    register_group(_name, members_of(_name))
