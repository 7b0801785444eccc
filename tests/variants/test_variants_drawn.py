"""Drawn variants with added variables against enumeration: nothing false, little undecided."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from drawn import HOSTILE, PEOPLE, Drawn, best, draw

import dlsched
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.document import proof_from_data
from dlsched.proofs.prove import ProofFailed
from dlsched.results.objective import ByLevel
from dlsched.variants import exact_whole, owner_of


def reclaiming() -> tuple[Any, list[Any]]:
    """Return a small instance, and all its solutions."""
    instance = dlsched.generate("reclaiming", seed=2, servers=5, jobs=4, demand=2)
    chosen = itertools.combinations([server.id for server in instance.servers], 2)
    return instance, [
        {
            "dlsched": 1,
            "problem": "reclaiming",
            "instance": instance.name,
            "returned": list(servers),
        }
        for servers in chosen
    ]


INSTANCE, SOLUTIONS = reclaiming()


def objectives(drawn: Drawn, problem: Any) -> list[tuple[Any, Any]]:
    """Return the solutions that fit, with the values of all levels."""
    found = []
    for data in SOLUTIONS:
        solution = dlsched.load_solution(data, INSTANCE.problem)
        base = {
            f"x{i}": Fraction(int(server.id in solution.returned))
            for i, server in enumerate(INSTANCE.servers[:4])
        }
        own = best(drawn, base)
        report = problem.base.check(INSTANCE, solution)
        if own is not None:
            known = {**report.objective.as_dict(), "own": own}
            values = [known[level.name] for level in problem.levels]
            found.append((solution, ByLevel(problem.levels, values)))
        else:
            found.append((solution, None))
    return found


def compare(seed: int, powers: tuple[int, int]) -> str:
    """Solve and check a drawn variant; return how the search ended."""
    drawn = draw(seed, powers)
    problem = owner_of(INSTANCE, drawn.variant("reclaiming"))
    known = objectives(drawn, problem)
    for solution, objective in known:
        report = dlsched.verify(INSTANCE, solution, variant=problem)
        assert report.undecided or report.feasible == (objective is not None), (seed, solution)
        if objective is not None and report.objective is not None:
            assert [*report.objective] == [*objective], (seed, solution)
    optimum: Any = None
    for _, objective in known:
        if objective is not None and (optimum is None or objective.better_than(optimum)):
            optimum = objective
    result = dlsched.solve(INSTANCE, variant=problem)
    if result.status == "infeasible":
        assert optimum is None, seed
    if optimum is None:
        assert result.solution is None, seed
        return str(result.status)
    _assert_bounds(seed, result, optimum)
    if result.status == "optimal":
        for level, value, right in zip(problem.levels, result.objective, optimum, strict=True):
            assert not level.better(right, value) or near(value, right), (seed, level.name)
    return str(result.status)


def _assert_bounds(seed: int, result: Any, optimum: Sequence[Any]) -> None:
    """No bound is beaten by the optimum, level by level while the bounds are attained."""
    for bounds in (result.bound, result.certified):
        for level, bound, value in zip(result.bound.levels, bounds, optimum, strict=True):
            if bound is None:
                break
            beaten = level.better(value, bound.value)
            assert not beaten or (bound.kind != "certified" and near(bound.value, value)), (
                seed,
                level.name,
                bound,
                value,
            )
            if value != bound.value:
                break


def near(first: Any, second: Any) -> bool:
    """Whether two values differ by what results state as the solver's precision at most."""
    size = max(abs(Fraction(first)), abs(Fraction(second)))
    return abs(Fraction(first) - Fraction(second)) <= Fraction(1, 10**9) * size


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_drawn_variants_are_answered_rightly(start: int) -> None:
    """Statuses, objectives and bounds are those of enumeration, or nothing is claimed."""
    for seed in range(start, start + 30):
        compare(seed, HOSTILE)


def test_a_solver_alone_claims_nothing_false(monkeypatch: Any) -> None:
    """Where the program in fractions is too large, what doubles cannot tell is left open."""
    monkeypatch.setattr(exact_whole, "MOST_COLUMNS", 0)
    ended = Counter(compare(seed, HOSTILE) for seed in range(200, 230))
    assert ended["optimal"] > 3, ended


def test_few_are_undecided_in_units_that_people_use() -> None:
    """With coefficients from 1 to 1e12 in one row, of sixty at most one."""
    ended = Counter(compare(seed, PEOPLE) for seed in range(1000, 1060))
    assert ended["feasible"] + ended["no solution"] <= 1, ended


@pytest.mark.slow
def test_five_thousand_drawn_variants() -> None:
    """As above."""
    for seed in range(2000, 4500):
        compare(seed, HOSTILE)
    ended = Counter(compare(seed, PEOPLE) for seed in range(4500, 7000))
    assert ended["feasible"] + ended["no solution"] <= 50, ended


def forge(seed: int, powers: tuple[int, int]) -> tuple[int, int]:
    """Return how many forged documents were checked, and whether there was a proof."""
    drawn = draw(seed, powers)
    problem = owner_of(INSTANCE, drawn.variant("reclaiming"))
    known = [(s, o) for s, o in objectives(drawn, problem)]
    optimum: Any = None
    for _, objective in known:
        if objective is not None and (optimum is None or objective.better_than(optimum)):
            optimum = objective
    if optimum is None:
        return 0, 0
    best_one = next(s for s, o in known if o is not None and [*o] == [*optimum])
    try:
        proof = dlsched.prove(INSTANCE, best_one, variant=problem)
    except ProofFailed:
        return 0, 0
    dlsched.check_proof(INSTANCE, proof, variant=problem)
    forged = 0
    for solution, objective in known:
        for values in ({name: 1 for name in drawn.ranges}, {name: 0 for name in drawn.ranges}):
            data = proof.to_data()
            data["solution"]["returned"] = [*solution.returned]
            data["variant"]["values"] = {f"own_{name}": v for name, v in values.items()}
            for level, own in zip(data["levels"], objective or optimum, strict=True):
                level["target"] = str(Fraction(own))
            try:
                dlsched.check_proof(INSTANCE, proof_from_data(data, "forged"), variant=problem)
            except InvalidProof:
                forged += 1
            else:
                assert objective is not None, (seed, solution)
                assert all(map(near, objective, optimum)), (seed, solution)
    return forged, 1


def test_forged_documents_of_variants_are_refused() -> None:
    """With another solution, its values or those that the forger likes, none is accepted."""
    results = [forge(seed, PEOPLE) for seed in range(300, 312)]
    assert sum(count for count, _ in results) > 60
    assert sum(proved for _, proved in results) > 3
