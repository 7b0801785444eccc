"""Stages of work are exact, prices of periods give bounds, and rule out what is not better."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from utility_instances import instance, job

import dlsched
from dlsched import Run
from dlsched.problems.utility import Instance, model
from dlsched.problems.utility.exact import solve_model
from dlsched.problems.utility.exact.schedule_columns import ScheduleSearch
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.instances.strategy import infeasible
from dlsched.problems.utility.kernels.pricing import Jobs, price_all
from dlsched.problems.utility.model import Part
from dlsched.problems.utility.programs.column_generation import generate, refinements
from dlsched.problems.utility.programs.lagrangian import Dual, lagrangian_bound
from dlsched.problems.utility.programs.master import Columns
from dlsched.problems.utility.programs.reduced_cost_fixing import restrict
from dlsched.problems.utility.structures import work_units
from dlsched.problems.utility.structures.gangs import Gangs
from dlsched.problems.utility.structures.work_stages import exact_stages, stages
from dlsched.testing import oracles, strategies
from drawing import drawn, draws

GAINS = st.lists(st.integers(1, 40), min_size=1, max_size=3, unique=True)


def completes(after: np.ndarray, speeds: tuple[int, ...]) -> bool:
    """Return whether slots at these speeds lead from the last stage to stage 0."""
    stage = len(after) - 1
    for v in speeds:
        stage = after[stage, v]
    return stage == 0


@drawn(150, GAINS, st.integers(1, 120), st.integers(1, 6))
def test_stages_distinguish_what_completes_a_job(gains: list[int], need: int, slots: int) -> None:
    """Slots lead to stage 0, in any order, if and only if their gains are enough."""
    rows = tuple(sorted(gains, reverse=True))
    after = exact_stages(rows, need, slots, 20_000)
    assert after is not None
    assert (after <= np.arange(len(after))[:, None]).all()
    for count in range(1, slots + 1):
        for speeds in combinations_with_replacement(range(len(rows)), count):
            enough = sum(rows[v] for v in speeds) >= need
            assert completes(after, speeds) == enough == completes(after, speeds[::-1])


def test_stages_by_hand() -> None:
    """A job of 6 that does 7 or 4 in a slot: what is left is all, or up to 4, or nothing."""
    assert exact_stages((7, 4), 6, 5, 99).tolist() == [[0, 0], [0, 0], [0, 1]]
    assert exact_stages((7, 4), 36, 5, 99).tolist() == [[0, 0], [1, 1]]  # cannot be done
    assert exact_stages((2**40, 2**40 - 1), 2**59, 2**20, 99) is None  # more than 64 bits


@given(
    st.lists(st.integers(1, 150), min_size=1, max_size=3, unique=True),
    st.integers(1, 400),
    st.integers(0, 10**6),
    st.booleans(),
)
@settings(max_examples=draws(20), deadline=None, derandomize=True)
def test_rounded_work_is_on_its_side(gains: list[int], need: int, seed: int, rounded: bool) -> None:
    """The best schedule with work rounded up is worth at least the exact one, down at most it."""
    rows = [Fraction(g) / 7 for g in sorted(gains, reverse=True)]
    rng, slots, workers = np.random.default_rng(seed), 4, 2
    prices = rng.integers(0, 4, (slots, len(rows))).astype(float)
    worth = np.sort(rng.integers(0, 30, slots).astype(float))[::-1].copy()
    exact = 0.0
    for speeds in product(range(-1, len(rows)), repeat=slots):
        used = [t for t in range(slots) if speeds[t] >= 0]
        if used and sum(rows[speeds[t]] for t in used) >= Fraction(need) / 7:
            cost = workers * sum(prices[t, speeds[t]] for t in used)
            exact = max(exact, float(worth[used[-1]]) - cost)
    found = []
    for up in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if rounded:
                patch.setattr(work_units, "_integers", lambda *_: None)
            most = 0 if rounded else 20_000
            after = stages(rows, Fraction(need) / 7, slots, up, 5, most)
        values, row = np.zeros(1), np.empty((1, slots), dtype=np.int8)
        one, speeds_of = np.zeros(1, dtype=np.int64), np.arange(len(rows))[None, :].copy()
        ends, gpus = one + len(after), one + workers
        jobs = Jobs(speeds_of, after, one, ends, one + len(rows), one, gpus, worth[None, :].copy())
        price_all(prices, jobs, False, values, row)
        found.append(float(values[0]))
    assert found[0] >= exact >= found[1]
    assert rounded or found[0] == found[1]


@drawn(12, strategies.utility(), st.integers(0, 10**6))
def test_bounds_of_periods_hold(instance: Instance, seed: int) -> None:
    """The bound of every refinement is at least the optimum, and `lagrangian` finds the last."""
    optimum = oracles.utility(instance)
    gangs = Gangs(instance)
    if optimum is None or not gangs.masks:
        return
    dual, columns = Dual(gangs), Columns(gangs)
    prices = 0.1 * np.random.default_rng(seed).random((instance.slots, len(gangs.kinds)))
    for cuts in refinements(gangs):
        prices, _ = generate(dual, columns, Run(), cuts, prices)
        assert dual.bound(prices, dual.price(prices)) >= optimum[0]
    assert dlsched.solve(instance, "lagrangian").certified[0].value >= optimum[0]


def test_shorter_periods_have_lower_bounds() -> None:
    """Periods are halved down to slots, each level's bound is below, prices re-check the last."""
    # The last is near the linear relaxation's optimum over all schedules of the jobs.
    instance = dlsched.generate("utility", 3, jobs=8, slots=40, gpus=6, mix="even", arrivals=0.5)
    gangs = Gangs(instance)
    dual, columns = Dual(gangs), Columns(gangs)
    prices, bounds, lengths = np.zeros((40, len(gangs.kinds))), [], []
    for cuts in refinements(gangs):
        assert (cuts[0], cuts[-1]) == (0, 40) and (np.diff(cuts) > 0).all()
        prices, ended = generate(dual, columns, Run(), cuts, prices)
        assert ended
        bounds.append(dual.bound(prices, dual.price(prices)))
        lengths.append(len(cuts) - 1)
    assert lengths == [18, 30, 40] and sorted(bounds, reverse=True) == bounds
    unscaled = (prices * 2.0**gangs.exponent).T.tolist()
    assert lagrangian_bound(instance, dict(zip(gangs.kinds, unscaled, strict=True))) == bounds[-1]
    A, utilities = columns.matrix(np.arange(41))
    lower, upper = columns.limits(np.arange(41))
    relaxed = linprog(-utilities, A_ub=A, b_ub=upper, bounds=(0, None), method="highs")
    assert lower.max() == -np.inf
    assert 0 <= float(bounds[-1]) / gangs.unscaled(-relaxed.fun) - 1 <= 1e-6


def test_missing_jobs_have_a_price() -> None:
    """Where every job must finish, and not all can, prices alone show it."""
    (instance,) = infeasible()
    bound = dlsched.solve(instance, "lagrangian").certified[0]
    assert bound.value < 0


def inserted(instance: Instance, order: list[int]) -> Insertion:
    """Return the schedule of one insertion."""
    made = Insertion(Gangs(instance))
    made.fill(order)
    return made


def part_of(made: Insertion, prices: dict[str, list[float]]) -> Part:
    """Return what is no worse than a schedule, by prices of each type and slot."""
    gangs, instance = made.gangs, made.gangs.instance
    matrix = np.array([prices[kind] for kind in gangs.kinds]).reshape(-1, instance.slots).T
    return restrict(Dual(gangs), np.ldexp(matrix, -gangs.exponent), made.levels, made.total)


@drawn(40, strategies.utility(scales=False), st.integers(0, 10**6))
def test_the_part_has_an_optimum(instance: Instance, seed: int) -> None:
    """Whatever the prices, the part's optimum is that of all schedules, by brute force."""
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 1)
    prices = {kind: (scale * rng.random(instance.slots)).tolist() for kind in instance.supply}
    made = inserted(instance, rng.permutation(len(instance.jobs)).tolist())
    assume(not instance.must_finish or not made.left_out())
    claim = solve_model(instance, Run(), part_of(made, prices))
    optimum = oracles.utility(instance)
    assert optimum is not None
    assert dlsched.verify(instance, claim.solution).objective == optimum
    assert all(bound.kind == "claimed" for bound in claim.bounds[0])


PRICES = {"A": [20.0, 20.0, 0.5, 0.5]}
"""Of the GPU of `example`."""


def example(**changes: Any) -> Instance:
    """Return two jobs of two slots each on one GPU, of which the first is worth far more."""
    jobs = [job(2, id=i, utilities=[u, u, u / 2, u / 4]) for i, u in (("a", 80), ("b", 8))]
    return instance(jobs, {"A": 1}, **changes)


def test_what_the_part_leaves_out() -> None:
    """At the best prices the first job runs at once, then the second one; both are certain."""
    part = part_of(inserted(example(), [0, 1]), PRICES)
    assert part.ends == {"a": range(2, 3), "b": range(4, 5)}
    assert part.runs == {"a": {(1, 0), (2, 0)}, "b": {(3, 0), (4, 0)}}
    assert part.certain == {"a", "b"}
    m = model.build(example(), part=part)
    assert set(m.done) == {("a", 2), ("b", 4)}


def test_a_worse_schedule_leaves_more() -> None:
    """With the jobs in the other order both schedules are left, and each job may not finish."""
    part = part_of(inserted(example(), [1, 0]), PRICES)
    assert part.ends == {"a": range(2, 5), "b": range(2, 5)}
    assert part.certain == set()
    must = part_of(inserted(example(must_finish=True), [1, 0]), PRICES)
    assert must.certain == {"a", "b"}


@pytest.mark.parametrize(("jobs", "slots", "seed"), [(8, 20, 2), (5, 40, 8)])
def test_the_gap_is_closed_in_a_part(jobs: int, slots: int, seed: int) -> None:
    """Where prices leave a gap, the part is much smaller than the model, and proves the optimum."""
    instance = dlsched.generate("utility", seed, jobs=jobs, slots=slots, gpus=12)
    search = ScheduleSearch(instance, Run())
    search.solve()
    assert not search.closed and search.part is not None
    left = sum(map(len, search.part.runs.values()))
    assert left < instance.runs / 2
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    whole = dlsched.solve(instance, "milp")
    assert float(result.objective[0]) == pytest.approx(float(whole.objective[0]), rel=1e-9)
    assert result.objective[0] < result.certified[0].value
