"""The exact methods of utility equal brute force, and their bounds hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.utility import Instance, model
from dlsched.problems.utility.exact import schedule_columns
from dlsched.problems.utility.exact.bounds import lagrangian_bound
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.programs.pricing import best_schedule
from dlsched.problems.utility.structures.gangs import Gangs, Stopped
from dlsched.problems.utility.structures.machines import solution_of
from dlsched.problems.utility.structures.work_units import Units, units
from dlsched.results.result import Termination
from dlsched.run import Run
from dlsched.solvers.compilation import entries
from dlsched.testing import oracles, strategies

RULES = (
    "hadar", "hadar_pooled", "hadar_literal", "yarn_cs", "tiresias", "fifo", "srtf",
    "insertion", "hadar_committed",
)  # fmt: skip


@given(st.one_of(strategies.utility(), strategies.utility(max_jobs=2, forking=True)))
@settings(max_examples=100, deadline=None, derandomize=True)
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


@given(strategies.utility(), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None, derandomize=True)
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
    jobs = [
        {"id": i, "arrival": 1, "workers": 1, "iterations": 1, "rates": {"A": 1},
         "utilities": [u * unit, u * unit / 2]}
        for i, u in (("a", 6), ("b", 2))
    ]  # fmt: skip
    made = Instance(
        name="x", slots=2, slot_seconds=1, utility={"kind": "table"},
        machines=[{"id": "m", "gpus": {"A": 1}}], jobs=jobs,
    )  # fmt: skip
    worth = Fraction(str(6 * unit)) + Fraction(str(2 * unit / 2))
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(made, method)
        assert (result.status, result.objective[0]) == ("optimal", worth)
    assert lagrangian_bound(made, {}) >= 8 * Fraction(str(unit))
    assert lagrangian_bound(made, {"A": [1 * unit, 0]}) >= worth
    bound = dlsched.solve(made, "lagrangian").certified[0].value
    assert worth <= bound <= worth * Fraction(1001, 1000)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("power", [-12, -8, -6, 9])
def test_utilities_of_any_size_are_solved(power: int) -> None:
    """Rates and iterations times a factor: the optimum is that factor times as much."""
    plain = dlsched.generate("utility", 4, jobs=5, slots=8, gpus=6, per_machine=2, mix="even")
    best = dlsched.solve(plain)
    data = plain.to_data()
    for job in data["jobs"]:
        job["iterations"] = float(f"{job['iterations']}e{power}")
        job["rates"] = {k: float(f"{r}e{power}") for k, r in job["rates"].items()}
    scaled = dlsched.load(data)
    for method in ("milp", "dantzig_wolfe"):
        result = dlsched.solve(scaled, method)
        assert result.status == "optimal"
        assert result.objective[0] == best.objective[0] * Fraction(10) ** power


def test_prices_near_the_largest_float() -> None:
    """Prices whose sum overflows give a valid bound; -1 only if a job cannot finish."""
    data: dict[str, Any] = {
        "name": "x", "slots": 3, "slot_seconds": 1, "must_finish": True,
        "machines": [{"id": "m", "gpus": {"A": 1}}],
        "jobs": [{"id": "a", "arrival": 1, "workers": 1, "iterations": 2, "rates": {"A": 1}}],
    }  # fmt: skip
    assert lagrangian_bound(Instance(**data), {"A": [1e308] * 3}) >= 1
    late = [data["jobs"][0] | {"iterations": 4}]
    assert lagrangian_bound(Instance(**data | {"jobs": late}), {"A": [1e308] * 3}) == -1


def test_values_far_apart() -> None:
    """1e-300 beside 1e15, in tables and in work: every method finds the large utility."""
    base = {"slots": 3, "slot_seconds": 1, "machines": [{"id": "m", "gpus": {"A": 1, "B": 1}}]}
    plain = {"arrival": 1, "workers": 1}
    tables = Instance(
        name="tables", utility={"kind": "table"}, **base,
        jobs=[
            plain | {"id": "a", "iterations": 2, "rates": {"A": 1, "B": 1},
                     "utilities": [1e15, 1e15, 1e-300]},
            plain | {"id": "b", "iterations": 1, "rates": {"A": 1}, "utilities": [1e-300] * 3},
        ],
    )  # fmt: skip
    work = Instance(
        name="work", **base,
        jobs=[
            plain | {"id": "a", "iterations": 1e15, "rates": {"A": 1e15, "B": 1e-300}},
            plain | {"id": "b", "iterations": 1e-300, "rates": {"A": 1e-300, "B": 1e15}},
        ],
    )  # fmt: skip
    for made in (tables, work):
        for method in ("milp", "dantzig_wolfe", "lagrangian", *RULES):
            result = dlsched.solve(made, method)
            assert result.objective is None or float(result.objective[0]) == 1e15
    forking = work.model_copy(update={"forking": True})
    assert float(dlsched.solve(forking, "milp").objective[0]) == 1e15


def test_a_scheduled_job_may_be_worth_nothing() -> None:
    """A job whose schedule has utility 0 is not inserted again, and no GPU is used twice."""
    made = Instance(
        name="x", slots=2, slot_seconds=1, utility={"kind": "table"}, must_finish=True,
        machines=[{"id": "m", "gpus": {"A": 1}}],
        jobs=[{"id": "a", "arrival": 1, "workers": 1, "iterations": 1, "rates": {"A": 1},
               "utilities": [0, 0]}],
    )  # fmt: skip
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
    start = dlsched.solve(instance, "fifo").solution
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
@settings(max_examples=150, deadline=None, derandomize=True)
def test_rounding_is_in_the_valid_direction(gains, iterations, power, slots, most) -> None:
    """Where units are exact, combinations of slots do the units if they do the iterations.

    Otherwise whatever does the iterations does the units rounded up, whatever does the units
    rounded down does the iterations, and a job that can finish still can rounded down.
    """
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
    instance = Instance(
        name="long", slots=4000, slot_seconds=1, utility={"kind": "linear"},
        machines=[{"id": "m", "gpus": {"A": 1}}],
        jobs=[{"id": "a", "arrival": 1, "workers": 1, "iterations": 3000, "rates": {"A": 1}}],
    )  # fmt: skip
    for method in ("dantzig_wolfe", "insertion", "fifo"):
        assert dlsched.solve(instance, method).objective[0] == 1001
    assert lagrangian_bound(instance, {}) == pytest.approx(1001, rel=1e-9)


def test_a_long_job_of_two_speeds_takes_its_fastest() -> None:
    """4,610 slots of rates 2.282 and 1: units are inexact, but those of the fastest are exact."""
    rate = Fraction("2.282")
    for up in (True, False):
        found = units([rate, Fraction(1)], 4610 * rate, 5462, up)
        assert -(-found.need // found.gains[0]) == 4610


def test_work_that_rounding_decides() -> None:
    """Five slots of 10 iterations are less than 50 by the last digit, and 25 slots of 2 are more:
    the program does not take five slots for enough, which the checker does not accept.
    """  # fmt: skip
    instance = Instance(
        name="digits", slots=25, slot_seconds=360,
        machines=[{"id": "v", "gpus": {"V100": 1}}, {"id": "p", "gpus": {"P100": 1}}],
        jobs=[{"id": "a", "arrival": 1, "workers": 1, "iterations": 50,
               "rates": {"V100": 0.027777777777777776, "P100": 0.005555555555555556}}],
    )  # fmt: skip
    result = dlsched.solve(instance, "milp")
    assert result.status == "optimal"
    # Six slots: V100 in all of them.
    assert result.objective[0] == Fraction(50, 6 * 360)


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


@pytest.mark.parametrize("seed", [1, 2])
def test_both_methods_agree_on_eight_jobs(seed: int) -> None:
    """8 jobs over 20 slots: milp and dantzig_wolfe prove the same, within the certified bound."""
    instance = dlsched.generate(
        "utility", seed, jobs=8, slots=20, gpus=6, per_machine=2, arrivals=0.5
    )
    first = dlsched.solve(instance, "milp")
    second = dlsched.solve(instance, "dantzig_wolfe")
    assert first.status == second.status == "optimal"
    assert float(first.objective[0]) == pytest.approx(float(second.objective[0]), rel=1e-9)
    assert second.certified[0].value >= second.objective[0]


def test_solving_compiles_nothing() -> None:
    """Every call of a compiled function has the types that were compiled before the run."""
    instance = dlsched.generate("utility", 1, jobs=4, slots=8, gpus=9)
    for method in ("dantzig_wolfe", "insertion", "hadar", "hadar_pooled", "lagrangian"):
        dlsched.solve(instance, method)
    for module in ("pricing", "knapsack", "plan", "neighbourhood", "ordering"):
        for entry in entries(f"dlsched.problems.utility.{module}"):
            assert len(entry.compiled.signatures) == len(entry.signatures) == 1


def test_the_choice_follows_the_instance() -> None:
    """Forking instances go to the integer program, others to Dantzig-Wolfe."""
    owner = dlsched.registry.problem("utility")
    choices = [
        owner.method("exact", dlsched.generate("utility", 1, **options)).name
        for options in ({"jobs": 5, "slots": 10}, {"jobs": 60, "slots": 100}, {"forking": True})
    ]
    assert choices == ["dantzig_wolfe", "dantzig_wolfe", "milp"]


def test_a_time_limit_leaves_a_certified_gap() -> None:
    """Stopped early, dantzig_wolfe has a schedule, a bound, and the gap between them."""
    instance = dlsched.generate("utility", 1, jobs=60, slots=100, gpus=24)
    result = dlsched.solve(instance, time_limit=2)
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert result.certified[0].value > result.objective[0]


def test_a_start_is_taken() -> None:
    """The optimum as a start is the first incumbent."""
    instance = dlsched.generate("utility", 1, jobs=8, slots=20, gpus=6, per_machine=2, arrivals=0.5)
    best = dlsched.solve(instance)
    again = dlsched.solve(instance, "dantzig_wolfe", start=best.solution)
    assert (again.start.accepted, again.objective) == (True, best.objective)


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
    first = dlsched.solve(instance, "fifo")
    search = schedule_columns.ScheduleSearch(instance, Run())
    assert search.begin_from(first.solution) and search.solution is first.solution
    search.best.improve(Run(), 100)
    found = dlsched.verify(instance, search.solution)
    assert found.objective.better_than(first.objective)
