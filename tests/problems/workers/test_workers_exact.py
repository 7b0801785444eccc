"""The exact methods, the models and the bound of workers."""

from __future__ import annotations

import pytest
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers.programs import arc_program
from dlsched.problems.workers.structures.classes import server_classes

EXACT = ("arc_flow", "milp")


THREE_FREE = [server("t0", 3), server("t1", 3)]


@pytest.mark.parametrize("method", EXACT)
def test_free_gpus_of_a_class_are_not_one_server(method: str) -> None:
    """Two servers with 3 free GPUs hold two workers of 2 GPUs, not three; the bound knows it."""
    made = instance(THREE_FREE, [job(f"j{i}", 2, 1) for i in range(3)])
    assert dlsched.solve(made, method).objective[0] == 2
    bound = dlsched.bound(made)[0]
    assert (bound.value, str(bound.kind)) == (2, "certified")


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(("separate", "flexible"), [(True, 0), (False, 2)])
def test_the_two_groups_of_a_class_share_its_servers(
    method: str, separate: bool, flexible: int
) -> None:
    """One empty loan server holds base workers or flexible ones, so the second level is 0."""
    jobs = [job("j", 2, 2, 2, fungible=True)]
    best = dlsched.solve(instance([server("l", 8)], jobs, separate_groups=separate), method)
    assert tuple(best.objective) == (1, flexible, 0, 1)


@pytest.mark.parametrize("method", EXACT)
def test_later_levels_by_hand(method: str) -> None:
    """Preferences are kept although that opens a server, and no server is opened for nothing."""
    jobs = [job("e", 2, 2, elastic=True, fungible=True), job("i", 2, 2, fungible=True)]
    best = dlsched.solve(instance([server("t", 4), server("l1", 8), server("l2", 8)], jobs), method)
    assert tuple(best.objective) == (2, 0, 0, 1)
    assert best.solution.placement["i"].base == {"t": 2}


def test_servers_alike_are_one_class() -> None:
    """Pool, group, free GPUs and emptiness tell classes apart; size and name do not."""
    servers = [
        server("la", 4), server("lb", 4, 6), server("lc", 4, 4), server("ld", 4, group="base"),
        server("e", 4), server("f", 0),
    ]  # fmt: skip
    classes = [entry.servers for entry in server_classes(instance(servers, []))]
    assert classes == [(0, 1), (3,), (4,), (2,)]
    shared = server_classes(instance(servers, [], separate_groups=False))
    assert [entry.servers for entry in shared] == [(0, 1, 3), (4,), (2,)]


def test_too_many_arcs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow program names the other method, which exact then chooses; its bound is weaker."""
    made = dlsched.generate("workers", 1, training=6, loan=6, jobs=10, training_used=0.5)
    best, bound = dlsched.solve(made), dlsched.bound(made)[0]
    monkeypatch.setattr(arc_program, "MOST_ARCS", 3)
    with pytest.raises(dlsched.OptionError, match="use milp"):
        dlsched.solve(made, "arc_flow")
    other = dlsched.solve(made)
    assert [result.method for result in (best, other)] == ["arc_flow", "milp"]
    assert other.objective == best.objective
    assert dlsched.bound(made)[0].value >= bound.value >= best.objective[0]


@pytest.mark.parametrize(
    ("free", "sizes", "method", "placed"),
    [
        # A server of a million GPUs is refused without listing its arcs.
        (10**6, 5, "milp", 5),
        (8, 1500, "arc_flow", 3),
        # 1 + 2 + ... + 34 is below 600.
        (600, 1500, "milp", 34),
    ],
)
def test_many_arcs_and_sizes(free: int, sizes: int, method: str, placed: int) -> None:
    """Arcs are counted without listing them, however many sizes of workers there are."""
    jobs = [job(f"j{k}", k, 1) for k in range(1, sizes + 1)]
    best = dlsched.solve(instance([server("s", free, free)], jobs))
    assert (best.method, best.objective[0]) == (method, placed)


@pytest.mark.parametrize("scenario", ["advanced", "ideal"])
def test_the_paper_s_fleet_is_proved(scenario: str) -> None:
    """443 and 520 servers with 500 waiting jobs are proved on all levels, each bound attained."""
    made = dlsched.generate("workers", 1, scenario=scenario, admitted=False)
    best = dlsched.solve(made)
    assert (best.status, best.termination) == ("optimal", "proved")
    assert len(made.servers) == 963 and len(made.jobs) == 500
    assert [bound.value for bound in best.bound] == list(best.objective)
    for method in ("bfd", "bases_first", "confined_first"):
        assert not dlsched.solve(made, method).objective.better_than(best.objective)
