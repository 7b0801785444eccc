"""Hadar's example of section II-A, and what its Figure 1 claims."""

from __future__ import annotations

from itertools import combinations

import pytest

import dlsched
from dlsched.problems.utility.definition.schema import Utility


def test_figure_1_is_more_than_gangs_allow() -> None:
    """No set of the three gangs (3, 2 and 2 GPUs) fills the six GPUs; five are the most, 83 %."""
    example = dlsched.load("hadar-section2")
    total = sum(example.supply.values())
    gangs = [job.workers for job in example.jobs]
    sums = {sum(c) for n in range(4) for c in combinations(gangs, n)}
    assert total == 6 not in sums
    assert max(s for s in sums if s <= total) == 5  # 100 % of a round, 87 % of all: not possible


@pytest.mark.parametrize(
    ("kind", "optimum"),
    [("effective_throughput", 80 / 3 + 30 / 2 + 50 / 7), ("linear", 10 + 11 + 6)],
)
def test_optimum_of_section_2(kind: str, optimum: float) -> None:
    """J1 takes two slots on V100 and K80 and one on the P100; J2 two, and J3 five after J1."""
    # 48.8095 epochs a slot, with the rates X as section II-A prints them.
    example = dlsched.load("hadar-section2").model_copy(update={"utility": Utility(kind=kind)})
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(example, method)
        assert result.status == "optimal"
        assert float(result.objective[0]) == pytest.approx(optimum)


def test_the_rates_are_those_printed() -> None:
    """The matrix X of section II-A; after Gavel's first round 60, 25, 50 epochs are left."""
    example = dlsched.load("hadar-section2")
    kinds = ("V100", "P100", "K80")
    rates = [[job.rates[kind] for kind in kinds] for job in example.jobs]
    assert rates == [[40, 20, 30], [5, 15, 5], [10, 2, 20]]
    epochs = [int(job.iterations) // 360 for job in example.jobs]
    assert epochs == [80, 30, 50]
    # Gavel's first round: J1 on three P100, J2 on two V100.
    assert (epochs[0] - rates[0][1], epochs[1] - rates[1][0], epochs[2]) == (60, 25, 50)


def test_gavels_six_rounds() -> None:
    """A schedule of six rounds in which every gang keeps to one type exists."""
    example = dlsched.load("hadar-section2").model_copy(update={"slots": 6, "must_finish": True})
    result = dlsched.solve(example)
    assert dlsched.verify(example, result.solution).details["last_slot"] == 6
