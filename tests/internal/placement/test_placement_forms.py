"""Internal: the form of placement's proofs is below every placement, whatever its parameters."""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dlsched import Run
from dlsched.problems.placement import Solution
from dlsched.problems.placement.definition.check import check, explain
from dlsched.problems.placement.programs.forms import POINT_BITS, estimate, named_estimate
from dlsched.problems.placement.programs.rounding import sigmoid_below
from dlsched.proofs.check import Form
from dlsched.proofs.relaxation import Relaxation
from dlsched.testing import strategies
from drawing import drawn

INSTANCES = st.one_of(strategies.placement(), strategies.placement(scales=True))
DRAWN = settings(deadline=None, derandomize=True, database=None, phases=[Phase.generate])


def _at(form: Form, columns: Any, lp: Relaxation, home: dict[str, str]) -> float:
    """Return the least value of the form with these homes."""
    for (table, region), column in columns.items():
        here = int(home[table] == region)
        lp.program.set_bounds(column, here, here)
    solved, goal = lp.solve(), form.goals[0]
    assert solved is not None
    return float(goal.unit) * (solved.value + goal.offset)


@pytest.mark.parametrize("examples", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_any_parameters_give_a_lower_bound_at_every_placement(examples: int) -> None:
    """With any points, the form has every feasible placement, and costs no more than it does."""

    @given(st.data())
    @settings(DRAWN, max_examples=examples)
    def run(data: st.DataObject) -> None:
        instance = data.draw(INSTANCES)
        if not (instance.tables and instance.regions) or explain(instance):
            return
        regions = st.integers(0, len(instance.regions) - 1)
        kinds, priorities = len(instance.kinds), len(instance.priorities)
        points = st.lists(st.integers(0, 2**POINT_BITS), max_size=6)

        def lists(*most: int) -> list[list[int]]:
            positions = st.tuples(*(st.integers(0, n) for n in most))
            drawn = st.dictionaries(positions, points, max_size=12)
            return [[*at, *found] for at, found in data.draw(drawn).items()]

        r = len(instance.regions) - 1
        parameters = {
            "squares": lists(r, kinds, priorities),
            "stored": lists(r),
            "steps": lists(r, kinds),
        }
        named, columns = named_estimate(instance, parameters)
        form = data.draw(st.sampled_from([named, estimate(instance, parameters)]))
        lp = Relaxation(form, form.rows, form.goals[0].costs, Run())
        for _ in range(4):
            homes = [data.draw(regions) for _ in instance.tables]
            names = [instance.regions[h].id for h in homes]
            tables = [table.id for table in instance.tables]
            home = dict(zip(tables, names, strict=True))
            report = check(instance, Solution(home=home))
            if report.feasible and report.objective:
                cost = float(report.objective.cost)
                assert _at(form, columns["x"], lp, home) <= cost * (1 + 1e-9) + 1e-12

    run()


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
