"""Variants of every problem: what a change leaves, what it takes away, what is refused."""

import itertools
from typing import Any

import pyomo.environ as pyo
import pytest

import dlsched
from contract import assert_equal, drawn, examples, instances, optimum, widely
from dlsched.proofs.check import InvalidProof
from dlsched.registry import problem
from dlsched.variants import Variant

VARIED = [n for n in dlsched.list_problems() if getattr(problem(n).module("model"), "NAMEABLE", 1)]
every_problem = pytest.mark.parametrize("name", VARIED)
"""But those whose models have no variable that a variant may name."""


def never(m: Any, instance: Any) -> None:
    """Nothing fits this row, whatever is done."""
    m.never_above = pyo.Var(bounds=(0, 1))
    m.never = pyo.Constraint(expr=m.never_above >= 2)


def free(m: Any, instance: Any) -> None:
    """This row holds always."""
    m.slack = pyo.Var(bounds=(0, 1))
    m.free = pyo.Constraint(expr=m.slack <= 1)


@every_problem
@widely(4, 60)
def test_a_change_without_effect_leaves_the_optimum(name: str, count: int) -> None:
    """With a row that always holds, the optimum is that of brute force."""
    for instance in instances(name, count):
        best = optimum(instance)
        result = dlsched.solve(instance, variant=Variant(name, "free", free, version="1"))
        assert (result.objective is None) == (best is None)
        if best is not None and result.objective is not None:
            assert result.status in ("optimal", "feasible"), result.reason
            if result.status == "optimal":
                assert_equal(result.objective, best)


@every_problem
def test_what_nothing_fulfils_is_infeasible(name: str) -> None:
    """A row that cannot hold leaves no solution, which is proved; no heuristic's is an answer."""
    change = Variant(name, "never", never, version="1")
    for instance in instances(name, 3):
        result = dlsched.solve(instance, variant=change, certify=True)
        assert result.status == "infeasible" and result.reason and result.solution is None
        assert result.termination == "infeasible" and result.proof is not None
        [level] = dlsched.check_proof(instance, result.proof, variant=change).levels
        assert (level.value, level.kind) == (None, "certified")
        with pytest.raises(InvalidProof, match="of the variant never"):
            dlsched.check_proof(instance, result.proof)
    known = dlsched.solve(examples(name)[0]).solution
    assert known is not None
    report = dlsched.verify(examples(name)[0], known, variant=change)
    assert not report.feasible and "never" in report.violations[0].message


@every_problem
@widely(3, 40)
def test_the_first_level_alone(name: str, count: int) -> None:
    """With the problem's first level only, its optimum is that of the problem."""
    first = problem(name).levels[0]
    change = Variant(name, "first", levels=[first.name])
    for instance in instances(name, count):
        best, result = optimum(instance), dlsched.solve(instance, variant=change)
        if best is not None and result.status == "optimal":
            assert result.objective is not None
            assert [level.name for level, _ in result.objective.pairs()] == [first.name]
            assert_equal(result.objective, best[:1])


@every_problem
def test_unknown_names_are_refused(name: str) -> None:
    """A variable or a level that is not there is one error with what there is."""
    instance = examples(name)[0]
    with pytest.raises(dlsched.OptionError, match="colour"):
        dlsched.solve(instance, variant=Variant(name, "fixed", fix={"colour[1]": 1}))
    with pytest.raises(dlsched.OptionError, match="colour"):
        dlsched.solve(instance, variant=Variant(name, "leveled", levels=["colour"]))
    other = next(p for p in dlsched.list_problems() if p != name)
    with pytest.raises(dlsched.OptionError, match=f"variant free is for {other}"):
        dlsched.solve(instance, variant=Variant(other, "free", free, version="1"))


@every_problem
def test_best_solutions_are_different_and_in_order(name: str) -> None:
    """The first is an optimum; none of the others is better, and no two are the same."""
    for instance in [examples(name)[0], drawn(name, 12)[-1]]:
        best = optimum(instance)
        if best is None:
            continue
        found = [r for r in dlsched.best_solutions(instance, 3) if r.objective is not None]
        assert_equal(found[0].objective, best)
        for before, after in itertools.pairwise(found):
            assert not after.objective.better_than(before.objective)
            assert after.solution != before.solution
