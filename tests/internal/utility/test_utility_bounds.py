"""Internal: stages and units of work, Hadar's prices, and what prices leave of the program."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.utility import Instance
from dlsched.problems.utility.exact import solve_model
from dlsched.problems.utility.heuristics.hadar_prices import HadarPrices
from dlsched.problems.utility.heuristics.insertion import Insertion
from dlsched.problems.utility.programs.lagrangian import Dual
from dlsched.problems.utility.programs.reduced_cost_fixing import restrict
from dlsched.problems.utility.structures.gangs import Gangs
from dlsched.problems.utility.structures.work_stages import exact_stages
from dlsched.problems.utility.structures.work_units import in_steps, units
from dlsched.testing import oracles, strategies
from drawing import drawn
from utility_instances import instance, job


@drawn(
    150, st.lists(st.integers(1, 40), min_size=1, max_size=3, unique=True), st.integers(1, 120),
    st.integers(1, 6),
)  # fmt: skip
def test_stages_distinguish_what_completes_a_job(gains: list[int], need: int, slots: int) -> None:
    """Slots lead to stage 0, in any order, if and only if their gains are enough."""
    rows = tuple(sorted(gains, reverse=True))
    after = exact_stages(rows, need, slots, 20_000)
    assert after is not None
    assert (after <= np.arange(len(after))[:, None]).all()
    for count in range(1, slots + 1):
        for speeds in combinations_with_replacement(range(len(rows)), count):
            for order in (speeds, speeds[::-1]):
                stage = len(after) - 1
                for v in order:
                    stage = after[stage, v]
                assert (stage == 0) == (sum(rows[v] for v in speeds) >= need)


@drawn(
    60,
    st.lists(st.fractions("1/8", 50, max_denominator=97), min_size=1, max_size=3),
    st.fractions(1, 500, max_denominator=31),
    st.integers(-12, 12),
    st.integers(1, 6),
    st.sampled_from([5, 30, 2000]),
)
def test_rounding_is_in_the_valid_direction(
    gains: list[Fraction], iterations: Fraction, power: int, slots: int, most: int
) -> None:
    """Where units are exact, combinations of slots do the units if they do the iterations."""
    # Otherwise whatever does the iterations does the units rounded up, whatever does the units
    # rounded down does the iterations, and a job that can finish still can rounded down.
    scale = Fraction(10) ** power
    gains, iterations = sorted((g * scale for g in gains), reverse=True), iterations * scale
    up, down = (units(gains, iterations, slots, side, most) for side in (True, False))
    possible = slots * gains[0] >= iterations
    exact = not possible or in_steps(gains, iterations)[1] <= most
    for counts in product(range(slots + 1), repeat=len(gains)):
        if sum(counts) <= slots:
            true = sum(n * g for n, g in zip(counts, gains, strict=True)) >= iterations
            high = sum(n * g for n, g in zip(counts, up.gains, strict=True)) >= up.need
            low = sum(n * g for n, g in zip(counts, down.gains, strict=True)) >= down.need
            assert (high == low == true) if exact else ((high or not true) and (true or not low))
    assert not possible or slots * down.gains[0] >= down.need


@drawn(60, strategies.utility(scales=False), st.integers(0, 10**6))
def test_the_part_that_prices_leave_has_an_optimum(instance: Instance, seed: int) -> None:
    """Whatever the prices, the part's optimum is that of all schedules, by brute force."""
    rng = np.random.default_rng(seed)
    gangs = Gangs(instance)
    prices = 10 ** rng.uniform(-2, 1) * rng.random((instance.slots, len(gangs.kinds)))
    made = Insertion(gangs)
    made.fill(rng.permutation(len(instance.jobs)).tolist())
    assume(not instance.must_finish or not made.left_out())
    part = restrict(Dual(gangs), np.ldexp(prices, -gangs.exponent), made.levels, made.total)
    claim = solve_model(instance, Run(), part)
    assert dlsched.verify(instance, claim.solution).objective == oracles.utility(instance)
    assert all(bound.kind == "claimed" for bound in claim.bounds[0])


def test_hadars_prices_by_hand() -> None:
    """Eq. 5 to 7 as repaired: whole slots from a job's arrival, and the horizon in eta."""
    # Theorem 2's example: highest 8 / 4, lowest 1 / 4 of 1 / 4.
    table = HadarPrices(dlsched.load("hadar-theorem2"), [0, 1]).table[0]
    assert table[[0, 2, -1]] == pytest.approx([1 / 16, (1 / 16) ** 0.5 * 2**0.5, 2])
    for arrival in (1, 4):  # 5 iterations at 2 a slot are 3 slots, whenever the job arrives
        late = instance([job(5, 2, arrival=arrival)], {"A": 2}, slots=8)
        assert HadarPrices(late, [0]).table[0][-1] == pytest.approx(5 / 3)
    flat = [instance([job(utilities=[4] * n)], {"A": 2}, slots=n) for n in (4, 8)]
    lowest = [HadarPrices(made, [0]).table[0][0] for made in flat]
    assert lowest[0] == pytest.approx(2 * lowest[1])
    both = instance([job(), job()], {"m": {"A": 1}, "n": {"A": 3}})
    assert [len(row) for row in HadarPrices(both, [0, 1]).table] == [2, 4]
