"""The exact method, the bounds and the searches: brute force, hostile numbers, limits."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from placement_instances import instance, job, region, table

import dlsched
from dlsched.problems.placement import Instance
from dlsched.testing import oracles, strategies
from drawing import drawn

BOUNDS = ("indivisible_bound", "home_tree", "relaxation_tree")


def small(seed: int, **options: Any) -> Instance:
    """Return a generated instance that brute force solves, unless options make it larger."""
    sizes = {"tables": 6, "regions": 2, "jobs": 12, "largest": 0.4}
    made: Instance = dlsched.generate("placement", seed, **sizes | options)
    return made


def test_bounds_are_certified_and_in_their_order() -> None:
    """With rows, tables or nodes a bound is no lower; all are below the optimum."""
    gained, deeper = 0, 0
    for seed in range(3):
        made = small(seed)
        optimum = oracles.placement(made)
        bounds = [
            dlsched.bound(made, "indivisible_bound").cost,
            dlsched.bound(made, "relaxation_tree", nodes=0, spreading=0).cost,
            dlsched.bound(made, "relaxation_tree", nodes=0).cost,
            dlsched.bound(made, "relaxation_tree", nodes=10).cost,
        ]
        assert {bound.kind for bound in bounds} == {"certified"}
        values = [bound.value for bound in bounds]
        assert values == sorted(values) and values[-1] <= optimum.cost
        gained += values[2] > values[1] * (1 + 1e-3)
        first, more = (dlsched.bound(made, "home_tree", nodes=n).cost.value for n in (0, 100))
        assert float(first) == pytest.approx(float(values[0]))
        deeper += first * (1 + Fraction(1, 1000)) < more <= optimum.cost
    assert gained >= 2 and deeper == 3
    assert dlsched.bound(made, "relaxation_tree", nodes=10, threads=2).cost == bounds[-1]
    root = dlsched.bound(made, "relaxation_tree", nodes=0).cost
    assert root.method == "duals of the relaxation"


def test_a_large_relaxation_is_solved_by_interior_point() -> None:
    """From 20,000 entries on; rows that say most still raise the certified bound, in any unit."""
    made = dlsched.generate("placement", 1, tables=30, regions=5, jobs=60)
    options = {"nodes": 0, "spreading": 4}
    loose = dlsched.bound(made, "relaxation_tree", nodes=0, spreading=0).cost
    tight = dlsched.bound(made, "relaxation_tree", **options).cost
    assert loose.kind == tight.kind == "certified"
    assert loose.value < tight.value <= dlsched.solve(made, "annealing").objective.cost
    small = {name: Fraction(1, 10**9) for name in ("traffic", "gpu", "storage")}
    scaled = dlsched.bound(made.to_data() | {"weights": small}, "relaxation_tree", **options).cost
    assert float(scaled.value) * 10**9 == pytest.approx(float(tight.value), rel=2e-2)


def tables_only(capacity: float, sizes: list[float]) -> Instance:
    """Return two regions of one capacity, and tables that nobody reads."""
    tables = [table(f"t{i}", size) for i, size in enumerate(sizes)]
    return instance([region(name, capacity) for name in "rs"], tables)


@pytest.mark.parametrize(
    ("made", "cost"),
    [
        # Bounds were 0.0555556 for 0.005, and annealing gave 0.08 for 0: a capacity without
        # effect was the unit of the sizes.
        (tables_only(1e15, [0.45, 0.35, 0.2]), 0.005),
        (tables_only(1e12, [0.565, 0.103, 0.462]), 0.0),
        (tables_only(1e9, [1.03e-4, 0.97e-4, 2e-4]), 0.0),
    ],
    ids=range(3),
)  # fmt: skip
def test_extreme_numbers(made: Instance, cost: float) -> None:
    """A capacity far above what there is is not the unit of sizes; the optimum is exact."""
    result, best = dlsched.solve(made), oracles.placement(made)[0]
    assert (result.status, result.termination) == ("optimal", "proved")
    assert abs(result.objective[0] - best) <= best * Fraction(1, 10**9)
    bounds = [dlsched.bound(made, name).cost.value for name in BOUNDS]
    assert all(bound <= best for bound in bounds)
    annealed = dlsched.solve(made, "annealing", trials=300).objective
    assert best == annealed[0] == Fraction(str(cost))
    assert all(bound >= cost * (1 - 1e-6) for bound in bounds)


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


@pytest.mark.parametrize("regions", [1, 2])
@pytest.mark.parametrize("kind", ["spark", "ml"])
def test_a_cost_of_0_is_proved(kind: str, regions: int) -> None:
    """Shares of the 17 that are read, none of them a double, leave no traffic below 0."""
    made = instance(
        [region(f"r{i}", 16, gpus=i) for i in range(regions)],
        [table("t0", 3), table("t1", 5), table("t2", 4)],
        [job("j0", ["t0", "t1"], 4, kind), job("j1", ["t1", "t2"], kind=kind)],
        version="v1",
        weights={"gpu": 0, "storage": 0},
    )
    for variant in (None, dlsched.Variant("placement", "fixed", fix={"x[t1,r0]": 1})):
        proof = dlsched.prove(made, dlsched.solve(made, variant=variant).solution, variant=variant)
        checked = dlsched.check_proof(made, proof, variant=variant)
        assert [level.value for level in checked.levels] == [0]


@pytest.mark.parametrize("seed", [2, 6])
def test_gpu_hours_of_many_digits_are_proved(seed: int) -> None:
    """A step of overload that began 2e-6 of the demand too early left better points."""
    data = small(seed, tables=5, jobs=9, utilization=1.3).to_data()
    rng = np.random.default_rng(seed)
    for row in data["jobs"]:
        hours = row.get("gpu_hours", {})
        row["gpu_hours"] = {k: float(h) * (1 + 0.1 * rng.random()) for k, h in hours.items()}
    solution = dlsched.solve(data).solution
    assert dlsched.check_proof(data, dlsched.prove(data, solution)).levels


@pytest.mark.parametrize("method", ["annealing", "tempering"])
def test_numbers_of_trials_without_end_need_a_limit_only(method: str) -> None:
    """No memory is taken for trials that a limit leaves out."""
    made = small(1)
    result = dlsched.solve(made, method, trials=10**15, time_limit=0.01)
    assert (result.status, result.termination) == ("feasible", "time_limit")


def test_a_search_after_the_end_of_a_limit_bounds_all_cells() -> None:
    """What indivisible jobs leave is bounded by few nodes, not by 0."""
    made = dlsched.generate("placement", 1, tables=30, regions=5, jobs=120, utilization=2.1)
    hurried = dlsched.bound(made, "indivisible_bound", time_limit=1e-9).cost.value
    full = dlsched.bound(made, "indivisible_bound").cost.value
    assert 0.9 * full < hurried <= full
