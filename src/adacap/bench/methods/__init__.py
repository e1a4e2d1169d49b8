"""The methods of the benchmark, by name. Importing this loads none of them."""

from adacap.bench.methods import boosting, classic, networks, peers
from adacap.bench.methods.groups import GROUPS, expand_methods
from adacap.bench.methods.registry import (
    CATEGORIES,
    METHODS,
    Method,
    MethodError,
    find_method,
    register,
    threads,
    unavailable,
)

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

for _family in (boosting, classic, networks, peers):
    for _method in _family.METHODS:
        register(_method)
