"""The exact methods, the model and the bounds of sensitivity: proofs, limits, hostile numbers."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sensitivity_instances import by_cpus, profile
from sensitivity_instances import instance as made_of
from typer.testing import CliRunner

import dlsched
from dlsched.bench import Store, run_suite
from dlsched.cli import app
from dlsched.problems.sensitivity import Instance, Solution, exact, model
from dlsched.problems.sensitivity.definition.oracle import brute_force
from dlsched.problems.sensitivity.instances.generate import examples
from dlsched.problems.sensitivity.programs.cvxpy_reference import (
    solver_version,
    stage_one,
    stage_two,
)
from dlsched.problems.sensitivity.programs.initial_patterns import packing as proportional_patterns
from dlsched.problems.sensitivity.programs.pattern_enumeration import maximal
from dlsched.problems.sensitivity.programs.pattern_program import Program
from dlsched.problems.sensitivity.programs.pattern_relaxation import relax
from dlsched.problems.sensitivity.structures import server_patterns
from dlsched.problems.sensitivity.structures.server_patterns import Floor, Item, Server
from dlsched.run import Run


def test_only_jobs_of_several_gpus_can_be_split() -> None:
    """The two-server example: c alone has variables for its servers and for being split."""
    m = dlsched.model("synergy-two-servers")
    assert list(m.SEVERAL) == ["c"]
    assert len(m.z) == 2
    whole = dlsched.load("synergy-two-servers").model_copy(update={"allow_split": False})
    assert dlsched.model(whole).q["c"].ub == 0


SLOW = pytest.mark.slow


@pytest.mark.parametrize("servers", [5, pytest.param(6, marks=SLOW)])
@pytest.mark.parametrize(("multi", "allow_split"), [(True, True), (True, False), (False, True)])
def test_small_clusters_are_proved(servers: int, multi: bool, allow_split: bool) -> None:
    """Clusters are proved, the certified bound holds, and the order of jobs does not matter."""
    options = {"servers": servers, "multi": multi, "allow_split": allow_split}
    instance = dlsched.generate("sensitivity", 2, **options)
    best = dlsched.solve(instance)
    assert (best.status, best.termination) == ("optimal", "proved")
    assert best.certified[0].value >= best.objective[0]
    reverse = instance.model_copy(update={"jobs": instance.jobs[::-1]})
    assert dlsched.solve(reverse).objective == best.objective


@pytest.mark.parametrize(("seed", "servers"), [(2, 5), pytest.param(5, 8, marks=pytest.mark.slow)])
def test_distinct_profiles_are_proved(seed: int, servers: int) -> None:
    """Clusters full of single-GPU jobs, each with a profile of its own, are proved."""
    instance = dlsched.generate("sensitivity", seed, servers=servers, distinct=True)
    assert len(instance.profiles) == 8 * servers
    assert dlsched.solve(instance).status == "optimal"


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


def test_enumeration_and_pricing_end_at_the_limit() -> None:
    """With no time left patterns are neither enumerated nor generated item by item."""
    instance = dlsched.generate("sensitivity", 1, servers=2)
    program = Program(instance, whole=True, units=False)
    late = Run(time_limit=0.0)
    assert maximal(program.server, 20_000) is not None
    assert maximal(program.server, 20_000, run=late) is None
    assert relax(program, late) is None
    duals = np.ones(len(program.counts) + len(program.items) + 1)
    prices = program.prices(duals)
    assert len(program.price(prices, late)) < len(program.price(prices, Run()))


def test_any_prices_give_a_bound() -> None:
    """Random prices of items give bounds that are no less than the optimum."""
    instance = dlsched.generate("sensitivity", 2, servers=4, multi=True)
    best = dlsched.solve(instance).objective[0]
    rng = np.random.default_rng(2)
    for _ in range(20):
        program = Program(instance, whole=False, units=True)
        duals = rng.uniform(0, 800, len(program.counts) + len(program.items) + 1)
        program.tighten(program.prices(duals))
        assert program.bound * program.granularity >= best


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
    least = program.lagrangian(relaxed.prices, floor).splits()
    assert least == math.ceil(relaxed.objective - 1e-6) <= best.objective[1]
    rng = np.random.default_rng(3)
    for _ in range(20):
        duals = rng.uniform(0, 0.5, len(program.counts) + len(program.items) + 2)
        duals[-1] = -rng.uniform(0, 0.01)  # of the floor
        prices = program.prices(duals)
        assert program.lagrangian(prices, floor).splits() <= best.objective[1]


@pytest.mark.parametrize(
    ("servers", "split", "found"),
    [(16, "30/60/10", (Fraction("89.888"), 9)), (128, "20/70/10", (Fraction("852.473"), 48))],
)
@pytest.mark.slow
def test_mixes_that_left_the_split_jobs_open(
    servers: int, split: str, found: tuple[Fraction, int]
) -> None:
    """Mixes of one to eight GPUs of which 20 CPU seconds proved only one level are proved."""
    instance = dlsched.generate("sensitivity", 13, servers=servers, split=split, multi=True)
    result = dlsched.solve(instance, time_limit=120)
    assert (result.status, tuple(result.objective)) == ("optimal", found)


@pytest.mark.parametrize("multi", [True, False])
def test_a_vertex_of_stage_two_fragments_few_jobs(multi: bool) -> None:
    """The paper's linear program fragments at most 3 x servers jobs; stage one is `pooled`."""
    instance = dlsched.generate("sensitivity", 1, servers=6, multi=multi)
    first = stage_one(instance)
    assert stage_two(instance, first).fragmented <= 3 * 6
    pooled = dlsched.solve(instance, "pooled").bound[0].value
    assert first.throughput == pytest.approx(float(pooled), abs=1e-6)
    result = dlsched.solve(instance, "synergy_opt")
    assert (result.status, result.termination) == ("no solution", "bound_only")
    assert (result.solver, result.solver_version) == ("highs", solver_version("highs"))
    assert "at a vertex at most 18" in result.reason


def test_synergy_opt_uses_the_solver_of_the_run() -> None:
    """From Python and the command line `solver` is that of stage one, with its version."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    name, version = "synergy-two-servers", solver_version("scip")
    result = dlsched.solve(name, "synergy_opt", solver="scip")
    assert (result.solver, result.solver_version) == ("scip", version)
    assert (result.bound[0].method, result.bound[0].value) == ("scip, stage one", 3.75)
    shown = CliRunner().invoke(
        app, ["solve", name, "--method", "synergy_opt", "--solver", "scip", "--json"]
    )
    assert shown.exit_code == 0
    data = json.loads(shown.stdout)
    assert (data["solver"], data["solver_version"]) == ("scip", version)


@pytest.mark.slow
def test_synergy_opt_in_a_suite_uses_its_solver(tmp_path: Path) -> None:
    """So it is in the rows of a suite."""
    pytest.importorskip("pyscipopt", reason="the second solver is an optional extra")
    name, version = "synergy-two-servers", solver_version("scip")
    dlsched.save(dlsched.load(name), tmp_path / f"{name}.json")
    suite = tmp_path / "suite.toml"
    suite.write_text(
        f'name = "stage"\nsolver = "scip"\n[[instances]]\nfiles = "{name}.json"\n'
        '[[methods]]\nname = "synergy_opt"\n'
    )
    run_suite(suite, tmp_path / "out", jobs=1)
    with Store(tmp_path / "out") as store:
        records = [json.loads(row["record"]) for row in store.rows()]
    assert [(r["solver"], r["solver_version"]) for r in records] == [("scip", version)]


def test_a_gap_is_good_enough() -> None:
    """Asked for 30 %, patterns ends with a heuristic's solution; the remaining gap is stated."""
    instance = dlsched.generate("sensitivity", 1, servers=3, multi=True)
    rough = dlsched.solve(instance, gap=0.3)
    assert (rough.status, rough.termination) == ("optimal", "gap_reached")
    assert 0 < rough.gap[0] <= 0.3
    assert rough.objective == dlsched.solve(instance, "price_round").objective


def test_a_start_that_is_no_solution_is_not_offered() -> None:
    """Patterns checks its initial solutions: a faulty heuristic does not change the optimum."""
    instance = examples()[1]

    def faulty(instance: Instance) -> Iterator[Solution]:
        best = dlsched.solve(instance, "proportional").solution
        given_ = best.allocation["a"].model_copy(update={"cpus": 3, "memory": 3})
        yield best.model_copy(update={"allocation": {**best.allocation, "a": given_}})

    assert not dlsched.verify(instance, next(faulty(instance)))
    run = Run(found=[*faulty(instance)])
    assert exact.patterns(instance, run).objective[0] == Fraction(15, 4)


def test_profiles_with_stairs_are_proved() -> None:
    """Three servers, 15 jobs, 8 x 6 choices with stairs: more patterns matter than are listed."""
    # The heuristics have 25.414, and the program with every server proves 33.414.
    instance = dlsched.load(Path(__file__).with_name("three_servers.json"))
    result = dlsched.solve(instance)
    assert (result.status, tuple(result.objective)) == ("optimal", (Fraction("33.414"), 1))


@pytest.mark.slow
def test_equal_servers_do_not_use_up_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five servers, 21 jobs with stairs: the program with every server has no proof in a minute."""
    # It has fewer columns than there are patterns that matter, and gets a few seconds; then the
    # patterns within a growing distance of the bound prove the optimum.
    monkeypatch.setattr(exact, "_SECONDS", 1.0)
    instance = dlsched.load(Path(__file__).with_name("five_servers.json"))
    result = dlsched.solve(instance, time_limit=600)
    assert (result.status, tuple(result.objective)) == ("optimal", (Fraction("73.955"), 5))


def test_throughputs_far_apart() -> None:
    """A job at 1e15 beside one at 1e-300: found, and either proved or left with a stated gap."""
    profiles = {name: by_cpus(t, 2 * t) for name, t in (("large", 10**14), ("small", 1e-300))}
    instance = made_of((1, 2, 2, 2), profiles, profiles)
    result = dlsched.solve(instance)
    assert result.objective[0] == 10**14 + Fraction("1e-300")
    assert result.certified[0].value >= result.objective[0]
    assert result.gap[0] < 1e-10


def test_throughputs_with_many_digits() -> None:
    """Costs of 17 digits are rounded for the solver: optimal, with the remaining gap."""
    # If the largest throughput cannot be attained, the gap may be larger than 1e-9, and the status
    # is not optimal.
    rng = np.random.default_rng(7)
    for large in [1.0] * 15 + [1e15] * 15:
        table = [0.1, 0.3, rng.uniform(0.4, 2), large * rng.uniform(2, 3) / 3]
        profiles = {f"p{gpus}": by_cpus(*table, gpus=gpus) for gpus in (1, 2)}
        instance = made_of((2, 2, 4, 2), profiles, ["p1", "p1", "p2"], allow_split=False)
        optimum = brute_force(instance)
        result = dlsched.solve(instance)
        assert result.objective == optimum
        assert result.bound[0].value >= optimum[0]
        assert (result.status == "optimal") == (result.gap[0] <= 1e-9)
        assert (result.termination == "tolerances") == (result.status == "feasible")
        assert dlsched.solve(instance, "pooled").bound[0].value >= optimum[0]


def test_too_many_sums_are_left_to_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a server's table would be too large, milp is used, or heuristics and the pooled bound."""
    instance = dlsched.generate("sensitivity", 1, servers=2)
    best = dlsched.solve(instance).objective
    monkeypatch.setattr(server_patterns, "MOST_STATES", 10)
    assert dlsched.solve(instance).objective == best
    monkeypatch.setattr(model, "MOST_VARIABLES", 10)
    result = dlsched.solve(instance)
    assert (result.status, result.termination) == ("feasible", "undecided")
    assert not dlsched.solve(instance, "tune_public").objective.better_than(result.objective)
    assert "table would have" in result.reason
    assert result.certified[0].value >= best[0]


@pytest.mark.parametrize("method", ["milp", "patterns"])
@pytest.mark.parametrize(
    ("last", "throughput", "placed"), [((0, 1, 1, 5), 5, ["j2"]), ((0, 1, 4, 5), 6, ["j0", "j2"])]
)
def test_jobs_that_may_wait_by_hand(
    method: str, last: tuple[int, ...], throughput: int, placed: list[str]
) -> None:
    """Two GPUs, 4 CPUs; three jobs run at 2, 1 and 5 with 1, 1 and 4 CPUs: the last one alone."""
    # If the last one runs at 4 with 3 CPUs, the first job is placed beside it.
    profiles = {"a": by_cpus(2, 2, 2, 2), "b": by_cpus(1, 1, 1, 1), "c": by_cpus(*last)}
    waits = made_of((1, 2, 4, 2), profiles, "abc", may_wait=True)
    best = dlsched.solve(waits, method)
    assert (best.status, tuple(best.objective)) == ("optimal", (throughput, 0))
    assert list(best.solution.allocation) == placed
    waiting = 3 - len(placed)
    assert (best.details["idle_gpus"], best.details["waiting"]) == (waiting - 1, waiting)


def test_a_time_limit_keeps_the_solution() -> None:
    """Stopped early, patterns returns a heuristic's solution or a better one."""
    instance = dlsched.generate("sensitivity", 1, servers=64, multi=True, distinct=True)
    result = dlsched.solve(instance, time_limit=0.3)
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert not dlsched.solve(instance, "tune").objective.better_than(result.objective)


def test_same_seed_same_answer() -> None:
    """Patterns is deterministic, also where it generates patterns and searches."""
    instance = dlsched.generate("sensitivity", 1, servers=6, multi=True, allow_split=False)
    assert dlsched.solve(instance).solution == dlsched.solve(instance).solution


@pytest.mark.parametrize("method", ["patterns", "milp"])
def test_no_time_is_no_excuse_to_be_worse_than_heuristics(method: str) -> None:
    """With no time left, both exact methods return the best that heuristics find in no time."""
    instance = dlsched.generate("sensitivity", 1, servers=3, multi=True)
    best = dlsched.solve(instance, method, time_limit=1e-9)
    for name in ("tune", "tune_public", "balance"):
        found = dlsched.solve(instance, name, time_limit=1e-9)
        assert not found.objective.better_than(best.objective)


METHODS = ("patterns", "milp", "pooled", "balance", "price_round", "tune")


def one_server(cpus: Any, axis: list[Any], throughput: list[Any], jobs: int = 2) -> Instance:
    """Return one server of two GPUs and jobs of one GPU with these choices."""
    profiles = {"p": profile(1, axis, [1], [[value] for value in throughput])}
    return made_of((1, 2, cpus, 2), profiles, ["p"] * jobs)


def drawn(rng: random.Random) -> Instance:
    """Return an instance whose amounts and throughputs each have two units and a kind of digits."""
    gpus = rng.choice([1, 2, 2, 3])

    def factor(kind: str) -> Fraction:
        if kind == "digits":
            return Fraction(repr(rng.uniform(0.5, 4)))
        if kind == "near":
            return 1 + Fraction(rng.choice([-1, 0, 1]), 10 ** rng.choice([9, 12, 15]))
        return Fraction(rng.choice([1, 1, 2, 3]))

    def number(value: Fraction) -> Fraction:
        return Fraction(repr(float(min(value, Fraction(10**15)))))

    def axis(unit: Fraction, kind: str) -> tuple[Fraction, list[Fraction]]:
        """Return a server's amount, and the axis with the share of a GPU."""
        share = number(unit * factor("" if kind == "digits" else kind))
        total = number(share * gpus)
        share = total / gpus
        steps = {share}
        for _ in range(rng.randint(0, 2)):
            steps.add(number(share * factor(kind) * rng.choice([1, 2, Fraction(1, 2)])))
        return total, sorted(steps)

    units = [Fraction(10) ** rng.choice([-9, -3, 0, 0, 3, 9, 14]) for _ in range(4)]
    kinds = [rng.choice(["digits", "near", "ties"]) for _ in range(3)]
    (cpus, rows), (memory, columns) = axis(units[0], kinds[0]), axis(units[1], kinds[1])
    profiles = {}
    for name in ("p", "q"):
        table = [
            [
                number(rng.choice(units[2:]) * factor(kinds[2]) * (1 + r + c))
                for c in range(len(columns))
            ]
            for r in range(len(rows))
        ]
        least = min(value for row in table for value in row)
        table[rows.index(cpus / gpus)][columns.index(memory / gpus)] = least
        profiles[name] = profile(rng.randint(1, gpus), rows, columns, table)
    return Instance(
        name="hostile",
        servers={"count": rng.randint(1, 2), "gpus": gpus, "cpus": cpus, "memory": memory},
        allow_split=rng.random() < 0.5,
        may_wait=True,
        profiles=profiles,
        jobs=[{"id": f"j{k}", "profile": rng.choice("pq")} for k in range(rng.randint(1, 4))],
    )


def examine(instance: Instance, method: str) -> None:
    """Assert that a method says nothing false, with brute force as the truth."""
    optimum = brute_force(instance)
    assert optimum is not None
    result = dlsched.solve(instance, method)
    for bounds in (result.bound, result.certified):
        if bounds[0] is not None:
            assert bounds[0].value >= optimum[0]
    if result.status == "optimal":
        exact = tuple(result.objective) == tuple(optimum)
        assert exact or (result.gap[0] <= 1e-6 and "optimal within" in result.reason)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 250), marks=pytest.mark.slow)])
def test_nothing_false_is_said_of_hostile_numbers(method: str, seeds: range) -> None:
    """No bound is beaten, no optimum is false, and no disagreement is raised."""
    for seed in seeds:
        rng = random.Random(seed)
        instance = None
        while instance is None:
            try:
                instance = drawn(rng)
            except (dlsched.InstanceError, ValueError):
                continue  # a share that is no double
        examine(instance, method)


@pytest.mark.parametrize("digits", [9, 12, 15])
def test_amounts_that_just_do_not_fit(digits: int) -> None:
    """Two jobs with half of the CPUs and a little more do not fit, whatever a solver tolerates."""
    # milp returned such points, and the checker refused them.
    much = Fraction(1) + Fraction(1, 10**digits)
    instance = one_server(2, [Fraction(1, 2), 1, much], [2, 2, 4])
    for method in METHODS:
        examine(instance, method)
    assert dlsched.solve(instance).objective[0] == 6


def test_throughputs_that_differ_in_the_last_digits() -> None:
    """A tie up to 13 digits: the better one, exactly or with the precision in the reason."""
    better = 1 + Fraction(1, 10**13)
    instance = one_server(2, [1], [better])
    assert dlsched.solve(instance).objective[0] == 2 * better
    for method in ("patterns", "milp"):
        examine(
            one_server(4, [1, 2], [better, 1 + 2 * (better - 1)], jobs=3).model_copy(
                update={"may_wait": True}
            ),
            method,
        )
