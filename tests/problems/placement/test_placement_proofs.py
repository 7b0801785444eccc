"""The form of placement's proofs: below every placement, tight, and refused when damaged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import Run
from dlsched.problems.placement import Instance, Solution
from dlsched.problems.placement.definition.check import check
from dlsched.problems.placement.programs.forms import POINT_BITS, estimate
from dlsched.problems.placement.programs.rounding import sigmoid_below
from dlsched.problems.placement.programs.subset_sums import Sums
from dlsched.proofs.check import Form, InvalidProof
from dlsched.proofs.document import proof_from_data
from dlsched.proofs.prove import prove_solution
from dlsched.proofs.relaxation import Relaxation
from dlsched.testing import oracles, strategies
from drawing import drawn

INSTANCES = st.one_of(strategies.placement(), strategies.placement(scales=True))
DRAWN = settings(deadline=None, derandomize=True, database=None, phases=[Phase.generate])
"""What the property tests with two numbers of examples have in common."""


def _at(form: Form, lp: Relaxation, instance: Instance, homes: list[int]) -> float:
    """Return the least value of the form with these homes; its first columns are the homes."""
    for t, home in enumerate(homes):
        for r in range(len(instance.regions)):
            lp.program.set_bounds(t * len(instance.regions) + r, int(r == home), int(r == home))
    solved = lp.solve()
    assert solved is not None
    return float(form.goals[0].unit) * solved.value


@pytest.mark.parametrize("examples", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_any_parameters_give_a_lower_bound_at_every_placement(examples: int) -> None:
    """With any points, the form has every feasible placement, and costs no more than it does."""

    @given(st.data())
    @settings(DRAWN, max_examples=examples)
    def run(data: st.DataObject) -> None:
        instance = data.draw(INSTANCES)
        if not instance.tables or not instance.regions:
            return
        regions = st.integers(0, len(instance.regions) - 1)
        kinds, priorities = len(instance.kinds), len(instance.priorities)
        points = st.lists(st.integers(0, 2**POINT_BITS), max_size=6)

        def lists(*most: int) -> list[list[int]]:
            positions = st.tuples(*(st.integers(0, n) for n in most))
            drawn = st.dictionaries(positions, points, max_size=12)
            return [[*at, *found] for at, found in data.draw(drawn).items()]

        r = len(instance.regions) - 1
        form = estimate(
            instance,
            {"squares": lists(r, kinds, priorities), "stored": lists(r), "steps": lists(r, kinds)},
        )
        lp = Relaxation(form, form.rows, form.goals[0].costs, Run())
        for _ in range(4):
            homes = [data.draw(regions) for _ in instance.tables]
            names = [instance.regions[h].id for h in homes]
            tables = [table.id for table in instance.tables]
            report = check(instance, Solution(home=dict(zip(tables, names, strict=True))))
            if report.feasible and report.objective:
                cost = float(report.objective.cost)
                assert _at(form, lp, instance, homes) <= cost * (1 + 1e-9) + 1e-12

    run()


@pytest.mark.parametrize("examples", [3, pytest.param(150, marks=pytest.mark.slow)])
def test_the_optimum_of_brute_force_is_proved(examples: int) -> None:
    """In any units, the optimum of full enumeration has a valid proof to nine digits."""

    @given(INSTANCES)
    @settings(DRAWN, max_examples=examples)
    def run(instance: Instance) -> None:
        optimum = oracles.placement(instance)
        if optimum is None:
            return
        best = dlsched.solve(instance).solution
        assert best is not None
        proof = prove_solution(instance, best, Run())
        (level,) = dlsched.check_proof(instance, proof).levels
        assert level.kind == "certified to nine digits"
        assert float(level.value) == pytest.approx(float(optimum.cost), rel=1e-9, abs=0)

    run()


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    """The data of a proof."""
    return dlsched.prove("placement-small-02").to_data()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.__setitem__("prices", [1]), "no parameter prices"),
        (lambda p: p.__setitem__("steps", 7), "lists of integers"),
        (lambda p: p["steps"].append("text"), "lists of integers"),
        (lambda p: p["steps"].append([0, 0, 0.5]), "lists of integers"),
        (lambda p: p["stored"].append([0, True]), "lists of integers"),
        (lambda p: p["stored"].append([0, -1]), "between 0 and 1"),
        (lambda p: p["stored"].append([0, 2**POINT_BITS + 1]), "between 0 and 1"),
        (lambda p: p["squares"].pop(), "digest"),
        (lambda p: p["stored"].append([0, 1]), "digest"),
    ],
)
def test_damaged_parameters_are_refused(
    good: dict[str, Any], change: Callable[[Any], object], message: str
) -> None:
    """Parameters that the form does not have, and those of another form, are an error."""
    assert dlsched.check_proof("placement-small-02", proof_from_data(good, "good"))
    damaged = copy.deepcopy(good)
    change(damaged["levels"][0]["parameters"])
    with pytest.raises(InvalidProof, match=message):
        dlsched.check_proof("placement-small-02", proof_from_data(damaged, "damaged"))


@drawn(50, st.lists(st.fractions(0, 9, max_denominator=4), max_size=6), st.fractions(-1, 60))
def test_sums_are_those_of_all_subsets(amounts: list[Fraction], point: Fraction) -> None:
    """The sums around a point are neighbours among those of every subset."""
    every = {sum(part) for n in range(len(amounts) + 1) for part in combinations(amounts, n)}
    below, above = ([s for s in every if (s > point) == side] for side in (False, True))
    found = Sums(amounts).around(point)
    assert found == ((max(below), min(above)) if below and above else None)


def test_sums_of_too_many_units_are_not_enumerated() -> None:
    """A point then stands for itself."""
    amounts = [Fraction(1), Fraction(10**9 + 1, 10**9)]
    assert Sums(amounts).around(Fraction(1, 2)) == (Fraction(1, 2), Fraction(1, 2))


@drawn(60, st.fractions(0, 60), st.fractions(0, 1))
def test_the_sigmoid_is_rounded_down(x: Fraction, more: Fraction) -> None:
    """It is within 5e-18 below the function, and does not fall."""
    with localcontext() as context:
        context.prec = 60
        exact = 1 / (1 + (-Decimal(x.numerator) / Decimal(x.denominator)).exp())
        value = sigmoid_below(x)
        given_ = Decimal(value.numerator) / Decimal(value.denominator)
        assert exact - Decimal("5e-18") < given_ <= exact
    assert sigmoid_below(x + more) >= value
