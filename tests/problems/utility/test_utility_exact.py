"""The model and the exact methods of utility: brute force, bounds, units, rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import instance, job

import dlsched
from dlsched import Run
from dlsched.problems.utility import Instance, model
from dlsched.problems.utility.definition.check import completions
from dlsched.problems.utility.exact import schedule_columns
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.kernels.pricing import best_schedule
from dlsched.problems.utility.programs.lagrangian import Dual, lagrangian_bound
from dlsched.problems.utility.structures.gangs import Gangs, Stopped
from dlsched.problems.utility.structures.machines import solution_of
from dlsched.problems.utility.structures.work_units import Units, units
from dlsched.results.result import Termination
from dlsched.solvers.standard_form import compile_model
from dlsched.testing import oracles, strategies
from drawing import drawn, draws

RULES = ["hadar", "hadar_literal", "insertion"]
RULES += ["yarn_cs", "tiresias", "srtf"]


@drawn(100, st.one_of(strategies.utility(), strategies.utility(max_jobs=2, forking=True)))
def test_exact_methods_equal_brute_force(instance: Instance) -> None:
    """The objective of milp, and of dantzig_wolfe for gangs, is exactly the optimum."""
    optimum = oracles.utility(instance)
    for method in ("milp",) if instance.forking else ("milp", "dantzig_wolfe"):
        result = dlsched.solve(instance, method)
        if optimum is None:
            assert result.status == "infeasible"
        else:
            assert (result.status, result.objective) == ("optimal", optimum)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let dantzig_wolfe end its search after two rounds without a better incumbent."""
    monkeypatch.setattr(schedule_columns, "_PATIENCE", 2)


@drawn(100, strategies.utility(), st.integers(0, 10**6))
def test_any_prices_give_a_bound(instance: Instance, seed: int) -> None:
    """Whatever the prices, if none is negative, no schedule exceeds their bound."""
    optimum = oracles.utility(instance)
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 1)
    kinds = sorted({k for masks in instance.speeds for s in masks for k in s.types})
    prices = {kind: (scale * rng.random(instance.slots)).tolist() for kind in kinds}
    bound = lagrangian_bound(instance, prices)
    coarse = lagrangian_bound(instance, prices, units=3)
    if optimum is not None:
        assert optimum.utility <= bound
        assert optimum.utility <= coarse


@pytest.mark.parametrize("power", [-300, -8, 0, 9])
def test_a_bound_whatever_the_unit_of_utilities(power: int) -> None:
    """Bounds hold for tables of small and of large numbers; the best is the optimum, 7 units."""
    unit = float(f"1e{power}")
    jobs = [job(utilities=[u * unit, u * unit / 2]) for u in (6, 2)]
    made = instance(jobs, {"A": 1}, slots=2)
    worth = Fraction(str(6 * unit)) + Fraction(str(2 * unit / 2))
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(made, method)
        assert (result.status, result.objective[0]) == ("optimal", worth)
    assert lagrangian_bound(made, {}) >= 8 * Fraction(str(unit))
    assert lagrangian_bound(made, {"A": [1 * unit, 0]}) >= worth
    bound = dlsched.solve(made, "lagrangian").certified[0].value
    assert worth <= bound <= worth * Fraction(1001, 1000)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("power", [-12, pytest.param(-8, marks=pytest.mark.slow), -6, 9])
def test_utilities_of_any_size_are_solved(power: int) -> None:
    """Rates and iterations times a factor: the optimum is that factor times as much."""
    plain = dlsched.generate("utility", 4, jobs=5, slots=8, gpus=6, per_machine=2, mix="even")
    best = dlsched.solve(plain)
    data = plain.to_data()
    for row in data["jobs"]:
        row["iterations"] = float(f"{row['iterations']}e{power}")
        row["rates"] = {k: float(f"{r}e{power}") for k, r in row["rates"].items()}
    scaled = dlsched.load(data)
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(scaled, method)
        assert result.status == "optimal"
        assert result.objective[0] == best.objective[0] * Fraction(10) ** power


@pytest.mark.parametrize(("iterations", "least"), [(2, 1), (4, -1)])
def test_prices_near_the_largest_float(iterations: int, least: int) -> None:
    """Prices whose sum overflows give a valid bound; -1 only if a job cannot finish."""
    made = instance([job(iterations)], {"A": 1}, slots=3, must_finish=True)
    bound = lagrangian_bound(made, {"A": [1e308] * 3})
    assert bound >= 1 if least == 1 else bound == -1


TABLES = [
    job(2, {"A": 1, "B": 1}, utilities=[1e15, 1e15, 1e-300]), job(utilities=[1e-300] * 3)
]  # fmt: skip
WORK = [job(1e15, {"A": 1e15, "B": 1e-300}), job(1e-300, {"A": 1e-300, "B": 1e15})]


@pytest.mark.parametrize("method", ["milp", "dantzig_wolfe", "lagrangian", *RULES])
@pytest.mark.parametrize("jobs", [TABLES, WORK], ids=["tables", "work"])
def test_values_far_apart(jobs: list[dict[str, Any]], method: str) -> None:
    """1e-300 beside 1e15, in tables and in work: every method finds the large utility."""
    made = instance(jobs, {"A": 1, "B": 1}, slots=3)
    result = dlsched.solve(made, method)
    assert result.objective is None or float(result.objective[0]) == 1e15
    if jobs is WORK and method == "milp":
        forking = made.model_copy(update={"forking": True})
        assert float(dlsched.solve(forking, method).objective[0]) == 1e15


def test_a_scheduled_job_may_be_worth_nothing() -> None:
    """A job whose schedule has utility 0 is not inserted again, and no GPU is used twice."""
    made = instance([job(utilities=[0, 0])], {"A": 1}, slots=2, must_finish=True)
    schedule = Insertion(Gangs(made))
    schedule.fill([0])
    assert schedule.left_out() == []
    assert dlsched.solve(made, "dantzig_wolfe").status == "optimal"
    assert dlsched.solve(made, "insertion").solution.schedule


def test_a_stop_ends_building_and_pricing() -> None:
    """A reason to stop ends the building of a model and a pricing pass; the start is returned."""
    instance = dlsched.generate("utility", 1, jobs=12, slots=40, gpus=12)
    asked: list[int] = []

    def third_time() -> Termination | None:
        asked.append(1)
        return Termination.INTERRUPTED if len(asked) > 2 else None

    with pytest.raises(Stopped, match="interrupted"):
        model.build(instance, third_time)
    stopped = Dual(Gangs(instance, lambda: Termination.INTERRUPTED))
    with pytest.raises(Stopped):
        stopped.price(np.zeros((40, 3)))
    result = dlsched.solve(instance, "milp", time_limit=1e-3)
    assert (result.status, result.solution) == ("no solution", None)
    assert result.termination == "time_limit"
    start = dlsched.solve(instance, "srtf").solution
    kept = dlsched.solve(instance, "milp", time_limit=1e-3, start=start)
    assert (kept.status, kept.solution.schedule) == ("feasible", start.schedule)


def test_prices_must_make_sense() -> None:
    """Unknown types, negative or infinite prices, too few of them, and forking are rejected."""
    instance = dlsched.generate("utility", 1, jobs=3, slots=4, gpus=3)
    for prices in ({"X": [1] * 4}, {"V100": [1, 1, 1, -1]}, {"V100": [1]}, {"V100": [np.inf] * 4}):
        with pytest.raises(dlsched.OptionError):
            lagrangian_bound(instance, prices)
    forking = dlsched.generate("utility", 1, jobs=3, slots=4, gpus=3, forking=True)
    with pytest.raises(dlsched.OptionError, match="forking"):
        lagrangian_bound(forking, {})


@given(
    st.lists(
        st.fractions(min_value="1/8", max_value=50, max_denominator=97), min_size=1, max_size=3
    ),
    st.fractions(min_value=1, max_value=500, max_denominator=31),
    st.integers(-12, 12),
    st.integers(1, 6),
    st.sampled_from([5, 30, 2000]),
)
@settings(max_examples=draws(50), deadline=None, derandomize=True)
def test_rounding_is_in_the_valid_direction(gains, iterations, power, slots, most) -> None:
    """Where units are exact, combinations of slots do the units if they do the iterations."""
    # Otherwise whatever does the iterations does the units rounded up, whatever does the units
    # rounded down does the iterations, and a job that can finish still can rounded down.
    scale = Fraction(10) ** power
    gains, iterations = sorted((g * scale for g in gains), reverse=True), iterations * scale
    up, down = (units(gains, iterations, slots, side, most) for side in (True, False))
    for counts in product(range(slots + 1), repeat=len(gains)):
        if sum(counts) <= slots:
            true = sum(n * g for n, g in zip(counts, gains, strict=True)) >= iterations
            high = sum(n * g for n, g in zip(counts, up.gains, strict=True)) >= up.need
            low = sum(n * g for n, g in zip(counts, down.gains, strict=True)) >= down.need
            assert (high == true) if up.exact else (high or not true)
            assert (low == true) if down.exact else (true or not low)
    possible = slots * gains[0] >= iterations
    assert not possible or slots * down.gains[0] >= down.need


@pytest.mark.parametrize(
    ("gains", "iterations", "slots", "expected"),
    [
        ([1], 3000, 4000, Units((1,), 3000, exact=True)),  # not 0 of 2,000 units
        ([7, 4], 6, 9, Units((2, 1), 2, exact=True)),  # one slot of 7, or two of 4
        ([7, 4], 6, 1, Units((1, 0), 1, exact=True)),  # one of 4 is of no use
        ([2, 1], 6001, 4000, Units((2, 1), 6001, exact=True)),
        ([1], 5, 4, Units((0,), 1, exact=True)),  # cannot be done
    ],
)
def test_units_by_hand(gains: list[int], iterations: int, slots: int, expected: Units) -> None:
    """The fewest units that distinguish the combinations of slots that complete the job."""
    exact = [Fraction(g) for g in gains]
    assert units(exact, Fraction(iterations), slots, up=False) == expected
    assert units(exact, Fraction(iterations), slots, up=True) == expected


def test_long_jobs_are_not_rounded_to_nothing() -> None:
    """A job of 3,000 of 4,000 slots has utility 1,001 by every method."""
    long = instance([job(3000)], {"A": 1}, slots=4000, utility={"kind": "linear"})
    for method in ("dantzig_wolfe", "insertion", "srtf"):
        assert dlsched.solve(long, method).objective[0] == 1001
    assert lagrangian_bound(long, {}) == pytest.approx(1001, rel=1e-9)


def test_a_long_job_of_two_speeds_takes_its_fastest() -> None:
    """4,610 slots of rates 2.282 and 1: units are inexact, but those of the fastest are exact."""
    rate = Fraction("2.282")
    for up in (True, False):
        found = units([rate, Fraction(1)], 4610 * rate, 5462, up)
        assert -(-found.need // found.gains[0]) == 4610


def test_work_that_rounding_decides() -> None:
    """Five slots of 10 iterations are less than 50 by the last digit, so the program takes six."""
    rates = {"V100": 0.027777777777777776, "P100": 0.005555555555555556}
    nodes = {"v": {"V100": 1}, "p": {"P100": 1}}
    digits = instance([job(50, rates)], nodes, slots=25, slot_seconds=360)
    result = dlsched.solve(digits, "milp")
    assert result.status == "optimal"
    assert result.objective[0] == Fraction(50, 6 * 360)  # V100 in all six slots


def test_pricing_does_not_depend_on_the_unit_of_work() -> None:
    """A slot that does one unit, or two of twice as many, has schedules of the same value."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        slots, need = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        cost = rng.integers(0, 5, (slots, 2)).astype(float)
        cost[rng.random((slots, 2)) < 0.2] = np.inf
        worth = np.sort(rng.integers(0, 20, slots).astype(float))[::-1].copy()
        first, must = int(rng.integers(slots)), bool(rng.integers(2))
        rows = np.empty((2, slots), dtype=np.int8)
        values = [
            best_schedule(cost, np.array([g, g]), g * need, first, worth, must, rows[g - 1])
            for g in (1, 2)
        ]
        assert values[0] == values[1]
        for row in rows:
            used = np.flatnonzero(row >= 0)
            if len(used):
                assert used[0] >= first and len(used) >= need
                assert worth[used[-1]] - cost[used, row[used]].sum() == values[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_inserted_gangs_fit_on_machines(seed: int) -> None:
    """Whatever Hall's condition admits can be assigned to machines without violations."""
    instance = dlsched.generate("utility", seed, jobs=12, slots=15, gpus=9, utilization=2.0)
    gangs = Gangs(instance)
    made = Insertion(gangs)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        made.fill([j for j in rng.permutation(12).tolist() if not made.worth[j]])
        some = made.levels.copy()
        some[np.flatnonzero(made.worth)[::2]] = -1
        made.reset(some)
        assert (made.free == gangs.free(made.levels)).all()
        assert dlsched.verify(instance, solution_of(instance, made.levels)).feasible


@pytest.fixture(params=[1, 2], scope="module")
def eight_jobs(request: pytest.FixtureRequest) -> tuple[Any, dlsched.Result]:
    """Return eight jobs over 20 slots, and what dantzig_wolfe finds."""
    options = {"slots": 20, "gpus": 6, "per_machine": 2, "arrivals": 0.5}
    made = dlsched.generate("utility", request.param, jobs=8, **options)
    return made, dlsched.solve(made, "dantzig_wolfe")


def test_both_methods_agree_on_eight_jobs(eight_jobs: tuple[Any, dlsched.Result]) -> None:
    """8 jobs over 20 slots: milp and dantzig_wolfe prove the same, within the certified bound."""
    made, second = eight_jobs
    first = dlsched.solve(made, "milp")
    assert first.status == second.status == "optimal"
    assert float(first.objective[0]) == pytest.approx(float(second.objective[0]), rel=1e-9)
    assert second.certified[0].value >= second.objective[0]


def test_a_start_is_taken(eight_jobs: tuple[Any, dlsched.Result]) -> None:
    """The optimum as a start is the first incumbent."""
    made, best = eight_jobs
    again = dlsched.solve(made, "dantzig_wolfe", start=best.solution)
    assert (again.start.accepted, again.objective) == (True, best.objective)


def test_a_time_limit_leaves_a_certified_gap() -> None:
    """Stopped early, dantzig_wolfe has a schedule, a bound, and the gap between them."""
    instance = dlsched.generate("utility", 1, jobs=60, slots=100, gpus=24)
    result = dlsched.solve(instance, time_limit=2)
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert result.certified[0].value > result.objective[0]


@pytest.mark.usefixtures("impatient")
def test_same_seed_same_answer() -> None:
    """Where no limit strikes, dantzig_wolfe is deterministic also in its neighbourhood search."""
    instance = dlsched.generate("utility", 1, jobs=5, slots=6, gpus=6, per_machine=2)
    first, again = (dlsched.solve(instance, "dantzig_wolfe", seed=5) for _ in range(2))
    assert (first.solution, first.certified) == (again.solution, again.certified)


def test_bound_alone() -> None:
    """`lagrangian` is the bound without a schedule, and no worse than that of prices 0."""
    instance = dlsched.generate("utility", 1, jobs=6, slots=12, gpus=6, arrivals=0.5)
    bound = dlsched.solve(instance, "lagrangian")
    assert (bound.status, bound.termination) == ("no solution", "bound_only")
    assert bound.solution is None
    assert bound.solver == "highs"  # the master's
    assert bound.certified[0].value <= lagrangian_bound(instance, {})
    assert bound.certified[0].value >= dlsched.solve(instance, "insertion").objective[0]


def test_what_is_better_than_the_first_solution_is_returned() -> None:
    """Searches change the incumbent in place: the solution it began from is no longer its own."""
    instance = dlsched.generate("utility", 1, jobs=12, slots=20)
    first = dlsched.solve(instance, "srtf")
    search = schedule_columns.ScheduleSearch(instance, Run())
    assert search.begin_from(first.solution) and search.solution is first.solution
    search.best.improve(Run(), 100)
    found = dlsched.verify(instance, search.solution)
    assert found.objective.better_than(first.objective)


def test_rows_that_cannot_be_violated_are_left_out() -> None:
    """One job on enough GPUs has no capacity rows; three that rank types alike have two sets."""
    gang, gpus = job(2, {"A": 2, "B": 1}, 2), {"A": 2, "B": 2}
    assert len(model.build(instance([gang], gpus, slots=2)).capacity) == 0
    m = model.build(instance([gang] * 3, gpus, slots=2))
    assert {s for _, s in m.capacity} == {"A", "A+B"}


def test_rows_grow_with_the_slots() -> None:
    """Twice the slots are twice the entries: progress is summed in blocks, not from the start."""
    # A schedule's assignment satisfies the rows of blocks, and reads back.
    sizes = []
    for slots in (200, 400):
        made = dlsched.generate("utility", 1, jobs=2, slots=slots, gpus=3, utilization=0.5)
        m = model.build(made)
        sizes.append(compile_model(m).A.nnz)
    assert sizes[1] < 2.2 * sizes[0]
    solution = dlsched.solve(made, "srtf").solution
    model.assign(made, m, solution)
    for row in m.component_data_objects(pyo.Constraint):
        low = row.lower is None or pyo.value(row.body) >= pyo.value(row.lower) - 1e-9
        high = row.upper is None or pyo.value(row.body) <= pyo.value(row.upper) + 1e-9
        assert low and high, row.name
    assert len(m.work) > 10
    back = model.read(made, m)
    assert completions(made, back.schedule) == completions(made, solution.schedule)


def test_too_large_a_model_is_rejected() -> None:
    """480 jobs over 400 slots are too many, and another method is named."""
    instance = dlsched.generate("utility", 1, jobs=480, slots=400, gpus=60)
    with pytest.raises(dlsched.OptionError, match="dantzig_wolfe"):
        dlsched.model(instance)
