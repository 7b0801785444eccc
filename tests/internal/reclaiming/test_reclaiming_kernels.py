"""Internal: the kernel of `densest` against its scores by definition, and built against Python."""

from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched.problems.reclaiming.kernels import densest
from dlsched.problems.reclaiming.structures.job_arrays import Layout, layout_of
from kernel_sources import as_python

PYTHON = as_python("problems.reclaiming.kernels.densest")
DOUBLINGS = 2
"""The exponent is 4."""


def rows(at: Any, values: Any) -> list[list[int]]:
    """Return a list for each row of arrays that stand one after the other."""
    return [part.tolist() for part in np.split(values, at[1:-1])]


def by_definition(arrays: Layout, preempted: Any, missing: int) -> list[tuple[float, int, float]]:
    """Return relief, idle servers and collateral of each server on which a job runs, else zeros."""
    hosts, on = rows(arrays.hosts_at, arrays.hosts), rows(arrays.jobs_at, arrays.jobs)
    held = rows(arrays.held_at, np.arange(len(arrays.held)))
    running = [{j for j in jobs if not preempted[j]} for jobs in on]
    weigh = [sum(arrays.weight[j] for j in jobs) for jobs in running]
    found = []
    for stopped in running:
        near = {t for j in stopped for t in hosts[j]}
        common = {t: sum(arrays.weight[j] for j in stopped & running[t]) for t in near}
        relief = sum((common[t] / weigh[t]) ** 2**DOUBLINGS for t in near)
        idle = {t for t in near if running[t] <= stopped}
        gpus = [(int(arrays.held[e]), int(arrays.gpus[e])) for j in stopped for e in held[j]]
        elsewhere = sum(n for t, n in gpus if t not in idle and running[t])
        there = sum(n for t, n in gpus if t in idle)
        beyond = max(0, len(idle) - missing) / len(idle) if idle else 0
        found.append((relief, len(idle), elsewhere + there * beyond))
    return found


@pytest.mark.parametrize("options", [{}, {"flexible": 0.5}, {"placement": "remnants"}], ids=str)
def test_corrected_scores_are_those_of_the_definition(options: dict[str, Any]) -> None:
    """After jobs are preempted and resumed, relief, idle servers and collateral are as defined."""
    made = dlsched.generate("reclaiming", 1, servers=30, churn=2.0, odd=0.5, **options)
    arrays, rng = layout_of(made), np.random.default_rng(1)
    jobs, servers = len(arrays.weight), range(len(arrays.jobs_at) - 1)
    preempted = np.zeros(jobs, dtype=np.uint8)
    scores = PYTHON.Search(arrays, preempted, DOUBLINGS)
    for s in servers:
        scores.recount(s)
    for s in servers:
        if scores.running[s]:
            scores.measure(s)
    for _ in range(12):
        before = sum(running == 0 for running in scores.running)
        for j in rng.choice(jobs, 3, replace=False):
            scores.turn(j, not preempted[j])
        gained = scores.update()
        assert gained == sum(running == 0 for running in scores.running) - before
        for s, expected in enumerate(by_definition(arrays, preempted, 1)):
            damage = scores.collateral(1, s) if expected[1] else 0
            assert (scores.relief[s], scores.idle[s], damage) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_emptied_and_ruined(seed: int) -> None:
    """The demand is met, no job is preempted in vain, and both builds agree."""
    made = dlsched.generate("reclaiming", seed, servers=25, demand=6 + seed, odd=0.5)
    layout, rng = layout_of(made), np.random.default_rng(seed)
    on = rows(layout.jobs_at, layout.jobs)
    order, draws = rng.permutation(len(made.jobs)), rng.random((4, 2))

    def idle(gone: set[int]) -> set[int]:
        return {s for s, jobs in enumerate(on) if gone.issuperset(jobs)}

    answers = []
    for kernel in (densest, PYTHON):
        preempted = np.zeros(len(made.jobs), dtype=np.uint8)
        weight = kernel.empty(layout, made.demand, 2 + seed, order, preempted)
        gone = set(np.flatnonzero(preempted).tolist())
        assert weight == layout.weight[sorted(gone)].sum()
        assert len(idle(gone)) >= made.demand
        assert all(len(idle(gone - {j})) < made.demand for j in gone)
        kernel.ruin(layout, preempted, 4, draws)
        left = set(np.flatnonzero(preempted).tolist())
        assert left < gone and len(idle(gone) - idle(left)) >= 4
        answers.append((weight, sorted(gone), sorted(left)))
    assert answers[0] == answers[1]
