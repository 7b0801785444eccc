"""Muri's printed numbers."""

from __future__ import annotations

from fractions import Fraction

import dlsched
from dlsched.problems.interleaving.gamma import best_offsets, efficiency, iteration_time


def gamma(instance: dlsched.Instance, *jobs: str) -> Fraction:
    """Return the best gamma of a group of jobs."""
    stages = [instance.jobs[instance.job_index[job]].stages for job in jobs]
    return efficiency(stages, best_offsets(stages))


def test_figure_4() -> None:
    """A-B and C-D interleave at gamma 1, A-C at 0.75; grouping A-B and C-D is the optimum."""
    instance = dlsched.load("muri-fig4")
    found = (gamma(instance, "A", "B"), gamma(instance, "C", "D"), gamma(instance, "A", "C"))
    assert found == (1, 1, Fraction("0.75"))
    best = dlsched.solve(instance)
    assert (best.method, tuple(best.objective)) == ("blossom", (2,))


def test_figure_6() -> None:
    """Four jobs with four bottlenecks fill all resources: T = 4 + 1 + 1 + 1 = 7."""
    instance = dlsched.load("muri-fig6")
    stages = [job.stages for job in instance.jobs]
    assert iteration_time(stages, best_offsets(stages)) == 7
    assert tuple(dlsched.solve(instance, "milp").objective) == (1,)


def test_table_2() -> None:
    """The four models of Table 1 share one GPU; 4000 ms of stages in T = 1550 ms of four."""
    instance = dlsched.load("muri-table2")
    best = dlsched.solve(instance)
    assert tuple(best.objective) == (Fraction(4000, 4 * 1550),)
    # Together they take 1550 ms for what takes 4000 ms one after the other: 2.58 times faster.
    assert dlsched.solve(instance, "muri").objective == best.objective
