"""Synergy's example, and one of two servers worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dlsched
from dlsched.problems.sensitivity.instances.generate import examples


def test_sensitive_beats_proportional_on_the_papers_example() -> None:
    """Tables 1-3: two sensitive and two modest jobs on two servers; 4 becomes 5.2."""
    tables = examples()[0]
    values = {m: float(dlsched.solve(tables, m).objective[0]) for m in ("proportional", "tune")}
    assert values == {"proportional": 4.0, "tune": 5.2}
    assert float(dlsched.solve(tables).objective[0]) == 5.2


@pytest.mark.parametrize("method", ["milp", "patterns"])
def test_two_servers_by_hand(method: str) -> None:
    """Split, c leaves a server each to a and b; whole, a and b share 4 CPUs and 4 GB."""
    two = examples()[1]
    # a with 3 CPUs and 2 GB, b with 1 CPU and 3 GB, and a GPU of c with 1 and 1 beside either.
    assert tuple(dlsched.solve(two, method).objective) == (Fraction(15, 4), 1)  # 1.5 + 1.25 + 1
    # c fills a server, and a and b get 3 + 1 CPUs and 1 + 3 GB of the other one.
    whole = two.model_copy(update={"allow_split": False})
    assert tuple(dlsched.solve(whole, method).objective) == (Fraction(73, 20), 0)  # 1.4 + 1.25 + 1
