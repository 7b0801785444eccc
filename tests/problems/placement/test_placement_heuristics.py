"""The searches of placement: none worsens, limits are kept, longer ones are better."""

from __future__ import annotations

from typing import Any

import numpy as np
from placement_instances import instance, region, table

import dlsched
from dlsched.problems.placement import Instance
from dlsched.registry import call, problem
from dlsched.testing import oracles, strategies
from drawing import drawn

RULES: list[tuple[str, dict[str, Any]]] = [
    ("hill_climbing", {}),
    ("annealing", {"trials": 300}),
    ("tempering", {"trials": 20_000}),
]
"""The heuristics, those that anneal for long with few trials."""


@drawn(50, strategies.placement())
def test_climbing_never_worsens(made: Instance) -> None:
    """The cost never rises from day to day, feasible stays feasible, and annealing is no worse."""
    optimum = oracles.placement(made)
    last = dlsched.solve(made, "hill_climbing", days=0).objective
    for options in ({"days": 1}, {"days": 2}, {}):
        reached = dlsched.solve(made, "hill_climbing", **options).objective
        if last is not None:
            assert reached is not None and not last.better_than(reached)
        last = reached or last
    annealed = dlsched.solve(made, "annealing", trials=100).objective
    for found in (last, annealed):
        assert found is None or not found.better_than(optimum)
    assert last is None or not last.better_than(annealed)


def test_a_short_annealing_is_better_than_hill_climbing() -> None:
    """On four instances of 60 tables it is never worse, and a twentieth cheaper on average."""
    costs = []
    for seed in range(1, 5):
        inst = dlsched.generate("placement", seed, tables=60, regions=5, jobs=120)
        climbed = dlsched.solve(inst, "hill_climbing")
        found = [climbed.objective, dlsched.solve(inst, "annealing", trials=300).objective]
        assert not found[0].better_than(found[1])
        costs.append(float(found[1].cost) / float(found[0].cost))
    assert np.mean(costs) < 0.95


def test_tempering_gets_out_of_what_annealing_ends_in() -> None:
    """With as many trials, where jobs are many, placements are 3 % cheaper on average."""
    ratios = []
    for seed in (2, 5, 8):
        inst = dlsched.generate("placement", seed, tables=60, regions=5, jobs=180)
        one = dlsched.solve(inst, "annealing", trials=400)
        many = dlsched.solve(inst, "tempering", trials=24_000)
        ratios.append(float(many.objective.cost) / float(one.objective.cost))
    assert np.mean(ratios) < 0.97


class CountingRun(dlsched.Run):
    """A run whose clock advances by a second with each question for it."""

    questions = 0

    def elapsed(self) -> float:
        """Count the question."""
        self.questions += 1
        return float(self.questions)


def test_a_schedule_ends_cold_at_a_limit() -> None:
    """A limit of about half of the calls costs little, as hot trials are left out."""
    annealing, ratios = problem("placement").methods["annealing"], []
    for seed in (1, 2):
        inst = dlsched.generate("placement", seed, tables=100, regions=5, jobs=300)
        claim = call(annealing, inst, CountingRun(time_limit=24.0), {"trials": 4000})
        limited = dlsched.verify(inst, claim.solution).objective.cost
        ratios.append(float(limited / dlsched.solve(inst, "annealing", trials=4000).objective.cost))
    assert np.mean(ratios) < 1.02  # 1.17 if the schedule is cut off while it is hot


def test_sums_without_a_common_unit() -> None:
    """If no unit divides all sizes, a placement that fills its regions exactly is feasible."""
    # The sizes add up to 1 and have 15 digits each beside one of 1e-9; each region stores exactly
    # what it has today.
    sizes = [0.333333333333333, 0.166666666666667, 0.499999999, 1e-9]
    tables = [table(f"t{i}", size, "rrss"[i]) for i, size in enumerate(sizes)]
    inst = instance([region("r", sizes[0] + sizes[1]), region("s", 0.5)], tables)
    for method, options in (*RULES, ("no_moves", {})):
        assert dlsched.solve(inst, method, **options).status == "feasible"
