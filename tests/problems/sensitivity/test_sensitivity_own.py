"""The library's own heuristic, `price_round`: steps by hand, bounds, dives."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of

import dlsched
from dlsched import Run
from dlsched.problems.sensitivity import Instance
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.oracle import brute_force
from dlsched.problems.sensitivity.heuristics.diving import Dive
from dlsched.problems.sensitivity.heuristics.price_round import Rounding
from dlsched.problems.sensitivity.heuristics.round_patterns import solution_from
from dlsched.problems.sensitivity.instances.strategy import instances
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.pattern_matrix import integer
from dlsched.problems.sensitivity.programs.pattern_program import Conversion, Program, conversions
from dlsched.problems.sensitivity.programs.pattern_relaxation import Relaxed, relax
from dlsched.problems.sensitivity.structures import server_patterns
from dlsched.problems.sensitivity.structures.server_knapsack import Knapsack, least_choices
from dlsched.problems.sensitivity.structures.server_patterns import Item
from drawing import drawn


@drawn(40, instances(max_jobs=4, max_servers=4))
def test_price_round_on_small_instances(instance: Instance) -> None:
    """The certified bound is no less than the optimum, and what is found is no less than TUNE's."""
    # All patterns that can matter are added, so that nearly all are solved to the optimum; with one
    # server the optimum is always found.
    optimum = brute_force(instance)
    result = dlsched.solve(instance, "price_round")
    if optimum is None:
        assert result.solution is None
        return
    assert result.certified[0].value >= optimum[0]
    tuned = dlsched.solve(instance, "tune")
    if tuned.solution is not None:
        assert result.objective[0] >= tuned.objective[0]
    if instance.servers.count == 1:
        assert result.objective[0] == optimum[0]


@pytest.mark.parametrize(
    ("servers", "multi", "split"),
    [(64, False, "20/70/10"), (64, True, "20/70/10"), (128, False, "60/30/10")],
)
def test_large_clusters_are_near_the_bound(servers: int, multi: bool, split: str) -> None:
    """On 64 servers and more price_round is within 0.1 % of its own certified bound."""
    instance = dlsched.generate("sensitivity", 7, servers=servers, multi=multi, split=split)
    result = dlsched.solve(instance, "price_round")
    assert result.certified[0] is not None
    assert result.gap[0] <= 1e-3
    assert result.objective[0] > dlsched.solve(instance, "tune").objective[0]


WHOLE = {"allow_split": False}
ALONE = WHOLE | {"may_wait": True}
TWO_AND_THREE = {f"p{g}": by_cpus(1, gpus=g) for g in (2, 3)}
# The large job runs at 2 with 1 CPU a GPU or with its share of 2, and at 3 with 3; the small one
# at 1 with 2 CPUs and at 5 with 3.
LARGE = {"large": by_cpus(2, 2, 3, gpus=3), "small": profile(1, [2, 3], [1], [[1], [5]])}
SCARCE = {"m": profile(1, [1], [1, 2, 3], [[1, 1, 2]])}
BY_HAND: dict[str, tuple[Instance, tuple[int, int] | str, int]] = {
    "of jobs of 3, 3 and 2 GPUs on two servers of 4 one is split":
        (made_of((2, 4, 4, 4), TWO_AND_THREE, ["p2", "p3", "p3"]), (3, 1), 0),
    "if none may be split there is no solution":
        (made_of((2, 4, 4, 4), TWO_AND_THREE, ["p2", "p3", "p3"], **WHOLE), "finished", 0),
    "a job larger than a server is split, beside one that wants 3 of the 4 CPUs":
        (made_of((2, 2, 4, 2), LARGE, ["large", "small"]), (7, 1), 0),
    "it has no place if not": (made_of((2, 2, 4, 2), LARGE, LARGE, **WHOLE), "infeasible", 0),
    "and waits if jobs may wait": (made_of((2, 2, 4, 2), LARGE, LARGE, **ALONE), (5, 0), 1),
    # With 1 GB a job runs at 1, with 3 GB at 2; a server has 8 GB for four jobs.
    "memory is for two of four jobs on each of two servers":
        (made_of((2, 4, 4, 8), SCARCE, ["m"] * 8), (12, 0), 0),
    "of four equal jobs of one GPU on two, two wait":
        (made_of((1, 2, 2, 2), {"p": by_cpus(1)}, ["p"] * 4, may_wait=True), (2, 0), 2),
    "without jobs nothing happens":
        (made_of((1, 2, 2, 2), {"p": by_cpus(1)}, [], may_wait=True), (0, 0), 0),
}  # fmt: skip
"""Instances, throughput and split jobs or why there is no solution, and how many jobs wait."""


@pytest.mark.parametrize("case", BY_HAND)
def test_price_round_by_hand(case: str) -> None:
    """It finds the best there is, or no solution."""
    made, objective, waiting = BY_HAND[case]
    result = dlsched.solve(made, "price_round")
    if isinstance(objective, str):
        assert (result.solution, result.termination) == (None, objective)
    else:
        assert tuple(result.objective) == objective
        assert result.details["waiting"] == waiting


def test_too_many_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server's table would be too large the solution is that of TUNE; a bound is left."""
    instance = dlsched.generate("sensitivity", 1, servers=4, multi=True)
    monkeypatch.setattr(server_patterns, "MOST_STATES", 10)
    result = dlsched.solve(instance, "price_round")
    assert result.objective == dlsched.solve(instance, "tune").objective
    assert result.certified[0] is not None


@pytest.mark.parametrize("name", ["price_round", "patterns"])
@pytest.mark.parametrize("small", [1e-300, 3e-320])
def test_throughputs_that_are_far_apart(name: str, small: float) -> None:
    """1e12 beside 1e-300 and beside 3e-320: multiples of the granularity are no doubles."""
    profiles = {"small": by_cpus(small), "large": by_cpus(10**12)}
    made = made_of((1, 2, 2, 2), profiles, ["small", "large"])
    result = dlsched.solve(made, name)
    assert result.objective[0] == brute_force(made)[0]
    assert result.bound[0] is None or result.bound[0].value >= result.objective[0]


def test_throughputs_that_no_job_can_have() -> None:
    """Two jobs of 8e-11 each, which would have 3e11 with 6 GB a GPU, on servers of 2 GB a GPU."""
    # What the solver says of the pooled cluster is known to 1e-9 of the largest throughput only.
    table = [[0, 0], [8e-11, 3e11], [400, 4]]
    made = made_of((2, 4, 16, 8), {"p": profile(4, [3, 4, 7], [2, 6], table)}, ["p", "p"])
    optimum = brute_force(made)
    assert optimum is not None and optimum[0] == Fraction(16, 10**11)
    assert dlsched.solve(made, "patterns").bound[0].value >= optimum[0]


def test_the_bound_is_a_sum_of_throughputs_that_jobs_can_have() -> None:
    """The pooled cluster has 2.33, a third of it from a job that fits on no server; so 2.3."""
    # Two jobs have 1, with 3 CPUs each, and two 0.3, with 12: one of these has the other server.
    profiles = {
        "alone": profile(4, [2, 3], [2], [[0], [0.3]]),
        "small": profile(1, [3], [2], [[1]]),
        "never": profile(5, [3, 8], [2], [[1 / 3], [1]]),
    }
    jobs = ["never", "small", "small", "alone", "alone"]
    made = made_of((2, 4, 12, 8), profiles, jobs, allow_split=False, may_wait=True)
    result = dlsched.solve(made, "patterns")
    assert result.status == "optimal"
    assert result.objective[0] == result.bound[0].value == brute_force(made)[0] == Fraction(23, 10)


def test_no_time() -> None:
    """With no time left, before there are prices, jobs are where TUNE has them, or run faster."""
    instance = dlsched.generate("sensitivity", 1, servers=4)
    result = dlsched.solve(instance, "price_round", time_limit=1e-9)
    tuned = dlsched.solve(instance, "tune")
    places = [{n: j.gpus for n, j in r.solution.allocation.items()} for r in (result, tuned)]
    assert places[0] == places[1]
    assert result.objective[0] > tuned.objective[0]


def test_the_knapsack_is_the_best_of_all_combinations() -> None:
    """On a server with a part of a split job: the same throughput as by trying all choices."""
    instance = dlsched.generate("sensitivity", 5, servers=2, multi=True, split="50/20/30")
    rng = np.random.default_rng(1)
    names = sorted(instance.profiles)
    servers = instance.servers
    for _ in range(10):
        free, parts = 6, []
        while free:
            name = names[int(rng.integers(len(names)))]
            gpus = instance.profiles[name].gpus
            if gpus <= free and len(parts) < 4:
                parts.append((name, gpus))
                free -= gpus
            else:
                free -= 1
        other = least_choices(instance)[names[0]]
        used = Item(2, other.cpus, other.memory)
        found = Knapsack(instance, [*parts, (names[0], 2)]).solve(parts, [used])
        best = max(
            sum(choice.throughput for choice in choices)
            for choices in product(*(instance.undominated[name] for name, _ in parts))
            if all(
                2 * getattr(other, r)
                + sum(g * getattr(c, r) for c, (_, g) in zip(choices, parts, strict=True))
                <= getattr(servers, r)
                for r in ("cpus", "memory")
            )
        )
        assert sum(choice.throughput for choice in found) == best


@pytest.mark.parametrize("allow_split", [True, False])
def test_the_first_patterns_hold_all_jobs(allow_split: bool) -> None:
    """A packing with proportional shares supplies the items that all jobs need."""
    instance = dlsched.generate("sensitivity", 4, servers=6, multi=True, allow_split=allow_split)
    program = Program(instance, whole=True, units=allow_split)
    gpus = [item.gpus for item in program.items]
    packed = proportional_patterns(program)
    assert sum(n * g for pattern in packed for n, g in zip(pattern, gpus, strict=True)) == 48
    assert all(sum(n * g for n, g in zip(p, gpus, strict=True)) <= 8 for p in packed)


def relaxed_of(instance: Instance, *, convert: bool) -> tuple[Program, Relaxed]:
    """Return the program of `price_round` and its relaxation."""
    units = instance.allow_split
    program = Program(instance, whole=True, units=units, penalty=1e-4, convert=convert)
    program.add(proportional_patterns(program))
    relaxed = relax(program, Run())
    assert relaxed is not None and relaxed.fits
    return program, relaxed


def test_conversions_by_hand() -> None:
    """To the next smaller items of as many GPUs, and to two of one GPU, unless by way of others."""
    items = [Item(1, 1, 1), Item(2, 1, 1), Item(2, 2, 1), Item(2, 2, 2), Item(1, 2, 1)]
    assert conversions(items) == [
        Conversion(3, 2, 1),
        Conversion(2, 1, 1),
        Conversion(2, 4, 2),
        Conversion(1, 0, 2),
        Conversion(4, 0, 1),
    ]


def test_conversions_compose_to_all_that_fit() -> None:
    """An item leads to another if that has no more CPUs and memory and divides its GPUs."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = {Item(int(rng.choice([1, 2, 4])), *rng.integers(1, 5, 2).tolist()) for _ in range(9)}
        items = sorted(rows)
        reached = {i: {i} for i in range(len(items))}
        for source, target, amount in reversed(conversions(items)):
            assert items[source].gpus == amount * items[target].gpus
            reached[source] |= reached[target]
        for (i, a), (j, b) in product(enumerate(items), repeat=2):
            fits = b.cpus <= a.cpus and b.memory <= a.memory and a.gpus % b.gpus == 0
            assert (j in reached[i]) == fits


@pytest.mark.parametrize("allow_split", [True, False])
def test_conversions_leave_the_optimum(allow_split: bool) -> None:
    """The relaxation has the same optimum and bound with them."""
    instance = dlsched.generate("sensitivity", 3, servers=12, multi=True, allow_split=allow_split)
    (plain, first), (with_them, second) = (relaxed_of(instance, convert=c) for c in (False, True))
    assert first.master.objective == pytest.approx(second.master.objective, rel=1e-6)
    assert plain.bound == pytest.approx(with_them.bound, rel=1e-6)


def test_phase_1_uses_a_pattern_more_often_than_there_are_servers() -> None:
    """One server of 8 GPUs, 8 jobs, patterns of single items: phase 1 needs 8 servers of these."""
    # Phase 2 then has the pattern with all 8 jobs.
    instance = dlsched.generate("sensitivity", 1, servers=1)
    program = Program(instance, whole=True, units=True)
    kinds = range(len(program.items))
    program.add(tuple(int(i == kind) for i in kinds) for kind in kinds)
    relaxed = relax(program, Run())
    assert relaxed is not None and relaxed.fits
    without = relaxed_of(instance, convert=False)[1]
    assert relaxed.master.objective == pytest.approx(without.master.objective)


@pytest.mark.parametrize("allow_split", [True, False])
def test_dives_end_in_solutions(allow_split: bool) -> None:
    """What dives find is feasible, of the throughput of the point, and within the bound."""
    found = 0
    for seed in (1, 2, 3):
        instance = dlsched.generate(
            "sensitivity", seed, servers=12, multi=True, allow_split=allow_split
        )
        program, relaxed = relaxed_of(instance, convert=True)
        for point in Dive(relaxed.master).points(5):
            if point is not None:
                solution = solution_from(program, point)
                assert check(instance, solution).feasible
                taken = zip(point.tolist(), program.values, strict=False)
                value = sum(round(often) * each for often, each in taken)
                assert evaluate(instance, solution.allocation)[0] == value * program.granularity
                assert value <= program.bound
                found += 1
    assert found >= 6


def test_dives_alone_come_near_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """On 128 servers they are within 0.1 %, so that no integer program is solved."""
    monkeypatch.setattr(Rounding, "_combine", lambda _: pytest.fail("an integer program"))
    instance = dlsched.generate("sensitivity", 7, servers=128, multi=True, split="20/70/10")
    result = dlsched.solve(instance, "price_round")
    assert result.objective[0] >= (1 - 1e-3) * float(result.certified[0].value)


def test_an_integer_program_near_the_relaxation() -> None:
    """The use of each pattern is at most four from that in the relaxation, rounded outwards."""
    instance = dlsched.generate("sensitivity", 7, servers=128, multi=True, split="20/70/10")
    program, relaxed = relaxed_of(instance, convert=False)
    near = relaxed.master.values
    goal = 0.999 * float(program.bound or 0)
    found = integer(program, Run(gap=2e-4), nodes=100, target=goal, near=near)
    assert found.values is not None and found.objective is not None
    assert found.objective >= goal
    first = len(program.options)
    assert np.max(np.abs(found.values - near)[first:]) <= 5 + 1e-6
    assert evaluate(instance, solution_from(program, found.values).allocation)[0] <= program.bound


def test_a_dive_ends_below_what_is_known() -> None:
    """With a known objective at the relaxation's optimum no dive finds a point."""
    instance = dlsched.generate("sensitivity", 1, servers=8, multi=True)
    _, relaxed = relaxed_of(instance, convert=True)
    dive = Dive(relaxed.master)
    dive.known = relaxed.master.objective
    assert list(dive.points(3)) == [None, None, None]
