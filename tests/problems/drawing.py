"""Property tests on instances that are the same in every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st


def drawn(examples: int, *drawn_from: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Call a test with so many examples, drawn alike in every run, however long it takes."""

    def decorate(test: Callable[..., None]) -> Any:
        same = settings(max_examples=examples, deadline=None, derandomize=True)
        return same(given(*drawn_from)(test))

    return decorate
