"""The optimum by hand; best-fit decreasing step by step (Lyra, sections 5.3 and 6); first fit."""

from typing import Any

import pytest
from workers_instances import instance, job, server

import dlsched
from dlsched.problems.workers import Instance
from dlsched.testing import strategies
from drawing import drawn


def place(method: str, servers: Any, jobs: Any, *, separate_groups: bool = True) -> dict[str, Any]:
    """Return what a method places: base workers by server, or a pair with the flexible ones."""
    made = instance(servers, jobs, separate_groups=separate_groups)
    placement = dlsched.solve(made, method).solution.placement
    placed = {n: (dict(p.base), dict(p.flexible)) for n, p in placement.items()}
    return {name: pair if pair[1] else pair[0] for name, pair in placed.items()}


MOVES = {"fungible": True}
GROWS = {"fungible": True, "elastic": True}
HETEROGENEOUS = job("h", 2, 3, 5, heterogeneous=True)
PLACED: dict[str, tuple[str, list[Any], list[Any], dict[str, Any]]] = {
    "a gang that does not fit its pool is undone and tries the other": (
        "bfd", [server("t1", 4), server("l1", 3)],
        [job("a", 2, 2, **GROWS), job("b", 2, 1, **GROWS)], {"a": {"t1": 2}, "b": {"l1": 1}},
    ),
    "heterogeneous jobs come last, with flexible workers on loan (section 6)": (
        "bfd", [server("t1", 4), server("l1", 8), server("l2", 8)],
        [HETEROGENEOUS, job("i", 1, 1)],
        {"i": {"t1": 1}, "h": ({"t1": 1, "l1": 2}, {"l2": 4})},
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
            )
            break
    return made


@drawn(100, strategies.workers(max_servers=8, max_jobs=8))
def test_bisection_places_as_a_scan_of_all_servers(made: Instance) -> None:
    """The sorted lists of bfd choose the servers that a plain scan, worker by worker, chooses."""
    placed = dlsched.solve(made, "bfd").solution.placement
    assert {n: (dict(p.base), dict(p.flexible)) for n, p in placed.items()} == _plain_bfd(made)


LOAN = [server("l", 8)]
BOTH = [job("j", 2, 2, 2, fungible=True)]
CHOOSY = [job("e", 2, 2, elastic=True, fungible=True), job("i", 2, 2, fungible=True)]
HAND = {
    "two servers with 3 free GPUs hold two workers of 2 GPUs, not three":
        (instance([server("t0", 3), server("t1", 3)], [job(f"j{i}", 2, 1) for i in range(3)]),
         (2, 0, 0, 0)),
    "one empty loan server holds base workers or flexible ones":
        (instance(LOAN, BOTH), (1, 0, 0, 1)),
    "or both, without groups": (instance(LOAN, BOTH, separate_groups=False), (1, 2, 0, 1)),
    "preferences are kept although that opens a server, and none is opened for nothing":
        (instance([server("t", 4), server("l1", 8), server("l2", 8)], CHOOSY), (2, 0, 0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("method", ["arc_flow", "milp"])
@pytest.mark.parametrize("name", HAND)
def test_worked_by_hand(name: str, method: str) -> None:
    """The optimum of all four levels; the bound on the first is certified, and attained."""
    made, objective = HAND[name]
    best = dlsched.solve(made, method)
    assert (best.status, tuple(best.objective)) == ("optimal", objective)
    bound = dlsched.bound(made)[0]
    assert (bound.value, str(bound.kind)) == (objective[0], "certified")


@pytest.mark.parametrize(
    ("free", "sizes", "method", "placed"),
    # 1 + 2 + ... + 34 is below 600.
    [(8, 1500, "arc_flow", 3), (600, 1500, "milp", 34), (10**6, 5, "milp", 5)],
)
def test_many_arcs_and_sizes(free: int, sizes: int, method: str, placed: int) -> None:
    """Arcs are counted without listing them; too many are refused, and milp takes their place."""
    jobs = [job(f"j{k}", k, 1) for k in range(1, sizes + 1)]
    made = instance([server("s", free, free)], jobs)
    best = dlsched.solve(made)
    assert (best.method, best.objective[0]) == (method, placed)
    if method == "milp":
        with pytest.raises(dlsched.OptionError, match="use milp"):
            dlsched.solve(made, "arc_flow")
        assert dlsched.bound(made)[0].value >= placed
