"""The optimum is that of Gavel's programs with a variable for every pair of jobs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from all_pairs import AllPairs, optimum

import dlsched
from dlsched.problems.shares import Instance

OBJECTIVES = ("max_min", "makespan", "finish_time", "total")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("jobs", "gpus", "sharing"), [(3, 2, True), (12, 2, False), (14, 3, True)])
def test_optimum_of_all_pairs(objective: str, jobs: int, gpus: int, sharing: bool) -> None:
    """Proved optimal, with the same value as the program over pairs in cvxpy."""
    for seed in range(3):
        made = dlsched.generate(
            "shares", seed, jobs=jobs, gpus=gpus, models=4, objective=objective, sharing=sharing
        )
        result = dlsched.solve(made)
        assert result.status == "optimal"
        accuracy = 1e-6 if objective == "finish_time" else 1e-9  # that of an interior point
        assert float(result.objective.value) == pytest.approx(optimum(made), rel=accuracy)


def filled(instance: Instance) -> list[float]:
    """Return the jobs' values by water filling over all pairs, a job fixed at a time."""
    from scipy.optimize import linprog

    program = AllPairs(instance)
    weight = np.array([float(job.weight) for job in instance.jobs])
    worth = (program.scale / (weight * program.proportional))[:, None] * program.rate.toarray()
    limits = np.vstack([program.time.toarray(), program.used.toarray()])
    most = np.concatenate([np.ones(len(weight)), program.gpus])
    levels: dict[int, float] = {}

    def largest(raised: set[int]) -> float:
        """Return the greatest common value of some jobs, those with a level at that."""
        rows = [np.append(-worth[j], float(j in raised)) for j in range(len(weight))]
        sides = [0.0 if j in raised else -levels.get(j, level) for j in range(len(weight))]
        table = np.vstack([np.column_stack([limits, np.zeros(len(limits))]), *rows])
        cost = np.append(np.zeros(program.size), -1.0)
        answer = linprog(cost, A_ub=table, b_ub=np.concatenate([most, sides]))
        return float(-answer.fun)

    level = 0.0
    while len(levels) < len(weight):
        free = {j for j in range(len(weight)) if j not in levels}
        level = largest(free)
        found = {j: level * (1 - 1e-9) for j in free if largest({j}) < level * (1 + 1e-6)}
        levels |= found
    return sorted(levels.values())


@pytest.mark.parametrize("seed", range(4))
def test_water_filling_raises_each_value_in_turn(seed: int) -> None:
    """All values are those found by asking of each job whether it can have more."""
    made = dlsched.generate("shares", seed, jobs=7, gpus=3, models=3)
    result = dlsched.solve(made, "water_filling")
    assert result.status == "optimal"
    assert float(result.objective.value) == pytest.approx(
        float(dlsched.solve(made).objective.value)
    )
    speeds = dlsched.verify(made, result.solution).details
    alone = {m.id: m for m in made.models}
    total = sum(made.gpus.values())
    values = []
    for job in made.jobs:
        model = alone[job.model]
        fair = sum(
            Fraction(r) * made.gpus[k] for k, r in model.rates.items() if made.gpus[k] >= model.gpus
        )
        values.append(model.gpus * speeds[job.id] / float(fair / total))
    assert sorted(values) == pytest.approx(filled(made), rel=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equal_jobs_are_one_kind(objective: str) -> None:
    """A model's size is that of the kinds of jobs, not of the jobs."""

    def size(jobs: int) -> int:
        models: list[dict[str, Any]] = [{"id": "m", "rates": {"A": 2, "B": 1}}]
        pairs = [{"models": ("m", "m"), "type": "A", "rates": (1.5, 1.5)}]
        rows = [{"id": f"j{i}", "model": "m", "steps": 100, "elapsed": 5} for i in range(jobs)]
        head: dict[str, Any] = {"name": "equal", "objective": objective, "gpus": {"A": 2, "B": 1}}
        made = Instance(**head, models=models, pairs=pairs, jobs=rows)
        result = dlsched.solve(made)
        assert result.status == "optimal"
        assert float(result.objective.value) == pytest.approx(optimum(made), rel=1e-6)
        return len(list(dlsched.model(made).y)) + len(list(dlsched.model(made).z))

    assert size(5) == size(8) == 3
