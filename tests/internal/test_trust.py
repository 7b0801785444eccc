"""Internal: certified bounds of methods that the library trusts, beside claimed ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dlsched
from dlsched import Bound, Claim
from dlsched.problems.reclaiming import Solution
from dlsched.registry import trusted


@pytest.fixture
def trust() -> Iterator[Any]:
    """Give what makes a function one of the library's own methods, until the test ends."""
    yield lambda method: trusted.trust(method, "reclaiming") or method
    for key, (function, _) in [*trusted._OWN.items()]:
        if function.__module__ == __name__:
            del trusted._OWN[key]


@pytest.mark.parametrize(
    ("bounds", "bound", "certified"),
    [
        ([("certified", 0), ("claimed", 1)], ("claimed", 1), 0),
        ([("claimed", 1), ("certified", 1)], ("certified", 1), 1),
        ([("claimed", 1)], ("claimed", 1), None),
    ],
)
def test_certified_is_kept_apart(trust: Any, bounds: Any, bound: Any, certified: Any) -> None:
    """The strongest bound counts, the strongest certified one beside it."""
    stated = [[Bound(value, kind, "test") for kind, value in bounds], []]

    def method(instance: Any, run: Any) -> Claim:
        return Claim(Solution(instance="lyra-fig5", returned=("1", "2")), bounds=stated)

    result = dlsched.solve("lyra-fig5", trust(method))
    assert (result.bound[0].kind, result.bound[0].value) == bound
    assert (result.certified[0] and result.certified[0].value) == certified
