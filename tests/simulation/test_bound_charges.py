"""Charges of jobs that share GPUs, and multipliers of the makespan's program: always valid."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from dlsched.simulation import Cluster, Workload
from dlsched.simulation.bounds import program
from dlsched.simulation.bounds.charges import best_charges, groups, mixtures, valid
from dlsched.simulation.bounds.demands import Demands, Mode, Resource
from dlsched.simulation.bounds.program import Multipliers
from dlsched.simulation.bounds.sharing import group_facet, stage_facet, stage_sharing
from dlsched.simulation.engine.speeds import least_iteration_time


def shared_workload(seed: int, jobs: int = 6) -> Workload:
    """Return jobs with three stages, some with none, on one or two GPUs, some on both."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(jobs):
        gpus = int(rng.integers(1, 3))
        row = {"id": f"j{i}", "submit": 0, "gpus": gpus, "work": 60, "min_gpus": 1, "max_gpus": 2}
        if rng.random() < 0.7:
            row |= {"min_gpus": gpus, "max_gpus": gpus}
        rows.append(row | {"stages": rng.integers(0, 5, 3).tolist() if rng.random() < 0.8 else []})
    rows[0]["stages"] = [1, 2, 3]
    return Workload.parse({"name": "shared", "jobs": rows}, "shared")


@pytest.mark.parametrize("seed", range(20))
def test_a_groups_charges_are_at_most_its_time(seed: int) -> None:
    """Whatever the loads or weights, the charges of every possible group add up to its time."""
    rng = np.random.default_rng(seed)
    workload = shared_workload(seed)
    sharing = stage_sharing(workload, Cluster.uniform(2, 2))
    loads = rng.exponential(1, len(sharing.alone)).tolist()
    facets = [group_facet(sharing, loads), *(stage_facet(sharing, w) for w in mixtures(3, 2))]
    for facet, size in ((f, n) for f in facets for n in (1, 2, 3)):
        assert facet is not None
        for group in combinations_with_replacement(range(len(workload.jobs)), size):
            jobs = [workload.jobs[j] for j in group]
            room = max(j.min_gpus for j in jobs) <= min(j.max_gpus for j in jobs)
            if size > 1 and not (room and all(any(j.stages) for j in jobs)):
                continue
            time = Fraction(sum(jobs[0].stages))
            if size > 1:
                time = least_iteration_time(tuple(sorted(j.stages for j in jobs)))
            kinds = [sharing.kind[j] for j in group]
            assert sum(facet[k] * sharing.alone[k] for k in kinds) <= time


def test_best_charges_of_two_kinds() -> None:
    """Alone 4 and 2, together 5: of the first kind's 4 and the second's 1, twice the second's 2."""
    times = {(0,): 4, (1,): 2, (0, 0): 9, (0, 1): 5, (1, 1): 4}
    known = groups(2, 2, lambda group: Fraction(times[group]))
    assert [float(x) for x in best_charges(known, [2, 1])] == pytest.approx([4, 1])
    assert [float(x) for x in best_charges(known, [1, 2])] == pytest.approx([3, 2])


def test_charges_that_are_too_large_are_shrunk() -> None:
    """Charges of 4 and 2 for a group of 5 count for five sixths, and not a bit more."""
    times = {(0,): 4, (1,): 2, (0, 0): 9, (0, 1): 5, (1, 1): 4}
    known = groups(2, 2, lambda group: Fraction(times[group]))
    shrunk = valid(known, [Fraction(4), Fraction(2)])
    assert sum(shrunk) <= 5
    assert [float(x) for x in shrunk] == pytest.approx([10 / 3, 5 / 3])


def two_types() -> Demands:
    """Return two long jobs and four short ones that choose between two types of GPUs."""
    fast, slow = Fraction(1), Fraction(3)
    modes = (Mode(fast, (fast, Fraction(0))), Mode(slow, (Fraction(0), slow)))
    rows = [(0, 100, modes), (0, 90, modes), *((40, 20, modes) for _ in range(4))]
    gpus = [Resource(name, ((0, Fraction(1)),)) for name in ("fast", "slow")]
    return Demands.of(gpus, rows)


def test_the_programs_multipliers_prove_its_optimum() -> None:
    """All work takes 270 on the fast type, of which the slow one does a quarter: 202.5."""
    value, found = program.makespan_by_program(two_types())
    assert float(value) == pytest.approx(202.5)
    assert value == program.evaluate(two_types(), found)


@pytest.mark.parametrize("seed", range(30))
def test_any_multipliers_prove_no_more_than_the_optimum(seed: int) -> None:
    """Random multipliers give a bound that is valid, if weak; negative ones prove nothing."""
    rng = np.random.default_rng(seed)
    d = two_types()
    best, _ = program.makespan_by_program(d)
    jobs = {int(j): int(rng.integers(0, 9)) for j in rng.choice(6, 3, replace=False)}
    resources = tuple(tuple(row) for row in rng.integers(0, 9, (2, 2)).tolist())
    made = Multipliers((0, 40), resources, jobs)
    assert 0 <= program.evaluate(d, made) <= best * (1 + Fraction(1, 10**9))
    assert program.evaluate(d, made._replace(jobs={0: -1})) == 0
    assert program.evaluate(d, Multipliers((0, 40), ((0, 0), (0, 0)), {})) == 0
