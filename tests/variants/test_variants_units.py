"""Variables that a variant adds in any unit: what fits is found, and nothing else is claimed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import Level, OptionError, Variant
from dlsched.solvers.precision import undecided_level
from dlsched.solvers.standard_form import compile_model
from dlsched.variants import owner_of

SMALL = dlsched.load("reclaiming-small-10")
Constrain = Callable[[Any, Any], None]


def variant(constrain: Constrain, *levels: str | Level, problem: str = "reclaiming") -> Variant:
    """Return a variant of any name."""
    return Variant(problem, "units", constrain, list(levels) or None)


def own(sense: Any, expression: Callable[[Any], Any]) -> Level:
    """Return a level of one's own."""
    return Level("own", sense, lambda m, _: expression(m))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9, 1e12])
def test_a_size_may_have_any_unit(unit: float) -> None:
    """In bytes or in GB the same solutions fit, and the same are proved optimal."""

    def sizes(m: Any, _: Any) -> None:
        m.size = pyo.Var(bounds=(0, 1e3 * unit))
        m.enough = pyo.Constraint(expr=m.size >= 4 * unit * sum(m.x.values()))

    changed = variant(sizes, "preempted", "collateral", own("minimize", lambda m: m.size))
    result = dlsched.solve(SMALL, variant=changed)
    assert (result.status, result.objective[:2]) == ("optimal", (2, 4))
    assert result.objective[2] == 4 * SMALL.demand * Fraction(repr(unit))
    assert dlsched.verify(SMALL, dlsched.solve(SMALL).solution, variant=changed).feasible
    assert len(dlsched.best_solutions(SMALL, 2, variant=changed)) == 2


def test_a_wide_range_excludes_nothing() -> None:
    """A row that all solutions satisfy leaves the optimum as it is."""

    def wide(m: Any, _: Any) -> None:
        m.t = pyo.Var(bounds=(-1e9, 1e9))
        m.above = pyo.Constraint(expr=m.t >= 0)

    assert list(dlsched.solve(SMALL, variant=variant(wide)).objective) == [2, 4]


def test_a_variable_that_is_0_is_no_term_below_a_tolerance() -> None:
    """A level that has it among its terms can be held by a row, as without it."""

    def zero(m: Any, _: Any) -> None:
        m.size, m.none = pyo.Var(bounds=(0, 4)), pyo.Var(bounds=(0, 0))
        m.enough = pyo.Constraint(expr=m.size >= 0.5)

    changed = variant(zero, own("minimize", lambda m: m.size + m.none), "preempted")
    assert undecided_level(compile_model(owner_of(SMALL, changed).model.build(SMALL))) is None
    assert dlsched.solve(SMALL, variant=changed).objective == (Fraction(1, 2), 2)


def test_a_bound_of_a_wide_integer_is_that_of_the_whole() -> None:
    """The best value is a million, of a range from minus to plus ten thousand million."""

    def wide(m: Any, _: Any) -> None:
        m.n = pyo.Var(domain=pyo.Integers, bounds=(-(10**10), 10**10))
        first = next(iter(m.x.values()))
        m.most = pyo.Constraint(expr=0.001 * m.n <= 1000 * first + 1e-7)

    level = own("maximize", lambda m: m.n)
    result = dlsched.solve(
        dlsched.generate("elastic", seed=0, jobs=2),
        variant=variant(wide, level, problem="elastic"),
    )
    assert (result.status, result.objective[0]) == ("optimal", 10**6)
    assert result.bound[0].value >= 10**6


def test_the_next_whole_number_is_chosen() -> None:
    """Three tenths that were added as doubles times seventy are a little more than 21."""

    def near(m: Any, _: Any) -> None:
        m.n = pyo.Var(domain=pyo.Integers, bounds=(0, 40))
        m.least = pyo.Constraint(expr=m.n >= (0.1 + 0.2) * 10 * sum(m.x.values()))

    level = own("minimize", lambda m: m.n)
    result = dlsched.solve(SMALL, variant=variant(near, "preempted", "collateral", level))
    assert (result.status, list(result.objective)) == ("optimal", [2, 4, 22])


@pytest.mark.parametrize("scale", [1.0, 1e12])
def test_what_a_solution_determines_is_evaluated_exactly(scale: float) -> None:
    """A table that is near a job is so by 1, which is more than 1 less a thousand-millionth."""
    instance = dlsched.load("placement-small-02")
    best = dlsched.solve(instance)

    def far(m: Any, _: Any) -> None:
        m.far = pyo.ConstraintList()
        for near in m.near.values():
            m.far.add(scale * near <= scale - scale * 1e-9)

    changed = variant(far, problem="placement")
    assert not dlsched.verify(instance, best.solution, variant=changed).feasible
    result = dlsched.solve(instance, variant=changed)
    assert result.status in ("optimal", "infeasible")
    if result.status == "optimal":
        assert result.objective[0] > best.objective[0]
        assert dlsched.verify(instance, result.solution, variant=changed).feasible


@pytest.mark.parametrize(
    ("constrain", "best"),
    [
        (lambda m: (m.t, 2 * m.t >= -0.7 * m.x["s2"]), Fraction(-7, 20)),
        (lambda m: (m.t, 3 * m.t >= m.x["s2"] + 1), Fraction(1, 3)),
    ],
)
def test_values_of_continuous_variables_are_fractions(constrain: Any, best: Fraction) -> None:
    """The optimum is exact, though no double is."""

    def add(m: Any, _: Any) -> None:
        m.t = pyo.Var(bounds=(-1e3, 1e3))
        m.row = pyo.Constraint(expr=constrain(m)[1])

    result = dlsched.solve(SMALL, variant=variant(add, own("minimize", lambda m: m.t)))
    assert (result.status, result.objective[0]) == ("optimal", best)


def test_indicators_with_large_factors() -> None:
    """A binary variable that says whether a continuous one is positive."""

    def indicator(m: Any, _: Any) -> None:
        m.amount = pyo.Var(bounds=(0, 10))
        m.used = pyo.Var(domain=pyo.Binary)
        m.is_used = pyo.Constraint(expr=1e6 * m.used >= 0.3 * m.amount)
        m.needed = pyo.Constraint(expr=m.amount >= 0.1 * sum(m.x.values()))

    result = dlsched.solve(
        SMALL, variant=variant(indicator, own("minimize", lambda m: m.used), "preempted")
    )
    assert (result.status, list(result.objective)) == ("optimal", [1, 2])


def false_row(m: Any, _: Any) -> None:
    """Add a row that is false whatever the solution."""
    m.never = pyo.Constraint(expr=0 * m.x["s1"] >= 1)


def test_a_false_row_of_constants_is_an_answer() -> None:
    """Of each call: no solution, and why."""
    changed = variant(false_row)
    result = dlsched.solve(SMALL, variant=changed)
    assert result.status == "infeasible"
    assert "never" in result.reason
    report = dlsched.verify(SMALL, dlsched.solve(SMALL).solution, variant=changed)
    assert [v.message for v in report.violations] == ["never is 0, must be at least 1"]
    assert dlsched.best_solutions(SMALL, 2, variant=changed) == []
    with pytest.raises(dlsched.DlschedError, match="never"):
        dlsched.prove(SMALL, variant=changed)


@pytest.mark.parametrize(
    ("constrain", "said"),
    [
        (lambda m, _: setattr(m, "c", pyo.Constraint(expr=m.x["s1"] + float("nan") >= 1)), "c has"),
        (lambda m, _: setattr(m, "c", pyo.Constraint(expr=m.x["s1"] + float("inf") >= 1)), "c has"),
        (lambda m, _: setattr(m, "INTEGRAL", ("x",)), "m.INTEGRAL belongs to"),
    ],
)
def test_what_is_no_number_is_one_error(constrain: Constrain, said: str) -> None:
    """It names the constraint, or the attribute that is the library's."""
    with pytest.raises(OptionError, match=f"variant units: {said}"):
        dlsched.solve(SMALL, variant=variant(constrain))


def test_too_many_added_rows_are_undecided() -> None:
    """What the exact check cannot do in its limits is said, and nothing is claimed."""

    def many(m: Any, _: Any) -> None:
        size = range(45)
        m.n = pyo.Var(size, domain=pyo.Integers, bounds=(0, 10**6))
        m.rows = pyo.ConstraintList()
        for i in size:
            m.rows.add(sum((1 + (i * j * j + 3 * j) % 17) * m.n[j] for j in size) <= 10**7 + i)

    level = own("maximize", lambda m: sum((1 + (5 * j) % 7) * m.n[j] for j in range(45)))
    changed = variant(many, "preempted", "collateral", level)
    report = dlsched.verify(SMALL, dlsched.solve(SMALL).solution, variant=changed)
    assert report.undecided
    assert not report.feasible
    assert "not decided" in report.violations[0].message


def test_the_models_own_expression_has_all_choices() -> None:
    """The least throughput is that of a choice which another one dominates."""
    data = {
        "dlsched": 1,
        "problem": "sensitivity",
        "name": "dominated",
        "servers": {"count": 1, "gpus": 1, "cpus": 2, "memory": 1},
        "profiles": {"p": {"gpus": 1, "cpus": [1, 2], "memory": [1], "throughput": [[5], [3]]}},
        "jobs": [{"id": "j", "profile": "p"}],
    }
    level = own("minimize", lambda m: m.throughput.expr)
    result = dlsched.solve(data, variant=Variant("sensitivity", "least", levels=[level]))
    assert (result.status, list(result.objective)) == ("optimal", [3])


def test_files_have_the_units_of_the_variables(tmp_path: Path) -> None:
    """HiGHS finds the same optimum of an exported model, in bytes."""

    def sizes(m: Any, _: Any) -> None:
        m.size = pyo.Var(bounds=(0, 1e12))
        m.enough = pyo.Constraint(expr=m.size >= 4e9 * sum(m.x.values()))

    changed = variant(sizes, own("minimize", lambda m: m.size), "preempted")
    dlsched.export(SMALL, tmp_path / "a.mps", variant=changed)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(tmp_path / "a.mps"))
    solver.run()
    names = [solver.getColName(j)[1] for j in range(solver.getNumCol())]
    size = solver.getSolution().col_value[names.index("size")]
    assert size == pytest.approx(4e9 * SMALL.demand)
