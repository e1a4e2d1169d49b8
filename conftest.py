"""Names that the examples in docstrings use without importing them."""

import pytest


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, object]) -> None:
    import torch

    import adacap.core
    import adacap.nn

    doctest_namespace["torch"] = torch
    doctest_namespace["nn"] = torch.nn
    for package in (adacap.core, adacap.nn):
        doctest_namespace.update({name: getattr(package, name) for name in package.__all__})
