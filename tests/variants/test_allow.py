"""Rules on the parts of solutions, by the structured methods, against enumeration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import DRAWN, assert_right, instances, solutions
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dlsched
from dlsched import OptionError, Variant
from dlsched.proofs.check import InvalidProof
from sensitivity_instances import one_server

FORMS = ["interleaving", "utility", "sensitivity", "dispatch"]
Rule = Callable[..., bool]


def apart(*pairs: frozenset[str]) -> Rule:
    """Return the rule that two jobs must not share."""
    return lambda _, first, second: frozenset((first.id, second.id)) not in pairs


def fewer(most: int, *pairs: frozenset[str]) -> Rule:
    """Return the rule that a server has few jobs, and none of some pairs."""
    return lambda _, held: len(held) <= most and not any(pair <= set(held) for pair in pairs)


def light(weights: dict[str, int], most: int) -> Rule:
    """Return the rule that the GPUs of a server, each times a weight, are few."""
    return lambda _, held: sum(weights.get(job, 1) * n for job, n in held.items()) <= most


def not_on(barred: set[tuple[str, str, str]]) -> Rule:
    """Return the rule that jobs must not run on some machines."""
    return lambda _, workload, job, group: (workload.id, job.id, group.machines.id) not in barred


def rank(instance: Any, job: Any, speed: Any) -> int:
    """Return how many speeds of a job are faster."""
    speeds = instance.speeds[[other.id for other in instance.jobs].index(job.id)]
    return [other.gain for other in speeds].index(speed.gain)


def fast_enough(least: dict[tuple[str, int], int]) -> Rule:
    """Return the rule that a job in a slot has one of its fastest speeds, or does not run."""
    return lambda instance, job, slot, speed: (
        rank(instance, job, speed) < least.get((job.id, slot), 9)
    )


@st.composite
def rules(draw: st.DrawFn, instance: Any) -> Rule:
    """Draw a rule of an instance's problem."""
    if instance.problem == "dispatch":
        of_jobs = [(w.id, job.id) for w in instance.pending for job in w.jobs]
        keys = [(*job, group.machines.id) for job in of_jobs for group in instance.groups]
        assume(keys)
        return not_on(draw(st.sets(st.sampled_from(keys), min_size=1)))
    ids = [job.id for job in instance.jobs]
    assume(ids)
    if instance.problem == "utility":
        slots = range(1, instance.slots + 1)
        keys = [(job.id, t) for job in instance.jobs for t in slots if t >= job.arrival]
        count = st.integers(0, 1)
        return fast_enough(draw(st.dictionaries(st.sampled_from(keys), count, min_size=1)))
    pairs = [frozenset((a, b)) for i, a in enumerate(ids) for b in ids[:i]]
    few = st.lists(st.sampled_from(pairs), min_size=1, max_size=max(1, len(pairs) // 2))
    chosen: list[Any] = draw(few) if pairs else []
    if instance.problem == "interleaving":
        return apart(*chosen)
    if draw(st.booleans()):
        weights = draw(st.dictionaries(st.sampled_from(ids), st.integers(0, 2)))
        return light(weights, draw(st.integers(1, 4)))
    return fewer(draw(st.sampled_from([1, 1, 2, 2, 3])), *chosen)


@pytest.mark.parametrize("draws", [5, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("problem", FORMS)
def test_a_rule_equals_enumeration(problem: str, draws: int, tmp_path: Path) -> None:
    """By the structured method and the whole model; of sensitivity also what is proved."""

    @settings(DRAWN, max_examples=draws)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        instance = data.draw(instances(problem))
        assume(not getattr(instance, "forking", False))
        known = solutions(instance)
        assume(known)
        variant = Variant(problem, "drawn", allow=data.draw(rules(instance)))
        assert dlsched.solve(instance, variant=variant).method == "columns"
        proofs = tmp_path if problem == "sensitivity" else None
        assert_right(instance, variant, known, proofs, "whole_model", "exact")

    agree()


def test_a_proof_of_a_rule_is_of_no_other() -> None:
    """Nor of a stricter one of the same name, nor of the problem; the rule is in the identity."""
    instance = dlsched.load("sensitivity-small-08")
    loose, strict = (Variant("sensitivity", "few", allow=light({}, n)) for n in (9, 2))
    assert loose.sha256 != strict.sha256 != Variant("sensitivity", "few").sha256
    proof = dlsched.prove(instance, variant=loose)
    for other, said in ((strict, "is not allowed"), (None, "give the variant")):
        with pytest.raises(InvalidProof, match=said):
            dlsched.check_proof(instance, proof, variant=other)


def no_answer(*arguments: Any) -> Any:
    """Return a number."""
    return 1


def fails(*arguments: Any) -> bool:
    """Raise."""
    raise ValueError("out of order")


@pytest.mark.parametrize("problem", ["reclaiming", "elastic", "workers", "placement"])
def test_problems_without_a_form_say_which_have_one(problem: str) -> None:
    """When the variant is made, with what the forms are called with."""
    with pytest.raises(OptionError, match=f"allow has no form for {problem}.*held"):
        Variant(problem, "rule", allow=no_answer)


@pytest.mark.parametrize(
    ("rule", "said"), [(no_answer, "returned 1, must return True or False"), (fails, "raised Va")]
)
@pytest.mark.parametrize("problem", FORMS)
def test_a_rule_that_does_not_answer_is_one_error(problem: str, rule: Rule, said: str) -> None:
    """With the variant's name."""
    with pytest.raises(OptionError, match=f"variant rule: allow {said}"):
        dlsched.solve(f"{problem}-small-01", variant=Variant(problem, "rule", allow=rule))


def test_a_slower_speed_alone_cannot_be_allowed() -> None:
    """A gang at a speed may get faster GPUs."""
    instance = dlsched.generate("utility", seed=3, jobs=6, slots=8)
    slow = Variant("utility", "slow", allow=lambda i, job, slot, speed: rank(i, job, speed) > 0)
    with pytest.raises(OptionError, match="a gang may always get faster GPUs"):
        dlsched.solve(instance, variant=slow)


def some_rows(m: Any, instance: Any) -> None:
    """Add a row that all solutions satisfy."""
    m.some = pyo.Constraint(expr=sum(m.x.values()) >= 1)


def sharing(solution: Any) -> list[set[str]]:
    """Return the jobs of each group, or of each server."""
    if solution.problem == "interleaving":
        return [set(group.jobs) for group in solution.groups]
    servers = {server for held in solution.allocation.values() for server in held.gpus}
    held = solution.allocation.items()
    return [{job for job, part in held if server in part.gpus} for server in servers]


@pytest.mark.parametrize("problem", ["interleaving", "sensitivity"])
def test_a_rule_with_rows_is_solved_on_the_whole_model(problem: str) -> None:
    """Interleaving's model states pairs, and sensitivity's sets of jobs."""
    instance = dlsched.load(f"{problem}-small-08")
    together = next(jobs for jobs in sharing(dlsched.solve(instance).solution) if len(jobs) > 1)
    pair = frozenset(sorted(together)[:2])
    rule = apart(pair) if problem == "interleaving" else fewer(9, pair)
    result = dlsched.solve(instance, variant=Variant(problem, "both", some_rows, allow=rule))
    assert (result.method, result.status) == ("whole_model", "optimal")
    assert not any(pair <= jobs for jobs in sharing(result.solution))


def test_heuristics_and_studies_keep_the_rule() -> None:
    """Muri knows nothing of it; best solutions and costs of decisions are of the ruled problem."""
    instance = dlsched.load("interleaving-small-01")
    group = next(g for g in dlsched.solve(instance, "muri").solution.groups if len(g.jobs) > 1)
    pair = frozenset(group.jobs[:2])
    variant = Variant("interleaving", "apart", allow=apart(pair))
    muri = dlsched.solve(instance, "muri", variant=variant)
    assert muri.status == "no solution"
    assert "share GPUs, which is not allowed" in muri.reason
    best = dlsched.solve(instance, variant=variant)
    (result,) = dlsched.best_solutions(instance, 1, variant=variant)
    frame = dlsched.what_if(instance, [], variant=variant)
    assert result.objective[0] == pytest.approx(best.objective[0])
    assert frame["efficiency"][0] == pytest.approx(float(best.objective[0]))
    assert not any(pair <= set(group.jobs) for group in result.solution.groups)


LESS: list[Any] = [
    (one_server(1), "columns", lambda _, held: len(held) != 1),
    (one_server(1), "whole_model", lambda _, held: len(held) >= 2),
    ("sensitivity-small-01", "whole_model", lambda _, held: len(held) != 1),
    (one_server(2), "exact", lambda _, held: "j0" in held and held["j0"] < 2),
]


@pytest.mark.parametrize(("instance", "method", "allow"), LESS)
def test_a_rule_of_sensitivity_that_forbids_less_of_more_is_one_error(
    instance: Any, method: str, allow: Rule
) -> None:
    """What it allows it must allow with fewer jobs or GPUs: no solver's disagreement is raised."""
    with pytest.raises(OptionError, match=r"variant partly: .*fewer"):
        dlsched.solve(instance, method, variant=Variant("sensitivity", "partly", allow=allow))
