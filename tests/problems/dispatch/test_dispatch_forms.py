"""Data of many digits: no solution violates a row, and nothing is called optimal that is not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import pytest
from dispatch_instances import instance, job, machines, tenant, waiting
from hostile import hostile

import dlsched
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.check import check
from dlsched.problems.dispatch.definition.oracle import _options, _starts, brute_force
from dlsched.problems.dispatch.instances.strategy import _instance
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.forms import counts
from dlsched.problems.dispatch.programs.place_counts import point_of
from dlsched.problems.dispatch.structures.blocks import coarsest, halves
from dlsched.proofs.check import Form
from dlsched.results.objective import relative_gap

MOST = 60
"""Solutions of an instance that are tested, drawn from all."""


def drawn(seed: int) -> Instance:
    """Draw an instance with ordinary numbers or, in every second case, hostile ones."""
    if seed % 2:
        return hostile(seed)
    return _instance(random.Random(seed).choice, None, 2, 2, 3, 2, ties=False)


def feasible(instance: Instance) -> Iterator[Solution]:
    """Yield the solutions that brute force enumerates."""
    names = [workload.id for workload in instance.running]
    options = {workload.id: list(_options(instance, workload)) for workload in instance.pending}
    for gone in chain.from_iterable(combinations(names, k) for k in range(len(names) + 1)):
        for start in _starts(instance, gone, options):
            solution = Solution(start=start, preempt=gone)
            if check(instance, solution).feasible:
                yield solution


def require_satisfied(form: Form, point: Sequence[int], objective: Sequence[Any]) -> None:
    """Fail if a point violates a row or a bound of a form, or its levels are worth less."""
    assert all(low <= x <= high for low, x, high in zip(form.lower, point, form.upper, strict=True))
    for row in form.rows:
        total = sum(a * point[j] for j, a in row.coefficients.items())
        assert row.low is None or row.low <= total
        assert row.high is None or total <= row.high
    for goal, value in zip(form.goals, objective, strict=True):
        worth = sum(c * point[j] for j, c in goal.costs.items()) + goal.offset
        assert worth * goal.unit <= goal.sign * value


@pytest.mark.parametrize("seed", range(10))
def test_no_solution_violates_a_row(seed: int) -> None:
    """With all cuts of drawn weights, blocks by rack, and blocks that are divided."""
    instance, draw = drawn(seed), random.Random(seed)
    batch = coarsest(instance)
    jobs = [job for requests in batch.fleet.requests for job in requests]
    shapes = list(dict.fromkeys((job.kind, *job.need) for job in jobs))
    cuts = [[[*shape, draw.randint(0, 9)] for shape in shapes] for _ in range(3)]
    racks = batch.divided_by_rack().blocks
    parts = [p for b in racks for p in (halves(b) if len(b.machines) > 1 else [b])]
    everything = list(feasible(instance))
    solutions = draw.sample(everything, min(MOST, len(everything)))
    for blocks, parameters in (
        (batch.blocks, {}),
        (racks, {"racks": True, "cuts": cuts}),
        (parts, {"racks": True, "blocks": [[b.site, *b.machines] for b in parts], "cuts": cuts}),
    ):
        form = counts(instance, parameters)
        program = Counts(batch._replace(blocks=blocks))
        for solution in solutions:
            point = [int(x) for x in point_of(program, solution)]
            objective = check(instance, solution).objective
            assert objective is not None
            require_satisfied(form, point, objective)


NINE_DIGITS = 2e-9
"""A solver's values are right to nine digits; so an optimum of two values closer than that may be
either."""


def cpu_jobs(cpus: list[float], count: int, have: Any) -> Instance:
    """Return one workload with jobs that need CPUs only, and one group of empty machines."""
    jobs = [job(f"j{j}", cpus=Fraction(repr(n)), memory=0) for j, n in enumerate(cpus)]
    return instance(
        [machines("m", 0, have, 0, count=count)],
        pending=[waiting("w", *jobs)],
        lowest_priority=1, cpu_weight=1, tenants=[tenant(cpus=10**9)],
    )  # fmt: skip


THREE, NEARLY = 3.000000000299999, 2.999999999999999


@pytest.mark.parametrize("method", ["milp", "classes"])
@pytest.mark.parametrize(
    ("cpus", "count", "have"),
    [
        ([THREE, NEARLY], 2, 4),
        ([THREE, NEARLY], 1, Fraction("6.000000000299998")),
        ([THREE, NEARLY], 1, Fraction("6.000000000299997")),
        ([2.969969517132217, 3.134769781556], 1, Fraction("6.104739298688217")),
        ([2.969969517132217, 3.134769781556], 2, Fraction("3.134769781556")),
        ([1.0000000000000002, 1.0], 2, 2),
    ],
)
def test_jobs_that_just_fit(method: str, cpus: list[float], count: int, have: Any) -> None:
    """Jobs start exactly if they fit, and the optimum is proved."""
    instance = cpu_jobs(cpus, count, have)
    result = dlsched.solve(instance, method)
    assert result.status == "optimal" and result.objective == brute_force(instance)


def require_truth(instance: Instance, methods: tuple[str, ...]) -> None:
    """Fail if a method's answer differs from brute force in what it states."""
    best = brute_force(instance)
    for method in methods:
        result = dlsched.solve(instance, method)
        assert result.objective is None or not result.objective.better_than(best)
        if result.status == "optimal":
            pairs = zip(result.objective, best, strict=True)
            first = next(((a, b) for a, b in pairs if a != b), (0, 0))
            assert relative_gap(*first) <= NINE_DIGITS, (method, first)
            assert first[0] == first[1] or "proved optimal within" in result.reason
        for (level, bound), value in zip(result.bound.pairs(), best, strict=True):
            assert bound is None or not level.better(value, bound.value), (method, level, bound)
            if bound is None or bound.value != value:
                break


def test_the_reason_says_to_which_precision() -> None:
    """An optimum that the solver's bound leaves open in the tenth digit is not just "proved"."""
    data = cpu_jobs([3.0000000000001], 1, 4).to_data()
    data["pending"].append(waiting("v", job("j0", cpus=3, memory=0)))
    both = Instance.parse(data, "the test")
    require_truth(both, ("milp", "classes"))
    result = dlsched.solve(both, "classes")
    exactly = result.bound.started_1.value == result.objective.started_1
    assert exactly or "of started_1: smaller differences are beyond" in result.reason


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(n, marks=pytest.mark.slow) for n in range(100, 700))]
)
def test_hostile_draws(seed: int) -> None:
    """The exact methods, the bounds and `counted`, against brute force."""
    require_truth(hostile(seed), ("milp", "classes", "lp", "counted"))


def test_most_hostile_draws_are_proved() -> None:
    """Exact rows leave few instances that the solver's precision does not decide."""
    proved = [dlsched.solve(hostile(seed, "batch"), "classes").status for seed in range(20, 40)]
    assert proved.count("optimal") >= 18


def test_rows_for_solvers_are_small() -> None:
    """No row of the model or of the counts has integers that a solver's tolerances mistake."""
    for seed in range(30):
        instance = hostile(seed)
        for _, _, a in Counts(coarsest(instance)).cells:
            assert abs(a) <= 2**20
        for row in dlsched.model(instance).DIGITS.values():
            assert all(abs(a) <= 2**20 for digit in row for a in digit.cells.values())
