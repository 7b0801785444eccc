"""Internal: patterns of a server, what their prices prove, conversions, dives and the knapsack."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import dlsched
from dlsched import Run, Status
from dlsched.problems.sensitivity import Instance, exact
from dlsched.problems.sensitivity.definition.check import check, evaluate, explain
from dlsched.problems.sensitivity.heuristics.diving import Dive
from dlsched.problems.sensitivity.heuristics.round_patterns import solution_from
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.lagrangian import Lagrangian
from dlsched.problems.sensitivity.programs.pattern_program import Program, conversions
from dlsched.problems.sensitivity.programs.pattern_relaxation import Relaxed, relax
from dlsched.problems.sensitivity.structures.server_knapsack import Knapsack, least_choices
from dlsched.problems.sensitivity.structures.server_patterns import Floor, Item, Server, maximal
from dlsched.testing import oracles, strategies
from drawing import drawn


def test_the_table_of_a_server_is_the_best_of_all_patterns() -> None:
    """The dynamic program = the best of all maximal patterns, at random prices."""
    servers = dlsched.generate("sensitivity", 1, servers=1).servers
    sizes = [(1, 1, 62.5), (1, 3, 125), (2, 4, 62.5), (1, 6, 187.5), (4, 5, 125)]
    items = [Item(*size) for size in sizes]
    table = Server(servers, items)
    patterns = maximal(table, 20_000)
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = rng.integers(0, 100, len(items)).tolist()
        best = table.table(values)
        assert best[-1, -1, -1] == max(sum(np.multiply(p, values)) for p in patterns)
        found = table.pattern(best, values)
        assert sum(np.multiply(found, values)) == best[-1, -1, -1]
        near = maximal(table, 20_000, [Floor(values, best, int(best[-1, -1, -1]) - 5)])
        assert set(near) == {p for p in patterns if best[-1, -1, -1] - np.dot(p, values) <= 5}
        others = rng.integers(0, 100, len(items)).tolist()
        floors = [Floor(v, table.table(v), 200) for v in (values, others)]
        both = maximal(table, 20_000, floors)
        least = {p: min(np.dot(p, values), np.dot(p, others)) for p in patterns}
        assert set(both) == {p for p in patterns if least[p] >= 200}


def test_any_prices_give_a_bound() -> None:
    """Random prices of items give bounds that are no less than the optimum."""
    instance = dlsched.generate("sensitivity", 2, servers=4, multi=True)
    best = dlsched.solve(instance).objective[0]
    rng = np.random.default_rng(2)
    for _ in range(20):
        program = Program(instance, whole=False, units=True)
        duals = rng.uniform(0, 800, len(program.counts) + len(program.items) + 1)
        bound = Lagrangian(program, program.prices(duals)).throughput()
        assert bound * program.granularity >= best


def test_any_prices_bound_the_split_jobs() -> None:
    """With the throughput held, random prices give bounds that are no more than the optimum."""
    instance = dlsched.generate("sensitivity", 10, servers=3, multi=True, split="40/40/20")
    best = dlsched.solve(instance)
    assert best.status == "optimal"
    program = Program(instance, whole=True, units=True)
    floor = int(best.objective[0] / program.granularity)
    program.add(proportional_patterns(program))
    assert relax(program, Run()) is not None
    relaxed = relax(program, Run(), floor)
    assert relaxed is not None
    least = Lagrangian(program, relaxed.prices, floor).splits()
    assert least == math.ceil(relaxed.master.objective - 1e-6) <= best.objective[1]
    rng = np.random.default_rng(3)
    for _ in range(20):
        duals = rng.uniform(0, 0.5, len(program.counts) + len(program.items) + 2)
        duals[-1] = -rng.uniform(0, 0.01)  # of the floor
        prices = program.prices(duals)
        assert Lagrangian(program, prices, floor).splits() <= best.objective[1]


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


def relaxed_of(instance: Instance, *, convert: bool) -> tuple[Program, Relaxed]:
    """Return the program of `price_round` and its relaxation."""
    units = instance.allow_split
    program = Program(instance, whole=True, units=units, penalty=1e-4, convert=convert)
    program.add(proportional_patterns(program))
    relaxed = relax(program, Run())
    assert relaxed is not None and relaxed.fits
    return program, relaxed


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


@drawn(25, strategies.sensitivity(max_jobs=5))
def test_patterns_prove_what_no_heuristic_has_proved(instance: Instance) -> None:
    """From a weak solution without a bound: `price_round` leaves it nothing on small instances."""
    if explain(instance):  # then no method is asked
        return
    optimum = oracles.sensitivity(instance)
    weak = dlsched.solve(instance, "proportional").solution
    claim = exact.patterns(instance, Run(found=[weak]))
    if optimum is None:
        assert claim.status is Status.INFEASIBLE
        return
    assert claim.status is Status.OPTIMAL
    found = dlsched.verify(instance, claim.solution).objective
    assert found.throughput == optimum.throughput
    assert found.split == optimum.split
