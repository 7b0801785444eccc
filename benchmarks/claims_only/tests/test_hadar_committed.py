"""Hadar as the proof of Theorem 2 has it, by hand and on the stream that breaks the ratio."""

from fractions import Fraction

import pytest
from claims_only.hadar_committed import hadar_committed

import dlsched
from dlsched.problems.utility import Instance
from dlsched.problems.utility.heuristics.hadar_prices import HadarPrices
from dlsched.testing import oracles, strategies
from drawing import drawn
from utility_instances import instance, job


@drawn(100, strategies.utility())
def test_schedules_are_feasible_and_no_better_than_the_optimum(made: Instance) -> None:
    """A stated solution is checked; where no job is admitted that must finish, there is none."""
    result = dlsched.solve(made, hadar_committed)
    optimum = oracles.utility(made)
    if result.objective is not None:
        assert optimum is not None
        assert not result.objective.better_than(optimum)


@pytest.mark.slow
def test_theorem_2_does_not_hold_on_a_stream() -> None:
    """Each second job is admitted late, for 0.1, and keeps the next from running at once."""
    slots = 300
    late = [Fraction(1, 10)] * (slots - 2)
    worth = {i: [1 + Fraction(i, 100)] * 2 + late for i in range(1, slots + 1)}
    jobs = [job(2, workers=3, arrival=i, utilities=row) for i, row in worth.items()]
    made = instance(jobs, {"A": 4}, slots)
    value = float(dlsched.solve(made, hadar_committed).objective[0])
    reached = float(sum(1 + Fraction(i, 100) for i in range(1, slots + 1, 2)))
    assert value == pytest.approx(15.91)
    assert reached / value > 2 * HadarPrices(made, list(range(slots))).alpha


def test_gangs_take_the_cheapest_gpus() -> None:
    """Of two machines the one of which less is in use; a gang may take GPUs of both."""
    jobs = [job(), job(), job(workers=2)]
    made = instance(jobs, {"m": {"A": 2}, "n": {"A": 2}}, slots=1)
    schedule = dlsched.solve(made, hadar_committed).solution.schedule
    gpus = [schedule[name][0].gpus for name in ("j0", "j1", "j2")]
    assert gpus == [{"m": {"A": 1}}, {"n": {"A": 1}}, {"m": {"A": 1}, "n": {"A": 1}}]


@pytest.mark.parametrize(("slots", "held"), [(3, [[1, 2], [3]]), (2, [[1, 2], []])])
def test_who_comes_later_takes_what_is_left(slots: int, held: list[list[int]]) -> None:
    """The second job runs in the slot that is left, if there is one."""
    made = instance([job(2), job(1, arrival=2)], {"A": 1}, slots)
    schedule = dlsched.solve(made, hadar_committed).solution.schedule
    assert [[row.slot for row in schedule.get(each.id, ())] for each in made.jobs] == held
