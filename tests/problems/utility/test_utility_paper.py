"""Hadar's example of section II-A, and what its Figure 1 claims."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

import dlsched
from dlsched.problems.utility import Instance


def example(**changes: Any) -> Instance:
    """Return the instance of section II-A, with some fields changed."""
    return dlsched.load(dlsched.load("hadar-section2").to_data() | changes)  # type: ignore[return-value]


def test_figure_1_is_more_than_gangs_allow() -> None:
    """No set of the three gangs (3, 2 and 2 GPUs) fills the six GPUs; five are the most, 83 %."""
    total = sum(example().supply.values())
    gangs = [job.workers for job in example().jobs]
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
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(example(utility={"kind": kind}), method)
        assert result.status == "optimal"
        assert float(result.objective[0]) == pytest.approx(optimum)


def test_the_rates_are_those_printed() -> None:
    """The matrix X of section II-A; after Gavel's first round 60, 25, 50 epochs are left."""
    kinds = ("V100", "P100", "K80")
    rates = [[job.rates[kind] for kind in kinds] for job in example().jobs]
    assert rates == [[40, 20, 30], [5, 15, 5], [10, 2, 20]]
    epochs = [int(job.iterations) // 360 for job in example().jobs]
    assert epochs == [80, 30, 50]
    # Gavel's first round: J1 on three P100, J2 on two V100.
    assert (epochs[0] - rates[0][1], epochs[1] - rates[1][0], epochs[2]) == (60, 25, 50)


def test_gavels_six_rounds() -> None:
    """A schedule of six rounds in which every gang keeps to one type exists."""
    six = example(slots=6, must_finish=True)
    assert dlsched.verify(six, dlsched.solve(six).solution).details["last_slot"] == 6
