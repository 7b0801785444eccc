"""Best-fit decreasing step by step (Lyra, sections 5.3 and 6), first fit, and `chosen_first`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers import Instance
from dlsched.problems.workers.definition.schema import KINDS
from dlsched.problems.workers.heuristics.chosen_first import choose
from dlsched.problems.workers.instances.strategy import instances
from dlsched.problems.workers.structures.fleet import BestFit


def place(method: str, servers: Any, jobs: Any, *, separate_groups: bool = True) -> dict[str, Any]:
    """Return what a method places: base workers by server, or a pair with the flexible ones."""
    made = instance(servers, jobs, separate_groups=separate_groups)
    placement = dlsched.solve(made, method).solution.placement
    placed = {n: tuple(dict(p.counts(k)) for k in KINDS) for n, p in placement.items()}
    return {name: pair if pair[1] else pair[0] for name, pair in placed.items()}


def test_a_worker_goes_to_the_fullest_server_that_fits() -> None:
    """The fullest server with room is taken before an emptier one, and before an empty one."""
    servers = [server("t1", 8), server("t2", 5), server("t3", 3), server("t4", 1)]
    assert place("bfd", servers, [job("a", 2, 3)]) == {"a": {"t3": 1, "t2": 2}}
    # An empty server with fewer free GPUs than a used one still comes after it.
    servers = [server("t1", 4, gpus=4), server("t2", 7)]
    assert place("bfd", servers, [job("a", 2, 4)]) == {"a": {"t2": 3, "t1": 1}}


def test_jobs_with_larger_workers_come_first() -> None:
    """Decreasing GPUs per worker; ties by all GPUs, then by the file."""
    servers = [server("t1", 8)]
    jobs = [job("small", 1, 4), job("few", 2, 1), job("many", 2, 2), job("large", 4, 1)]
    assert list(place("bfd", servers, jobs)) == ["large", "many"]
    assert list(place("bfd", servers, [job("x", 8, 1), job("y", 8, 1)])) == ["x"]


def test_elastic_jobs_prefer_loan_and_others_training() -> None:
    """Fungible jobs go to the pool that section 5.3 prefers; jobs that cannot move stay."""
    servers = [server("t1", 7), server("l1", 7)]
    elastic = {"elastic": True}
    jobs = [job("e", 1, 1, fungible=True, **elastic), job("i", 1, 1, fungible=True),
            job("fixed", 1, 1, **elastic)]  # fmt: skip
    assert place("bfd", servers, jobs) == {"e": {"l1": 1}, "i": {"t1": 1}, "fixed": {"t1": 1}}


def test_a_gang_that_does_not_fit_its_pool_tries_the_other() -> None:
    """The base of a fungible job is not split: what was placed in the first pool is undone."""
    servers = [server("t1", 4), server("l1", 3)]
    flags = {"fungible": True, "elastic": True}
    jobs = [job("a", 2, 2, **flags), job("b", 2, 1, **flags)]
    assert place("bfd", servers, jobs) == {"a": {"t1": 2}, "b": {"l1": 1}}


def test_flexible_workers_stay_in_the_pool_of_the_base() -> None:
    """A fungible job that had to go to training servers has its flexible workers there."""
    servers = [server("t1", 6), server("l1", 3)]
    made = place("bfd", servers, [job("a", 2, 2, 2, fungible=True)])
    assert made == {"a": ({"t1": 2}, {"t1": 1})}


def test_groups_are_kept_apart_on_loan_servers() -> None:
    """Base workers open a server of their own; flexible ones go to the flexible group."""
    servers = [server("l1", 8), server("l2", 8), server("l3", 5, group="flexible")]
    made = place("bfd", servers, [job("a", 2, 1, 4, fungible=True)])
    assert made == {"a": ({"l1": 1}, {"l3": 2, "l2": 2})}


def test_own_group_wins_a_tie_only() -> None:
    """A server without group is as good as one of the group: the fuller one is taken."""
    servers = [server("l1", 4), server("l2", 4, group="base")]
    flags = {"fungible": True, "elastic": True}
    assert place("bfd", servers, [job("a", 2, 1, **flags)]) == {"a": {"l2": 1}}
    servers[0] = server("l1", 3)
    assert place("bfd", servers, [job("a", 2, 1, **flags)]) == {"a": {"l1": 1}}


def test_heterogeneous_jobs_come_last_and_overflow() -> None:
    """Section 6: base workers on training servers, flexible on loan, the rest where room is."""
    servers = [server("t1", 4), server("l1", 8), server("l2", 8)]
    jobs = [job("h", 2, 3, 5, heterogeneous=True), job("i", 1, 1)]
    made = place("bfd", servers, jobs)
    assert list(made) == ["i", "h"]
    assert made["h"] == ({"t1": 1, "l1": 2}, {"l2": 4})
    more = place("bfd", [server("t1", 8), server("l1", 2)], [jobs[0]])
    assert more == {"h": ({"t1": 3}, {"l1": 1, "t1": 1})}


def test_the_two_readings_differ_as_the_card_says() -> None:
    """Job by job, a flexible worker takes what another job's base workers need."""
    values = {"bfd": (1, 1, 0, 0), "bases_first": (2, 0, 0, 0), "milp": (2, 0, 0, 0)}
    for method, value in values.items():
        assert tuple(dlsched.solve("workers-two-readings", method).objective) == value


def test_jobs_that_must_be_on_training_servers_can_come_first() -> None:
    """bfd lets a job that could be on loan take the only GPUs of one that could not."""
    servers = [server("t1", 4), server("l1", 4)]
    jobs = [job("anywhere", 4, 1, fungible=True), job("confined", 2, 2)]
    assert place("bfd", servers, jobs) == {"anywhere": {"t1": 1}}
    both = {"confined": {"t1": 2}, "anywhere": {"l1": 1}}
    assert place("confined_first", servers, jobs) == both


def test_naive_has_no_groups_and_prefers_training() -> None:
    """Table 6: elastic jobs are placed like others, and a loan server holds both kinds."""
    servers = [server("t1", 2), server("l1", 8)]
    jobs = [job("a", 2, 1, fungible=True, elastic=True), job("b", 1, 2, 2, fungible=True)]
    made = place("naive_bfd", servers, jobs, separate_groups=False)
    assert made == {"a": {"t1": 1}, "b": ({"l1": 2}, {"l1": 2})}
    with pytest.raises(dlsched.OptionError, match="separate_groups to false"):
        place("naive_bfd", servers, jobs)


def test_first_fit_takes_the_file_in_its_order() -> None:
    """Neither sizes nor free GPUs matter: the first server that fits, the first job first."""
    servers = [server("t1", 8), server("t2", 3), server("l1", 8), server("l2", 4, group="base")]
    jobs = [job("a", 1, 2), job("b", 4, 2), job("c", 2, 1, 1, fungible=True)]
    made = place("first_fit", servers, jobs)
    # t1 has 6 GPUs left for b; c's flexible worker has no loan server that is not of group base.
    assert made == {"a": {"t1": 2}, "c": {"l1": 1}}


def _plain_bfd(instance: Instance) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """Place worker by worker with a scan of all servers, as the text of section 5.3 has it."""
    free = [s.free for s in instance.servers]
    used = [not s.empty for s in instance.servers]
    group: list[Any] = [s.group if instance.separate_groups else None for s in instance.servers]
    made: dict[str, tuple[dict[str, int], dict[str, int]]] = {}

    def worker(size: int, kind: str, pools: Any) -> int | None:
        for pool in pools:
            fits = [
                s for s, x in enumerate(instance.servers)
                if x.pool == pool and free[s] >= size and group[s] in (None, kind)
            ]  # fmt: skip
            if fits:
                s = min(fits, key=lambda s: (not used[s], free[s], group[s] != kind, s))
                free[s] -= size
                used[s] = True
                if pool == "loan" and instance.separate_groups:
                    group[s] = kind
                return s
        return None

    order = sorted(
        instance.jobs,
        key=lambda j: (j.heterogeneous, -j.gpus_per_worker,
                       -j.gpus_per_worker * (j.base + j.flexible)),
    )  # fmt: skip
    for j in order:
        tries = [(p,) for p in j.pools]
        if j.heterogeneous:
            tries = [("training", "loan")]
        for pools in tries:
            state = (free[:], used[:], group[:])
            where = [worker(j.gpus_per_worker, "base", pools) for _ in range(j.base)]
            if None in where:
                free, used, group = state
                continue
            more = pools[::-1] if j.heterogeneous else pools
            other = [worker(j.gpus_per_worker, "flexible", more) for _ in range(j.flexible)]
            ids = [s.id for s in instance.servers]
            made[j.id] = tuple(
                {ids[s]: kind.count(s) for s in kind if s is not None} for kind in (where, other)
            )  # type: ignore[assignment]
            break
    return made


@settings(max_examples=30, deadline=None)
@given(instances(max_servers=8, max_jobs=8))
def test_bisection_places_as_a_scan_of_all_servers(made: Instance) -> None:
    """The sorted lists of bfd choose the servers that a plain scan, worker by worker, chooses."""
    placed = dlsched.solve(made, "bfd").solution.placement
    assert {n: (dict(p.base), dict(p.flexible)) for n, p in placed.items()} == _plain_bfd(made)


def test_undo_restores_the_lists() -> None:
    """After an undo, every list of servers is what it was."""
    made = [server("t1", 8), server("t2", 5), server("t3", 3), server("l1", 8), server("l2", 2)]
    fleet = BestFit(instance(made, []))
    before = {key: list(keys) for key, keys in fleet.keys.items() if keys}
    for kind in KINDS:
        fleet.place("training", kind, 2, 6)
        fleet.place("loan", kind, 1, 9)
    fleet.undo()
    assert {key: list(keys) for key, keys in fleet.keys.items() if keys} == before


def chosen(servers: list[dict[str, Any]], jobs: list[dict[str, Any]]) -> list[str]:
    """Return the ids of the jobs that are chosen."""
    return [found.id for found in choose(instance(servers, jobs))]


def test_small_jobs_are_chosen_as_long_as_they_fit_in_number() -> None:
    """Two servers with 3 free GPUs have room for two workers of 2, not for three."""
    servers = [server("t1", 3), server("t2", 3)]
    assert chosen(servers, [job(name, 2, 1) for name in "abc"]) == ["a", "b"]
    assert chosen(servers, [job("large", 1, 6), *(job(name, 2, 1) for name in "ab")]) == ["a", "b"]


def test_confined_jobs_share_the_training_servers() -> None:
    """They are limited by these, jobs that can be on loan by all servers."""
    servers = [server("t1", 2), server("l1", 4)]
    jobs = [job(name, 1, 1) for name in "abc"] + [job("f", 1, 4, fungible=True)]
    assert chosen(servers, jobs) == ["a", "b", "f"]


def test_servers_of_flexible_workers_have_no_room_for_base_workers() -> None:
    """A loan server of the flexible group is not counted."""
    servers = [server("l1", 4, group="flexible"), server("l2", 2, group="base")]
    assert chosen(servers, [job(name, 1, 2, fungible=True) for name in "ab"]) == ["a"]


def test_of_equal_jobs_those_with_flexible_workers_are_chosen() -> None:
    """Level 2 counts their flexible workers."""
    jobs = [job("a", 1, 2), job("b", 1, 2, flexible=2)]
    assert chosen([server("t1", 3)], jobs) == ["b"]


def test_many_small_jobs_come_before_one_large() -> None:
    """Best-fit decreasing starts the one with the largest workers."""
    servers = [server("t1", 8)]
    jobs = [job("large", 8, 1), *(job(name, 1, 2) for name in "abcd")]
    assert dlsched.solve(instance(servers, jobs), "bfd").objective.placed == 1
    assert dlsched.solve(instance(servers, jobs), "chosen_first").objective.placed == 4


def test_what_is_left_goes_to_jobs_that_were_not_chosen() -> None:
    """Two jobs of 3 GPUs fit in number, not on servers with 4 and 2; the third one does."""
    servers = [server("t1", 4), server("t2", 2)]
    jobs = [job("a", 1, 3, fungible=True), job("b", 3, 1), job("c", 3, 1), job("d", 2, 2)]
    assert dlsched.solve(instance(servers, jobs), "chosen_first").objective.placed == 2


def test_later_trials_place_more_flexible_workers() -> None:
    """Flexible workers of 3 GPUs first leave room for one only; those of 1 GPU are three."""
    servers = [server("t1", 3), server("t2", 4)]
    jobs = [job("a", 3, 1, flexible=1), job("b", 1, 1, flexible=3)]
    found = [dlsched.solve(instance(servers, jobs), "chosen_first", trials=n) for n in (1, 2)]
    assert [result.objective[:2] for result in found] == [(2, 1), (2, 3)]


@pytest.mark.parametrize("admitted", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_as_many_jobs_as_can_be_placed_on_a_small_fleet(admitted: bool, seed: int) -> None:
    """The optimum of level 1 in every scenario, whether all jobs fit in total or not."""
    scenario = ("basic", "advanced", "heterogeneous", "ideal")[seed - 1]
    options = {"training": 22, "loan": 26, "jobs": 48, "scenario": scenario}
    made = dlsched.generate("workers", seed, admitted=admitted, **options)
    best = dlsched.solve(made, levels=1).objective
    assert dlsched.solve(made, "chosen_first").objective.placed == best.placed
