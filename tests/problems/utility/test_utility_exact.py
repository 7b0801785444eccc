"""The model, the exact methods and bounds by prices: brute force, units, rows."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import dlsched
from dlsched.problems.utility import Instance
from dlsched.problems.utility.programs.lagrangian import lagrangian_bound
from dlsched.solvers.standard_form import compile_model
from dlsched.testing import oracles, strategies
from drawing import drawn
from utility_instances import instance, job


@drawn(100, strategies.utility(), st.integers(0, 10**6))
def test_any_prices_give_a_bound(instance: Instance, seed: int) -> None:
    """No bound is below the optimum, whatever the prices and the units of work."""
    optimum, rng = oracles.utility(instance), np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 1)
    prices = {kind: (scale * rng.random(instance.slots)).tolist() for kind in instance.supply}
    bounds = [lagrangian_bound(instance, prices, units) for units in (None, 3)]
    assert optimum is None or min(bounds) >= optimum.utility


@pytest.mark.parametrize(("iterations", "least"), [(2, 1), (4, -1)])
def test_prices_near_the_largest_float(iterations: int, least: int) -> None:
    """Prices whose sum overflows give a valid bound; -1 only if a job cannot finish."""
    made = instance([job(iterations)], {"A": 1}, slots=3, must_finish=True)
    bound = lagrangian_bound(made, {"A": [1e308] * 3})
    assert bound >= 1 if least == 1 else bound == -1


def test_jobs_that_do_not_all_finish_have_a_price() -> None:
    """Where two jobs of one slot must finish in one slot, prices alone show that they cannot."""
    both = instance([job(), job()], {"A": 1}, slots=1, must_finish=True)
    assert dlsched.solve(both, "lagrangian").certified[0].value < 0
    assert dlsched.solve(both).status == "infeasible"


def test_prices_must_make_sense() -> None:
    """Unknown types, negative or infinite prices, too few of them, and forking are rejected."""
    instance = dlsched.generate("utility", 1, jobs=3, slots=4, gpus=3)
    for prices in ({"X": [1] * 4}, {"V100": [1, 1, 1, -1]}, {"V100": [1]}, {"V100": [np.inf] * 4}):
        with pytest.raises(dlsched.OptionError):
            lagrangian_bound(instance, prices)
    forking = dlsched.generate("utility", 1, jobs=3, slots=4, gpus=3, forking=True)
    with pytest.raises(dlsched.OptionError, match="forking"):
        lagrangian_bound(forking, {})


A_DIGIT_SHORT = {"V100": 0.027777777777777776, "P100": 0.005555555555555556}


@pytest.mark.parametrize(
    ("made", "utility"),
    [
        # 3,000 of 4,000 slots are not rounded to nothing, nor 4,610 of 5,462 at two speeds.
        (instance([job(3000)], {"A": 1}, slots=4000, utility={"kind": "linear"}), 1001),
        (instance([job(4610 * Fraction("2.282"), {"A": Fraction("2.282"), "B": 1})],
                  {"A": 1, "B": 1}, slots=5462, utility={"kind": "linear"}), 853),
        # Five slots of 10 iterations are less than 50 by the last digit: V100 in six slots.
        (instance([job(50, A_DIGIT_SHORT)], {"v": {"V100": 1}, "p": {"P100": 1}},
                  slots=25, slot_seconds=360), Fraction(50, 6 * 360)),
    ],
    ids=["long", "two speeds", "digit"],
)  # fmt: skip
def test_work_that_rounding_decides(made: Instance, utility: Any) -> None:
    """One job alone takes its fastest slots, as many as its work needs exactly."""
    for method in ("dantzig_wolfe", "insertion", "srtf", *["milp"] * (made.slots < 30)):
        assert dlsched.solve(made, method).objective[0] == utility
    assert float(lagrangian_bound(made, {})) == pytest.approx(float(utility), rel=1e-9)


EIGHT = {"jobs": 8, "slots": 20, "gpus": 6, "per_machine": 2, "arrivals": 0.5}


@pytest.mark.parametrize(
    ("options", "gap"),
    [(EIGHT, False), ({"jobs": 8, "slots": 20, "gpus": 12}, True),
     ({"jobs": 5, "slots": 40, "gpus": 12}, True)],
)  # fmt: skip
def test_both_methods_agree_beyond_brute_force(options: dict[str, Any], gap: bool) -> None:
    """Where prices leave a gap, the program over what they leave has the model's optimum."""
    for seed in range(1, 20):
        made = dlsched.generate("utility", seed, **options)
        second = dlsched.solve(made, "dantzig_wolfe")
        assert second.status == "optimal"
        assert second.certified[0].value >= second.objective[0]
        by_program = second.reason == "proved by the integer program"
        if not gap or (by_program and second.objective[0] < second.certified[0].value):
            break
    else:
        pytest.fail("prices prove every instance")
    first = dlsched.solve(made, "milp")
    assert first.status == "optimal"
    assert float(first.objective[0]) == pytest.approx(float(second.objective[0]), rel=1e-9)


def test_rows_that_cannot_be_violated_are_left_out() -> None:
    """One job on enough GPUs has no capacity rows; three that rank types alike have two sets."""
    gang, gpus = job(2, {"A": 2, "B": 1}, 2), {"A": 2, "B": 2}
    assert len(dlsched.model(instance([gang], gpus, slots=2)).capacity) == 0
    m = dlsched.model(instance([gang] * 3, gpus, slots=2))
    assert {s for _, s in m.capacity} == {"A", "A+B"}


def test_rows_grow_with_the_slots() -> None:
    """Twice the slots are twice the entries: progress is summed in blocks, not from the start."""
    made = [
        dlsched.generate("utility", 1, jobs=2, slots=slots, gpus=3, utilization=0.5)
        for slots in (200, 400)
    ]
    sizes = [compile_model(dlsched.model(one)).A.nnz for one in made]
    assert sizes[1] < 2.2 * sizes[0]


@pytest.mark.parametrize(
    ("name", "form", "leaves"),
    [("utility-20x40-effective-1", "finishes", 1), ("utility-10x25", "runs", None)],
)
def test_prices_are_the_proof(name: str, form: str, leaves: int | None) -> None:
    """An instance that the model cannot prove has one leaf; else runs decide; both exactly."""
    proof = dlsched.prove(name)
    (level,) = dlsched.check_proof(name, proof).levels
    assert (proof.levels[0].form, level.kind) == (form, "certified")
    assert leaves in (None, level.leaves)
