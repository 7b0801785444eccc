"""`frontier`, `best_solutions` and `what_if` against enumeration."""

import operator
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import DRAWN, SIZES, instances, nameable, solutions
from hypothesis import given, settings

import dlsched
from dlsched import Level, Variant
from dlsched.execution import Local, Submitit, run_all
from dlsched.variants import owner_of

SMALL = dlsched.load("reclaiming-small-04")
MINE = dlsched.generate("reclaiming", 0, servers=6, demand=3)
FIRST = [server.id for server in MINE.servers[:4]]
SLOW = pytest.mark.slow


def drawn(problem: str, seed: int) -> tuple[Any, list[Any], list[Any]]:
    """Return an instance of a problem's strategy with some solutions, these, and their values."""
    found: list[tuple[Any, list[Any]]] = []

    @settings(DRAWN, max_examples=60)
    @given(instances(problem))
    def collect(instance: Any) -> None:
        known = solutions(instance) if len(found) <= seed else None
        if known and 3 < len(known) < 200:
            found.append((instance, known))

    collect()
    instance, known = found[min(seed, len(found) - 1)]
    return instance, known, [dlsched.verify(instance, solution).objective for solution in known]


def losses(objective: Any) -> tuple[float, ...]:
    """Return the values of levels, those that are maximized with the other sign."""
    pairs = objective.pairs()
    return tuple(float(-value if level.sense == "max" else value) for level, value in pairs)


def nondominated(points: Iterable[Any]) -> list[Any]:
    """Return pairs of losses of which no other one is as small in both."""
    pairs = set(points)
    return [p for p in pairs if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in pairs)]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SLOW), pytest.param(2, marks=SLOW)])
@pytest.mark.parametrize("problem", ["reclaiming", "elastic", "workers", "sensitivity", "dispatch"])
def test_frontier_has_every_nondominated_point(problem: str, seed: int) -> None:
    """Of the pairs of levels that take several values, all are tried."""
    instance, _, found = drawn(problem, seed)
    names = [level.name for level in found[0].levels]
    several = [i for i in range(len(names)) if len({o[i] for o in found}) > 1]
    for i, j in list(combinations(several, 2))[:2]:
        points = {losses(o)[i : j + 1 : j - i]: (float(o[i]), float(o[j])) for o in found}
        frame = dlsched.frontier(instance, (names[i], names[j]))
        rows = sorted(frame[[names[i], names[j]]].itertuples(index=False, name=None))
        for row, best in zip(rows, sorted(points[p] for p in nondominated(points)), strict=True):
            assert row == pytest.approx(best), (i, j)
        assert set(frame["status"]) == {"optimal"}


def point(instance: Any, solution: Any) -> tuple[float, ...]:
    """Return the values of the variables that a variant may name."""
    owner = owner_of(instance, Variant(instance.problem, "none"))
    model = owner.module("model").build(instance)
    owner.module("model").assign(instance, model, solution)
    names = nameable(instance).values()
    return tuple(round(model.component(name)[key].value or 0) for name, key in names)


def validate_best_solutions(instance: Any, distinct: Any) -> None:
    """Compare the five best solutions with the enumeration: in order, and none is left out."""
    best: dict[Any, Any] = {}
    for solution in solutions(instance) or ():
        value = dlsched.verify(instance, solution).objective
        key = losses(value) if distinct == "objective" else point(instance, solution)
        if key not in best or value.better_than(best[key]):
            best[key] = value
    results = dlsched.best_solutions(instance, 5, distinct=distinct)
    assert {result.status for result in results} == {"optimal"}
    assert [losses(result.objective) for result in results] == [
        pytest.approx(value, rel=1e-6, abs=1e-9) for value in sorted(map(losses, best.values()))[:5]
    ]
    if distinct == "variables":
        assert len({point(instance, result.solution) for result in results}) == len(results)


LONG = (("dispatch", "variables"), ("placement", "variables"), ("placement", "objective"))
"""What takes seconds."""
CASES = [(name, distinct, 0) for name in sorted(SIZES) for distinct in ("variables", "objective")]
CASES += [("sensitivity", "objective", 1)]


@pytest.mark.parametrize(
    ("problem", "distinct", "seed"),
    [pytest.param(*case, marks=[SLOW] * (case[:2] in LONG)) for case in CASES],
)
def test_best_solutions_are_the_best_distinct_ones(problem: str, distinct: Any, seed: int) -> None:
    """None is left out, also those that only solutions with choices have that others dominate."""
    validate_best_solutions(drawn(problem, seed)[0], distinct)


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
    validate_best_solutions(dlsched.load(text), "variables")


@pytest.mark.parametrize("distinct", ["variables", "objective"])
def test_there_is_one_best_solution_where_nothing_is_to_be_decided(distinct: Any) -> None:
    """No variable can have another value; it was an error of Pyomo's."""
    text = {"dlsched": 1, "problem": "elastic", "name": "none", "capacity": 4, "jobs": []}
    assert len(dlsched.best_solutions(text, 3, distinct=distinct)) == 1


def test_what_if_states_the_cost_of_each_decision() -> None:
    """The same as solving anew, in the order asked for."""
    fixes = [{f"x[{s.id}]": value} for s in SMALL.servers for value in (0, 1)][::3]
    frame = dlsched.what_if(SMALL, fixes)
    assert list(frame["fix"])[:2] == ["-", f"x[{SMALL.servers[0].id}] = 0"]
    for row, fix in zip(frame.iloc[1:].to_dict("records"), fixes, strict=True):
        alone = dlsched.solve(SMALL, variant=Variant("reclaiming", "one", fix=fix))
        assert row["status"] == alone.status
        for level, value in () if alone.objective is None else alone.objective.pairs():
            bound = getattr(alone.bound, level.name).value
            assert (row[level.name], row[f"{level.name}_bound"]) == (value, bound)
            if level.name == "preempted":
                assert row["preempted_cost"] == value - frame["preempted"][0]


def test_what_cannot_be_sent_is_refused() -> None:
    """For other processes a variant is named by its file; without one, rows are the same there."""
    fixes = [{f"x[{server.id}]": 1} for server in SMALL.servers[:2]]
    assert dlsched.what_if(SMALL, fixes, on=Local(jobs=1)).equals(dlsched.what_if(SMALL, fixes))
    few = Variant("reclaiming", "few", constrain=lambda m, instance: None)
    with pytest.raises(dlsched.OptionError, match=r"variant='file\.py:name'"):
        dlsched.what_if(SMALL, fixes, variant=few, on=Local(jobs=2))
    with pytest.raises(dlsched.OptionError, match="is no executor"):
        dlsched.what_if(SMALL, fixes, on=2)


def test_a_study_that_a_limit_ends_says_so() -> None:
    """An empty answer would say that there is no solution."""
    assert len(dlsched.frontier("lyra-fig5", ("preempted", "collateral"), time_limit=1e-6)) == 1
    (result,) = dlsched.best_solutions("lyra-fig5", 2, time_limit=1e-6)
    assert result.status == "feasible"  # of a heuristic


@pytest.mark.parametrize("name", ["different", "beyond", "level_limits"])
def test_studies_keep_a_row_that_is_called_as_theirs(name: str) -> None:
    """It was replaced: one that violates it was called the second best, or a point."""

    def constrain(m: Any, instance: Any) -> None:
        m.add_component(name, pyo.Constraint(expr=sum(m.x[s] for s in FIRST) <= 1))

    variant = Variant("reclaiming", "one", constrain)
    for result in dlsched.best_solutions(MINE, 2, variant=variant):
        assert dlsched.verify(MINE, result.solution, variant=variant).feasible
    reports = [dlsched.verify(MINE, s, variant=variant) for s in solutions(MINE) or ()]
    points = dlsched.frontier(MINE, ("preempted", "collateral"), variant=variant)
    found = {tuple(map(float, report.objective)) for report in reports if report.feasible}
    assert points[["preempted", "collateral"]].to_numpy().tolist() == [
        list(best) for best in sorted(nondominated(found))
    ]


def weighted(name: str, sense: Any, costs: list[float]) -> Level:
    """Return a level of costs of the servers in turn."""
    return Level(name, sense, lambda m, _: sum(map(operator.mul, costs, m.x.values())))


STEPS: dict[str, tuple[Any, list[list[float]], tuple[Any, Any]]] = {
    # Coefficients of sixteen digits have a common step, which no solver can tell.
    "none": (
        SMALL,
        [[Random(seed + i).random() for i in range(len(SMALL.servers))] for seed in (1, 99)],
        ("minimize", "maximize"),
    ),
    # A limit of 1e-13 is within a solver's tolerances.
    "fine": (
        dlsched.generate("reclaiming", 0, servers=4, demand=1),
        [[0, 0.3, 0.7000000000001, 1], [1, 0.70000000000003, 0, 1]],
        ("minimize", "minimize"),
    ),
}
"""Instances, the costs of two levels, and their senses."""


@pytest.mark.parametrize("step", STEPS)
def test_a_frontier_of_levels_of_odd_steps_ends(step: str) -> None:
    """With every point."""
    instance, costs, senses = STEPS[step]
    levels = tuple(map(weighted, ("first", "second"), senses, costs))
    points = dlsched.frontier(instance, levels)
    held = [[s.id in found.returned for s in instance.servers] for found in solutions(instance)]
    sums = [tuple(sum(map(operator.mul, row, flags)) for row in costs) for flags in held]
    sign = -1 if senses[1] == "maximize" else 1
    best = sorted(a for a, _ in nondominated((a, sign * b) for a, b in sums))
    assert points["first"].tolist() == pytest.approx(best)
    assert set(points["status"]) == {"optimal"}


def test_a_frontier_with_a_level_of_which_no_row_may_be_stated() -> None:
    """Utility names what solutions do not determine; the limit is on the other level."""

    def count(m: Any, _: Any) -> None:
        m.total = pyo.Var(bounds=(0, 100))
        m.at_least = pyo.Constraint(expr=m.total >= sum(m.z.values()))

    own = Level("cost", "minimize", lambda m, _: m.total)
    counted = Variant("utility", "counted", count)
    instance = dlsched.generate("utility", 3, jobs=3, slots=5)
    points = dlsched.frontier(instance, (own, "utility"), variant=counted)
    assert len(points) > 1 and set(points["status"]) == {"optimal"}


def test_a_level_that_is_constant_has_one_point() -> None:
    """Pyomo has no row for a limit on it, which was an error."""
    three = Level("three", "minimize", lambda m, _: 3)
    points = dlsched.frontier("lyra-fig5", ("preempted", three))
    assert points.to_dict("list") == {"preempted": [1.0], "three": [3.0], "status": ["optimal"]}
    levels = Variant("reclaiming", "three", levels=[three, "preempted"])
    best = dlsched.best_solutions("lyra-fig5", 2, variant=levels)
    assert [float(result.objective.three) for result in best] == [3.0, 3.0]


def test_a_result_that_cannot_travel_is_named() -> None:
    """The error of a call on another process says what cannot be pickled."""
    with pytest.raises(dlsched.DlschedError, match="cannot pickle memoryview"):
        run_all(memoryview, [b"bytes"], jobs=2)


class Batch:
    """Stands for an executor of submitit: its jobs are futures of threads."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(2)

    def submit(self, *call: Any) -> Any:
        """Return a job."""
        return self.pool.submit(*call)


def test_jobs_of_a_batch_system_are_waited_for() -> None:
    """Also those that are submitted after all others have ended; then no thread is left."""
    executor = Submitit(Batch())
    for power in (3, 4):
        assert executor.submit(pow, 2, power).result(10) == 2**power
    late = executor.submit(pow, 2, 5)
    executor.shutdown()
    assert late.done() and late.result() == 32
