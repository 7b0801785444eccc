"""Rules on the parts of solutions, by the structured methods, against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pyomo.environ as pyo
import pytest
from enumerations import solutions
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_variants_agree import best_of, instances

import dlsched
from dlsched import OptionError, Variant
from dlsched.problems.interleaving.exact.allowed import pairs_apart
from dlsched.problems.interleaving.programs.columns import rows_of
from dlsched.problems.sensitivity.definition.allow import held_by_server
from dlsched.problems.sensitivity.exact import allowed
from dlsched.problems.sensitivity.programs import allowed_rows
from dlsched.problems.sensitivity.programs.allowed_rows import merged, smallest_forbidden
from dlsched.proofs.check import InvalidProof
from dlsched.proofs.prove import ProofFailed
from dlsched.variants import owner_of

SUPPRESSED = list(HealthCheck)
FORMS = ["interleaving", "utility", "sensitivity", "dispatch"]
Rule = Callable[..., bool]


def apart(pairs: tuple[frozenset[str], ...]) -> Rule:
    """Return the rule that two jobs must not share."""

    def allow(instance: Any, first: Any, second: Any) -> bool:
        return frozenset((first.id, second.id)) not in pairs

    return allow


def fewer(pairs: tuple[frozenset[str], ...], most: int) -> Rule:
    """Return the rule that a server has few jobs, and none of some pairs."""

    def allow(instance: Any, held: Any) -> bool:
        return len(held) <= most and not any(pair <= set(held) for pair in pairs)

    return allow


def light(weights: dict[str, int], most: int) -> Rule:
    """Return the rule that the GPUs of a server, each times a weight, are few."""

    def allow(instance: Any, held: Any) -> bool:
        return sum(weights.get(job, 1) * gpus for job, gpus in held.items()) <= most

    return allow


def not_on(barred: frozenset[tuple[str, str, str]]) -> Rule:
    """Return the rule that jobs must not run on some machines."""

    def allow(instance: Any, workload: Any, job: Any, group: Any) -> bool:
        return (workload.id, job.id, group.machines.id) not in barred

    return allow


def fast_enough(least: dict[tuple[str, int], int]) -> Rule:
    """Return the rule that a job in a slot has one of its fastest speeds, or does not run."""

    def allow(instance: Any, job: Any, slot: int, speed: Any) -> bool:
        speeds = instance.speeds[[other.id for other in instance.jobs].index(job.id)]
        faster = [other.gain for other in speeds].index(speed.gain)
        return faster < least.get((job.id, slot), 9)

    return allow


@st.composite
def rules(draw: st.DrawFn, instance: Any) -> Rule:
    """Draw a rule of an instance's problem."""
    if instance.problem == "dispatch":
        of_jobs = [(w.id, job.id) for w in instance.pending for job in w.jobs]
        groups = [group.machines.id for group in instance.groups]
        assume(of_jobs and groups)
        keys = [(*job, group) for job in of_jobs for group in groups]
        return not_on(frozenset(draw(st.sets(st.sampled_from(keys), min_size=1))))
    ids = [job.id for job in instance.jobs]
    assume(ids)
    if instance.problem == "utility":
        slots = range(1, instance.slots + 1)
        keys = [(job.id, t) for job in instance.jobs for t in slots if t >= job.arrival]
        count = st.integers(0, 1)
        return fast_enough(draw(st.dictionaries(st.sampled_from(keys), count, min_size=1)))
    pairs = [frozenset((a, b)) for i, a in enumerate(ids) for b in ids[:i]]
    chosen: list[Any] = []
    if pairs:
        most = max(1, len(pairs) // 2)
        chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=most, unique=True))
    if instance.problem == "interleaving":
        return apart(tuple(chosen))
    if draw(st.booleans()):
        weights = draw(st.dictionaries(st.sampled_from(ids), st.integers(0, 2)))
        return light(weights, draw(st.integers(1, 4)))
    return fewer(tuple(chosen), draw(st.sampled_from([1, 1, 2, 2, 3])))


def validate_rule(problem: str, data: st.DataObject) -> None:
    """Compare `exact` under a drawn rule with the enumeration by the checker."""
    instance = data.draw(instances(problem))
    assume(not getattr(instance, "forking", False))
    known = solutions(instance)
    assume(known)
    variant = Variant(problem, "drawn", allow=data.draw(rules(instance)))
    best = best_of(instance, variant, known)
    for method in ["exact", "whole_model"]:
        result = dlsched.solve(instance, method, variant=variant)
        assert result.method == ("columns" if method == "exact" else method)
        if best is None:
            assert result.status == "infeasible", result.reason
            continue
        assert result.status == "optimal", result.reason
        assert list(result.objective) == pytest.approx(list(map(float, best)), rel=1e-6)
        sense = best.levels[0].sense
        bounds = (result.certified[0], dlsched.bound(instance, variant=variant)[0])
        for bound in bounds:
            at_least = bound is None or (
                bound.value >= best[0] if sense == "max" else bound.value <= best[0]
            )
            assert at_least, bound
        assert dlsched.verify(instance, result.solution, variant=variant).feasible


@pytest.mark.parametrize("problem", FORMS)
def test_a_rule_equals_enumeration(problem: str) -> None:
    """Optimum, infeasibility and certified bound, by the structured method and the whole model."""

    @settings(max_examples=5, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        validate_rule(problem, data)

    agree()


@pytest.mark.slow
@pytest.mark.parametrize("problem", FORMS)
def test_a_rule_equals_enumeration_in_many_draws(problem: str) -> None:
    """The same, 300 times."""

    @settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        validate_rule(problem, data)

    agree()


def anything(*arguments: Any) -> bool:
    """Allow everything."""
    return True


def number(*arguments: Any) -> Any:
    """Return what is no answer."""
    return 1


def fails(*arguments: Any) -> bool:
    """Raise."""
    raise ValueError("out of order")


@pytest.mark.parametrize("problem", ["reclaiming", "elastic", "workers", "placement"])
def test_problems_without_a_form_say_which_have_one(problem: str) -> None:
    """When the variant is made, with what the forms are called with."""
    with pytest.raises(OptionError, match=f"allow has no form for {problem}.*held"):
        Variant(problem, "rule", allow=anything)


@pytest.mark.parametrize(
    ("rule", "said"), [(number, "returned 1, must return True or False"), (fails, "raised Value")]
)
@pytest.mark.parametrize("problem", FORMS)
def test_a_rule_that_does_not_answer_is_one_error(problem: str, rule: Rule, said: str) -> None:
    """With the variant's name."""
    with pytest.raises(OptionError, match=f"variant rule: allow {said}"):
        dlsched.solve(f"{problem}-small-01", variant=Variant(problem, "rule", allow=rule))


def test_a_rule_is_part_of_the_identity() -> None:
    """It may be all that differs."""
    plain, ruled = (Variant("utility", "same", allow=rule) for rule in (None, anything))
    assert plain.sha256 != ruled.sha256
    assert plain.sha256 == Variant("utility", "same").sha256


def test_a_slower_speed_alone_cannot_be_allowed() -> None:
    """A gang at a speed may get faster GPUs."""
    instance = dlsched.generate("utility", seed=3, jobs=6, slots=8)

    def slow(given: Any, job: Any, slot: int, speed: Any) -> bool:
        speeds = given.speeds[[other.id for other in given.jobs].index(job.id)]
        return bool(speed == speeds[-1])

    with pytest.raises(OptionError, match="a gang may always get faster GPUs"):
        dlsched.solve(instance, variant=Variant("utility", "slow", allow=slow))


def test_a_rule_with_rows_is_solved_on_the_whole_model() -> None:
    """Interleaving's model states pairs, and sensitivity's sets of jobs."""
    instance = dlsched.generate("interleaving", seed=1, jobs=16)
    pair = frozenset(job.id for job in instance.jobs[:2])

    def some(m: Any, given: Any) -> None:
        m.some = pyo.Constraint(expr=sum(m.x.values()) >= 1)

    both = Variant("interleaving", "both", some, allow=apart((pair,)))
    result = dlsched.solve(instance, variant=both)
    assert (result.method, result.status) == ("whole_model", "optimal")
    assert not any(pair <= set(group.jobs) for group in result.solution.groups)
    instance = dlsched.load("sensitivity-small-08")
    free = held_by_server(dlsched.solve(instance).solution).values()
    pair = frozenset(list(next(held for held in free if len(held) > 1))[:2])
    alone = Variant("sensitivity", "both", some, allow=fewer((pair,), 9))
    result = dlsched.solve(instance, variant=alone)
    assert (result.method, result.status) == ("whole_model", "optimal")
    assert not any(pair <= set(held) for held in held_by_server(result.solution).values())


def first_elsewhere(instance: Any, workload: Any, job: Any, group: Any) -> bool:
    """Keep the first workload from the first cluster."""
    return bool(
        workload.id != instance.pending[0].id or group.cluster != instance.groups[0].cluster
    )


@pytest.mark.slow
def test_a_rule_of_dispatch_is_proved() -> None:
    """On the whole model, whose tasks there are 0."""
    instance = dlsched.load("dispatch-small-01")
    variant = Variant("dispatch", "elsewhere", allow=first_elsewhere)
    result = dlsched.solve(instance, variant=variant)
    checked = dlsched.check_proof(
        instance, dlsched.prove(instance, variant=variant), variant=variant
    )
    assert [float(level.value) for level in checked.levels] == list(map(float, result.objective))
    assert result.status == "optimal"


def test_jobs_are_divided_from_their_profile_only_as_needed() -> None:
    """A pair that must not share takes two rows more at most."""
    instance = dlsched.generate("interleaving", seed=1, jobs=16)
    pair = frozenset(job.id for job in instance.jobs[:2])
    rows = rows_of(instance, pairs_apart(instance, apart((pair,))))
    assert len(instance.profiles) <= len(rows) <= len(instance.profiles) + 2
    assert sorted(j for row in rows for j in row.jobs) == list(range(len(instance.jobs)))


def test_a_heuristic_is_checked_against_the_rule() -> None:
    """Muri knows nothing of it: its groups are evaluated by themselves."""
    instance = dlsched.load("interleaving-small-01")
    group = next(g for g in dlsched.solve(instance, "muri").solution.groups if len(g.jobs) > 1)
    variant = Variant("interleaving", "apart", allow=apart((frozenset(group.jobs[:2]),)))
    result = dlsched.solve(instance, "muri", variant=variant)
    assert result.status == "no solution"
    assert "share GPUs, which is not allowed" in result.reason


def test_studies_keep_the_rule() -> None:
    """The best solutions under a rule, and what a decision costs, are of the ruled problem."""
    instance = dlsched.load("interleaving-small-01")
    best = dlsched.solve(instance).solution
    pair = frozenset(next(group.jobs for group in best.groups if len(group.jobs) > 1)[:2])
    variant = Variant("interleaving", "apart", allow=apart((pair,)))
    ruled = dlsched.solve(instance, variant=variant)
    (result,) = dlsched.best_solutions(instance, 1, variant=variant)
    frame = dlsched.what_if(instance, [], variant=variant)
    assert result.objective[0] == pytest.approx(ruled.objective[0])
    assert frame["efficiency"][0] == pytest.approx(float(ruled.objective[0]))
    assert not any(pair <= set(group.jobs) for group in result.solution.groups)


def validate_proof_of_rule(data: st.DataObject) -> None:
    """Prove the optimum under a drawn rule of sensitivity, and nothing that is not one."""
    instance = data.draw(instances("sensitivity"))
    known = solutions(instance)
    assume(known)
    variant = Variant("sensitivity", "drawn", allow=data.draw(rules(instance)))
    owner = owner_of(instance, variant)
    best = best_of(instance, variant, known)
    assume(best is not None)
    proof = dlsched.prove(instance, variant=variant)
    checked = dlsched.check_proof(instance, proof, variant=variant)
    assert [float(level.value) for level in checked.levels] == pytest.approx(
        list(map(float, best)), rel=1e-9
    )
    labels = {"instance": instance.name, "instance_sha256": instance.sha256}
    for solution in known:
        report = owner.check(instance, solution)
        if report.feasible and not best.better_than(report.objective):
            continue
        forged = replace(proof, solution=solution.model_copy(update=labels).to_data())
        with pytest.raises(InvalidProof):
            dlsched.check_proof(instance, forged, variant=variant)
        with pytest.raises(ProofFailed):
            dlsched.prove(instance, solution, variant=variant)
        break


@pytest.mark.parametrize(
    "draws", [3, pytest.param(100, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_rule_of_sensitivity_is_proved(draws: int) -> None:
    """No worse solution has a proof, and none that the rule forbids."""

    @settings(max_examples=draws, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED)
    @given(st.data())
    def proved(data: st.DataObject) -> None:
        validate_proof_of_rule(data)

    proved()


def test_a_proof_of_a_rule_is_of_no_other() -> None:
    """Nor of a stricter one of the same name, nor of the problem."""
    instance = dlsched.load("sensitivity-small-08")
    loose, strict = (Variant("sensitivity", "few", allow=light({}, n)) for n in (9, 2))
    proof = dlsched.prove(instance, variant=loose)
    for other, said in ((strict, "is not allowed"), (None, "give the variant")):
        with pytest.raises(InvalidProof, match=said):
            dlsched.check_proof(instance, proof, variant=other)


def test_rows_say_what_a_rule_says() -> None:
    """Of every set of jobs on a server: those of which some part is missing, and no others."""
    instance = dlsched.generate("sensitivity", seed=1, servers=2)
    ids = [job.id for job in instance.jobs]
    for rule in (fewer((frozenset(ids[:2]), frozenset(ids[1:3])), 3), light({ids[0]: 2}, 5)):
        rows = list(merged(smallest_forbidden(instance, rule)))
        some = [named for k in range(1, 5) for named in combinations(ids[:8], k)]
        held_sets = [dict.fromkeys(named, 1) for named in some]
        for held in held_sets:
            fits = all(sum(held.get(p.job, 0) >= p.gpus for p in parts) <= n for parts, n in rows)
            assert fits == rule(instance, held), held


def test_a_rule_that_forbids_less_of_more_is_one_error() -> None:
    """What it allows it must allow with fewer jobs."""
    instance = dlsched.generate("sensitivity", seed=1, servers=2)
    variant = Variant("sensitivity", "pairs", allow=lambda _, held: len(held) != 1)
    with pytest.raises(OptionError, match=r"variant pairs: allow admits .* fewer"):
        dlsched.solve(instance, "whole_model", variant=variant)


def test_a_rule_that_takes_too_many_questions_says_so(monkeypatch: Any) -> None:
    """With the method that needs no model."""
    monkeypatch.setattr(allowed_rows, "MOST_ASKED", 9)
    variant = Variant("sensitivity", "few", allow=fewer((frozenset(("j1", "j2")),), 9))
    with pytest.raises(ProofFailed, match=r"variant few: .* more than 9 sets .* use exact"):
        dlsched.prove("sensitivity-small-08", variant=variant)


def one_server_for_two(gpus: int) -> Any:
    """Return a server of 3 GPUs and two jobs that run at 5, or wait."""
    data = {
        "dlsched": 1,
        "problem": "sensitivity",
        "name": "one-server",
        "servers": {"count": 1, "gpus": 3, "cpus": 3, "memory": 3},
        "may_wait": True,
        "profiles": {"p": {"gpus": gpus, "cpus": [1], "memory": [1], "throughput": [[5]]}},
        "jobs": [{"id": job, "profile": "p"} for job in ("j0", "j1")],
    }
    return dlsched.load(data)


@pytest.mark.parametrize(
    ("limited", "limit", "said"),
    [
        (allowed, "MOST_VARIABLES", "the model is too large"),
        (allowed_rows, "MOST_ASKED", "more than 1 sets of jobs"),
    ],
)
def test_a_rule_that_cannot_be_stated_has_the_bound_without_it(
    limited: Any, limit: str, said: str, monkeypatch: Any
) -> None:
    """One of the two jobs waits, which no exchange of places says; the bound is that of both."""
    instance = one_server_for_two(gpus=1)
    alone = Variant("sensitivity", "alone", allow=fewer((), 1))
    best = dlsched.solve(instance, variant=alone)
    assert (best.status, list(best.objective)) == ("optimal", [5, 0])
    monkeypatch.setattr(limited, limit, 1)
    result = dlsched.solve(instance, variant=alone)
    assert (result.status, result.termination) == ("no solution", "undecided")
    assert said in result.reason
    assert result.certified[0].value == 10
    begun = dlsched.solve(instance, variant=alone, start=best.solution)
    assert (begun.status, list(begun.objective)) == ("feasible", [5, 0])
    assert begun.certified[0].value == 10


def test_a_rule_that_forbids_a_part_of_what_it_allows() -> None:
    """It is the mistake that is named, where a disagreement of the solver was raised."""

    def allow(instance: Any, held: Any) -> bool:
        return "j0" in held and held["j0"] < 2

    variant = Variant("sensitivity", "partly", allow=allow)
    with pytest.raises(OptionError, match=r"variant partly: .* it must allow with fewer"):
        dlsched.solve(one_server_for_two(gpus=2), variant=variant)


def test_a_rule_that_forbids_fewer_gpus_is_an_error_where_not_all_sets_are_asked(
    monkeypatch: Any,
) -> None:
    """A part that is not allowed is tried with more GPUs; the model was called infeasible."""
    monkeypatch.setattr(allowed_rows, "_MOST_CHECKED", 0)
    variant = Variant("sensitivity", "whole", allow=lambda _, held: 1 not in held.values())
    with pytest.raises(OptionError, match=r"variant whole: .* it must allow with fewer"):
        dlsched.solve(one_server_for_two(gpus=2), "whole_model", variant=variant)


def only_together(jobs: frozenset[str]) -> Rule:
    """Return a rule that says no to fewer of some jobs, but not to all."""
    return lambda _, held: len(jobs & held.keys()) in (0, len(jobs))


def only_so_many(jobs: frozenset[str]) -> Rule:
    """Return a rule that says no to fewer jobs on a server."""
    return lambda _, held: len(held) >= len(jobs)


@pytest.mark.parametrize(
    "draws", [150, pytest.param(2500, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_rule_that_breaks_its_contract_is_an_error_or_answered_rightly(draws: int) -> None:
    """By both exact methods; `columns` called some of these infeasible, which had solutions."""
    refused = 0

    @settings(max_examples=draws, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED)
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        nonlocal refused
        instance = data.draw(instances("sensitivity"))
        ids = [job.id for job in instance.jobs]
        known = solutions(instance) if len(ids) > 1 else None
        assume(known)
        some = data.draw(st.sets(st.sampled_from(ids), min_size=2))
        rule = data.draw(st.sampled_from([only_together, only_together, only_so_many]))
        variant = Variant("sensitivity", "drawn", allow=rule(frozenset(some)))
        best = best_of(instance, variant, known)
        for method in ["columns", "whole_model"]:
            try:
                result = dlsched.solve(instance, method, variant=variant)
            except OptionError as error:
                assert "it must allow with fewer" in str(error)
                refused += 1
                continue
            assert result.status == ("infeasible" if best is None else "optimal")
            assert best is None or list(result.objective) == list(best)

    agree()
    assert refused > 0
