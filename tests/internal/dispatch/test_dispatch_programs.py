"""Internal: dispatch's proof form, its counts on blocks and their inequalities, a state."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import Run
from dlsched.problems.dispatch import Instance, Solution
from dlsched.problems.dispatch.definition.oracle import _options, _starts
from dlsched.problems.dispatch.exact import from_best
from dlsched.problems.dispatch.instances.state import instance as instance_of
from dlsched.problems.dispatch.instances.strategy import _instance
from dlsched.problems.dispatch.programs import place_counts as places
from dlsched.problems.dispatch.programs.block_program import Counts
from dlsched.problems.dispatch.programs.forms import counts
from dlsched.problems.dispatch.programs.loads import capacity
from dlsched.problems.dispatch.structures.blocks import Shape, coarsest, halves
from dlsched.proofs.check import Form
from dlsched.registry.cluster_state import ClusterState, JobState, Server
from dlsched.results.result import Claim, Status, Termination
from dlsched.solvers.precision import BEYOND_PRECISION


def feasible(instance: Instance) -> Iterator[tuple[Solution, Any]]:
    """Yield the solutions that brute force enumerates, with their values."""
    names = [workload.id for workload in instance.running]
    options = {workload.id: list(_options(instance, workload)) for workload in instance.pending}
    for gone in chain.from_iterable(combinations(names, k) for k in range(len(names) + 1)):
        for start in _starts(instance, gone, options):
            solution = Solution(start=start, preempt=gone)
            report = dlsched.verify(instance, solution)
            if report.feasible:
                yield solution, report.objective


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


def _times(data: Any, factor: Fraction) -> Any:
    """Return a document with the CPUs and the memory of all machines and jobs multiplied."""
    if isinstance(data, list):
        return [_times(entry, factor) for entry in data]
    if not isinstance(data, dict):
        return data
    return {
        key: Fraction(str(value)) * factor if key in ("cpus", "memory") else _times(value, factor)
        for key, value in data.items()
    }


@pytest.mark.parametrize("seed", range(10))
def test_no_solution_violates_a_row(seed: int) -> None:
    """With all cuts of drawn weights, blocks by rack, and blocks that are divided."""
    draw = random.Random(seed)
    instance = _instance(draw.choice, None, 2, 2, 3, 2, ties=False)
    if seed % 2:  # amounts of many digits
        digits = f"{draw.uniform(1, 2):.11f}"
        instance = Instance.parse(_times(instance.to_data(), Fraction(digits)), "the test")
    batch = coarsest(instance)
    jobs = [job for requests in batch.fleet.requests for job in requests]
    shapes = list(dict.fromkeys((job.kind, *job.need) for job in jobs))
    cuts = [[[*shape, draw.randint(0, 9)] for shape in shapes] for _ in range(3)]
    racks = batch.divided_by_rack().blocks
    parts = [p for b in racks for p in (halves(b) if len(b.machines) > 1 else [b])]
    everything = list(feasible(instance))
    solutions = draw.sample(everything, min(60, len(everything)))
    for blocks, parameters in (
        (batch.blocks, {}),
        (racks, {"racks": True, "cuts": cuts}),
        (parts, {"racks": True, "blocks": [[b.site, *b.machines] for b in parts], "cuts": cuts}),
    ):
        form, program = counts(instance, parameters), Counts(batch._replace(blocks=blocks))
        assert all(abs(a) <= 2**20 for _, _, a in program.cells)  # beyond, tolerances mistake them
        for solution, objective in solutions:
            point = places.point_of(program, solution)
            require_satisfied(form, [int(x) for x in point], objective)
            assert not places.separated(program, point, Run())


@pytest.mark.parametrize("seed", range(20))
def test_packing_finds_what_there_is(seed: int) -> None:
    """Against all assignments of tasks to machines; a violated inequality says there is none."""
    rng = np.random.default_rng(seed)
    shapes = [Shape(-1, (0, int(a), int(b))) for a, b in rng.integers(1, 8, (2, 2))]
    counts, have = rng.integers(1, 4, 2).tolist(), (0, *rng.integers(7, 14, 2).tolist())
    needs = [shape for shape, n in zip(shapes, counts, strict=True) for _ in range(n)]
    fits = False
    for on in product(range(2), repeat=len(needs)):
        used = np.zeros((2, 3), dtype=int)
        for m, shape in zip(on, needs, strict=True):
            used[m] += shape.need
        fits |= bool((used <= have).all())
    found = places.Packing([shape.need for shape in shapes], have).fill(tuple(counts), 2)
    assert (found is not None) == fits
    weights = places.violated(shapes, counts, [places.Room(2, have)], Run())
    assert weights is None or not fits
    assert found is None or np.sum(found, axis=0).tolist() == counts
    if weights is not None:
        parts = [dict(weights).get(shape, 0) for shape in shapes]
        assert np.dot(counts, parts) > 2 * (capacity(weights, have) or 0)


def test_an_optimum_that_the_start_beats_is_none() -> None:
    """It may be one of values that are equal to the solver: the start is returned instead."""
    made: Any = dlsched.generate("dispatch", 1, machines=6, pending=12, allocation=1.0)
    plan = dlsched.solve(made, "reinserted").solution
    for status, reason in ((Status.OPTIMAL, BEYOND_PRECISION), (Status.NO_SOLUTION, "")):
        found = Claim(Solution() if reason else None, status, termination=Termination.TOLERANCES)
        claim = from_best(made, Run(), lambda start, found=found: found)
        assert (claim.status, claim.termination) == ("feasible", Termination.TOLERANCES)
        assert claim.reason == reason and claim.solution.start == plan.start


def state_of(*waiting: JobState) -> ClusterState:
    """Return two servers of 8 GPUs, on which a job of 12 has run for 50 seconds, after 60."""
    running = JobState("r", 12, 12, 12, 5, 100, 50, (("s1", 8), ("s2", 4)))
    return ClusterState(60, (Server("s1", 8), Server("s2", 8)), (running,), waiting)


def test_the_instance_of_a_clusters_state() -> None:
    """Twelve GPUs are held; tasks are servers, single GPUs, or the job itself."""
    sizes = (("a", 16, 10), ("b", 12, 20), ("c", 4, 30), ("d", 0, 0))
    jobs = [JobState(name, n, n, n, submit, 100, 0, ()) for name, n, submit in sizes]
    made = instance_of(state_of(*jobs))
    running = made.running[0]
    assert (running.jobs[0].on, running.seconds) == ({"s1#0": 8, "s2#0": 4}, 50)
    shapes = [(w.id, w.age, w.jobs[0].tasks, w.jobs[0].gpus) for w in made.pending]
    assert shapes == [("a", 50, 2, 8), ("b", 40, 12, 1), ("c", 30, 1, 4)]
    assert dlsched.solve(made).status == "optimal"


def test_priorities_are_those_of_the_paper() -> None:
    """Of 4,000 jobs 27 % are over quota, 54 % of the others have priority 4, whatever the order."""
    jobs = [JobState(f"j{k}", 1, 1, 1, 0, 100, 0, ()) for k in range(4000)]
    tenants = [w.tenant for w in instance_of(state_of(*jobs)).pending]
    count = Counter(tenants)
    assert count["priority-4"] / 4000 == pytest.approx(0.73 * 0.54, abs=0.03)
    assert count["priority-7"] / 4000 == pytest.approx(0.27 + 0.73 * 0.06, abs=0.03)
    few = instance_of(state_of(*jobs[39::-1])).pending
    assert [w.tenant for w in few] == tenants[39::-1]
    assert [w.tenant for w in instance_of(state_of(*jobs), priority_seed=1).pending] != tenants
