"""Best-fit decreasing step by step (Lyra, sections 5.3 and 6), its variants, and first fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.problems.workers import Instance
from dlsched.problems.workers.definition.schema import KINDS
from dlsched.problems.workers.instances.strategy import instances
from dlsched.problems.workers.structures.fleet import BestFit


def server(name: str, free: int, *, gpus: int = 8, group: str | None = None) -> dict[str, Any]:
    """Return a server; its name begins with t if it is a training server."""
    pool = "training" if name.startswith("t") else "loan"
    return {"id": name, "pool": pool, "gpus": gpus, "free": free, "group": group}


def job(name: str, size: int, base: int, flexible: int = 0, **flags: bool) -> dict[str, Any]:
    """Return a job with workers of `size` GPUs, elastic if it has flexible ones."""
    elastic = flexible > 0 or flags.pop("elastic", False)
    counts = {"base": base, "flexible": flexible}
    return {"id": name, "gpus_per_worker": size, **counts, "elastic": elastic, **flags}


def place(method: str, servers: Any, jobs: Any, *, separate_groups: bool = True) -> dict[str, Any]:
    """Return what a method places: base workers by server, or a pair with the flexible ones."""
    fields = {"separate_groups": separate_groups, "servers": servers, "jobs": jobs}
    solution = dlsched.solve(Instance(name="hand", **fields), method).solution
    placed = {name: tuple(dict(p.counts(k)) for k in KINDS) for name, p in
              solution.placement.items()}  # fmt: skip
    return {name: pair if pair[1] else pair[0] for name, pair in placed.items()}


def test_a_worker_goes_to_the_fullest_server_that_fits() -> None:
    """The fullest server with room is taken before an emptier one, and before an empty one."""
    servers = [server("t1", 8), server("t2", 5), server("t3", 3), server("t4", 1)]
    assert place("bfd", servers, [job("a", 2, 3)]) == {"a": {"t3": 1, "t2": 2}}


def test_an_empty_server_is_taken_only_if_no_other_fits() -> None:
    """An empty server with fewer free GPUs than a used one still comes after it."""
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
    jobs = [
        job("e", 1, 1, elastic=True, fungible=True),
        job("i", 1, 1, fungible=True),
        job("fixed", 1, 1, elastic=True),
    ]
    assert place("bfd", servers, jobs) == {"e": {"l1": 1}, "i": {"t1": 1}, "fixed": {"t1": 1}}


def test_a_gang_that_does_not_fit_its_pool_tries_the_other() -> None:
    """The base of a fungible job is not split: what was placed in the first pool is undone."""
    servers = [server("t1", 4), server("l1", 3)]
    jobs = [job("a", 2, 2, fungible=True, elastic=True), job("b", 2, 1, fungible=True,
            elastic=True)]  # fmt: skip
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
    values = {m: tuple(dlsched.solve("workers-two-readings", m).objective)
              for m in ("bfd", "bases_first", "milp")}  # fmt: skip
    assert values == {"bfd": (1, 1, 0, 0), "bases_first": (2, 0, 0, 0), "milp": (2, 0, 0, 0)}


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
def test_bisection_places_as_a_scan_of_all_servers(instance: Instance) -> None:
    """The sorted lists of bfd choose the servers that a plain scan, worker by worker, chooses."""
    placed = dlsched.solve(instance, "bfd").solution.placement
    assert {n: (dict(p.base), dict(p.flexible)) for n, p in placed.items()} == _plain_bfd(instance)


def test_undo_restores_the_lists() -> None:
    """After an undo, every list of servers is what it was."""
    made = [server("t1", 8), server("t2", 5), server("t3", 3), server("l1", 8), server("l2", 2)]
    fleet = BestFit(Instance(name="hand", servers=made, jobs=[]))
    before = {key: list(keys) for key, keys in fleet.keys.items() if keys}
    for kind in KINDS:
        fleet.place("training", kind, 2, 6)
        fleet.place("loan", kind, 1, 9)
    fleet.undo()
    assert {key: list(keys) for key, keys in fleet.keys.items() if keys} == before
