"""The exact methods of sensitivity agree with brute force, and say what they proved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.sensitivity import Instance, Solution, exact, model, packing
from dlsched.problems.sensitivity.generate import examples
from dlsched.problems.sensitivity.packing import Item, Server
from dlsched.problems.sensitivity.reference import stage_one, stage_two
from dlsched.run import Run
from dlsched.testing import oracles, strategies

RULES = (
    "tune", "tune_public", "greedy", "greedy_then_tune", "water_filling", "proportional", "drf",
    "tetris",
)  # fmt: skip


@given(strategies.sensitivity())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_exact_methods_agree_with_brute_force(instance: Instance) -> None:
    """Brute force = milp = patterns on both levels; pooled bounds it; no rule beats it.

    On up to 8 servers, with split and waiting jobs, in units from 1e-9 to 1e9.
    """
    truth = oracles.sensitivity(instance)
    for method in ("milp", "patterns"):
        result = dlsched.solve(instance, method)
        if truth is None:
            assert result.status == "infeasible"
        else:
            assert (result.status, result.objective) == ("optimal", truth)
    if truth is not None:
        # Theorem 4.1: what all servers together could do is no less than any placement.
        assert dlsched.solve(instance, "pooled").certified[0].value >= truth[0]
    for rule in RULES:
        result = dlsched.solve(instance, rule)
        if result.objective is not None:
            assert truth is not None
            assert not result.objective.better_than(truth)


@pytest.mark.parametrize("allow_split", [True, False])
@pytest.mark.parametrize("multi", [True, False])
def test_small_clusters_are_proved(multi: bool, allow_split: bool) -> None:
    """48 GPUs: proved, the certified bound holds, and turning the jobs around changes nothing."""
    instance = dlsched.generate("sensitivity", 2, servers=6, multi=multi, allow_split=allow_split)
    best = dlsched.solve(instance)
    assert best.status == "optimal"
    assert best.certified[0].value >= best.objective[0]
    turned = instance.model_copy(update={"jobs": instance.jobs[::-1]})
    assert dlsched.solve(turned).objective == best.objective


def test_distinct_profiles_are_proved() -> None:
    """64 jobs, each with a profile of its own, on 8 servers."""
    instance = dlsched.generate("sensitivity", 5, servers=8, distinct=True)
    assert len(instance.profiles) == 64
    assert dlsched.solve(instance).status == "optimal"


def test_the_table_of_a_server_is_the_best_of_all_patterns() -> None:
    """The dynamic program = the best of all maximal patterns, at random prices."""
    servers = dlsched.generate("sensitivity", 1, servers=1).servers
    items = [
        Item(1, 1, 62.5),
        Item(1, 3, 125),
        Item(2, 4, 62.5),
        Item(1, 6, 187.5),
        Item(4, 5, 125),
    ]
    table = Server(servers, items)
    patterns = table.maximal(20_000)
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = rng.integers(0, 100, len(items)).tolist()
        best = table.table(values)
        assert best[-1, -1, -1] == max(sum(np.multiply(p, values)) for p in patterns)
        found = table.pattern(best, values)
        assert sum(np.multiply(found, values)) == best[-1, -1, -1]
        near = table.maximal(20_000, values, int(best[-1, -1, -1]) - 5)
        assert set(near) == {p for p in patterns if best[-1, -1, -1] - np.dot(p, values) <= 5}


def test_enumeration_and_pricing_end_at_the_limit() -> None:
    """With no time left patterns are neither enumerated nor priced item by item."""
    from dlsched.problems.sensitivity.program import Program

    instance = dlsched.generate("sensitivity", 1, servers=2)
    program = Program(instance, whole=True, units=False)
    late = Run(time_limit=0.0)
    values = [1] * len(program.items)
    assert program.server.maximal(20_000, values) is not None
    assert program.server.maximal(20_000, values, run=late) is None
    assert program.relax(late) is None
    duals = np.ones(len(program.counts) + len(program.items) + 1)
    assert len(program.price(duals, late)) < len(program.price(duals, Run()))


def test_any_prices_give_a_bound() -> None:
    """Whatever the prices of items, the bound of the program is no less than the optimum."""
    from dlsched.problems.sensitivity.program import Program

    instance = dlsched.generate("sensitivity", 2, servers=4, multi=True)
    best = dlsched.solve(instance).objective[0]
    rng = np.random.default_rng(2)
    for _ in range(20):
        program = Program(instance, whole=False, units=True)
        duals = rng.uniform(0, 800, len(program.counts) + len(program.items) + 1)
        program.check_prices(duals)
        assert program.bound * program.grid >= best


@pytest.mark.parametrize("multi", [True, False])
def test_a_vertex_of_stage_two_fragments_few_jobs(multi: bool) -> None:
    """The paper's linear program leaves at most 3 x servers jobs in pieces; stage one is pooled."""
    instance = dlsched.generate("sensitivity", 1, servers=6, multi=multi)
    first = stage_one(instance)
    assert stage_two(instance, first).fragmented <= 3 * 6
    pooled = dlsched.solve(instance, "pooled").bound[0].value
    assert first.throughput == pytest.approx(float(pooled), abs=1e-6)
    said = dlsched.solve(instance, "synergy_opt")
    assert said.status == "no solution"
    assert "at a vertex at most 18" in said.reason


def test_stage_one_through_another_solver() -> None:
    """SCIP finds the same stage one, where it is installed."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    instance = dlsched.generate("sensitivity", 1, servers=4)
    assert stage_one(instance, "scip").throughput == pytest.approx(stage_one(instance).throughput)
    with pytest.raises(dlsched.OptionError, match="highs, scip, glpk"):
        stage_one(instance, "lucky")


def test_a_gap_is_good_enough() -> None:
    """Asked for 30 %, patterns ends with what a rule found; the gap that is left is stated."""
    instance = dlsched.generate("sensitivity", 1, servers=8, distinct=True)
    rough = dlsched.solve(instance, gap=0.3)
    assert (rough.status, rough.reason) == ("optimal", "within the gap asked for")
    assert 0 < rough.gap[0] <= 0.3
    assert rough.objective == dlsched.solve(instance, "water_filling").objective
    finer = dlsched.solve(instance, gap=0.01)
    assert finer.gap[0] <= 0.01
    assert finer.objective.better_than(rough.objective)


def test_a_start_that_is_no_solution_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns checks its first incumbent: a faulty rule costs time, not the answer."""
    instance = examples()[1]

    def faulty(instance: Instance) -> Iterator[Solution]:
        best = dlsched.solve(instance, "proportional").solution
        given_ = best.allocation["a"].model_copy(update={"cpus": 3, "memory": 3})
        yield best.model_copy(update={"allocation": {**best.allocation, "a": given_}})

    assert not dlsched.verify(instance, next(faulty(instance)))
    monkeypatch.setattr(exact, "starts", faulty)
    assert dlsched.solve(instance).objective[0] == Fraction(15, 4)


def test_throughputs_far_apart() -> None:
    """A job at 1e15 beside one at 1e-300: found, and either proved or left with a stated gap."""
    profiles = {
        name: {"gpus": 1, "cpus": [1, 2], "memory": [1], "throughput": [[worth], [2 * worth]]}
        for name, worth in {"large": 10**14, "small": 1e-300}.items()
    }
    instance = Instance(
        name="apart",
        servers={"count": 1, "gpus": 2, "cpus": 2, "memory": 2},
        profiles=profiles,
        jobs=[{"id": "a", "profile": "large"}, {"id": "b", "profile": "small"}],
    )
    result = dlsched.solve(instance)
    assert result.objective[0] == 10**14 + Fraction("1e-300")
    assert result.certified[0].value >= result.objective[0]
    assert result.gap[0] < 1e-10


def test_throughputs_with_many_digits() -> None:
    """Costs of 17 digits are rounded for the solver: optimal, and the gap is what is left.

    Where the largest throughput is one that no server can give, the gap may be any, and then it is
    not called optimal.
    """
    rng = np.random.default_rng(7)
    for large in (1.0, 1e15):
        for _ in range(15):
            table = [[0.1], [0.3], [rng.uniform(0.4, 2)], [large * rng.uniform(2, 3) / 3]]
            profiles = {
                f"p{g}": {"gpus": g, "cpus": [1, 2, 3, 4], "memory": [1], "throughput": table}
                for g in (1, 2)
            }
            instance = Instance(
                name="digits",
                servers={"count": 2, "gpus": 2, "cpus": 4, "memory": 2},
                allow_split=False,
                profiles=profiles,
                jobs=[
                    {"id": n, "profile": p} for n, p in zip("abc", ("p1", "p1", "p2"), strict=True)
                ],
            )
            truth = oracles.sensitivity(instance)
            result = dlsched.solve(instance)
            assert result.objective == truth
            assert result.bound[0].value >= truth[0]
            assert (result.status == "optimal") == (result.gap[0] <= 1e-9)
            assert dlsched.solve(instance, "pooled").bound[0].value >= truth[0]


def test_too_many_sums_are_left_to_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server's table would be too large milp answers, or a rule with the pooled bound."""
    instance = dlsched.generate("sensitivity", 1, servers=2)
    best = dlsched.solve(instance).objective
    monkeypatch.setattr(packing, "MOST_STATES", 10)
    assert dlsched.solve(instance).objective == best
    monkeypatch.setattr(model, "MOST_VARIABLES", 10)
    result = dlsched.solve(instance)
    assert result.status == "feasible"
    assert not dlsched.solve(instance, "greedy_then_tune").objective.better_than(result.objective)
    assert "table would have" in result.reason
    assert result.certified[0].value >= best[0]


def test_jobs_that_may_wait_by_hand() -> None:
    """Two GPUs, 4 CPUs; three jobs run at 2, 1 and 5 with 1, 1 and 4 CPUs: the last one alone.

    With a fourth CPU less for it, 3 CPUs, the first is placed beside it.
    """
    tables = {"a": [[2], [2], [2], [2]], "b": [[1], [1], [1], [1]], "c": [[0], [1], [1], [5]]}

    def made(c: list[list[int]]) -> Instance:
        return Instance(
            name="waits",
            servers={"count": 1, "gpus": 2, "cpus": 4, "memory": 2},
            may_wait=True,
            profiles={
                name: {"gpus": 1, "cpus": [1, 2, 3, 4], "memory": [1], "throughput": table}
                for name, table in (tables | {"c": c}).items()
            },
            jobs=[{"id": name, "profile": name} for name in tables],
        )

    for method in ("milp", "patterns"):
        alone = dlsched.solve(made(tables["c"]), method)
        assert (alone.status, tuple(alone.objective)) == ("optimal", (5, 0))
        assert list(alone.solution.allocation) == ["c"]
        assert (alone.details["idle_gpus"], alone.details["waiting"]) == (1, 2)
        both = dlsched.solve(made([[0], [1], [4], [5]]), method)
        assert (both.status, tuple(both.objective)) == ("optimal", (6, 0))
        assert list(both.solution.allocation) == ["a", "c"]


def test_a_time_limit_leaves_the_truth() -> None:
    """Stopped early, patterns returns in time, with a heuristic's solution or better."""
    instance = dlsched.generate("sensitivity", 1, servers=64, multi=True, distinct=True)
    began = time.perf_counter()
    result = dlsched.solve(instance, time_limit=0.3)
    assert time.perf_counter() - began < 3
    assert result.status == "feasible"
    assert not dlsched.solve(instance, "tune").objective.better_than(result.objective)


def test_a_start_is_taken() -> None:
    """The optimum as a start is the first incumbent; a poor one is no better than the rules'."""
    instance = dlsched.generate("sensitivity", 1, servers=4)
    best = dlsched.solve(instance)
    assert dlsched.solve(instance, start=best.solution).start.reason == "the first incumbent"
    poor = dlsched.solve(instance, start=dlsched.solve(instance, "proportional").solution)
    assert poor.start.reason == "no better than the heuristics'"


def test_same_seed_same_answer() -> None:
    """Patterns is deterministic."""
    instance = dlsched.generate("sensitivity", 1, servers=8, multi=True, allow_split=False)
    assert dlsched.solve(instance).solution == dlsched.solve(instance).solution
