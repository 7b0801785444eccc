"""Every solution of small instances satisfies the rows of the forms, and is worth what they say."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Any

import pytest
from hostile import hostile

from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.check import check
from dlsched.problems.dispatch.definition.oracle import _options, _starts
from dlsched.problems.dispatch.instances.strategy import _instance
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.forms import counts
from dlsched.problems.dispatch.programs.place_counts import point_of
from dlsched.problems.dispatch.structures.blocks import coarsest, halves
from dlsched.proofs.forms.form import Form

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
