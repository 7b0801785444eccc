"""Property tests on instances that are the same in every run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

ALL_DRAWS = "DLSCHED_ALL_DRAWS"
"""The environment variable that `conftest.py` sets where the slow tests run, too."""
FEWEST, SHARE = 10, 3
"""Without them a test has a third of its draws, and these if it has as many."""


def drawn(examples: int, *drawn_from: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Call a test with so many examples, drawn alike in every run, however long it takes."""
    if not os.environ.get(ALL_DRAWS):
        examples = min(examples, max(FEWEST, examples // SHARE))

    def decorate(test: Callable[..., None]) -> Any:
        same = settings(max_examples=examples, deadline=None, derandomize=True)
        return same(given(*drawn_from)(test))

    return decorate
