"""The exact methods, the patterns, the models and the bound of workers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlsched
from dlsched.problems.workers import Instance, exact
from dlsched.problems.workers.definition.check import check
from dlsched.problems.workers.definition.oracle import brute_force
from dlsched.problems.workers.instances.strategy import instances
from dlsched.problems.workers.programs import choice
from dlsched.problems.workers.programs.pattern_program import Program
from dlsched.problems.workers.structures.patterns import (
    maximal_patterns,
    patterns_exceed,
    server_classes,
)
from dlsched.testing import check_problem

ANY = st.booleans().flatmap(lambda separate: instances(separate_groups=separate))


def instance_of(servers: Any, jobs: Any, **fields: Any) -> Instance:
    """Return an instance from plain data."""
    return Instance(name="hand", servers=servers, jobs=jobs, **fields)


@pytest.mark.slow
def test_exact_methods_agree_with_brute_force() -> None:
    """Brute force, the card's model and the pattern program agree on 500 instances."""
    check_problem(
        "workers", checks=["exact", "bounds", "model_assign"], examples=500
    ).raise_if_any()


@settings(max_examples=20, deadline=None)
@given(ANY)
def test_brute_force_finds_no_worse_than_any_heuristic(instance: Instance) -> None:
    """No method's placement beats the enumeration of all of them."""
    best = brute_force(instance)
    for method in ("bfd", "bases_first", "first_fit", "milp"):
        solution = dlsched.solve(instance, method).solution
        assert not check(instance, solution).objective.better_than(best)


def test_free_gpus_of_a_class_are_not_one_server() -> None:
    """Two servers with 3 free GPUs hold two workers of 2 GPUs, not three."""
    servers = [{"id": f"s{i}", "pool": "training", "gpus": 8, "free": 3} for i in range(2)]
    jobs = [{"id": f"j{i}", "gpus_per_worker": 2, "base": 1} for i in range(3)]
    for method in ("milp", "arc_flow", "per_server"):
        assert dlsched.solve(instance_of(servers, jobs), method).objective[0] == 2


def test_the_two_groups_of_a_class_share_its_servers() -> None:
    """One empty loan server holds base workers or flexible ones, so the second level is 0."""
    servers = [{"id": "l", "pool": "loan", "gpus": 8, "free": 8}]
    job = {"id": "j", "gpus_per_worker": 2, "base": 2, "flexible": 2}
    jobs = [job | {"elastic": True, "fungible": True}]
    for separate, flexible in ((True, 0), (False, 2)):
        for method in ("milp", "arc_flow", "per_server"):
            best = dlsched.solve(instance_of(servers, jobs, separate_groups=separate), method)
            assert tuple(best.objective) == (1, flexible, 0, 1)


def test_later_levels_by_hand() -> None:
    """Preferences are kept although that opens a server, and no server is opened for nothing."""
    servers = [
        {"id": "t", "pool": "training", "gpus": 8, "free": 4},
        {"id": "l1", "pool": "loan", "gpus": 8, "free": 8},
        {"id": "l2", "pool": "loan", "gpus": 8, "free": 8},
    ]
    jobs = [
        {"id": "e", "gpus_per_worker": 2, "base": 2, "elastic": True, "fungible": True},
        {"id": "i", "gpus_per_worker": 2, "base": 2, "fungible": True},
    ]
    for method in ("milp", "arc_flow", "per_server"):
        best = dlsched.solve(instance_of(servers, jobs), method)
        assert tuple(best.objective) == (2, 0, 0, 1)
        assert best.solution.placement["i"].base == {"t": 2}


@given(st.sets(st.integers(1, 6), min_size=1), st.integers(0, 12))
def test_maximal_patterns(sizes: set[int], free: int) -> None:
    """Every set of workers that fits is part of a pattern; none has room for another worker."""
    found = list(maximal_patterns(sorted(sizes, reverse=True), free))
    assert len({tuple(sorted(p.items())) for p in found}) == len(found)
    for pattern in found:
        left = free - sum(size * count for size, count in pattern.items())
        assert 0 <= left < min(sizes)
    for count in range(1, free // max(sizes) + 1):
        assert any(p.get(max(sizes), 0) >= count for p in found)
    assert bool(found) == (min(sizes) <= free)


def test_servers_alike_are_one_class() -> None:
    """Pool, group, free GPUs and emptiness tell classes apart; size and name do not."""
    servers = [
        {"id": "a", "pool": "loan", "gpus": 8, "free": 4},
        {"id": "b", "pool": "loan", "gpus": 6, "free": 4},
        {"id": "c", "pool": "loan", "gpus": 4, "free": 4},
        {"id": "d", "pool": "loan", "gpus": 8, "free": 4, "group": "base"},
        {"id": "e", "pool": "training", "gpus": 8, "free": 4},
        {"id": "f", "pool": "training", "gpus": 8, "free": 0},
    ]
    classes = [entry.servers for entry in server_classes(instance_of(servers, []))]
    assert classes == [(0, 1), (3,), (4,), (2,)]
    shared = server_classes(instance_of(servers, [], separate_groups=False))
    assert [entry.servers for entry in shared] == [(0, 1, 3), (4,), (2,)]


def test_too_many_patterns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pattern program names the other method, which exact then chooses; counts are right."""
    instance = dlsched.generate("workers", 1, training=6, loan=6, jobs=10, training_used=0.5)
    total = sum(len(found) for found in Program(instance).patterns.values())
    assert patterns_exceed(instance, total - 1) and not patterns_exceed(instance, total)
    best = dlsched.solve(instance)
    monkeypatch.setattr(choice, "MOST_PATTERNS", 3)
    monkeypatch.setattr(exact, "MOST_PATTERNS", 3)
    with pytest.raises(dlsched.OptionError, match="use arc_flow"):
        dlsched.solve(instance, "milp")
    arcs, bound = dlsched.solve(instance), dlsched.bound(instance)[0]
    monkeypatch.setattr(choice, "MOST_ARCS", 3)
    monkeypatch.setattr(exact, "MOST_ARCS", 3)
    with pytest.raises(dlsched.OptionError, match="use per_server"):
        dlsched.solve(instance, "arc_flow")
    other = dlsched.solve(instance)
    methods = [result.method for result in (best, arcs, other)]
    assert methods == ["milp", "arc_flow", "per_server"]
    assert other.objective == arcs.objective == best.objective
    assert dlsched.bound(instance)[0].value >= bound.value >= best.objective[0]


def test_counting_patterns_of_huge_servers_ends() -> None:
    """A server of a million GPUs is refused without listing its patterns."""
    servers = [{"id": "s", "pool": "training", "gpus": 10**6, "free": 10**6}]
    jobs = [{"id": f"j{k}", "gpus_per_worker": k, "base": 1} for k in range(1, 6)]
    best = dlsched.solve(instance_of(servers, jobs))
    assert (best.method, best.objective[0]) == ("per_server", 5)


@pytest.mark.parametrize(("free", "method", "placed"), [(8, "milp", 3), (600, "per_server", 34)])
def test_many_sizes_of_workers(free: int, method: str, placed: int) -> None:
    """More sizes than Python's limit of recursion are counted; 1 + 2 + ... + 34 is below 600."""
    servers = [{"id": "s", "pool": "training", "gpus": free, "free": free}]
    jobs = [{"id": f"j{k}", "gpus_per_worker": k, "base": 1} for k in range(1, 1501)]
    best = dlsched.solve(instance_of(servers, jobs))
    assert (best.method, best.objective[0]) == (method, placed)


@pytest.mark.parametrize("scenario", ["advanced", "ideal"])
def test_the_paper_s_fleet_is_proved(scenario: str) -> None:
    """443 and 520 servers with 500 waiting jobs are proved on all levels, each bound attained."""
    instance = dlsched.generate("workers", 1, scenario=scenario, admitted=False)
    best = dlsched.solve(instance)
    assert (best.status, best.termination) == ("optimal", "proved")
    assert len(instance.servers) == 963 and len(instance.jobs) == 500
    assert [bound.value for bound in best.bound] == list(best.objective)
    for method in ("bfd", "bases_first", "first_fit"):
        assert not dlsched.solve(instance, method).objective.better_than(best.objective)


def test_fewer_levels_can_be_asked_for() -> None:
    """levels=1 stops after the jobs; 5 levels do not exist."""
    first = dlsched.solve("workers-two-groups", "milp", levels=1)
    assert (first.status, first.termination) == ("feasible", "levels_done")
    assert first.objective[0] == 2
    with pytest.raises(dlsched.OptionError, match="from 1 to 4"):
        dlsched.solve("workers-two-groups", "milp", levels=5)


def test_the_bound_sees_fragmentation() -> None:
    """The bound of the pattern program knows that 3 free GPUs hold one worker of 2."""
    servers = [{"id": f"s{i}", "pool": "training", "gpus": 8, "free": 3} for i in range(2)]
    jobs = [{"id": f"j{i}", "gpus_per_worker": 2, "base": 1} for i in range(3)]
    found = dlsched.bound(instance_of(servers, jobs))
    assert (found[0].value, str(found[0].kind)) == (2, "certified")
