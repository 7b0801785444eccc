"""Internal: how rules on parts are stated as rows and jobs, and the limits of that."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

import dlsched
from dlsched import OptionError, Variant
from dlsched.problems.interleaving.programs.columns import rows_of
from dlsched.problems.interleaving.variant.allowed import pairs_apart
from dlsched.problems.sensitivity.variant import TUNABLES, allowed, forbidden_sets
from dlsched.problems.sensitivity.variant.forbidden_sets import merged, smallest_forbidden
from dlsched.proofs.prove import ProofFailed
from sensitivity_instances import one_server


def test_jobs_are_divided_from_their_profile_only_as_needed() -> None:
    """A pair that must not share takes two rows more at most."""
    instance = dlsched.generate("interleaving", seed=1, jobs=16)
    pair = {job.id for job in instance.jobs[:2]}
    apart = pairs_apart(instance, lambda _, first, second: {first.id, second.id} != pair)
    rows = rows_of(instance, apart)
    assert len(instance.profiles) <= len(rows) <= len(instance.profiles) + 2
    assert sorted(j for row in rows for j in row.jobs) == list(range(len(instance.jobs)))


def test_rows_say_what_a_rule_says() -> None:
    """Of every set of jobs on a server: those of which some part is missing, and no others."""
    instance = dlsched.generate("sensitivity", seed=1, servers=2)
    ids = [job.id for job in instance.jobs]
    pairs = [set(ids[:2]), set(ids[1:3])]
    weights = {ids[0]: 2}
    for rule in (
        lambda _, held: len(held) <= 3 and not any(pair <= set(held) for pair in pairs),
        lambda _, held: sum(weights.get(job, 1) * n for job, n in held.items()) <= 5,
    ):
        rows = list(merged(smallest_forbidden(instance, rule)))
        for named in (named for k in range(1, 5) for named in combinations(ids[:8], k)):
            held = dict.fromkeys(named, 1)
            fits = all(sum(held.get(p.job, 0) >= p.gpus for p in parts) <= n for parts, n in rows)
            assert fits == rule(instance, held), held


@pytest.mark.parametrize(
    ("limited", "limit", "said"),
    [
        (allowed, "most_variables", "the model is too large"),
        (forbidden_sets, "most_asked", "more than 1 sets of jobs"),
    ],
)
def test_a_rule_that_cannot_be_stated_has_the_bound_without_it(
    limited: Any, limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two jobs waits, which no exchange of places says; the bound is that of both."""
    instance = one_server(gpus=1)
    alone = Variant("sensitivity", "alone", allow=lambda _, held: len(held) <= 1)
    best = dlsched.solve(instance, variant=alone)
    assert (best.status, list(best.objective)) == ("optimal", [5, 0])
    monkeypatch.setattr(limited, "TUNABLES", replace(TUNABLES, **{limit: 1}))
    result = dlsched.solve(instance, variant=alone)
    assert (result.status, result.termination) == ("no solution", "undecided")
    assert said in result.reason and result.certified[0].value == 10
    begun = dlsched.solve(instance, variant=alone, start=best.solution)
    assert (begun.status, list(begun.objective)) == ("feasible", [5, 0])
    assert begun.certified[0].value == 10
    if limited is forbidden_sets:
        with pytest.raises(ProofFailed, match=r"variant alone: .* more than 1 sets .* use exact"):
            dlsched.prove(instance, best.solution, variant=alone)


def test_a_rule_that_forbids_fewer_gpus_is_an_error_where_not_all_sets_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A part that is not allowed is tried with more GPUs; the model was called infeasible."""
    monkeypatch.setattr(forbidden_sets, "TUNABLES", replace(TUNABLES, most_checked=0))
    variant = Variant("sensitivity", "whole", allow=lambda _, held: 1 not in held.values())
    with pytest.raises(OptionError, match=r"variant whole: .* it must allow with fewer"):
        dlsched.solve(one_server(gpus=2), "whole_model", variant=variant)
