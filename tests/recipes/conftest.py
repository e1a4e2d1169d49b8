"""Recipes are short: what a stranger writes to add something."""

import inspect

import pytest

MOST_LINES = 15


@pytest.fixture
def recipe(request):
    """The function ``recipe`` of a test's module, once its lines are counted."""
    function = request.module.recipe
    lines = [line for line in inspect.getsource(function).splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES, f"the recipe takes {len(lines)} lines"
    return function
