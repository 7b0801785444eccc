"""Best-fit decreasing step by step (Lyra, sections 5.3 and 6), and first fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers import Instance
from dlsched.problems.workers.definition.schema import KINDS
from dlsched.problems.workers.instances.strategy import instances
from dlsched.problems.workers.structures.fleet import BestFit
from drawing import draws


def place(method: str, servers: Any, jobs: Any, *, separate_groups: bool = True) -> dict[str, Any]:
    """Return what a method places: base workers by server, or a pair with the flexible ones."""
    made = instance(servers, jobs, separate_groups=separate_groups)
    placement = dlsched.solve(made, method).solution.placement
    placed = {n: tuple(dict(p.counts(k)) for k in KINDS) for n, p in placement.items()}
    return {name: pair if pair[1] else pair[0] for name, pair in placed.items()}


MOVES = {"fungible": True}
GROWS = {"fungible": True, "elastic": True}
HETEROGENEOUS = job("h", 2, 3, 5, heterogeneous=True)
PLACED: dict[str, tuple[str, list[Any], list[Any], dict[str, Any]]] = {
    "a worker goes to the fullest server that fits": (
        "bfd", [server("t1", 8), server("t2", 5), server("t3", 3), server("t4", 1)],
        [job("a", 2, 3)], {"a": {"t3": 1, "t2": 2}},
    ),
    "an empty server comes after a used one with more free GPUs": (
        "bfd", [server("t1", 4, gpus=4), server("t2", 7)],
        [job("a", 2, 4)], {"a": {"t2": 3, "t1": 1}},
    ),
    "larger workers come first, and of equal ones the job with more": (
        "bfd", [server("t1", 8)],
        [job("small", 1, 4), job("few", 2, 1), job("many", 2, 2), job("large", 4, 1)],
        {"large": {"t1": 1}, "many": {"t1": 2}},
    ),
    "ties are broken by the file": (
        "bfd", [server("t1", 8)], [job("x", 8, 1), job("y", 8, 1)], {"x": {"t1": 1}},
    ),
    "elastic jobs prefer loan, others training, and jobs that cannot move stay (section 5.3)": (
        "bfd", [server("t1", 7), server("l1", 7)],
        [job("e", 1, 1, **GROWS), job("i", 1, 1, **MOVES), job("fixed", 1, 1, elastic=True)],
        {"e": {"l1": 1}, "i": {"t1": 1}, "fixed": {"t1": 1}},
    ),
    "a gang that does not fit its pool is undone and tries the other": (
        "bfd", [server("t1", 4), server("l1", 3)],
        [job("a", 2, 2, **GROWS), job("b", 2, 1, **GROWS)], {"a": {"t1": 2}, "b": {"l1": 1}},
    ),
    "flexible workers stay in the pool of the base": (
        "bfd", [server("t1", 6), server("l1", 3)],
        [job("a", 2, 2, 2, **MOVES)], {"a": ({"t1": 2}, {"t1": 1})},
    ),
    "base workers open a server, flexible ones go to their group": (
        "bfd", [server("l1", 8), server("l2", 8), server("l3", 5, group="flexible")],
        [job("a", 2, 1, 4, **MOVES)], {"a": ({"l1": 1}, {"l3": 2, "l2": 2})},
    ),
    "a server of the own group wins a tie": (
        "bfd", [server("l1", 4), server("l2", 4, group="base")],
        [job("a", 2, 1, **GROWS)], {"a": {"l2": 1}},
    ),
    "it wins a tie only: the fuller server is taken": (
        "bfd", [server("l1", 3), server("l2", 4, group="base")],
        [job("a", 2, 1, **GROWS)], {"a": {"l1": 1}},
    ),
    "heterogeneous jobs come last, with flexible workers on loan (section 6)": (
        "bfd", [server("t1", 4), server("l1", 8), server("l2", 8)],
        [HETEROGENEOUS, job("i", 1, 1)],
        {"i": {"t1": 1}, "h": ({"t1": 1, "l1": 2}, {"l2": 4})},
    ),
    "the flexible workers of heterogeneous jobs overflow": (
        "bfd", [server("t1", 8), server("l1", 2)],
        [HETEROGENEOUS], {"h": ({"t1": 3}, {"l1": 1, "t1": 1})},
    ),
    "bfd gives a job that could be on loan the only GPUs of one that could not": (
        "bfd", [server("t1", 4), server("l1", 4)],
        [job("anywhere", 4, 1, **MOVES), job("confined", 2, 2)], {"anywhere": {"t1": 1}},
    ),
    "jobs that must be on training servers can come first": (
        "confined_first", [server("t1", 4), server("l1", 4)],
        [job("anywhere", 4, 1, **MOVES), job("confined", 2, 2)],
        {"confined": {"t1": 2}, "anywhere": {"l1": 1}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", PLACED)
def test_placed_by_hand(rule: str) -> None:
    """Jobs are placed in this order, and their workers are where the rule says."""
    method, servers, jobs, placed = PLACED[rule]
    assert [*place(method, servers, jobs).items()] == [*placed.items()]


def test_the_two_readings_differ_as_the_card_says() -> None:
    """Job by job, a flexible worker takes what another job's base workers need."""
    values = {"bfd": (1, 1, 0, 0), "bases_first": (2, 0, 0, 0), "milp": (2, 0, 0, 0)}
    for method, value in values.items():
        assert tuple(dlsched.solve("workers-two-readings", method).objective) == value


def test_naive_has_no_groups_and_prefers_training() -> None:
    """Table 6: elastic jobs are placed like others, and a loan server holds both kinds."""
    servers = [server("t1", 2), server("l1", 8)]
    jobs = [job("a", 2, 1, fungible=True, elastic=True), job("b", 1, 2, 2, fungible=True)]
    made = place("naive_bfd", servers, jobs, separate_groups=False)
    assert made == {"a": {"t1": 1}, "b": ({"l1": 2}, {"l1": 2})}
    with pytest.raises(dlsched.OptionError, match="separate_groups to false"):
        place("naive_bfd", servers, jobs)


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


@settings(max_examples=draws(30), deadline=None)
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
