"""Property tests on instances that are the same in every run, fewer of them in the quick group."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

ALL_DRAWS = "DLSCHED_ALL_DRAWS"
"""The environment variable that `conftest.py` sets where the slow tests run, too."""
FEWEST, SHARE = 10, 3
"""In the quick group a test has a third of its draws, and at least these if it has as many."""


def draws(examples: int, quick: int | None = None) -> int:
    """Return so many examples with the slow tests, and a third of them in the quick group.

    A test whose draws are costly states by `quick` how many it has there.
    """
    if os.environ.get(ALL_DRAWS):
        return examples
    return min(examples, max(FEWEST, examples // SHARE)) if quick is None else quick


def drawn(
    examples: int, *drawn_from: st.SearchStrategy[Any], quick: int | None = None
) -> Callable[[Any], Any]:
    """Call a test with so many examples, drawn alike in every run, however long it takes."""

    def decorate(test: Callable[..., None]) -> Any:
        same = settings(max_examples=draws(examples, quick), deadline=None, derandomize=True)
        return same(given(*drawn_from)(test))

    return decorate
