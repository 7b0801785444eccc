"""Internal: patterns of a server, what their prices prove, conversions, dives and the knapsack."""

from __future__ import annotations

import math

import numpy as np

import dlsched
from dlsched import Run
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.lagrangian import Lagrangian
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.problems.sensitivity.structures.server_patterns import Floor, Item, Server, maximal


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
