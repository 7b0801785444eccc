"""Hadar's example of section II-A, and what its Figure 1 claims."""

from __future__ import annotations

from itertools import combinations

import pytest

import dlsched
from dlsched.problems.utility.duration import total_duration
from dlsched.problems.utility.schema import Utility


def test_figure_1_is_more_than_gangs_allow() -> None:
    """No set of the three gangs (3, 2 and 2 GPUs) fills the six GPUs; five are the most, 83 %."""
    example = dlsched.load("hadar-section2")
    total = sum(example.supply.values())
    gangs = [job.workers for job in example.jobs]
    sums = {sum(c) for n in range(4) for c in combinations(gangs, n)}
    assert total == 6 not in sums
    assert max(s for s in sums if s <= total) == 5  # 100 % of a round, 87 % of all: not possible


@pytest.mark.parametrize(
    ("kind", "optimum"), [("effective_throughput", 20 + 7.5 + 25), ("linear", 9 + 9 + 11)]
)
def test_optimum_of_section_2(kind: str, optimum: float) -> None:
    """J1 takes four slots on the P100, J2 and J3 two each on the V100, J3 first."""
    example = dlsched.load("hadar-section2").model_copy(update={"utility": Utility(kind=kind)})
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(example, method)
        assert result.status == "optimal"
        assert float(result.objective[0]) == pytest.approx(optimum)


def test_smallest_total_duration() -> None:
    """Four slots are enough, not five rounds, at these rates; J1 alone needs four."""
    example = dlsched.load("hadar-section2")
    assert total_duration(example) == 4
    alone = example.model_copy(update={"jobs": example.jobs[:1]})
    assert total_duration(alone) == 4
    assert total_duration(example.model_copy(update={"slots": 3})) is None
