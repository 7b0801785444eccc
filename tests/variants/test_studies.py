"""`frontier`, `best_solutions` and `what_if` against enumeration."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from enumerations import SIZES, solutions
from test_variants_agree import instances

import dlsched
from dlsched import registry
from dlsched.sweeps import Local
from dlsched.variants import Variant, owner_of

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


def drawn(problem: str, seed: int) -> tuple[Any, list[Any]]:
    """Return an instance of a problem's strategy with some solutions, and all of these."""
    from hypothesis import HealthCheck, Phase, given, settings

    found: list[tuple[Any, list[Any]]] = []

    @settings(
        max_examples=60,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(instances(problem))
    def collect(instance: Any) -> None:
        known = solutions(instance) if len(found) <= seed else None
        if known and 3 < len(known) < 200:
            found.append((instance, known))

    collect()
    return found[min(seed, len(found) - 1)]


def objectives(instance: Any, known: list[Any]) -> list[Any]:
    """Return the objectives of solutions, by the checker."""
    owner = registry.problem(instance.problem)
    return [owner.check(instance, solution).objective for solution in known]


def dominates(a: Any, b: Any, pair: tuple[int, int]) -> bool:
    """Whether an objective is no worse than another in both levels, and better in one."""
    levels = a.levels
    no_worse = all(a[i] == b[i] or levels[i].better(a[i], b[i]) for i in pair)
    return no_worse and any(a[i] != b[i] for i in pair)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("problem", ["reclaiming", "elastic", "workers", "sensitivity", "dispatch"])
def test_frontier_has_every_nondominated_point(problem: str, seed: int) -> None:
    """Of the pairs of levels that take several values, all are tried."""
    instance, known = drawn(problem, seed)
    found = objectives(instance, known)
    names = [level.name for level in found[0].levels]
    several = [i for i in range(len(names)) if len({o[i] for o in found}) > 1]
    for pair in list(combinations(several, 2))[:2]:
        points = {
            tuple(float(o[i]) for i in pair)
            for o in found
            if not any(dominates(p, o, pair) for p in found)
        }
        frame = dlsched.frontier(instance, (names[pair[0]], names[pair[1]]))
        rows = frame[[names[i] for i in pair]].itertuples(index=False, name=None)
        for row, expected in zip(sorted(rows), sorted(points), strict=True):
            assert row == pytest.approx(expected), pair
        assert set(frame["status"]) == {"optimal"}


def point(instance: Any, solution: Any) -> tuple[float, ...]:
    """Return the values of the variables that a variant may name."""
    owner = owner_of(instance, Variant(instance.problem, "none"))
    model = owner.module("model").build(instance)
    owner.module("model").assign(instance, model, solution)
    names = owner.module("model").nameable(model)
    entries = [v for name in names for v in model.component(name).values()]
    return tuple(round(v.value) for v in entries)


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("dispatch", "placement")))
        for name in sorted(SIZES)
    ],
)
def test_best_solutions_are_the_best_distinct_ones(problem: str) -> None:
    """The first five, in order, and none is left out: as many points as the enumeration has."""
    validate_best_solutions(drawn(problem, 0)[0])


def validate_best_solutions(instance: Any) -> None:
    """Compare the five best solutions with the enumeration."""
    known = solutions(instance)
    assert known
    best: dict[tuple[float, ...], Any] = {}
    for solution, value in zip(known, objectives(instance, known), strict=True):
        key = point(instance, solution)
        if key not in best or value.better_than(best[key]):
            best[key] = value
    keys = [tuple(-v if e.sense == "max" else v for e, v in o.pairs()) for o in best.values()]
    expected = sorted(keys)[:5]
    results = dlsched.best_solutions(instance, 5)
    found = [tuple(-v if e.sense == "max" else v for e, v in r.objective.pairs()) for r in results]
    assert [list(map(float, f)) for f in found] == [
        pytest.approx(list(map(float, e)), rel=1e-6, abs=1e-9) for e in expected
    ]
    assert len({point(instance, r.solution) for r in results}) == len(results)


@pytest.mark.parametrize(
    ("problem", "seed"),
    [
        *(("sensitivity", seed) for seed in range(4)),
        *((name, 0) for name in sorted(SIZES) if name not in ("sensitivity", "placement")),
        pytest.param("placement", 0, marks=pytest.mark.slow),
    ],
)
def test_best_solutions_by_objective_leave_out_no_objective(problem: str, seed: int) -> None:
    """Also those that only solutions with choices have that others dominate."""
    instance, known = drawn(problem, seed)
    found = {tuple(map(float, objective)): objective for objective in objectives(instance, known)}
    senses = [entry.sense for entry, _ in next(iter(found.values())).pairs()]

    def losses(values: Any) -> tuple[float, ...]:
        return tuple(-v if s == "max" else v for s, v in zip(senses, values, strict=True))

    results = dlsched.best_solutions(instance, 5, distinct="objective")
    assert {result.status for result in results} == {"optimal"}
    assert [losses(map(float, result.objective)) for result in results] == [
        pytest.approx(loss) for loss in sorted(map(losses, found))[:5]
    ]


@pytest.mark.parametrize("distinct", ["variables", "objective"])
def test_there_is_one_best_solution_where_nothing_is_to_be_decided(distinct: Any) -> None:
    """No variable can have another value; it was an error of Pyomo's."""
    text = {"dlsched": 1, "problem": "elastic", "name": "none", "capacity": 4, "jobs": []}
    assert len(dlsched.best_solutions(text, 3, distinct=distinct)) == 1


def test_what_highs_presolve_fails_at_is_solved_without_it() -> None:
    """HiGHS 1.16.0 ends with a solve error at one of the programs."""
    servers = [
        {"id": "s0", "pool": "loan", "gpus": 6, "free": 0, "group": "flexible"},
        {"id": "s1", "pool": "loan", "gpus": 6, "free": 1, "group": "base"},
        {"id": "s2", "pool": "training", "gpus": 4, "free": 4},
    ]
    jobs = [
        {"id": "j0", "gpus_per_worker": 1, "base": 2},
        {"id": "j1", "gpus_per_worker": 2, "base": 2, "heterogeneous": True},
        {"id": "j2", "gpus_per_worker": 1, "base": 2, "flexible": 1, "elastic": True},
    ]
    text = {"dlsched": 1, "problem": "workers", "name": "fails", "servers": servers, "jobs": jobs}
    validate_best_solutions(dlsched.load(text))


def test_what_if_states_the_cost_of_each_decision() -> None:
    """For every server of an instance the same as solving anew, in the order asked for."""
    instance = dlsched.load("reclaiming-small-04")
    fixes = [{f"x[{s.id}]": value} for s in instance.servers for value in (0, 1)]
    frame = dlsched.what_if(instance, fixes)
    assert list(frame["fix"])[:2] == ["-", f"x[{instance.servers[0].id}] = 0"]
    for row, fix in zip(frame.iloc[1:].to_dict("records"), fixes, strict=True):
        alone = dlsched.solve(instance, variant=Variant("reclaiming", "one", fix=fix))
        assert row["status"] == alone.status
        if alone.objective is not None:
            assert row["preempted"] == alone.objective.preempted
            assert row["collateral"] == alone.objective.collateral
            assert row["preempted_bound"] == alone.bound.preempted.value
            assert row["collateral_bound"] == alone.bound.collateral.value
            assert row["preempted_cost"] == row["preempted"] - frame["preempted"][0]


@pytest.mark.slow
def test_what_if_in_parts() -> None:
    """On other processes the rows are the same."""
    instance = dlsched.load("reclaiming-small-04")
    fixes = [{f"x[{server.id}]": 1} for server in instance.servers]
    here = dlsched.what_if(instance, fixes)
    assert dlsched.what_if(instance, fixes, on=Local(jobs=2)).equals(here)


def test_what_cannot_be_sent_is_refused() -> None:
    """For other processes a variant is named by its file, and processes by `Local`."""
    instance = dlsched.load("reclaiming-small-04")
    fixes = [{f"x[{server.id}]": 1} for server in instance.servers]
    few = Variant("reclaiming", "few", constrain=lambda m, instance: None)
    with pytest.raises(dlsched.OptionError, match=r"variant='file\.py:name'"):
        dlsched.what_if(instance, fixes, variant=few, on=Local(jobs=2))
    with pytest.raises(dlsched.OptionError, match="give Local"):
        dlsched.what_if(instance, fixes, on=2)  # type: ignore[arg-type]
