"""The searches of placement: updated costs equal full ones, and hill climbing never worsens."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from placement_instances import instance, region, table

import dlsched
from dlsched import Run
from dlsched.problems.placement import Instance
from dlsched.problems.placement.definition.check import at_home, check, evaluate, moved
from dlsched.problems.placement.heuristics import (
    initial_homes,
    initial_state,
    rank_of,
    solution_of,
)
from dlsched.problems.placement.heuristics.annealing import Search
from dlsched.problems.placement.heuristics.annealing import anneal as schedules_of_annealing
from dlsched.problems.placement.heuristics.tempering import Replicas
from dlsched.problems.placement.kernels import local_search
from dlsched.problems.placement.structures.arrays import arrays
from dlsched.problems.placement.structures.state import (
    AT_HOME,
    COST,
    INFEASIBILITY,
    MOVED,
    state_of,
)
from dlsched.testing import oracles, strategies
from drawing import drawn

RULES: list[tuple[str, dict[str, Any]]] = [
    ("hill_climbing", {}),
    ("annealing", {"trials": 300}),
    ("tempering", {"trials": 20_000}),
]
"""The heuristics, those that anneal for long with few trials."""


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_updated_cost_is_the_full_cost(version: str) -> None:
    """Along 1,000 random moves, evaluated and applied, the sums are those of a fresh state."""
    # Every hundredth state is compared with the checker too.
    inst = dlsched.generate(
        "placement", 5, tables=40, regions=4, jobs=60, version=version, at_home=0.5
    )
    data, rng = arrays(inst), np.random.default_rng(1)
    state = state_of(data, initial_homes(data))
    tables, into = rng.integers(40, size=(1_000, 1)), rng.integers(4, size=(1_000, 1))
    for number, (t, r) in enumerate(zip(tables, into, strict=True)):
        kept = state[:-1]
        before, sums = [values.copy() for values in kept], state.sums.copy()
        tried, done = np.zeros((2, 2, 1))
        local_search.move_each(*state.packed, t, r, False, *tried)
        assert all(map(np.array_equal, kept, before))
        local_search.move_each(*state.packed, t, r, True, *done)
        assert np.array_equal(done, tried)
        assert state.sums[INFEASIBILITY] - sums[INFEASIBILITY] == pytest.approx(
            tried[1, 0], abs=1e-12
        )
        fresh = state_of(data, state.home)
        assert state.sums == pytest.approx(fresh.sums, rel=1e-9, abs=1e-9)
        assert state.sums[COST] - sums[COST] == pytest.approx(tried[0, 0], abs=1e-9)
        if number % 100 == 0:
            home = dict(zip((table.id for table in inst.tables), state.home.tolist(), strict=True))
            assert float(evaluate(inst, home).cost) == pytest.approx(fresh.sums[COST], rel=1e-9)
            assert float(moved(inst, home)) == fresh.sums[MOVED]
            assert float(at_home(inst, home)) == fresh.sums[AT_HOME]


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1e3])
def test_annealing_leaves_the_state_of_its_homes(version: str, temperature: float) -> None:
    """After 2,000 trials, clusters among them, the state is a fresh one's; all or few accepted."""
    # The penalty is so low that capacities, quotas of CPU hours and (6) are violated on the way.
    inst = dlsched.generate(
        "placement", 7, tables=40, regions=4, jobs=60, version=version, at_home=0.8,
        storage_utilization=0.9, experiments=0.5,
    )  # fmt: skip
    data, rng, n = arrays(inst), np.random.default_rng(1), 2_000
    state = state_of(data, initial_homes(data))
    flat = np.full(n, temperature), np.full(n, 1e-3), rng.random((n, local_search.DRAWS))
    best = local_search.anneal(*state.packed, *flat)
    fresh = state_of(data, state.home)
    for name in ("job_region", "near", "demand", "stored", "cpu"):
        assert np.array_equal(getattr(state, name), getattr(fresh, name))
    assert np.array_equal(state.sums[MOVED:], fresh.sums[MOVED:])
    assert state.part == pytest.approx(fresh.part) and state.gpu == pytest.approx(fresh.gpu)
    assert state.sums == pytest.approx(fresh.sums, rel=1e-9, abs=1e-9)
    assert state_of(data, state.best).sums[[COST, INFEASIBILITY]] == pytest.approx(best, rel=1e-9)


def test_a_short_annealing_is_better_than_hill_climbing() -> None:
    """On four instances of 60 tables it is never worse, and a twentieth cheaper on average."""
    costs = []
    for seed in range(1, 5):
        inst = dlsched.generate("placement", seed, tables=60, regions=5, jobs=120)
        climbed = dlsched.solve(inst, "hill_climbing")
        found = [climbed.objective, dlsched.solve(inst, "annealing", trials=300).objective]
        assert not found[0].better_than(found[1])
        costs.append(float(found[1].cost) / float(found[0].cost))
    assert np.mean(costs) < 0.95


def test_tempering_gets_out_of_what_annealing_ends_in() -> None:
    """Here one schedule of 200,000 trials ends a tenth above what as many exchanged ones reach."""
    inst, run = dlsched.generate("placement", 8, tables=60, regions=5, jobs=180), Run()
    data = arrays(inst)
    state = schedules_of_annealing(data, initial_state(inst, data, run), run, 1, 200_000)
    many = dlsched.solve(inst, "tempering", trials=200_000).objective.cost
    assert float(many) < 0.9 * rank_of(state)[1]


@pytest.mark.slow
def test_tempering_is_cheaper_on_average() -> None:
    """By their defaults, over four instances of a size from which it is the first heuristic."""
    ratios = []
    for seed in range(101, 105):
        inst = dlsched.generate("placement", seed, tables=100, regions=5, jobs=300)
        one, many = (dlsched.solve(inst, rule) for rule in ("annealing", "tempering"))
        ratios.append(float(many.objective.cost) / float(one.objective.cost))
    assert np.mean(ratios) < 0.995


def _replicas(seed: int, number: int = 5) -> Replicas:
    """Return replicas with placements and temperatures of their own."""
    inst = dlsched.generate("placement", seed, tables=40, regions=4, jobs=60)
    data, run = arrays(inst), Run(seed=seed)
    search = Search(data, state_of(data, initial_homes(data)), run)
    search.measure()
    replicas = Replicas(search, number)
    for i in range(number):
        replicas.anneal(i, 50)
    return replicas


def test_replicas_exchange_by_metropolis_rule() -> None:
    """The chance is that of the joint distribution; placements keep their costs with them."""
    took = 0
    for seed in range(20):
        replicas = _replicas(seed)
        before, ranks = replicas.homes.copy(), replicas.ranks.copy()
        pairs = np.arange(seed % 2, 4, 2)
        for pair, chance in zip(pairs, replicas.exchange(pairs), strict=True):
            energies = [
                [(cost + penalty * worse) / temperature for worse, cost in ranks[[pair, pair + 1]]]
                for penalty, temperature in zip(
                    replicas.penalties[[pair, pair + 1]],
                    replicas.temperatures[[pair, pair + 1]],
                    strict=True,
                )
            ]
            stay, change = np.trace(energies), energies[0][1] + energies[1][0]
            assert chance == pytest.approx(min(1.0, np.exp(stay - change)))
            took += not np.array_equal(replicas.homes[pair], before[pair])
        data = replicas.search.data
        for homes, rank in zip(replicas.homes, replicas.ranks, strict=True):
            assert rank_of(state_of(data, homes)) == pytest.approx(tuple(rank), rel=1e-9)
        assert sorted(map(tuple, ranks)) == sorted(map(tuple, replicas.ranks))
    assert 0 < took < 40


def test_temperatures_are_spaced_by_rejections() -> None:
    """They keep their ends and their order, and are dense where exchanges are rejected."""
    replicas = _replicas(1)
    first, last = replicas.temperatures[[0, -1]]
    replicas.respace(np.array([0.0, 0.0, 0.9, 0.1]))
    inner = replicas.temperatures
    assert inner[[0, -1]] == pytest.approx([first, last])
    assert (np.diff(inner) < 0).all() and (np.diff(replicas.penalties) > 0).all()
    steps = -np.diff(np.log(inner))
    assert steps[0] > 2 * steps[1:3].max()


@drawn(100, strategies.placement(max_tables=6, max_jobs=6))
def test_state_agrees_with_the_checker(made: Instance) -> None:
    """Cost is the checker's, infeasibility is 0 if and only if it finds no violation."""
    data = arrays(made)
    state = state_of(data, initial_homes(data))
    report = check(made, solution_of(made, state))
    assert report.objective is not None
    assert state.sums[COST] == pytest.approx(float(report.objective.cost), rel=1e-9, abs=1e-12)
    fits = state.sums[INFEASIBILITY] == 0 and state.sums[MOVED] <= data.quota
    assert fits == report.feasible


@drawn(50, strategies.placement())
def test_climbing_never_worsens(made: Instance) -> None:
    """The cost never rises from day to day, feasible stays feasible, and none beats brute force."""
    data = arrays(made)
    start = solution_of(made, state_of(data, initial_homes(data)))
    before = check(made, start)
    now = dlsched.solve(made, "hill_climbing")
    optimum = oracles.placement(made)
    if before.feasible:
        assert now.objective is not None
        assert before.objective is not None
        last = before.objective
        for days in range(4):
            reached = dlsched.solve(made, "hill_climbing", days=days).objective
            assert not last.better_than(reached)
            last = reached
        assert not last.better_than(now.objective)
    annealed = dlsched.solve(made, "annealing", trials=100)
    for result in (now, annealed):
        if result.objective is not None:
            assert optimum is not None
            assert not result.objective.better_than(optimum)
    if now.objective is not None:
        assert not now.objective.better_than(annealed.objective)


def test_quota_is_kept_by_the_methods() -> None:
    """Both searches respect the move quota; with a quota of 0 nothing moves."""
    for share in (0.1, 0.0):
        inst = dlsched.generate("placement", 3, tables=60, regions=4, jobs=90, move_share=share)
        for method, options in RULES:
            result = dlsched.solve(inst, method, **options)
            assert result.details["moved"] <= inst.move_quota
    assert result.objective == dlsched.solve(inst, "no_moves").objective


def test_start_is_used() -> None:
    """Annealing from an optimum returns nothing worse."""
    inst = dlsched.generate("placement", 2, tables=25, regions=3, jobs=40)
    good = dlsched.solve(inst, "annealing", trials=2_000)
    again = dlsched.solve(inst, "annealing", start=good.solution, trials=10)
    assert not good.objective.better_than(again.objective)


@pytest.mark.parametrize(("method", "options"), RULES)
def test_units_do_not_matter(method: str, options: dict[str, Any]) -> None:
    """Weights of 1e-12 and bytes in units of 1e-9 lead to the same placement."""
    inst = dlsched.generate("placement", 3, tables=25, regions=3, jobs=40, version="v1")
    data = inst.to_data() | {"weights": dict.fromkeys(("traffic", "gpu", "storage"), 1e-12)}
    for rows, field in (("tables", "size"), ("regions", "storage_capacity")):
        for row in data[rows]:
            row[field] = Fraction(row[field]) / 10**9
    small = Instance.parse(data, "the test")
    one, other = (dlsched.solve(i, method, **options) for i in (inst, small))
    assert one.solution.home == other.solution.home
    assert float(other.objective.cost) == pytest.approx(1e-12 * float(one.objective.cost), rel=1e-9)


def test_sums_without_a_common_unit() -> None:
    """If no unit divides all sizes, a placement that fills its regions exactly is feasible."""
    # The sizes add up to 1 and have 15 digits each beside one of 1e-9; each region stores exactly
    # what it has today.
    sizes = [0.333333333333333, 0.166666666666667, 0.499999999, 1e-9]
    tables = [table(f"t{i}", size, "rrss"[i]) for i, size in enumerate(sizes)]
    inst = instance([region("r", sizes[0] + sizes[1]), region("s", 0.5)], tables)
    assert check(inst, solution_of(inst, state_of(arrays(inst), [0, 0, 1, 1]))).feasible
    for method, options in (*RULES, ("no_moves", {})):
        assert dlsched.solve(inst, method, **options).status == "feasible"


def test_a_schedule_ends_cold_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten calls' trials a limit of four calls leaves out most between the first and the last."""
    inst = dlsched.generate("placement", 1, tables=6, regions=3, jobs=8)
    data, clock = arrays(inst), [0.0]
    monkeypatch.setattr("dlsched.run.time", SimpleNamespace(perf_counter=lambda: clock[0]))
    run = Run(time_limit=4.0, began=0.0)
    search = Search(data, state_of(data, initial_homes(data)), run)
    made: list[float] = []

    def trials(*arguments: Any) -> tuple[float, float]:
        temperatures = arguments[-3]
        made.extend(temperatures[[0, -1]])
        clock[0] += 1.0
        return rank_of(search.state)[1], rank_of(search.state)[0]

    monkeypatch.setattr(local_search, "anneal", trials)
    temperatures = np.arange(10.0 * 20_000, 0, -1)
    search.anneal(temperatures, temperatures)
    assert len(made) == 2 * 4
    assert made[0] == temperatures[0] and made[-1] <= temperatures[-50_000]
    made.clear()
    search.run = Run()
    search.anneal(temperatures, temperatures)
    assert len(made) == 2 * 10 and made[-1] == temperatures[-1]
