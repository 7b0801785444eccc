"""Numbers of variants: units, decimals, wide ranges and large factors; optima by hand are exact."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from dlsched import Level, Variant
from readers import highs_optimum

TEN = dlsched.load("reclaiming-small-10")
Constrain = Callable[[Any, Any], None]


def variant(constrain: Constrain, *levels: str | Level, problem: str = "reclaiming") -> Variant:
    """Return a variant of any name."""
    return Variant(problem, "units", constrain, list(levels) or None)


def own(sense: Any, expression: Callable[[Any], Any]) -> Level:
    """Return a level of one's own."""
    return Level("own", sense, lambda m, _: expression(m))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9, 1e12])
def test_a_size_may_have_any_unit(unit: float, tmp_path: Path) -> None:
    """In bytes or in GB the same solutions fit, and the same are proved optimal; so in files."""

    def sizes(m: Any, _: Any) -> None:
        m.size = pyo.Var(bounds=(0, 1e3 * unit))
        m.enough = pyo.Constraint(expr=m.size >= 4 * unit * sum(m.x.values()))

    size = own("minimize", lambda m: m.size)
    changed = variant(sizes, "preempted", "collateral", size)
    result = dlsched.solve(TEN, variant=changed)
    assert (result.status, result.objective[:2]) == ("optimal", (2, 4))
    assert result.objective[2] == 4 * TEN.demand * Fraction(repr(unit))
    assert dlsched.verify(TEN, dlsched.solve(TEN).solution, variant=changed).feasible
    assert len(dlsched.best_solutions(TEN, 2, variant=changed)) == 2
    if unit >= 1:  # readers of files have absolute tolerances
        dlsched.export(TEN, tmp_path / "a.mps", variant=variant(sizes, size, "preempted"))
        assert highs_optimum(tmp_path / "a.mps") == pytest.approx(4 * unit * TEN.demand)


def wide(m: Any, _: Any) -> None:
    """Add a row of a wide range that all solutions satisfy."""
    m.t = pyo.Var(bounds=(-1e9, 1e9))
    m.above = pyo.Constraint(expr=m.t >= 0)


def zero(m: Any, _: Any) -> None:
    """Add a variable that is 0, which is no term below a tolerance."""
    m.size, m.none = pyo.Var(bounds=(0, 4)), pyo.Var(bounds=(0, 0))
    m.enough = pyo.Constraint(expr=m.size >= 0.5)


def next_whole(m: Any, _: Any) -> None:
    """Add that three tenths, added as doubles, times seventy are a little more than 21."""
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0, 40))
    m.least = pyo.Constraint(expr=m.n >= (0.1 + 0.2) * 10 * sum(m.x.values()))


def indicator(m: Any, _: Any) -> None:
    """Add a binary variable that says whether a continuous one is positive."""
    m.amount = pyo.Var(bounds=(0, 10))
    m.used = pyo.Var(domain=pyo.Binary)
    m.is_used = pyo.Constraint(expr=1e6 * m.used >= 0.3 * m.amount)
    m.needed = pyo.Constraint(expr=m.amount >= 0.1 * sum(m.x.values()))


def continuous(row: Callable[[Any], Any]) -> Constrain:
    """Return a function that adds a continuous variable with a row."""

    def add(m: Any, _: Any) -> None:
        m.t = pyo.Var(bounds=(-1e3, 1e3))
        m.row = pyo.Constraint(expr=row(m))

    return add


def fixed(value: float, domain: Any) -> Constrain:
    """Return a function that adds a fixed variable, the most of all servers but one."""

    def add(m: Any, _: Any) -> None:
        m.t = pyo.Var(domain=domain)
        m.t.fix(value)
        m.row = pyo.Constraint(expr=sum(m.x.values()) - m.x["s2"] <= m.t)

    return add


def half(m: Any, _: Any) -> None:
    """Add a whole number from 0.5 to 1.5, which is 1."""
    m.n = pyo.Var(domain=pyo.Integers, bounds=(0.5, 1.5))


def unequal(m: Any, instance: Any) -> None:
    """Hold two servers equal; `t` is at most what they differ by where that is not stated.

    Relative to 0 a solver's tolerance is a gap of 1; the relaxation's bound is far off.
    """
    a, b = (m.x[server.id] for server in instance.servers[:2])
    m.t = pyo.Var(bounds=(0, 1))
    m.rows = pyo.ConstraintList()
    for row in (a == b, m.t <= a + b, m.t <= 2 - a - b):
        m.rows.add(row)


FREE = dlsched.generate("placement", 0, tables=2, regions=2, jobs=1).to_data()
FREE |= {"jobs": [], "weights": {"storage": 0}}
"""Its cost is constant: Pyomo has no row that holds it for the level after it."""
DOMINATED = {
    "dlsched": 1,
    "problem": "sensitivity",
    "name": "dominated",
    "servers": {"count": 1, "gpus": 1, "cpus": 2, "memory": 1},
    "profiles": {"p": {"gpus": 1, "cpus": [1, 2], "memory": [1], "throughput": [[5], [3]]}},
    "jobs": [{"id": "j", "profile": "p"}],
}
"""The model's own expression has all choices, also one that another one dominates."""
LEAST_S2 = [own("minimize", lambda m: m.x["s2"])]
LEAST_T = [own("minimize", lambda m: m.t)]
OPTIMA: list[tuple[Any, Constrain | None, list[Any], list[Any]]] = [
    (TEN, wide, [], [2, 4]),
    (TEN, zero, [own("minimize", lambda m: m.size + m.none), "preempted"], [Fraction(1, 2), 2]),
    (TEN, next_whole, ["preempted", "collateral", own("minimize", lambda m: m.n)], [2, 4, 22]),
    (TEN, indicator, [own("minimize", lambda m: m.used), "preempted"], [1, 2]),
    (TEN, continuous(lambda m: 2 * m.t >= -0.7 * m.x["s2"]), LEAST_T, [Fraction(-7, 20)]),
    (TEN, continuous(lambda m: 3 * m.t >= m.x["s2"] + 1), LEAST_T, [Fraction(1, 3)]),
    (TEN, half, [own("minimize", lambda m: m.n), "preempted"], [1, 2]),
    (TEN, unequal, [own("minimize", lambda m: -m.t)], [0]),
    (TEN, unequal, [own("maximize", lambda m: m.t)], [0]),
    (FREE, None, ["cost", own("maximize", lambda m: m.x["t1", "r2"])], [0, 1]),
    (DOMINATED, None, [own("minimize", lambda m: m.throughput.expr)], [3]),
    *((TEN, fixed(6, domain), LEAST_S2, [1]) for domain in (pyo.Integers, pyo.Reals)),
    (TEN, fixed(7, pyo.Reals), LEAST_S2, [0]),
]


@pytest.mark.parametrize(("instance", "constrain", "levels", "optimum"), OPTIMA)
def test_optima_by_hand(
    instance: Any, constrain: Constrain | None, levels: list[Any], optimum: list[Any]
) -> None:
    """They are exact, though no double is."""
    problem = dlsched.load(instance).problem
    changed = Variant(problem, "units", constrain, levels or None)
    result = dlsched.solve(instance, variant=changed)
    assert (result.status, list(result.objective)) == ("optimal", optimum)


INF = float("inf")


@pytest.mark.parametrize(
    ("row", "same"),
    [
        (lambda x: sum(0.1 * x for _ in range(3)) == 0.3, {"x[s1]": 1}),
        (lambda x: 0.1 * x + 0.2 == 0.3, {"x[s1]": 1}),
        (lambda x: 0.3 * x - 0.2 * x >= 0.1, {"x[s1]": 1}),
        (lambda x: pyo.inequality(-INF, x, INF), {}),
        (lambda x: x <= INF, {}),
    ],
)
def test_what_a_row_says(row: Callable[[Any], Any], same: dict[str, int]) -> None:
    """Decimals are summed exactly: in floating point, they are off by 1e-17; infinity is none."""
    changed = continuous(lambda m: row(m.x["s1"]))
    result = dlsched.solve(TEN, variant=variant(changed))
    expected = dlsched.solve(TEN, variant=Variant("reclaiming", "same", fix=same))
    assert (result.status, result.objective) == ("optimal", expected.objective)


def test_a_bound_of_a_wide_integer_is_that_of_the_whole() -> None:
    """The best value is a million, of a range from minus to plus ten thousand million."""

    def wide(m: Any, _: Any) -> None:
        m.n = pyo.Var(domain=pyo.Integers, bounds=(-(10**10), 10**10))
        first = next(iter(m.x.values()))
        m.most = pyo.Constraint(expr=0.001 * m.n <= 1000 * first + 1e-7)

    level = own("maximize", lambda m: m.n)
    instance = dlsched.generate("elastic", seed=0, jobs=2)
    result = dlsched.solve(instance, variant=variant(wide, level, problem="elastic"))
    assert (result.status, result.objective[0]) == ("optimal", 10**6)
    assert result.bound[0].value >= 10**6


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
    assert result.status == "infeasible" or result.objective[0] > best.objective[0]


def test_too_many_added_rows_are_undecided() -> None:
    """What the exact check cannot do in its limits is said, and nothing is claimed."""
    size = range(45)

    def many(m: Any, _: Any) -> None:
        m.n = pyo.Var(size, domain=pyo.Integers, bounds=(0, 10**6))
        m.rows = pyo.ConstraintList()
        for i in size:
            m.rows.add(sum((1 + (i * j * j + 3 * j) % 17) * m.n[j] for j in size) <= 10**7 + i)

    level = own("maximize", lambda m: sum((1 + (5 * j) % 7) * m.n[j] for j in size))
    changed = variant(many, "preempted", "collateral", level)
    report = dlsched.verify(TEN, dlsched.solve(TEN).solution, variant=changed)
    assert report.undecided and not report.feasible
    assert "not decided" in report.violations[0].message


INSTANCE = dlsched.generate("reclaiming", 1, servers=8, jobs=6)


def big_m(factor: float) -> Variant:
    """Return a variant that needs one of two binary variables as soon as a server is taken."""

    def constrain(m: Any, _: Any) -> None:
        m.used = pyo.Var([0, 1], domain=pyo.Binary)
        m.large = pyo.Constraint(expr=sum(m.x.values()) <= factor * (m.used[0] + m.used[1]))
        m.order = pyo.Constraint(expr=m.used[0] <= m.used[1])

    level = own("minimize", lambda m: m.used[0] + 2 * m.used[1])
    return variant(constrain, "preempted", "collateral", level)


@pytest.mark.parametrize("factor", [1e3, 1e9, 1e10, 1e13, 1e15])
def test_a_large_factor_is_solved(factor: float) -> None:
    """A solution with an added binary is accepted, and the optimum proved, with any factor."""
    known = dlsched.solve(INSTANCE, "lyra", variant=big_m(factor))
    assert (known.status, known.objective.own) == ("feasible", 2)
    result = dlsched.solve(INSTANCE, "whole_model", variant=big_m(factor), certify=True)
    assert (result.status, list(result.objective)) == ("optimal", [0, 0, 2])
    assert {bound.kind for bound in result.certified} == {"certified"} and result.proof
