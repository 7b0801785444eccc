"""Conversions of items, the relaxation with them, and dives: whole points that are solutions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dlsched
from dlsched.problems.sensitivity.definition.check import check, evaluate
from dlsched.problems.sensitivity.definition.schema import Instance
from dlsched.problems.sensitivity.heuristics.diving import Dive
from dlsched.problems.sensitivity.heuristics.price_round import Rounding
from dlsched.problems.sensitivity.heuristics.round_patterns import solution_from
from dlsched.problems.sensitivity.programs.dominated_items import Conversion, conversions
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.pattern_matrix import integer
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import Relaxed, relax
from dlsched.problems.sensitivity.structures.server_patterns import Item
from dlsched.run import Run


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
    assert first.objective == pytest.approx(second.objective, rel=1e-6)
    assert plain.bound == pytest.approx(with_them.bound, rel=1e-6)


def test_phase_1_uses_a_pattern_more_often_than_there_are_servers() -> None:
    """One server of 8 GPUs, 8 jobs, and patterns of single items: phase 1 needs 8 servers of these.

    Phase 2 then has the pattern with all 8 jobs.
    """
    instance = dlsched.generate("sensitivity", 1, servers=1)
    program = Program(instance, whole=True, units=True)
    kinds = range(len(program.items))
    program.add(tuple(int(i == kind) for i in kinds) for kind in kinds)
    relaxed = relax(program, Run())
    assert relaxed is not None and relaxed.fits
    assert relaxed.objective == pytest.approx(relaxed_of(instance, convert=False)[1].objective)


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
